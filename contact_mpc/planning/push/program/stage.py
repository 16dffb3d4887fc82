"""One stage of the program as casadi expressions: cost, dynamics, rows.

State x = (q_r, w, v_r, w_dot), input u = (a, lam, F_f): the accelerations a of the arm take the place of the torque,
which is the row tau = M a + h - (dphi/dq_r) lam of equation (4), solved for tau: the same equation, half the Hessian.

    v_{k+1} = v_k + dt a_k            w_dot_{k+1} = w_dot_k + dt M_o^-1 ((dphi/dw) lam - F_f d - D w_dot)_k
    q_{k+1} = q_k + dt v_{k+1}        w_{k+1} = w_k + dt w_dot_{k+1}

A contact of step k is also aligned at the end of the step, at the same height: the percussion of a step acts on the
real object for about as long (46 ms), and a tool that slips across the face meanwhile turns it, or leaves it over its
edge. Through a hit the tool keeps its speed: without `braking` in the step itself, or it could be braked before it
arrives, and in the step that follows, for the real hit begins half a step later (see `plan_file`) and lasts for about a
step. A tool that was drawn back in that step cut slow hits from 40 to 24 ms, and their impulse by 20 to 35 %. What must
be `steady` or without `braking` is asked for in the polish alone: the search finds modes without it in a third of the
iterations.

There are two kinds of rows for contact and friction: products, which `modes` bounds by sigma in the search, and their
factors, which it fixes by mode in the polish. A row that is not wanted has no bounds, and solvers leave it out.

Source: seeds/004, equations (4), (7), (8), (10), (12), (13), (14).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from contact_mpc.planning.push.program.model import Model

SHARED = ("heading_rad", "restitution", "breakaway_n", "dt_s", "goal", "goal_weight")


@dataclass(frozen=True)
class Stage:
    """Symbols and expressions of one stage, rows by name; `last` ones are those of the last stage, of x alone."""

    x: ca.SX
    u: ca.SX
    shared: ca.SX
    cost: ca.SX
    last_cost: ca.SX
    next_x: ca.SX
    rows: dict[str, ca.SX]
    last_rows: dict[str, ca.SX]


@dataclass(frozen=True)
class _Symbols:
    model: Model
    x: ca.SX
    u: ca.SX
    shared: ca.SX

    def of(self, name: str) -> ca.SX:
        return self.shared[SHARED.index(name)]

    def split(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return q_r, w, v_r, w_dot."""
        n, o, x = self.model.n_r, self.model.n_o, self.x
        return x[:n], x[n : n + o], x[n + o : 2 * n + o], x[2 * n + o :]

    @property
    def lam(self) -> ca.SX:
        return self.u[self.model.n_r]

    @property
    def friction(self) -> ca.SX:
        return self.u[self.model.n_r + 1] if self.model.has_friction else ca.SX(0)

    def point(self, behind_m: float) -> ca.SX:
        p_L = np.array([0.0, 0.0, -behind_m])
        return self.model.arm.point(self.model.settings.tool_link, p_L, self.x[: self.model.n_r])

    def gap(self) -> ca.SX:
        _, w, _, _ = self.split()
        return self.model.thing.gap(w, self.point(0.0), self.of("heading_rad")) - self.model.head_radius_m

    def gap_rate(self) -> ca.SX:
        _, _, v, w_dot = self.split()
        return ca.dot(ca.gradient(self.gap(), self.x), ca.vertcat(v, w_dot, 0.0 * v, 0.0 * w_dot))

    def tool_rate(self) -> ca.SX:
        """Part of the gap's rate that the arm moves."""
        n = self.model.n_r
        return ca.dot(ca.gradient(self.gap(), self.x)[:n], self.split()[2])

    def speed(self) -> ca.SX:
        return ca.dot(self.model.thing.direction(self.of("heading_rad")), self.split()[3])

    def at_next(self, value: ca.SX, next_x: ca.SX) -> ca.SX:
        return ca.substitute(value, self.x, next_x)


