"""How well a solution satisfies the paper's equations, judged apart from the program: pinocchio's dynamics, no sigma.

Torques are re-read from the plan and integrated forwards (articulated bodies), gaps and their rates come from
pinocchio's frames; only the description of the object's face is shared with the program.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pinocchio as pin

from contact_mpc.model.gravity_torque import pinocchio_model
from contact_mpc.planning.push.buffered import Buffered
from contact_mpc.planning.push.program.instance import Instance, direction
from contact_mpc.planning.push.program.model import Model
from contact_mpc.settings.arrays import FloatArray


@dataclass(frozen=True)
class Residuals:
    """Largest violations: of (4) in m/s, rad/s, m, rad; of (8), (10), (12), (14) in their products; of inequalities.

    dynamics : equation (4) and q_{k+1} = q_k + dt q_dot_{k+1}
    complementarity : |phi lam| (8), |lam rebound| (10), |v (F_s - F_f)| (12), lam times what must be aligned and, of
        this step and the one before, times the change of the tool's speed
    inequality : how far gap, clearance, face (14), torques, velocities or joints are beyond their bounds
    goal : distance from the goal, m (rad), and velocity of the arm at the end, rad/s
    stage : where the largest of dynamics, complementarity and inequality of the steps is, counted from 0
    """

    dynamics: float
    complementarity: float
    inequality: float
    goal: float
    stage: int

    @property
    def largest(self) -> float:
        """Largest of all."""
        return max(self.dynamics, self.complementarity, self.inequality, self.goal)

    def __str__(self) -> str:
        """Return all of them in words."""
        return (
            f"dynamics {self.dynamics:.1e}, complementarity {self.complementarity:.1e}, beyond limits "
            f"{self.inequality:.1e}, goal {self.goal:.1e}, worst step at stage {self.stage}"
        )


class ResidualChecker:
    """Evaluates residuals of states (N, n_x), inputs (N - 1, n_u) and torques (N - 1, n_r)."""

    def __init__(self, model: Model) -> None:
        self._model = model
        robot = model.system.config.robots[0]
        self._pin = pinocchio_model(model.system.urdfs[robot.name])
        self._pin.gravity.linear = np.array(model.system.config.gravity_m_s2)
        self._pin.armature = np.array(model.system.reflected_inertia)
        self._data = self._pin.createData()
        self._frame = self._pin.getFrameId(model.settings.tool_link)
        w, p, heading = ca.SX.sym("w", model.n_o), ca.SX.sym("p", 3), ca.SX.sym("heading")
        gap = model.thing.gap(w, p, heading)
        aligned, face = model.thing.aligned(w, p, heading), model.thing.face(w, p, heading)
        outputs = [gap - model.head_radius_m, ca.gradient(gap, w), ca.gradient(gap, p)]
        self._face = Buffered("face", [w, p, heading], [*outputs, ca.vertcat(*aligned), ca.vertcat(*face)])
        p_next = ca.SX.sym("p_next", 3)
        self._slip = Buffered("slip", [p, p_next], [ca.vertcat(*model.thing.slip(p, p_next))])

    def evaluate(
        self, instance: Instance, x: FloatArray, u: FloatArray, tau: FloatArray, keeps_speed: bool = True
    ) -> Residuals:
        """Return the residuals; see the class. keeps_speed as in `BoundsBuilder.polish`."""
        largest = np.zeros((len(u), 3))
        for k in range(len(u)):
            errors, products, below = self._step(instance, x, u, tau, k, keeps_speed)
            largest[k] = np.abs(errors).max(), np.abs(products).max(), max(-below.min(), 0.0)
        dynamics, complementarity, inequality = (float(item) for item in largest.max(axis=0))
        beyond = max(inequality, self._bounds(x, tau))
        return Residuals(
            dynamics, complementarity, beyond, self._goal(instance, x), int(largest.max(axis=1).argmax())
        )  # fmt: skip

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        n, o = self._model.n_r, self._model.n_o
        return x[:n], x[n : n + o], x[n + o : 2 * n + o], x[2 * n + o :]

    def _touch(
        self, instance: Instance, x: FloatArray
    ) -> tuple[float, float, FloatArray, FloatArray, list[FloatArray]]:
        """Return phi, its rate, its gradients along q_r and w, and (aligned, face, p_e)."""
        q, w, v, w_dot = self._split(x)
        pin.computeJointJacobians(self._pin, self._data, q)
        pin.updateFramePlacements(self._pin, self._data)
        p = self._data.oMf[self._frame].translation
        J = pin.getFrameJacobian(self._pin, self._data, self._frame, pin.LOCAL_WORLD_ALIGNED)[:3]
        phi, by_w, by_p, aligned, face = self._face(w, p, instance.heading_rad)
        by_q = by_p @ J
        return float(phi[0]), float(by_q @ v + by_w @ w_dot), by_q, by_w, [aligned, face, np.array(p)]

    def _step(
        self, instance: Instance, x: FloatArray, u: FloatArray, tau: FloatArray, k: int, keeps_speed: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        model, dt = self._model, self._model.dt_s
        q, w, v, w_dot = self._split(x[k])
        q_next, w_next, v_next, w_dot_next = self._split(x[k + 1])
        lam = u[k, model.n_r]
        friction = u[k, model.n_r + 1] if model.has_friction else 0.0
        phi, rate, by_q, by_w, (aligned, face, p) = self._touch(instance, x[k])
        phi_next, rate_next, by_q_next, _, (aligned_next, _, p_next) = self._touch(instance, x[k + 1])
        d = direction(model, instance.heading_rad)
        a = pin.aba(self._pin, self._data, q, v, tau[k] + by_q * lam)
        force = by_w * lam - friction * d - model.thing.damping * w_dot
        errors = np.concatenate([
            v_next - v - dt * a, w_dot_next - w_dot - dt * force / model.thing.inertia,
            q_next - q - dt * v_next, w_next - w - dt * w_dot_next,
        ])  # fmt: skip
        before = u[k - 1, model.n_r] if k else 0.0
        rebound = rate_next + model.settings.restitution * rate
        products = [lam * rebound, *(lam * aligned)]
        if keeps_speed:
            products += [*(lam * aligned_next), (lam + before) * float(by_q_next @ v_next - by_q @ v)]
            products += [*(lam * self._slip(p, p_next)[0])]
        below = [lam, phi_next, *(lam * face)]
        if k or not instance.is_measured:
            products.append(phi * lam)
            below += [phi, p[2] - model.settings.clearance_m]
        if model.has_friction:
            unused = model.thing.breakaway_n - friction
            speed = float(d @ (w_dot if model.settings.friction_form == "printed" else w_dot_next))
            products.append(speed * unused)
            below += [unused, friction, float(d @ w_dot_next)]
            if model.settings.friction_form == "printed":
                products.append(unused * (lam - friction))
        return errors, np.array(products), np.array(below)

    def _bounds(self, x: FloatArray, tau: FloatArray) -> float:
        """How far torques (share of the limit), joints (rad) and velocities (rad/s) are beyond their bounds."""
        system, share, n, o = self._model.system, self._model.settings.limit_share, self._model.n_r, self._model.n_o
        q, v = x[1:, :n], x[1:, n + o : 2 * n + o]
        beyond = [
            np.abs(tau / system.tau_max_nm) - share, np.abs(v) - share * system.v_max,
            q - system.q_max, system.q_min - q,
        ]  # fmt: skip
        return max(0.0, *(float(item.max()) for item in beyond))

    def _goal(self, instance: Instance, x: FloatArray) -> float:
        _, w, v, _ = self._split(x[-1])
        travel = float(direction(self._model, instance.heading_rad) @ w)
        missed = 0.0 if instance.goal_weight else abs(travel - instance.goal)
        return max(missed, float(np.abs(v).max()))
