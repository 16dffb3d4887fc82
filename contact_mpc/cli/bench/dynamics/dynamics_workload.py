"""What `bench dynamics` measures: our compiled core and its peers, all on one system and in the same states."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydrake.geometry import GeometryId
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from pydrake.multibody.tree import Frame, JacobianWrtVariable
from pydrake.systems.framework import DiagramBuilder

from contact_mpc.dynamics.batch import step_rows
from contact_mpc.dynamics.contact_dynamics import ContactDynamics
from contact_mpc.dynamics.exact.conic import solve_conic
from contact_mpc.dynamics.exact.socp import build_cones
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton
from contact_mpc.dynamics.smoothed.quadratic import Model
from contact_mpc.geometry.contacts import take_contacts, update_kinematics
from contact_mpc.model.system import System
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant_model import build_parts
from contact_mpc.plants.drake.plant import DrakePlant
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.code.compile_flags import COMPILED

Call = Callable[[int], None]
SAP_STEPS = 100


class Rows(NamedTuple):
    """Input and output of many steps (N rows)."""

    q: FloatArray
    u: FloatArray
    q_next: FloatArray
    dq: FloatArray
    A: FloatArray
    B: FloatArray
    codes: NDArray[np.int64]
    iterations: NDArray[np.int64]


def make_rows(system: System, q: FloatArray, u: FloatArray) -> Rows:
    """Allocate for the states q (N, n_q) with commands u (N, n_a)."""
    n, n_v, n_a = len(q), system.n_v, system.n_a
    return Rows(
        q,
        u,
        np.empty_like(q),
        np.empty((n, n_v)),
        np.empty((n, n_v, n_v)),
        np.empty((n, n_v, n_a)),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


def make_steps(dynamics: ContactDynamics, rows: Rows, warm: bool) -> Call:
    """Return a call that takes one smoothed step with A and B from every row, compiled, warm or cold."""
    ws = make_newton(dynamics.model)

    def step(_sample: int) -> None:
        q, u, *out = rows
        step_rows(dynamics.model, ws, q, u, dynamics.kappa, dynamics.tolerance, warm, *out)

    return step


@njit(**COMPILED)
def _refresh(model: Model, ws: Newton, q: FloatArray) -> float:
    total = 0.0
    for i in range(q.shape[0]):
        update_kinematics(model.tree, q[i], ws.kin)
        take_contacts(model.codes.contacts, (model.tree, model.pairs, ws.kin, ws.con))
        total += ws.con.phi[0]
    return total


def make_geometry(dynamics: ContactDynamics, q: FloatArray) -> Call:
    """Return a call that refreshes kinematics, distances and contact Jacobians for every row of q, compiled."""
    ws = make_newton(dynamics.model)

    def refresh(_sample: int) -> None:
        _refresh(dynamics.model, ws, q)

    return refresh


def make_clarabel(system: System, q: FloatArray, u: FloatArray) -> Call:
    """Return a call that sets up and solves one of the rows' cone programs, from matrices that are ready."""
    dynamics = ContactDynamics(system, formulation="socp")
    programs = []
    for q_i, u_i in zip(q, u, strict=True):
        problem = dynamics.assemble(q_i, u_i)
        programs.append((problem.Q, problem.b, *build_cones(problem)))

    def solve(sample: int) -> None:
        solve_conic(*programs[sample % len(programs)])

    return solve


def make_sap(system: System, q: FloatArray, u: FloatArray) -> Call:
    """Return a call that simulates 100 steps of 1 ms from q (n_q,) by Drake's SAP, holding u by joint impedance."""
    plant = DrakePlant(system, "position", PlantPerturbation(), gravity_compensation=True)

    def simulate(_sample: int) -> None:
        plant.reset(q)
        for _ in range(SAP_STEPS):
            plant.step(u)

    return simulate


class DrakeGeometry:
    """Distances and contact Jacobians of a system's pairs through Drake's Python bindings."""

    def __init__(self, system: System) -> None:
        builder = DiagramBuilder()
        plant, _scene_graph = AddMultibodyPlantSceneGraph(builder, 0.001)
        instances = {}
        for part in build_parts(system, PlantPerturbation()):
            (instances[part.owner],) = Parser(plant).AddModelsFromString(part.urdf_text, "urdf")
            if not part.is_free:
                root = plant.GetBodyByName(part.root, instances[part.owner])
                X_WR = RigidTransform(RotationMatrix(part.X_WR.R), part.X_WR.p)
                plant.WeldFrames(plant.world_frame(), root.body_frame(), X_WR)
        plant.Finalize()
        self._plant: MultibodyPlant = plant
        self._diagram = builder.Build()
        self._root = self._diagram.CreateDefaultContext()
        self._context = plant.GetMyMutableContextFromRoot(self._root)
        shapes = self._shapes(system, instances)
        self._pairs = [(shapes[pair.geometry_a], shapes[pair.geometry_b]) for pair in system.pairs]

    def _shapes(self, system: System, instances: dict) -> list[tuple[GeometryId, Frame]]:
        found: list[tuple[GeometryId, Frame]] = []
        seen: dict[tuple[str, str], int] = {}
        for item in system.geometries:
            body = self._plant.GetBodyByName(item.link, instances[item.owner])
            index = seen.setdefault((item.owner, item.link), 0)
            seen[item.owner, item.link] += 1
            found.append((self._plant.GetCollisionGeometriesForBody(body)[index], body.body_frame()))
        return found

    def update(self, q_drake: FloatArray) -> FloatArray:
        """Return the distances (n_pairs,), m, at Drake's positions; each pair's relative Jacobian is computed, too."""
        plant, context, world = self._plant, self._context, self._plant.world_frame()
        plant.SetPositions(context, q_drake)
        query = plant.get_geometry_query_input_port().Eval(context)
        inspector, distances = query.inspector(), np.empty(len(self._pairs))
        for i, ((a, frame_a), (b, frame_b)) in enumerate(self._pairs):
            found = query.ComputeSignedDistancePairClosestPoints(a, b)
            distances[i] = found.distance
            J = [
                plant.CalcJacobianTranslationalVelocity(
                    context, JacobianWrtVariable.kV, frame, inspector.GetPoseInFrame(g) @ p, world, world
                )
                for g, frame, p in ((a, frame_a, found.p_ACa), (b, frame_b, found.p_BCb))
            ]
            np.subtract(*J)
        return distances

    def order(self, system: System, q: FloatArray) -> FloatArray:
        """Return q (n_q,) in Drake's order: robots and objects as their joints stand in the plant."""
        q_drake, i = np.empty(self._plant.num_positions()), 0
        for name in system.object_names:
            instance = self._plant.GetModelInstanceByName(system.urdfs[name].name)
            size = self._plant.num_positions(instance)
            self._plant.SetPositionsInArray(instance, q[i : i + size], q_drake)
            i += size
        for joint, value in zip(system.joint_names, q[i:], strict=True):
            q_drake[self._plant.GetJointByName(joint).position_start()] = value
        return q_drake
