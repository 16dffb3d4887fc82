"""What one step can do to an object: reachable sets and sub-level sets of the metric, drawn (seeds/003, "RRT").

R_eps(q_bar) = {B_u du + f_u(q_bar, q_bar_a) : |du| <= eps}, and the sub-level set {rho <= eps^2 / 2} of the metric with
Sigma = B_u B_u' + gamma I, of which it is the limit for gamma = 0. Three states of the planar hand: both fingers on the
disc, one, none. Where contacts cannot move the object R_eps is flat, Sigma without gamma singular, and the metric
dominated by gamma; smoothing gives it width. Dots are steps of the smoothed model itself with |du| = eps.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.plotting import BLUE, GREY, ORANGE, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.model.system_builder import load_system
from contact_mpc.planning.tree.growth.metric import reachable_set
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRASP = np.array([-0.005, 0.356, 0.0, -0.5606, -1.2576, 0.1893, 2.2652])  # planar hand: disc, then left and right
STATES = {"both fingers touch": (0.0, 0.0), "one touches": (0.0, -0.15), "none touches": (0.15, -0.15)}  # joints 0, 2
EPSILON_RAD, KAPPA, GAMMA, SAMPLES = 0.02, 1e3, 1e-5, 60
PLANES = ((0, 1, "y", "z"), (1, 2, "z", "turn"))


def linearisation(moved: tuple[float, float]) -> tuple[ContactDynamics, FloatArray, FloatArray, FloatArray]:
    """Return the smoothed dynamics, q, and f_u - q_u (3,) and B_u (3, 4) there, with two joints moved."""
    dynamics = ContactDynamics(load_system("planar_hand_ball"), kappa=KAPPA)
    q = GRASP.copy()
    q[[3, 5]] += moved
    linear = dynamics.linearize(q, q[3:])
    return dynamics, q, linear.c[:3], linear.B[:3]


def set_boundary(c_u: FloatArray, B: FloatArray, plane: tuple[int, int]) -> FloatArray:
    """Return boundary points (n, 2) of R_eps, projected on two coordinates."""
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    directions = np.zeros((len(angle), 3))
    directions[:, plane[0]], directions[:, plane[1]] = np.cos(angle), np.sin(angle)
    return reachable_set(c_u, B, EPSILON_RAD, directions)[:, plane]


def level_boundary(c_u: FloatArray, B: FloatArray, plane: tuple[int, int], gamma: float) -> FloatArray:
    """Return the boundary (n, 2) of {rho <= eps^2 / 2}, projected: support points eps Sigma d / |d|_Sigma."""
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    directions = np.zeros((len(angle), 3))
    directions[:, plane[0]], directions[:, plane[1]] = np.cos(angle), np.sin(angle)
    S = B @ B.T + gamma * np.eye(3)
    length = np.sqrt(np.einsum("ni,ij,nj->n", directions, S, directions))
    return np.asarray((c_u + EPSILON_RAD * directions @ S / length[:, None])[:, plane])


def true_steps(dynamics: ContactDynamics, q: FloatArray, seed: int = 0) -> FloatArray:
    """Return q_u+ - q_u (SAMPLES, 3) of the smoothed model for commands with |du| = eps."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(SAMPLES):
        du = rng.normal(size=4)
        du *= EPSILON_RAD / np.linalg.norm(du)
        found.append((dynamics.step(q, q[3:] + du).q_next - q)[:3])
    return np.array(found)


def reachable_sets(settings: Settings) -> ExampleResult:
    """Draw both sets in three states, and measure how far the linear set is from steps."""
    check_allowed(settings, "reachable_sets", (), 1.0)
    rows: list[Row] = []
    arrays: dict[str, FloatArray] = {}
    panels: dict[str, tuple[FloatArray, FloatArray, FloatArray]] = {}
    figures: dict[str, Any] = {"epsilon_rad": EPSILON_RAD, "kappa_per_j": KAPPA, "gamma": GAMMA}
    for k, (name, moved) in enumerate(STATES.items()):
        dynamics, q, c_u, B = linearisation(moved)
        steps = true_steps(dynamics, q)
        sizes = np.linalg.svd(B, compute_uv=False)
        coordinates = np.linalg.lstsq(B, (steps - c_u).T, rcond=None)[0]
        reach = float(np.linalg.norm(coordinates, axis=0).max() / EPSILON_RAD)
        limit = np.abs(set_boundary(c_u, B, (0, 1)) - level_boundary(c_u, B, (0, 1), 1e-14)).max()
        rows += [
            Row(f"{name}: largest, least singular value of B_u", f"{sizes[0]:.1e}, {sizes[-1]:.1e}"),
            Row(f"{name}: steps reach, of the linear set", f"{reach:.2f}"),
            Row(f"{name}: sub-level set at gamma = 0 off R_eps", f"{limit:.0e} m", "1e-6 m", bool(limit < 1e-6)),
        ]
        figures[name] = {"singular_values": sizes.tolist(), "steps_over_linear": reach}
        arrays |= {f"state_{k}_B": B, f"state_{k}_steps": steps}
        panels[name] = (c_u, B, steps)
    widths = [figures[name]["singular_values"][0] for name in STATES]
    rows.append(Row("the more contacts, the larger the set", ", ".join(f"{w:.1e}" for w in widths), "falling",
                    widths[0] > widths[1] > widths[2]))  # fmt: skip
    return ExampleResult(rows, figures, arrays, {"reachable_sets": partial(_draw, panels)})


def _draw(panels: dict[str, tuple[FloatArray, FloatArray, FloatArray]]) -> "Figure":
    figure, axes = new_figure(2, 3, f"A disc in a planar hand: what commands of {EPSILON_RAD:g} rad can do", 11.0, 2.8)
    for column, (name, (c_u, B, steps)) in zip(axes.T, panels.items(), strict=True):
        for axis, (i, j, x, y) in zip(column, PLANES, strict=True):
            scale = np.array([1e3 if k < 2 else np.rad2deg(1.0) for k in (i, j)])
            axis.plot(*(level_boundary(c_u, B, (i, j), GAMMA) * scale).T, color=ORANGE, label="sub-level set")
            axis.plot(*(set_boundary(c_u, B, (i, j)) * scale).T, color=BLUE, label="reachable set")
            axis.plot(*(steps[:, [i, j]] * scale).T, ".", color=GREY, markersize=3, label="steps")
            units = ["mm" if k < 2 else "degrees" for k in (i, j)]
            label(axis, name if i == 0 else "", f"{x}, {units[0]}", f"{y}, {units[1]}")
    axes[0, 0].legend()
    return figure
