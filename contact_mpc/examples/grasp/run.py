"""One grasp over time in the penalty engine or in Bullet, under the same joint impedance of the fingers.

Virtual joint impedance with coordination: tau_i = tau_grip + K_c (mean_j d_j - d_i) - D dq_i with d_i the travel of
finger i since it was about to touch. Constant torques alone leave a gripper with an object free to wander together:
coordination takes that freedom, and no grip force. The slide follows a prescribed sine by a stiff impedance.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from contact_mpc.errors import InputError
from contact_mpc.examples.film import Film
from contact_mpc.examples.grasp.grippers import MASS_KG, Grasp
from contact_mpc.plants.penalty.clip import CENTRE
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.settings.arrays import FloatArray

STEP_S, GRIP_N = 1e-3, 20.0
THING_BODY = 0  # objects come first in a system
COORDINATION_N_PER_M, DAMPING_NS_PER_M = 2000.0, 20.0
SLIDE_N_PER_M, SLIDE_NS_PER_M = 1e5, 1e3
MARGIN_M = 2e-4
RAMP_S = 0.05


@dataclass(frozen=True)
class Law:
    """Torques of a gripper: fingers from q_start (k,), a slide along amplitude (1 - cos(2 pi f t)) from start_s on."""

    q_start: FloatArray
    lever_m: float
    grip_n: float = GRIP_N
    amplitude_m: float = 0.0
    frequency_hz: float = 2.0
    start_s: float = 0.2

    def slide(self, t_s: float) -> tuple[float, float]:
        """Return where the slide shall be, m, and its velocity, m/s."""
        t, w = max(0.0, t_s - self.start_s), 2.0 * np.pi * self.frequency_hz
        return self.amplitude_m * (1.0 - np.cos(w * t)), self.amplitude_m * w * float(np.sin(w * t))

    def torques(self, t_s: float, q: FloatArray, v: FloatArray, bias: FloatArray) -> FloatArray:
        """Return the torques of slide and fingers (1 + k,) at q and v of these; bias carries their weight."""
        x, dx = self.slide(t_s)
        travel = q[1:] - self.q_start
        grip = self.grip_n * self.lever_m * min(1.0, t_s / RAMP_S)
        k, d = COORDINATION_N_PER_M * self.lever_m**2, DAMPING_NS_PER_M * self.lever_m**2
        fingers = grip + k * (travel.mean() - travel) - d * v[1:]
        slide = SLIDE_N_PER_M * (x - q[0]) + SLIDE_NS_PER_M * (dx - v[0])
        return np.concatenate([[slide], fingers]) + bias


@dataclass
class Record:
    """What a run showed, per sample: time, forces of the fingers (k,), the object's position, its kinetic energy.

    Of the penalty engine also all that a film shows: q (n_q,), where each pair touches (n_p, 3), m, and the force on
    the object there (n_p, 3), N.
    """

    times_s: list[float] = field(default_factory=list)
    forces_n: list[FloatArray] = field(default_factory=list)
    position_m: list[FloatArray] = field(default_factory=list)
    q: list[FloatArray] = field(default_factory=list)
    point_m: list[FloatArray] = field(default_factory=list)
    load_n: list[FloatArray] = field(default_factory=list)
    energy_j: list[float] = field(default_factory=list)
    expected_j: list[float] = field(default_factory=list)
    slide_m: list[float] = field(default_factory=list)
    real_time_factor: float = 0.0
    error: str = ""

    @property
    def slip_m(self) -> float:
        """How far the object moved in the gripper's frame since the grip was full, at most, m."""
        p = np.array(self.position_m)
        p[:, 0] -= np.array(self.slide_m)
        held = np.array(self.times_s) >= 2.0 * RAMP_S
        return float(np.linalg.norm(p[held] - p[held][0], axis=1).max()) if np.any(held) else float("inf")

    @property
    def film(self) -> Film:
        """What a page plays."""
        return Film(np.array(self.times_s), np.array(self.q), np.array(self.point_m), np.array(self.load_n))

    def keep_contacts(self, engine: PenaltyEngine) -> None:
        """Keep q, places and forces of the state now; pairs that do not touch lie at the object's origin."""
        rows, pairs = engine.work.rows, engine.scene.pairs
        is_touching = rows[:, :1] > 0.0
        sign = np.where(pairs[:, 2:3] == THING_BODY, 1.0, -1.0)
        self.q.append(engine.q.copy())
        self.point_m.append(np.where(is_touching, rows[:, CENTRE], engine.q[4:7]))
        self.load_n.append(
            np.where(is_touching, sign * (engine.work.wrenches[:, :3] + engine.work.wrenches[:, 3:6]), 0.0)
        )

    @property
    def energy_ratio(self) -> float:
        """Mean kinetic energy of the object over that of a body fixed to the slide."""
        return float(np.sum(self.energy_j) / max(np.sum(self.expected_j), 1e-300))