def build_stage(model: Model) -> Stage:
    """Write down one stage."""
    s = _Symbols(
        model, ca.SX.sym("x", model.n_x), ca.SX.sym("u", model.n_u), ca.SX.sym("shared", len(SHARED))
    )  # fmt: skip
    tau, next_x = _torque(s), _next_x(s)
    goal = ca.dot(model.thing.direction(s.of("heading_rad")), s.split()[1])
    rows = dict(_rows(s, tau, next_x))
    last = {"goal": goal, "arm_at_rest": s.split()[2], **dict(_state_rows(s)), "speed": s.speed()}
    last_cost = s.of("goal_weight") * (goal - s.of("goal")) ** 2
    return Stage(s.x, s.u, s.shared, _cost(s, tau), last_cost, next_x, rows, last)


def _torque(s: _Symbols) -> ca.SX:
    """Torques of equation (4), N m."""
    q, _, v, _ = s.split()
    push = ca.gradient(s.gap(), s.x)[: s.model.n_r] * s.lam
    return s.model.arm.inverse_dynamics(q, v, s.u[: s.model.n_r]) - push


def _next_x(s: _Symbols) -> ca.SX:
    """Semi-implicit Euler, equation (4)."""
    n, o, thing, dt = s.model.n_r, s.model.n_o, s.model.thing, s.of("dt_s")
    q, w, v, w_dot = s.split()
    push = ca.gradient(s.gap(), s.x)[n : n + o] * s.lam
    force = push - s.friction * thing.direction(s.of("heading_rad")) - ca.SX(thing.damping) * w_dot
    v, w_dot = v + dt * s.u[:n], w_dot + dt * force / ca.SX(thing.inertia)
    return ca.vertcat(q + dt * v, w + dt * w_dot, v, w_dot)


def _cost(s: _Symbols, tau: ca.SX) -> ca.SX:
    """Stage cost of equation (7)."""
    settings, system = s.model.settings, s.model.system
    share, rate = tau / ca.SX(system.tau_max_nm), s.split()[2] / ca.SX(system.v_max)
    weights = ca.SX(np.array(settings.velocity_weights))
    return s.of("dt_s") * (settings.tau_weight * ca.sumsqr(share) + ca.dot(weights, rate**2))


def _state_rows(s: _Symbols) -> Iterator[tuple[str, ca.SX]]:
    """Gap (13), height of the head, distance of the rod's rear end behind the virtual plane; m."""
    yield "gap", s.gap()
    yield "clearance", s.point(0.0)[2]
    yield "rod", s.model.thing.gap(s.split()[1], s.point(s.model.rod_end_m), s.of("heading_rad"))


def _rows(s: _Symbols, tau: ca.SX, next_x: ca.SX) -> Iterator[tuple[str, ca.SX]]:
    thing, heading, w, head = s.model.thing, s.of("heading_rad"), s.split()[1], s.point(0.0)
    rebound = s.at_next(s.gap_rate(), next_x) + s.of("restitution") * s.gap_rate()
    aligned, face = (ca.vertcat(*items) for items in (thing.aligned(w, head, heading), thing.face(w, head, heading)))
    steady = ca.vertcat(s.at_next(aligned, next_x), *thing.slip(head, s.at_next(head, next_x)))
    yield "torque", tau / ca.SX(s.model.system.tau_max_nm)
    yield from _state_rows(s)
    yield "rebound", rebound
    yield "aligned", aligned
    yield "steady", steady
    yield "braking", s.at_next(s.tool_rate(), next_x) - s.tool_rate()
    yield "face", face
    yield "gap_product", s.lam * s.gap()
    yield "rebound_product", s.lam * rebound
    yield "aligned_product", s.lam * aligned
    yield "face_product", s.lam * face
    if s.model.has_friction:
        unused, following = s.of("breakaway_n") - s.friction, s.at_next(s.speed(), next_x)
        acting = s.speed() if s.model.settings.friction_form == "printed" else following
        yield "speed", following
        yield "stiction", s.lam - s.friction
        yield "friction_product", acting * unused
        yield "stiction_product", (s.lam - s.friction) * unused
