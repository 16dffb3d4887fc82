"""External joint torques tau_a in b: an arm with 100 N at its last link, or with a weight that nobody carries.

b = -[tau_u; K (u - q_a) + tau_a] takes what acts on the joints beside springs and contacts: tau_a = J' f of a load, or
-g(q) where gravity is not compensated. A step moves the arm by K^-1 tau_a; steps with tau_a at the new q lead to rest,
which is the minimum of the springs' and the load's energy, found here by a general optimiser, too (seeds/003, "What
about friction?").
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.examples.film import Film, write_animation
from contact_mpc.examples.plotting import BLUE, COLOURS, GREY, label, new_figure
from contact_mpc.examples.result import ExampleResult, Row, Settings, check_allowed
from contact_mpc.geometry.contacts import make_kinematics, update_kinematics
from contact_mpc.model.gravity_torque import GravityTorque
from contact_mpc.model.rigid_tree import column
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMULATIONS = ("qp", "socp", "lcp", "log_barrier")
FORCES_N = np.array([5.0, 10.0, 25.0, 50.0, 100.0])
STEPS, SETTLED_RAD = 40, 1e-10
BOX_AWAY_M = 5.0
SHOWN_N = np.linspace(0.0, 100.0, 41)


class LoadedArm:
    """The iiwa of the system iiwa_box, its box far away."""

    def __init__(self, formulation: str, h_s: float | None) -> None:
        self.system: System = load_system("iiwa_box")
        self.dynamics = ContactDynamics(self.system, formulation, h_s=h_s, regularization="quasidynamic")
        self.q = self.system.q_default.copy()
        self.q[self.system.n_q_u - 3] += BOX_AWAY_M
        self._gravity, self._kin = GravityTorque(self.system), make_kinematics(self.system.tree)

    def with_joints(self, q_a: FloatArray) -> FloatArray:
        """Return q with the arm's joints at q_a."""
        return np.concatenate([self.q[: self.system.n_q_u], q_a])

    def load_torque(self, q_a: FloatArray, force_n: float) -> FloatArray:
        """Return J' f (n_a,) of a force downwards at the origin of the last link."""
        tree, kin, n = self.system.tree, self._kin, self.system.n_v_u
        update_kinematics(tree, self.with_joints(q_a), kin)
        last, J = len(tree.parent) - 1, np.empty(6)
        tau = np.zeros(self.system.n_v)
        for d in tree.chain[last, : tree.chain_count[last]]:
            column(tree, kin.axes, kin.origins, d, kin.p[last], J)
            tau[d] = -force_n * J[5]
        return tau[n:]

    def film(self, forces_n: FloatArray) -> Film:
        """Return the arm at rest under one force after the other, a second for each 10 N."""
        rest = [self.settle(partial(self.load_torque, force_n=force)) for force in forces_n]
        ends = np.array([self._end(q_a) for q_a in rest])
        loads = np.stack([0.0 * forces_n, 0.0 * forces_n, -forces_n], axis=1)
        q = np.array([self.with_joints(q_a) for q_a in rest])
        return Film(0.1 * forces_n, q, ends[:, None], loads[:, None])

    def _end(self, q_a: FloatArray) -> FloatArray:
        """Return the last link's origin (3,), m."""
        update_kinematics(self.system.tree, self.with_joints(q_a), self._kin)
        return self._kin.p[-1].copy()

    def height(self, q_a: FloatArray) -> float:
        """Return the height of the last link's origin, m."""
        return float(self._end(q_a)[2])

    def weight_torque(self, q_a: FloatArray) -> FloatArray:
        """Return -g(q_a) (n_a,)."""
        out = np.empty(self.system.n_a)
        self._gravity.compute(q_a, out)
        return -out

    def settle(self, torque: Any) -> FloatArray:
        """Return the joints (n_a,) at rest under torque(q_a) and the command of the start."""
        u = self.q[self.system.n_q_u :]
        q_a = u.copy()
        for _ in range(STEPS):
            result = self.dynamics.step(self.with_joints(q_a), u, tau_a=torque(q_a))
            moved, q_a = result.q_next[self.system.n_q_u :] - q_a, result.q_next[self.system.n_q_u :]
            if np.abs(moved).max() < SETTLED_RAD:
                break
        return q_a


