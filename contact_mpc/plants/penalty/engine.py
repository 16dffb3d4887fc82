"""The equations of motion (1), (2) with contact as an initial value problem, solved by RK45 with events.

y = [q, v, v_f, dv_f/dt]; the last two are the filter (4), one each per pair. scipy's explicit Runge-Kutta pair of
Dormand and Prince chooses the step, and stops where a pair comes into contact or leaves it: there t_c and Delta v_c of
(5) are taken. Friction is the stiffest term: steps stay below about 3.3 m / (mu f_n gamma), m what slides.
"""

from collections.abc import Mapping

import numpy as np
from numba import njit
from scipy.integrate import solve_ivp

from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rigid_tree import configuration_rate, mass_and_bias
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.penalty import laws
from contact_mpc.plants.penalty.booleans import SolidMesh
from contact_mpc.plants.penalty.contact_forces import Work, add_contacts, find_overlaps, make_work, place_bodies
from contact_mpc.plants.penalty.meshes import TriangleMesh
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.plants.penalty.scene import BOOLEAN, Scene, build_scene
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

MOST_FORCE_N = 1e4
METHODS = ("clip", "manifold")
RTOL, ATOL = 1e-5, 1e-8
TOUCH_M3, LEAVE_M3 = 1e-13, 2.5e-14  # volumes at which a contact begins and ends: apart, so that it does not flicker


@njit(**COMPILED)
def place(scene: Scene, work: Work, y: FloatArray, n_q: int) -> None:
    """Write poses, velocities and compiled overlaps of a state y."""
    n_v = scene.tree.dof_body.shape[0]
    place_bodies(scene, work, y[:n_q], y[n_q : n_q + n_v])
    find_overlaps(scene, work)


@njit(**COMPILED)
def state_rate(
    scene: Scene,
    work: Work,
    parameters: FloatArray,
    latch: FloatArray,
    drive: FloatArray,
    n_q: int,
    t: float,
    y: FloatArray,
) -> FloatArray:
    """Return dy/dt for bodies that are placed and overlaps that are found."""
    n_v, n_p, n_b = scene.tree.dof_body.shape[0], scene.pairs.shape[0], scene.tree.parent.shape[0]
    q, v = y[:n_q], y[n_q : n_q + n_v]
    out = np.zeros(y.shape[0])
    configuration_rate(scene.tree, q, v, out)
    tau, M, bias = drive.copy(), np.empty((n_v, n_v)), np.empty(n_v)
    filtered = np.zeros((n_p, 2))
    if parameters[laws.IS_FILTER] > 0.0:
        filtered[:, 0] = y[n_q + n_v : n_q + n_v + n_p]
        filtered[:, 1] = y[n_q + n_v + n_p :]
        for i in range(n_p):
            first, second = laws.filter_rates(parameters, work.rows[i, 0], filtered[i, 0], filtered[i, 1])
            out[n_q + n_v + i], out[n_q + n_v + n_p + i] = first, second
    add_contacts(scene, work, parameters, latch, filtered, t, tau)
    mass_and_bias(
        scene.tree, work.R[:n_b], work.p[:n_b], work.axes, work.origins, work.motion[:n_b], scene.gravity, M, bias
    )
    for b in range(n_b):
        if scene.tree.joint[b] == FREE:
            continue
        d, x = scene.tree.i_v[b], q[scene.tree.i_q[b]]
        J = scene.joints[d]
        M[d, d] += J[0]
        tau[d] -= J[1] * v[d]
        if x > J[3]:
            tau[d] -= max(0.0, J[4] * (x - J[3]) + J[5] * v[d])
        elif x < J[2]:
            tau[d] += max(0.0, J[4] * (J[2] - x) - J[5] * v[d])
    out[n_q : n_q + n_v] = np.linalg.solve(M, tau - bias)
    return out


