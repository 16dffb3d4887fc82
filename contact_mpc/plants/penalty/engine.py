"""The equations of motion (1), (2) with contact as an initial value problem, solved by RK45 or Radau with events.

scipy's explicit Runge-Kutta pair of Dormand and Prince, the paper's, chooses the step, and stops where a pair comes
into contact or leaves it: there t_c and Delta v_c of (5) are taken. Friction is the stiffest term: steps of RK45 stay
below about 3.3 m / (mu f_n gamma), m what slides. Radau is implicit, of the same order, and has no such bound.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.integrate import Radau, solve_ivp

from contact_mpc.errors import InputError
from contact_mpc.model.kinematic_tree import FREE
from contact_mpc.model.rigid_tree import mass_and_bias
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.penalty.booleans import SolidMesh
from contact_mpc.plants.penalty.contact_forces import make_work, place_bodies
from contact_mpc.plants.penalty.meshes import TriangleMesh
from contact_mpc.plants.penalty.motion import place, state_jacobian, state_rate
from contact_mpc.plants.penalty.parameters import PenaltyParameters
from contact_mpc.plants.penalty.scene import BOOLEAN, Scene, build_scene
from contact_mpc.settings.arrays import FloatArray

MOST_FORCE_N = 1e4
METHODS = ("clip", "manifold")
INTEGRATORS = ("RK45", "Radau")
RTOL, ATOL = 1e-5, 1e-8
TOUCH_M3, LEAVE_M3 = 1e-13, 2.5e-14  # volumes at which a contact begins and ends: apart, so that it does not flicker


class WarmRadau(Radau):
    """Radau that takes the Jacobian it is given first for an old one: where Newton fails it asks for a new one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.current_jac = False


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
        Tolerances of the integration and its longest step.
    integrator : str
        "RK45": explicit, the paper's; "Radau": implicit, for stiff friction and long holds.

    Raises
    ------
    ModelError
        A mesh cannot be used.
    InputError
        Unknown method or integrator, or a filter (4) too slow for a contact of an object.
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
        integrator: str = "RK45",
    ) -> None:
        if method not in METHODS:
            raise InputError(f"penalty method '{method}'; allowed: {', '.join(METHODS)}")
        if integrator not in INTEGRATORS:
            raise InputError(f"penalty integrator '{integrator}'; allowed: {', '.join(INTEGRATORS)}")
        self.parameters = parameters or PenaltyParameters()
        self._values = self.parameters.as_array()
        self._options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_step": max_step_s, "method": "RK45"}
        self.scene, solids = build_scene(
            system, perturbation or PlantPerturbation(), meshes or {}, only_booleans=method == "manifold"
        )
        self._system, self.work = system, make_work(self.scene)
        self._booleans = [i for i, pair in enumerate(self.scene.pairs) if pair[4] == BOOLEAN]
        if integrator == "Radau":
            self._options["method"] = WarmRadau
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
        self._jacobian: FloatArray | None = None
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

    def _find_jacobian(self, t_s: float, y: FloatArray, drive: FloatArray) -> FloatArray:
        scene, work = self.scene, self.work
        return np.asarray(state_jacobian(scene, work, self._values, self.latch, drive, self.n_q, t_s, y))

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
        is_first = True

        def jacobian(t: float, y: FloatArray) -> FloatArray:
            nonlocal is_first
            if self._jacobian is None or not is_first:
                self._jacobian = self._find_jacobian(t, y, drive)
                last[:] = np.nan  # overlaps are those of another state now
            is_first = False
            return self._jacobian

        is_implicit = self._options["method"] is WarmRadau
        jac = {"jac": None if self._booleans else jacobian} if is_implicit else {}
        first_s = min(self._step_s, end_s - self.t_s, self._options["max_step"])
        found = solve_ivp(
            rate, (self.t_s, end_s), self.y, first_step=first_s, events=(begins, ends), **jac, **self._options
        )
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

    def compile(self) -> None:
        """Compile, or load, what an integration calls: not in its first step."""
        self.rate(self.t_s, self.y, np.zeros(self.n_v))
        if self._options["method"] is WarmRadau and not self._booleans:
            self._find_jacobian(self.t_s, self.y, np.zeros(self.n_v))

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