def external_torques(settings: Settings) -> ExampleResult:
    """Load the arm by up to 100 N, then by its own weight."""
    check_allowed(settings, "external_torques", FORMULATIONS, 1.0)
    arm = LoadedArm(settings.formulation or "qp", settings.h_s)
    u, K = arm.q[arm.system.n_q_u :], arm.system.kp
    rest = [arm.settle(partial(arm.load_torque, force_n=force)) for force in FORCES_N]
    sag_m = np.array([arm.height(u) - arm.height(q_a) for q_a in rest])
    force = FORCES_N[-1]
    free = minimize(
        lambda q_a: 0.5 * K @ (q_a - u) ** 2 + force * arm.height(q_a),
        u,
        jac=lambda q_a: K * (q_a - u) - arm.load_torque(q_a, force),
        tol=1e-10,
    )
    first = arm.dynamics.step(arm.q, u, tau_a=arm.load_torque(u, force)).q_next[arm.system.n_q_u :]
    off = float(np.abs(first - u - arm.load_torque(u, force) / K).max())
    apart = float(np.abs(free.x - rest[-1]).max())
    heavy = arm.settle(arm.weight_torque)
    left = float(np.abs(K * (u - heavy) + arm.weight_torque(heavy)).max())
    rows = [
        Row("one step under 100 N: off K^-1 J' f", f"{off:.1e} rad", "1e-9 rad", off < 1e-9),
        Row("at rest under 100 N: off the least energy", f"{apart:.1e} rad", "1e-5 rad", apart < 1e-5),
        Row("last link sags by, 100 N", f"{1e3 * sag_m[-1]:.1f} mm"),
        Row("own weight, not compensated: balance of torques", f"{left:.1e} N m", "1e-6 N m", left < 1e-6),
        Row("last link sags by, own weight", f"{1e3 * (arm.height(u) - arm.height(heavy)):.1f} mm"),
    ]
    figures: dict[str, Any] = {
        "forces_n": FORCES_N.tolist(), "sag_m": sag_m.tolist(), "least_energy_difference_rad": apart,
        "weight_sag_m": arm.height(u) - arm.height(heavy), "weight_balance_nm": left,
    }  # fmt: skip
    arrays = {
        "forces_n": FORCES_N,
        "sag_m": sag_m,
        "joints_rad": np.array(rest),
        "joints_weight_rad": heavy,
        "u_rad": u,
    }
    plots = {"external_torques": partial(_draw, arm.system.joint_names, sag_m, rest[-1] - u, heavy - u)}
    return ExampleResult(rows, figures, arrays, plots, {"external_torques": partial(_write_film, arm)})


def _write_film(arm: LoadedArm, folder: Path) -> Path:
    shown = "the load at the last link, 10 N more each second"
    return write_animation("external_torques", arm.system, arm.film(SHOWN_N), folder, shown=shown)


def _draw(names: tuple[str, ...], sag_m: FloatArray, loaded: FloatArray, heavy: FloatArray) -> "Figure":
    figure, axes = new_figure(1, 2, "An iiwa with a load at its last link, stiffness 800 to 200 N m/rad", 10.0, 2.8)
    axes[0, 0].plot(FORCES_N, 1e3 * sag_m, "o-", color=BLUE, label="at rest")
    axes[0, 0].plot(FORCES_N, 1e3 * sag_m[0] / FORCES_N[0] * FORCES_N, "--", color=GREY, label="linear")
    label(axes[0, 0], "Last link sags by", "load, N", "mm")
    x = np.arange(len(names))
    axes[0, 1].bar(x - 0.2, np.rad2deg(loaded), 0.4, color=COLOURS[0], label="100 N")
    axes[0, 1].bar(x + 0.2, np.rad2deg(heavy), 0.4, color=COLOURS[1], label="own weight")
    axes[0, 1].set_xticks(x, names)
    label(axes[0, 1], "Joints give way by", "", "degrees")
    for axis in axes[0]:
        axis.legend()
    return figure