class PenaltyEngine:
    """Bodies of a system under joint torques, gravity and penalty contacts, from `reset` on.

    Parameters
    ----------
    system : System
        Robots and objects.
    parameters : PenaltyParameters
        Of the contact laws.
    perturbation : PlantPerturbation
        Deviations of friction, mass and size.
    meshes : mapping
        Meshes of objects that are not convex, see `scene.build_scene`.
    method : str
        "clip": compiled wherever one of two bodies is convex; "manifold": booleans by manifold3d for all pairs.
    rtol, atol, max_step_s : float
        Tolerances of RK45 and its longest step.

    Raises
    ------
    ModelError
        A mesh cannot be used.
    InputError
        Unknown method, or a filter (4) too slow for a contact of an object.
    """

    def __init__(
        self,
        system: System,
        parameters: PenaltyParameters | None = None,
        perturbation: PlantPerturbation | None = None,
        meshes: Mapping[str, TriangleMesh] | None = None,
        method: str = "clip",
        rtol: float = RTOL,
        atol: float = ATOL,
        max_step_s: float = np.inf,
    ) -> None:
        if method not in METHODS:
            raise InputError(f"penalty method '{method}'; allowed: {', '.join(METHODS)}")
        self.parameters = parameters or PenaltyParameters()
        self._values = self.parameters.as_array()
        self._tolerances = {"rtol": rtol, "atol": atol, "max_step": max_step_s}
        self.scene, solids = build_scene(
            system, perturbation or PlantPerturbation(), meshes or {}, only_booleans=method == "manifold"
        )
        self._system, self.work = system, make_work(self.scene)
        self._booleans = [i for i, pair in enumerate(self.scene.pairs) if pair[4] == BOOLEAN]
        used = {int(g) for i in self._booleans for g in self.scene.pairs[i, :2]}
        self._solids = {g: SolidMesh(solids[g].mesh) for g in used}
        self._check_filter(solids_area(self.scene))
        self.n_q, self.n_v, self.n_p = system.n_q, system.n_v, len(self.scene.pairs)
        self.reset(system.q_default)

    def _check_filter(self, areas: FloatArray) -> None:
        for a, b, body, _, _ in self.scene.pairs:
            name = f"{self._system.geometries[a].link} and {self._system.geometries[b].link}"
            self.parameters.check_filter(float(self.scene.tree.mass[body]), float(min(areas[a], areas[b])), name)

    def reset(self, q: FloatArray, v: FloatArray | None = None, t_s: float = 0.0) -> None:
        """Start at q (n_q,), v (n_v,) and a time; contacts that are there count as at rest."""
        self.t_s, self.evaluations, self._step_s = t_s, 0, 1e-5
        self.y = np.zeros(self.n_q + self.n_v + (2 * self.n_p if self.parameters.rate == "filter" else 0))
        self.y[: self.n_q] = q
        if v is not None:
            self.y[self.n_q : self.n_q + self.n_v] = v
        self.latch = np.zeros((self.n_p, 2))
        self._find(self.y)
        self._touching = self.work.rows[:, 0] > TOUCH_M3
        if self.parameters.rate == "filter":
            self.y[self.n_q + self.n_v : self.n_q + self.n_v + self.n_p] = self.work.rows[:, 0]  # v_f(0) = v(0)

    @property
    def q(self) -> FloatArray:
        """Configuration now (n_q,)."""
        return self.y[: self.n_q]

    @property
    def v(self) -> FloatArray:
        """Velocity now (n_v,)."""
        return self.y[self.n_q : self.n_q + self.n_v]

    def _find(self, y: FloatArray) -> None:
        """Place bodies and find all overlaps of a state."""
        try:
            place(self.scene, self.work, y, self.n_q)
        except ValueError as error:  # compiled code raises no error of this package
            raise InputError(f"{error}: bodies overlap too deeply; start them apart or take method manifold") from error
        work, spheres = self.work, self.scene.spheres
        for i in self._booleans:
            a, b, body_a, body_b, _ = self.scene.pairs[i]
            work.rows[i] = 0.0
            work.counts[i] = 0
            centres = [work.R[k] @ spheres[g, :3] + work.p[k] for g, k in ((a, body_a), (b, body_b))]
            if np.linalg.norm(centres[0] - centres[1]) >= spheres[a, 3] + spheres[b, 3]:
                continue
            X_A, X_B = (np.column_stack([work.R[k], work.p[k]]) for k in (body_a, body_b))
            work.rows[i], pieces = self._solids[a].overlap(X_A, self._solids[b], X_B)
            work.counts[i] = len(pieces)
            work.pieces[i, : len(pieces)] = pieces

    def rate(self, t_s: float, y: FloatArray, drive: FloatArray) -> FloatArray:
        """Return dy/dt under joint torques drive (n_v,), N m."""
        self.evaluations += 1
        self._find(y)
        return np.asarray(state_rate(self.scene, self.work, self._values, self.latch, drive, self.n_q, t_s, y))

    def advance(self, duration_s: float, drive: FloatArray) -> None:
        """Go on for a time under constant joint torques drive (n_v,); zero for objects.

        Raises
        ------
        InputError
            Bodies overlap so much that their forces would be those of an explosion.
        """
        self._check_overlaps()
        end_s = self.t_s + duration_s
        while self.t_s < end_s - 1e-12:
            self._advance_to_event(end_s, drive)

    def _check_overlaps(self) -> None:
        forces = self.parameters.stiffness_n_per_m3 * self.work.rows[:, 0]
        if np.max(forces, initial=0.0) <= MOST_FORCE_N:
            return
        worst = int(np.argmax(forces))
        a, b = (self._system.geometries[g].link for g in self.scene.pairs[worst, :2])
        raise InputError(
            f"{a} and {b} overlap by {1e6 * self.work.rows[worst, 0]:.3g} cm^3, in the plant 'penalty' a force of "
            f"{forces[worst]:.3g} N (at most {MOST_FORCE_N:g} N); start them apart"
        )

    def _advance_to_event(self, end_s: float, drive: FloatArray) -> None:
        last = np.full(len(self.y), np.nan)

        def rate(t: float, y: FloatArray) -> FloatArray:
            last[:] = y
            return self.rate(t, y, drive)

        def volumes(y: FloatArray) -> FloatArray:
            if not np.array_equal(last, y):  # the last stage of an accepted step is its end
                self._find(y)
                last[:] = y
            return self.work.rows[:, 0]

        def begins(_t: float, y: FloatArray) -> float:
            return float(np.max(np.where(self._touching, 0.0, volumes(y)), initial=0.0)) - TOUCH_M3

        def ends(_t: float, y: FloatArray) -> float:
            return float(np.min(np.where(self._touching, volumes(y), np.inf), initial=1.0)) - LEAVE_M3

        for event, direction in ((begins, 1.0), (ends, -1.0)):
            event.terminal, event.direction = True, direction  # type: ignore[attr-defined]
        first_s = min(self._step_s, end_s - self.t_s, self._tolerances["max_step"])
        found = solve_ivp(
            rate, (self.t_s, end_s), self.y, method="RK45", first_step=first_s, events=(begins, ends),
            **self._tolerances,
        )  # fmt: skip
        if found.status < 0:
            raise InputError(
                f"the penalty engine stopped at {found.t[-1]:.6g} s ({found.message.strip().rstrip('.')}); lower the "
                "stiffness, the damping or gamma, or start bodies further apart"
            )
        steps = np.diff(found.t)
        if len(steps) > 1:  # the last one is cut off at the end
            self._step_s = float(steps[-2])
        self.y, self.t_s = found.y[:, -1].copy(), float(found.t[-1]) if found.status == 1 else end_s
        self._normalise()
        self._update_touching()

    def _normalise(self) -> None:
        for kind, i in zip(self.scene.tree.joint, self.scene.tree.i_q, strict=True):
            if kind == FREE:
                self.y[i : i + 4] /= np.linalg.norm(self.y[i : i + 4])

    def _update_touching(self) -> None:
        """Latch t_c and Delta v_c of contacts that begin; forget those that have ended."""
        self._find(self.y)
        volume = self.work.rows[:, 0]
        new = ~self._touching & (volume >= (1.0 - 1e-6) * TOUCH_M3)
        if np.any(new):
            state_rate(self.scene, self.work, self._values, self.latch, np.zeros(self.n_v), self.n_q, self.t_s, self.y)
            self.latch[new, 0], self.latch[new, 1] = self.t_s, np.maximum(self.work.wrenches[new, 6], 0.0)
        gone = self._touching & (volume <= (1.0 + 1e-6) * LEAVE_M3)
        self.latch[gone] = 0.0
        self._touching = (self._touching | new) & ~gone

    def settle_forces(self) -> FloatArray:
        """Return wrenches (n_p, 9) of the state now, see `contact_forces.Work`."""
        self.rate(self.t_s, self.y, np.zeros(self.n_v))
        return self.work.wrenches

    def gravity_torques(self) -> FloatArray:
        """Return the torques (n_v,) that hold all bodies against gravity, N m."""
        _, bias = self._mass_and_bias(at_rest=True)
        return bias

    def energy(self) -> tuple[float, float]:
        """Return kinetic and gravitational energy, J."""
        M, _ = self._mass_and_bias(at_rest=True)
        tree, n_b = self.scene.tree, len(self.scene.tree.parent)
        centres = np.einsum("bij,bj->bi", self.work.R[:n_b], tree.p_BC) + self.work.p[:n_b]
        return 0.5 * float(self.v @ M @ self.v), -float(tree.mass @ centres @ self.scene.gravity)

    def _mass_and_bias(self, at_rest: bool) -> tuple[FloatArray, FloatArray]:
        place_bodies(self.scene, self.work, self.q, self.v)
        work, n_b = self.work, len(self.scene.tree.parent)
        motion = np.zeros((n_b, 12)) if at_rest else work.motion[:n_b]
        M, bias = np.empty((self.n_v, self.n_v)), np.empty(self.n_v)
        mass_and_bias(
            self.scene.tree, work.R[:n_b], work.p[:n_b], work.axes, work.origins, motion, self.scene.gravity, M, bias
        )
        return M + np.diag(self.scene.joints[:, 0]), bias


def solids_area(scene: Scene) -> FloatArray:
    """Return the largest face (n_g,) of each geometry's bounding box, m^2: no contact has more area."""
    areas = []
    for first, last in zip(scene.starts[:-1, 0], scene.starts[1:, 0], strict=True):
        size = np.sort(np.ptp(scene.corners[first:last].reshape(-1, 3), axis=0))
        areas.append(size[1] * size[2])
    return np.array(areas)
