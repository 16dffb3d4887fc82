"""Where is the robot touched? All places that explain the torques of its joints, on an iiwa and on an Allegro hand.

One contact each on links 3, 5 and 7 of the arm (20 N, 0.05 N m of noise), one on the index fingertip and one on the
thumb of the hand at once (2 N, 0.005 N m). Torques are pinocchio's. With three joints below link 3 its places are
regions, with five below link 5 a few points, with seven below link 7 one. Then the arm moves for 30 sets of torques
with the contact where it is on its link, and a particle filter tells the minima apart. Each set of torques has a force
of its own there: what three torques leave open on link 3 stays open however the arm moves.

Source: seeds/001 "Contact discrimination".
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.estimation.contact_location.config import LocationConfig
from contact_mpc.estimation.contact_location.hypothesis import ChainContacts
from contact_mpc.estimation.contact_location.line_of_action import LineOfAction
from contact_mpc.estimation.contact_location.locator import ContactLocator
from contact_mpc.estimation.contact_location.random_contacts import PinocchioTorques, TrueContact
from contact_mpc.estimation.contact_location.surfaces import retract
from contact_mpc.estimation.contact_location.tracking import ContactTracker
from contact_mpc.examples.contact_page import Scene, write_page
from contact_mpc.examples.plotting import BLUE, COLOURS, ORANGE, RED, label
from contact_mpc.examples.result import ExampleResult, Row, Settings
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARM_Q = np.array([0.2, 0.6, 0.3, -1.3, 0.4, 0.9, 0.1])
ARM_MOTION = np.array([0.5, -0.3, 0.7, -0.4, 0.8, -0.6, 0.5])  # rad, from the first set of torques to the last
UPDATES = 30
NEAR_M, HAND_NEAR_M = 0.02, 0.006
SETTLED = 10  # last updates of the tracking that are judged
OPEN_LINKS = ("link_3",)  # three joints below
SEED = 0


@dataclass(frozen=True)
class Touch:
    """A contact to show: link, which of its shapes, direction from the shape's centre, and size of the force, N.

    The force pushes inwards, `lean` of it sideways.
    """

    link: str
    shape: int
    direction: tuple[float, float, float]
    force_n: float
    lean: float = 0.2


ARM_TOUCHES = (
    Touch("link_3", 1, (0.2, 0.9, -0.3), 20.0),
    Touch("link_5", 1, (0.9, -0.4, 0.2), 20.0),
    Touch("link_7", 0, (0.5, 0.3, 0.8), 20.0),
)
HAND_TOUCHES = (Touch("index_tip", 0, (0.9, 0.1, 0.4), 2.0), Touch("thumb_link_2", 0, (0.3, -0.9, 0.2), 2.0))


def contact_discrimination(settings: Settings) -> ExampleResult:
    """Locate contacts on an arm and on a hand, and follow those of the arm over a motion."""
    if settings.formulation is not None or settings.h_s is not None:
        raise InputError("example contact_discrimination has neither a formulation nor a time step: leave both out")
    arm, hand = _Robot("iiwa_box", LocationConfig()), _Robot("allegro_ball", LocationConfig(torque_noise_nm=0.005))
    cases = [arm.locate(ARM_Q, (touch,)) for touch in ARM_TOUCHES]
    tracks = [arm.track(touch) for touch in ARM_TOUCHES]
    held = hand.locate(hand.q_rest, HAND_TOUCHES)
    rows = [row for case in cases for row in _rows(case, NEAR_M)]
    rows += [_tracking_row(touch, track) for touch, track in zip(ARM_TOUCHES, tracks, strict=True)]
    rows += _rows(held, HAND_NEAR_M)
    scenes = {f"iiwa_{touch.link}": case for touch, case in zip(ARM_TOUCHES, cases, strict=True)} | {"allegro": held}
    figures = {name: _figures(case) for name, case in scenes.items()}
    for touch, track in zip(ARM_TOUCHES, tracks, strict=True):
        figures[f"tracking_{touch.link}"] = {"error_mm": 1e3 * float(np.median(track[-SETTLED:, 0]))}
    arrays = {f"{name}_{key}": value for name, case in scenes.items() for key, value in _arrays(case).items()}
    arrays |= {f"tracking_{touch.link}_m": track for touch, track in zip(ARM_TOUCHES, tracks, strict=True)}
    plots = {"minima": partial(_draw_minima, scenes), "tracking": partial(_draw_tracking, tracks)}
    pages = {name: partial(write_page, name, _caption(case), case.scene()) for name, case in scenes.items()}
    return ExampleResult(rows, figures, arrays, plots, pages)


@dataclass(frozen=True)
class _Case:
    """What was true and what was found at one configuration."""

    robot: "_Robot"
    q: FloatArray
    truths: list[TrueContact]
    found: list[ChainContacts]
    classic_m: list[float]

    def scene(self) -> Scene:
        hypotheses = [item for chain in self.found for item in chain.hypotheses]
        return Scene(self.robot.locator.system, self.q, hypotheses, self.truths)

    def nearest_m(self, truth: TrueContact) -> float:
        """Return the distance of the nearest minimum on the true link, m."""
        own = [item for chain in self.found for item in chain.hypotheses if item.body == truth.body]
        return min((float(np.linalg.norm(item.points - truth.p, axis=1).min()) for item in own), default=np.inf)

    def chain_of(self, truth: TrueContact) -> ChainContacts:
        """Return what the torques of the chain that is touched say."""
        locator = self.robot.locator
        dof = locator.system.tree.chain[truth.body, 0] - locator.system.n_v_u
        return next(item for item in self.found if locator.system.joint_names[dof] in item.joints)


class _Robot:
    """A locator with the truth beside it."""

    def __init__(self, system: str, config: LocationConfig) -> None:
        self.locator = ContactLocator(load_system(system), config)
        self._truth, self._rng = PinocchioTorques(self.locator.system), np.random.default_rng(SEED)
        self.q_rest = self.locator.system.q_default[self.locator.system.n_q_u :] + 0.3

    def locate(self, q_a: FloatArray, touches: tuple[Touch, ...]) -> _Case:
        truths = self._touch(q_a, touches)
        tau = self._torques(truths)
        found = self.locator.locate(q_a, tau)
        lines = LineOfAction(self.locator).locate(q_a, tau)
        classic = [
            min((float(np.linalg.norm(c.p - t.p)) for part in lines for c in part if c.body == t.body), default=np.inf)
            for t in truths
        ]
        q = self.locator.system.q_default.copy()
        q[self.locator.system.n_q_u :] = q_a
        return _Case(self, q, truths, found, classic)

    def track(self, touch: Touch) -> FloatArray:
        """Return the errors (UPDATES, 2), m, of the particle filter and of the likeliest minimum along a motion."""
        tracker, errors = ContactTracker(self.locator, seed=SEED), []
        for k in range(UPDATES):
            q_a = ARM_Q + ARM_MOTION * k / (UPDATES - 1)
            (truth,) = self._touch(q_a, (touch,))
            tau = self._torques([truth])
            single = self.locator.locate(q_a, tau)[0].hypotheses
            tracked = tracker.update(q_a, tau)
            places = (tracked.p if tracked else None, single[0].points[0] if single else None)
            errors.append([np.nan if p is None else np.linalg.norm(p - truth.p) for p in places])
        return np.array(errors)

    def _touch(self, q_a: FloatArray, touches: tuple[Touch, ...]) -> list[TrueContact]:
        self.locator.place(q_a)
        self._truth.place(q_a)
        return [self._contact(touch) for touch in touches]

    def _contact(self, touch: Touch) -> TrueContact:
        surfaces, system, arm = self.locator.surfaces, self.locator.system, self.locator.arm
        own = [k for k, g in enumerate(surfaces.geometry) if system.geometries[g].link == touch.link]
        s = own[touch.shape]
        aim = 0.5 * float(surfaces.size[s].max()) * np.array(touch.direction)
        x, n_G = (np.array(part) for part in retract(surfaces, s, (float(aim[0]), float(aim[1]), float(aim[2]))))
        R = arm.R_WG[s].copy()
        n, side = R @ n_G, np.cross(R @ n_G, [0.0, 0.6, 0.8])
        f = touch.force_n * (-n + touch.lean * side / np.linalg.norm(side)) / np.hypot(1.0, touch.lean)
        return TrueContact(touch.link, int(surfaces.body[s]), s, arm.p_WG[s] + R @ x, n, f)

    def _torques(self, truths: list[TrueContact]) -> FloatArray:
        tau = sum(
            (self._truth.torques(item.link, item.p, item.f) for item in truths), np.zeros(self.locator.system.n_a)
        )
        return tau + self.locator.config.sigma_nm * self._rng.standard_normal(len(tau))


def _rows(case: _Case, near_m: float) -> list[Row]:
    rows = []
    for truth, classic_m in zip(case.truths, case.classic_m, strict=True):
        chain, nearest_m = case.chain_of(truth), case.nearest_m(truth)
        count, minima = len(chain.hypotheses), sum(len(item.points) for item in chain.hypotheses)
        likely = ", ".join(f"{h.link} {100 * h.likelihood:.0f} %" for h in chain.hypotheses[:4])
        widest = max((item.extent_m for item in chain.hypotheses), default=0.0)
        line = f"{1e3 * classic_m:.0f} mm" if np.isfinite(classic_m) else "misses the link"
        found = f"{1e3 * nearest_m:.1f} mm"
        rows += [
            Row(f"{truth.link}: nearest of {minima} minima", found, f"{1e3 * near_m:g} mm", nearest_m <= near_m),
            Row(f"{truth.link}: hypotheses", f"{count}: {likely}"),
            Row(f"{truth.link}: widest hypothesis", f"{1e3 * widest:.0f} mm"),
            Row(f"{truth.link}: classic line of action", line),
        ]
    return rows


def _tracking_row(touch: Touch, errors: FloatArray) -> Row:
    tracked, alone = (1e3 * float(np.median(errors[-SETTLED:, k])) for k in range(2))
    found = f"{tracked:.1f} mm; likeliest minimum of single torques {alone:.1f} mm"
    if touch.link in OPEN_LINKS:
        return Row(f"{touch.link}: followed over a motion", found, "stays open")
    return Row(f"{touch.link}: followed over a motion", found, f"{1e3 * NEAR_M:g} mm", tracked <= 1e3 * NEAR_M)


def _figures(case: _Case) -> dict[str, Any]:
    return {
        truth.link: {
            "nearest_mm": 1e3 * case.nearest_m(truth),
            "classic_mm": 1e3 * classic_m if np.isfinite(classic_m) else None,
            "hypotheses": [
                {"link": h.link, "likelihood": h.likelihood, "minima": len(h.points), "extent_mm": 1e3 * h.extent_m}
                for h in case.chain_of(truth).hypotheses
            ],
        }
        for truth, classic_m in zip(case.truths, case.classic_m, strict=True)
    }


def _arrays(case: _Case) -> dict[str, FloatArray]:
    hypotheses = [item for chain in case.found for item in chain.hypotheses]
    keys = ("points", "normals", "forces", "chi2")
    found = {key: np.concatenate([getattr(item, key) for item in hypotheses]) for key in keys}
    found["hypothesis"] = np.repeat(np.arange(len(hypotheses)), [len(item.points) for item in hypotheses])
    return found | {
        "true_points": np.array([t.p for t in case.truths]),
        "true_forces": np.array([t.f for t in case.truths]),
    }


def _caption(case: _Case) -> str:
    lines = [chain.describe() for chain in case.found if chain.status != "free"]
    return (
        "Red: the true contact with its force; other colours: minima, one colour per hypothesis, large where likely. "
        + " ".join(f"{line}." for line in lines)
    )


def _draw_minima(scenes: dict[str, _Case]) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 8.5), layout="constrained")
    figure.suptitle(
        "All places that explain the torques of the joints", x=0.01, ha="left", fontsize=12, fontweight="bold"
    )
    for index, (name, case) in enumerate(scenes.items()):
        axis: Any = figure.add_subplot(2, 2, index + 1, projection="3d")
        arm, samples = case.robot.locator.arm, case.robot.locator.samples
        case.robot.locator.place(case.q[case.robot.locator.system.n_q_u :])
        cloud = np.einsum("nij,nj->ni", arm.R_WG[samples.surface], samples.x) + arm.p_WG[samples.surface]
        axis.scatter(*cloud.T, s=1.0, color="#aaaaaa", linewidths=0, rasterized=True)
        hypotheses = [item for chain in case.found for item in chain.hypotheses]
        for k, item in reversed(list(enumerate(hypotheses))):
            axis.scatter(*item.points.T, s=9, color=COLOURS[k % 3], linewidths=0, depthshade=False)
        for truth in case.truths:
            axis.scatter(*truth.p, s=120, marker="*", color=RED, edgecolor="black", zorder=10, depthshade=False)
        minima = sum(len(item.points) for item in hypotheses)
        axis.set_title(f"{name}: {minima} minima, {len(hypotheses)} hypotheses; star: the truth")
        axis.set_aspect("equal")
        axis.tick_params(labelsize=6)
    return figure


def _draw_tracking(tracks: list[FloatArray]) -> "Figure":
    from contact_mpc.examples.plotting import new_figure

    figure, axes = new_figure(1, len(tracks), "A contact followed while the arm moves", 10.5, 2.8)
    for axis, touch, track in zip(axes[0], ARM_TOUCHES, tracks, strict=True):
        axis.semilogy(1e3 * track[:, 1], ".", color=ORANGE, label="likeliest minimum alone")
        axis.semilogy(1e3 * track[:, 0], color=BLUE, label="particle filter")
        label(axis, touch.link, "set of torques", "distance from the truth, mm")
        axis.legend()
    return figure
