"""Variants of the loop that a study compares on the same trials: what is switched off, scaled, replaced.

A variant is a list of settings on top of the task's parameter file, as `--set` takes them. Ablations switch off, one by
one, every true switch of tracker and estimator, every weight but those of the task itself, and the ingredients of
`ABLATIONS`, which also switches on what a task does without; what has no effect on a task's own parameters is left out.
`cameras` changes one property of the camera at a time, with outliers everywhere, with and without the contact model.
`torque` asks whether a cost on joint torques, or a loop over measured ones, helps the tracker and the one-step law.
`grasp` tells what the search for the start is worth: its rows start where the object is merely balanced, as drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.loop.config import LoopConfig
from contact_mpc.loop.controllers import ONE_STEP

Study = Literal["ablation", "grasp", "sensitivity", "comparison", "cameras", "torque"]
STUDIES: tuple[Study, ...] = ("ablation", "grasp", "sensitivity", "comparison", "cameras", "torque")
BASE = "as configured"
RATES_HZ = (10, 20, 25, 40, 50, 100)
WEIGHT_FACTORS = (0.3, 1.0, 3.0)
DELAYS_MS = (0, 10, 20, 40, 60)
NOISE_FACTORS = (0.0, 0.5, 1.0, 2.0, 3.0)
DRAWN_STARTS = 4
CAMERA_RATES_HZ, CAMERA_DELAYS_MS, DROPOUTS_S = (10, 30, 60), (20, 100, 150), (0.5, 1.0, 3.0)
CAMERAS = (  # rate Hz, delay ms, dropout s
    *((rate, 20, 0.0) for rate in CAMERA_RATES_HZ),
    *((60, delay, 0.0) for delay in CAMERA_DELAYS_MS[1:]),
    *((60, 20, dropout) for dropout in DROPOUTS_S),
    (10, 150, 1.0),
)
OUTLIER_SHARE = 0.02
TASK_WEIGHTS = ("object_rotation_weight", "object_position_weight", "command_weight")  # without them there is no task
ABLATIONS: dict[str, dict[str, Any]] = {  # label: parameters; None is the friction of the system file
    "one step": {"mpc_tracker.horizon_steps": 1},
    "ten steps": {"mpc_tracker.horizon_steps": 10},
    "one iteration per command": {"mpc_tracker.iterations": 1},
    "two iterations per command": {"mpc_tracker.iterations": 2},
    "model friction of the system file": {"mpc_tracker.friction": None},
    "no integral action on commands that move the object": {"mpc_tracker.adaptation_s": 0.0},
    "no adaptation to the camera's noise": {"state_estimator.estimator.noise_adaptation": 0.0},
    "no limits of torques": {"mpc_tracker.torque_share": 0.0},
    "with torques within 90 % of the limits": {"mpc_tracker.torque_share": 0.9},
    "with a contact trust region": {"mpc_tracker.contact_trust_weight": 1.0},
}
TORQUE_FACTORS, TORQUE_FEEDBACK = (0.1, 1.0, 10.0), 0.05  # of the command's weight; a time constant of 1 s at 20 Hz
LEAST_COMMAND_SHARE = 0.01  # of the command's weight, where torques take its place
GENEROUS_SAMPLES, GENEROUS_ELITES = 40, 5  # of the sampling controller, beyond the budget of time


@dataclass(frozen=True)
class Variant:
    """One row of a study.

    Attributes
    ----------
    group, label : str
        What is varied, and how.
    settings : tuple of str
        "node.key=value" on top of the task's parameters.
    value : float or None
        Position on the axis of a plot, in the unit that the group names.
    noise_scale : float
        Factor on the pose noise.
    controller : str or None
        What follows the reference; None: what the parameter file says.
    start_seed : int or None
        Draws the start, see `contact_mpc.planning.start_posture.draw_start`; None: the task's own.
    """

    group: str
    label: str
    settings: tuple[str, ...] = ()
    value: float | None = None
    noise_scale: float = 1.0
    controller: str | None = None
    start_seed: int | None = None


def build_variants(study: Study, config: LoopConfig, mean_friction: float) -> list[Variant]:
    """Return the variants of a study about the loop of a task; the first is the loop as configured.

    Parameters
    ----------
    mean_friction : float
        Friction of the system file, -.
    """
    builders: dict[Study, Callable[[], list[Variant]]] = {
        "ablation": lambda: [Variant(study, BASE), *_ablations(config, mean_friction)],
        "grasp": lambda: [Variant(study, BASE), *_drawn_starts()],
        "sensitivity": lambda: _sensitivities(config),
        "comparison": lambda: _comparisons(),
        "cameras": lambda: _cameras(),
        "torque": lambda: _torques(config.tracker),
    }
    return builders[study]()


def weights_of(config: TrackerConfig) -> dict[str, float]:
    """Return the positive weights of the tracker's cost by parameter name."""
    names = [name for name in TrackerConfig.model_fields if name.endswith("_weight") or name == "terminal_scale"]
    return {name: float(getattr(config, name)) for name in names if getattr(config, name) > 0.0}


