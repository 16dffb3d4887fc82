"""A solution as a plan: joint references, feed-forward torques, contact impulses.

Semi-implicit Euler steps positions with the velocity at the end of the step, so its positions lead those of the motion
by half a step. The reference is therefore u_k = q_k - (dt / 2) v_k. Measured with a block of 1 kg pushed by 0.7 m:
tracking q_k as printed ends 0.3 m off, tracking u_k 0.05 m.

Between t_k and t_{k+1} the arm moves with the acceleration a_k. A plan has an instant in the middle of each step, where
its reference lies a_k dt^2 / 8 beside the chord (20 mrad in fast swings).

tau_ff is the torque of equation (4), held over each half of a step, without the weight of the arm: as everywhere in
this package, whoever runs the joint impedance (bridge or robot) carries that. The arm's part is that of a_k at position
and velocity in the middle of the half. Taken at q_k and v_k for the whole step, and with chords as references, it left
a tool that swings far before its hit, as between two pushes, 17 mm beside its plan and up to 19 ms early. For the
reason given first the tool is at q_k, where it touches, at t_k + dt / 2: the part -J' lam, which holds the arm against
the hit, is held from then on for a step. Held from t_k on it speeds the free tool up, from 1.7 to 3.3 m/s in a push by
0.7 m, and what the block then gets is left to the damping of the joints.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from contact_mpc.model.gravity_torque import pinocchio_model
from contact_mpc.model.system import System
from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.result import Solution
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.plan import Plan, interpolate_q
from contact_mpc.version import __version__


class PlanBuilder:
    """Turns solutions into plans of the system."""

    def __init__(self, model: Model) -> None:
        self._model = model
        robot = model.system.config.robots[0]
        self._pin = pinocchio_model(model.system.urdfs[robot.name])
        self._pin.gravity.linear = np.array(model.system.config.gravity_m_s2)
        self._data = self._pin.createData()
        self._contact = tool_contact(model)

    def build(self, instance: Instance, solution: Solution, about: dict[str, Any] | None = None) -> Plan:
        """Return the plan of a solution; `about` goes into its provenance."""
        model, n, o, dt = self._model, self._model.n_r, self._model.n_o, self._model.dt_s
        q_r, w = solution.x[:, :n], solution.x[:, n : n + o]
        v_r = solution.x[:, n + o : 2 * n + o]
        w = np.array([model.thing.beside(row, -instance.aim_m) for row in w])
        q_u = [model.thing.q_u(row, instance.q_u, instance.heading_rad) for row in w]
        weight = np.array([pin.computeGeneralizedGravity(self._pin, self._data, row) for row in q_r])
        tau_ff = np.vstack([solution.tau - weight[:-1], np.zeros((1, n))])
        times_s = np.asarray(dt * np.arange(len(q_r)), dtype=np.float64)
        impulses, provenance = self._impulses(instance, solution), self._provenance(solution, about or {})
        plan = Plan(
            times_s, np.hstack([np.array(q_u), q_r]), q_r - 0.5 * dt * v_r, tau_ff, impulses, provenance,
            v_r, tau_ff_held=True,
        )  # fmt: skip
        return self._delay_contact(plan, solution)

    def _delay_contact(self, plan: Plan, solution: Solution) -> Plan:
        """Hold torques over half steps, their contact part half a step later, unless that would exceed their limits."""
        n, held = self._model.n_r, np.repeat(self._contact_torque(solution), 2, axis=0)
        fine = self._halve(plan)
        tau_ff = np.vstack([self._free_torque(solution), np.zeros((1, n))])
        tau_ff[1:-1] += held[:-1]
        weight = np.array([pin.computeGeneralizedGravity(self._pin, self._data, row) for row in fine.q[:, -n:]])
        limit = self._model.settings.limit_share * self._model.system.tau_max_nm
        return plan if np.any(np.abs(tau_ff + weight)[:-1] > limit) else replace(fine, tau_ff=tau_ff)

    def _halve(self, plan: Plan) -> Plan:
        """Return the plan with an instant in the middle of each step."""
        system, times_s = self._model.system, plan.times_s
        halves = np.sort(np.concatenate([times_s, 0.5 * (times_s[1:] + times_s[:-1])]))
        assert plan.du is not None
        u, du = (np.stack([np.interp(halves, times_s, c) for c in rows.T], axis=1) for rows in (plan.u, plan.du))
        u[1::2] -= 0.125 * self._model.dt_s * np.diff(plan.du, axis=0)
        impulses = np.zeros((len(halves), *plan.contact_impulses.shape[1:]))
        impulses[::2] = plan.contact_impulses
        q = np.array([interpolate_q(system, times_s, plan.q, t_s) for t_s in halves])
        return replace(plan, times_s=halves, q=q, u=u, du=du, tau_ff=np.zeros_like(u), contact_impulses=impulses)

    def _free_torque(self, solution: Solution) -> FloatArray:
        """Return the torque without contact and weight (2 (N - 1), n_r), N m, in the middle of each half step."""
        model, n, o = self._model, self._model.n_r, self._model.n_o
        found = []
        for row, a in zip(solution.x[:-1], solution.u[:, :n], strict=True):
            q_k, v_k = row[:n], row[n + o : 2 * n + o]
            for s in (0.25 * model.dt_s, 0.75 * model.dt_s):
                q, v = q_k + (s - 0.5 * model.dt_s) * v_k + 0.5 * s**2 * a, v_k + s * a
                weight = pin.computeGeneralizedGravity(self._pin, self._data, q)
                tau = pin.rnea(self._pin, self._data, q, v, a) - weight
                found.append(tau + model.system.reflected_inertia * a)
        return np.array(found)

    def _contact_torque(self, solution: Solution) -> FloatArray:
        """Return -J' lam (N - 1, n_r), N m: the torques less those of the arm without contact."""
        n, o = self._model.n_r, self._model.n_o
        x, a = solution.x[:-1], solution.u[:, :n]
        free = [
            pin.rnea(self._pin, self._data, row[:n], row[n + o : 2 * n + o], acceleration)
            for row, acceleration in zip(x, a, strict=True)
        ]
        return np.asarray(solution.tau - np.array(free) - self._model.system.reflected_inertia * a)

    def _impulses(self, instance: Instance, solution: Solution) -> FloatArray:
        """Impulse on the object in the world (N, n_c, 3), N s, of the step that ends at each instant."""
        model, n = self._model, self._model.n_r
        impulses = np.zeros((len(solution.x), len(model.system.contacts), 3))
        lam = model.dt_s * solution.u[:, n]
        yaw = np.full(len(lam), instance.heading_rad)
        if model.n_o == 1:
            yaw = instance.heading_rad + solution.x[:-1, n]
        impulses[1:, self._contact, 0], impulses[1:, self._contact, 1] = lam * np.cos(yaw), lam * np.sin(yaw)
        return impulses

    def _provenance(self, solution: Solution, about: dict[str, Any]) -> dict[str, Any]:
        contacts = (self._model.dt_s * np.flatnonzero(solution.modes.contact)).round(6).tolist()
        return {
            **self._model.system.provenance(), "planner": "contact_implicit", "version": __version__,
            "parameters": self._model.settings.model_dump(), "cost": solution.cost, "contact_times_s": contacts,
            "step_s": self._model.dt_s,
            **about,
        }  # fmt: skip


def tool_contact(model: Model) -> int:
    """Return the index, among the system's contacts, of the tool's head and the object's face."""
    system, name = model.system, model.system.config.objects[0].name
    for index, contact in enumerate(system.contacts):
        pair = system.pairs[contact.pair]
        face, tool = system.geometries[pair.geometry_a], system.geometries[pair.geometry_b]
        is_head = tool.link == model.settings.tool_link and tool.shape.kind == "sphere"
        if is_head and face.owner == name and face.shape.kind == ("sphere" if _is_ball(system) else "box"):
            return index
    raise AssertionError("build_model found the head and build_object the face")


def _is_ball(system: System) -> bool:
    return system.config.objects[0].mobility == "free"