def touching_start(engine: PenaltyEngine, grasp: Grasp) -> FloatArray:
    """Return q (n_q,) with each finger a fifth of a millimetre from where it would touch, found by bisection.

    Raises
    ------
    InputError
        A finger does not meet the object.
    """
    q = grasp.system.q_default.copy()
    n_q_u = grasp.system.n_q_u
    for i in range(1, grasp.system.n_a):
        low, high = float(grasp.system.q_min[i]), None
        for trial in np.linspace(grasp.system.q_min[i], grasp.system.q_max[i], 60):
            if _touches(engine, q, n_q_u, i, trial):
                high = trial
                break
            low = trial
        if high is None:
            raise InputError(f"finger_{i - 1} does not meet the object")
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if _touches(engine, q, n_q_u, i, middle) else (middle, high)
        q[n_q_u + i] = low - MARGIN_M / grasp.lever_m
    return q


def _touches(engine: PenaltyEngine, q: FloatArray, n_q_u: int, joint: int, value: float) -> bool:
    """Return whether the finger of a joint (the slide is joint 0) overlaps the object: pairs are in their order."""
    q[n_q_u + joint] = value
    engine.reset(q)
    return bool(engine.work.rows[joint - 1, 0] > 0.0)


def simulate_penalty(
    grasp: Grasp,
    duration_s: float,
    parameters: PenaltyParameters | None = None,
    amplitude_m: float = 0.0,
    method: str = "clip",
    sample: int = 5,
    max_step_s: float = np.inf,
    integrator: str = "Radau",
) -> Record:
    """Grasp and hold (and shake, with an amplitude) in the penalty engine."""
    engine = PenaltyEngine(
        grasp.system, parameters, meshes=grasp.meshes, method=method, max_step_s=max_step_s, integrator=integrator
    )
    q = touching_start(engine, grasp)
    engine.compile()  # before the clock runs
    engine.reset(q)
    n = grasp.system.n_q_u
    law = Law(q[n + 1 :], grasp.lever_m, amplitude_m=amplitude_m)
    record, began = Record(), time.process_time()
    drive = np.zeros(engine.n_v)
    try:
        for k in range(round(duration_s / STEP_S)):
            bias = engine.gravity_torques()[6:]
            drive[6:] = law.torques(k * STEP_S, engine.q[n:], engine.v[6:], bias)
            engine.advance((k + 1) * STEP_S - engine.t_s, drive)
            if (k + 1) % sample == 0:
                forces = np.linalg.norm(engine.settle_forces()[:, :3], axis=1)
                _store(record, engine.t_s, forces, engine.q[4:7], engine.v[3:6], engine.v[:3], engine.q[n], law, engine)
    except InputError as error:
        record.error = str(error)
    record.real_time_factor = engine.t_s / max(time.process_time() - began, 1e-9)
    return record


def _store(
    record: Record, t_s: float, forces: FloatArray, p: FloatArray, dp: FloatArray, omega: FloatArray, slide: float,
    law: Law, engine: PenaltyEngine,
) -> None:  # fmt: skip
    R = engine.work.R[0]
    inertia = R @ engine.scene.tree.inertia_BC[0] @ R.T
    record.times_s.append(t_s)
    record.forces_n.append(forces.copy())
    record.position_m.append(p.copy())
    record.energy_j.append(0.5 * MASS_KG * float(dp @ dp) + 0.5 * float(omega @ inertia @ omega))
    record.expected_j.append(0.5 * MASS_KG * law.slide(t_s)[1] ** 2)
    record.slide_m.append(slide)
    record.keep_contacts(engine)
