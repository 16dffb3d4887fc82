"""The examples by name; each is imported when it is run."""

import difflib
from collections.abc import Callable

from contact_mpc.errors import InputError
from contact_mpc.examples.result import ExampleResult, Settings
from contact_mpc.settings.registry import Entry, Registry


def _entry(module: str, summary: str) -> Entry:
    """Return the entry of an example, a function of its module's name."""
    return Entry(f"contact_mpc.examples.{module}:{module.rpartition('.')[2]}", summary)


GRASPS = ("penalty_grasp", "shadow_grasp")
EXAMPLES: Registry[Callable[[Settings], ExampleResult]] = Registry(
    "example",
    {
        "parallel_gripper": _entry(
            "parallel_gripper", "LCP and QP side by side: a squeezed ball sticks, slides, sticks"
        ),
        "box_pushing": _entry("box_pushing", "a pusher slides, tips and drops a box, beside Drake"),
        "cube": _entry("cube", "a pushed cube slides at mu = 0.1, tips at 0.8 until no force balance is left"),
        "sphere_no_rotation": _entry("sphere_no_rotation", "the wobble of convex steps at mode changes shrinks with h"),
        "pusher_1d": _entry("pusher_1d", "the smoothed step against the exact one"),
        "contact_discrimination": _entry(
            "contact_discrimination",
            "all places on an iiwa and an Allegro hand that explain the torques of their joints",
        ),
        "penalty_grasp": _entry(
            "penalty_grasp",
            "a gripper holds an object by penalty forces, beside Bullet (--gripper, --object, --duration)",
        ),
        "shadow_grasp": _entry(
            "shadow_grasp", "the Shadow hand holds an object by penalty forces, palm down (--object, --duration)"
        ),
        "step_size": _entry("step_size", "quasi-static convex steps against Drake's SAP at h = 0.01, 0.1, 0.5 s"),
        "second_order": _entry(
            "claims.second_order", "Newton's second law beside balance of forces: a ball slides out"
        ),
        "commanded_positions": _entry("claims.commanded_positions", "q_a = q_cmd penetrates, a spring does not"),
        "velocity_command": _entry("claims.velocity_command", "commands of velocity push well and cannot grasp"),
        "mode_changes": _entry("claims.mode_changes", "forces beside sliding velocities and beta where modes change"),
        "regularization": _entry("claims.regularization", "steps over the inertia that objects keep"),
        "external_torques": _entry("claims.external_torques", "an iiwa with 100 N at its last link, or its own weight"),
        "steady_state": _entry("claims.steady_state", "rest in contact, linear and true; a command that stays passive"),
        "reachable_sets": _entry("claims.reachable_sets", "reachable and sub-level sets of a disc in a planar hand"),
        "ablation_trees": _entry("claims.ablation_trees", "trees without the local metric, without contact sampling"),
        "mixed_integer": _entry("claims.mixed_integer", "the global optimum over all contact modes, and its price"),
        "contact_sequences": Entry(
            "contact_mpc.examples.claims.contact_sequences:contact_sequences",
            "pushes with one hit, a contact that lasts, a small and a large one",
            "casadi",
            "contact-implicit",
        ),
        "energy_balance": _entry("claims.energy_balance", "power of springs, contacts and steps of a squeezed ball"),
    },
    error=InputError,
)


def run_example(name: str, settings: Settings) -> ExampleResult:
    """Run an example by name; raises InputError where there is none of that name."""
    if name not in EXAMPLES:
        close = difflib.get_close_matches(name, list(EXAMPLES), n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"unknown example '{name}'; {hint}allowed: {', '.join(EXAMPLES)}")
    if name not in GRASPS and (settings.gripper, settings.thing, settings.duration_s) != (None, None, None):
        raise InputError(f"--gripper, --object and --duration belong to the example penalty_grasp, not to {name}")
    return EXAMPLES.load(name)(settings)
