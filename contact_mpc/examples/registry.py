"""The examples by name; each is imported when it is run."""

import difflib
from importlib import import_module

from contact_mpc.errors import InputError
from contact_mpc.examples.result import ExampleResult, Settings

EXAMPLES = {
    "parallel_gripper": "LCP and QP side by side: sticking, sliding, sticking of a squeezed ball",
    "box_pushing": "a pusher slides, tips and drops a box, beside Drake",
    "cube": "a pushed cube slides at mu = 0.1, tips at 0.8 until no force balance is left",
    "sphere_no_rotation": "the wobble of convex steps at mode changes shrinks with h",
    "pusher_1d": "the smoothed step against the exact one",
    "contact_discrimination": "all places on an iiwa and an Allegro hand that explain the torques of their joints",
    "penalty_grasp": "a gripper holds an object by penalty forces, beside Bullet (--gripper, --object, --duration)",
    "step_size": "quasi-static convex steps against Drake's SAP at h = 0.01, 0.1, 0.5 s",
}


def run_example(name: str, settings: Settings) -> ExampleResult:
    """Run an example by name; raises InputError where there is none of that name."""
    if name not in EXAMPLES:
        close = difflib.get_close_matches(name, EXAMPLES, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"unknown example '{name}'; {hint}allowed: {', '.join(EXAMPLES)}")
    if name != "penalty_grasp" and (settings.gripper, settings.thing, settings.duration_s) != (None, None, None):
        raise InputError(f"--gripper, --object and --duration belong to the example penalty_grasp, not to {name}")
    result: ExampleResult = getattr(import_module(f"contact_mpc.examples.{name}"), name)(settings)
    return result