def _ablations(config: LoopConfig, mean_friction: float) -> list[Variant]:
    parts = {"mpc_tracker": config.tracker, "state_estimator.estimator": config.estimator}
    changes: dict[str, dict[str, Any]] = {}
    for node, part in parts.items():
        for name in type(part).model_fields:
            if getattr(part, name) is True:
                changes[f"no {name.replace('_', ' ')}"] = {f"{node}.{name}": False}
    for name in weights_of(config.tracker):
        if name.endswith("_weight") and name not in TASK_WEIGHTS:
            changes[f"no {name.replace('_', ' ')}"] = {f"mpc_tracker.{name}": 0.0}
    found = []
    for label, values in {**changes, **ABLATIONS}.items():
        values = {key: mean_friction if value is None else value for key, value in values.items()}
        if any(_read(parts, key) != value for key, value in values.items()):
            settings = tuple(f"{key}={str(value).lower()}" for key, value in values.items())
            found.append(Variant("ablation", label, settings))
    return found


def _drawn_starts() -> list[Variant]:
    return [Variant("grasp", f"start drawn, not searched: {k}", start_seed=k) for k in range(DRAWN_STARTS)]


def _read(parts: dict[str, Any], key: str) -> Any:
    node, _, name = key.rpartition(".")
    return getattr(parts[node], name)


def _sensitivities(config: LoopConfig) -> list[Variant]:
    found = []
    for rate in RATES_HZ:
        if config.estimate_rate_hz % rate == 0:
            found.append(Variant("MPC rate, Hz", str(rate), _rate_settings(config, rate), float(rate)))
    for name, weight in weights_of(config.tracker).items():
        for factor in WEIGHT_FACTORS:
            setting = f"mpc_tracker.{name}={factor * weight!r}"
            found.append(Variant(f"{name}, factor", f"x {factor:g}", (setting,), factor))
    for delay_ms in DELAYS_MS:
        setting = f"plant.sensors.pose_delay_s={1e-3 * delay_ms!r}"
        found.append(Variant("delay of poses, ms", str(delay_ms), (setting,), float(delay_ms)))
    for factor in NOISE_FACTORS:
        found.append(Variant("noise of poses, factor", f"x {factor:g}", (), factor, noise_scale=factor))
    return found


def _rate_settings(config: LoopConfig, rate_hz: int) -> tuple[str, ...]:
    """Return the settings of a rate; a plan takes effect at the latest half a period after its state."""
    delay_s = min(config.tracker.plan_delay_s, round(0.5 / rate_hz, 3))
    values = {"mpc_rate_hz": rate_hz, "plan_delay_s": delay_s}
    return tuple(f"{node}.{key}={value}" for node in ("mpc_tracker", "command_bridge") for key, value in values.items())


def _comparisons() -> list[Variant]:
    group = "comparison"
    generous = (
        f"comparison.sampling.samples={GENEROUS_SAMPLES}", f"comparison.sampling.elites={GENEROUS_ELITES}"
    )  # fmt: skip
    return [
        Variant(group, "tracker"),
        Variant(group, "playback", controller="playback"),
        Variant(group, "one step", controller="one_step"),
        Variant(group, "LCS by ADMM", controller="admm_lcs"),
        Variant(group, "sampling", controller="sampling"),
        Variant(group, f"sampling, {GENEROUS_SAMPLES} samples", generous, controller="sampling"),
    ]


def _torques(tracker: TrackerConfig) -> list[Variant]:
    """Return rows with the joints' torques tracked beside the commands, in their place, and by feed-forward."""
    group, weight, name = "torque", tracker.command_weight, "torque_tracking"

    def tracked(label: str, factor: float, feedback: float = 0.0, more: tuple[str, ...] = ()) -> Variant:
        own = {"torque_weight": factor * weight, "feedback": feedback}
        settings = tuple(f"comparison.{name}.{key}={value!r}" for key, value in own.items())
        return Variant(group, label, (*settings, *more), controller=name)

    one_step = tuple(f"mpc_tracker.{key}={str(value).lower()}" for key, value in ONE_STEP.items())
    instead = (f"mpc_tracker.command_weight={LEAST_COMMAND_SHARE * weight!r}",)
    return [
        Variant(group, BASE),
        *(tracked(f"torques tracked, x {factor:g}", factor) for factor in TORQUE_FACTORS),
        tracked("torques in place of commands", 1.0, more=instead),
        tracked("measured torques fed forward", 0.0, TORQUE_FEEDBACK),
        Variant(group, "one step", controller="one_step"),
        *(tracked(f"one step, torques tracked, x {factor:g}", factor, more=one_step) for factor in TORQUE_FACTORS),
    ]


def _cameras() -> list[Variant]:
    found = []
    for group, carry in (("with the contact model", True), ("without", False)):
        for rate_hz, delay_ms, dropout_s in CAMERAS:
            values = {
                "state_estimator.estimator.contact_carry": str(carry).lower(),
                "plant.sensors.pose_rate_hz": float(rate_hz),
                "plant.sensors.pose_delay_s": 1e-3 * delay_ms,
                "plant.sensors.pose_dropout_s": dropout_s,
                "plant.sensors.pose_outlier_share": OUTLIER_SHARE,
            }
            label = f"{group}: {rate_hz} Hz, {delay_ms} ms" + (f", {dropout_s:g} s unseen" if dropout_s else "")
            found.append(Variant("cameras", label, tuple(f"{key}={value}" for key, value in values.items())))
    return found
