"""Two boxes: gaps, depths and normals against coal, derivatives of crossings, and bodies that rest on crossings."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from coal_oracle import geometry_pose, proved_distance

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import Newton, make_newton, measure_gaps
from contact_mpc.geometry.contacts import EDGES, MORE_EDGES
from contact_mpc.geometry.crossing_edges import COS_FLAT
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

PROOF_M = 1e-7  # supporting planes across coal's normal must be that nearly as far apart as coal says
GAP_TOLERANCE_M = 1e-8  # of coal
NORMAL_TOLERANCE = 1e-6  # of coal, where boxes are clearly apart or overlap
DIFFERENCE = 1e-6  # rad, m
JACOBIAN_TOLERANCE = 1e-7
URDF = (
    '<robot name="{name}"><link name="{name}"><inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="2e-3" izz="2e-3" '
    'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="{size}"/></geometry></collision></link>'
    "</robot>"
)
FINGER = (
    '<robot name="finger"><link name="base"/><joint name="slide" type="prismatic"><parent link="base"/>'
    '<child link="tip"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="5" velocity="5"/></joint>'
    '<link name="tip"><collision><geometry><sphere radius="0.01"/></geometry></collision></link></robot>'
)
YAML = """name: boxes
friction: {{default: 0.5}}
activation_distance_m: 0.1
robots: [{{name: finger, urdf: finger.urdf, joint_stiffness_nm_per_rad: 80.0, joint_damping_nms_per_rad: 1.0,
  base_position_m: [2.0, 0, 0]}}]
objects:
{objects}
fixed: [{fixed}]
"""
ITEM = "  - {{name: {name}, urdf: {name}.urdf, mobility: free, position_m: {position}}}\n"
STEP_S = 0.1


@pytest.fixture
def make_boxes(tmp_path: Path) -> Callable[..., System]:
    """Return a maker of free boxes from {name: (size, position)}; a finger stands far away."""

    def make(boxes: dict[str, tuple[str, list[float]]], fixed: str = "") -> System:
        (tmp_path / "finger.urdf").write_text(FINGER)
        for name, (size, _) in boxes.items():
            (tmp_path / f"{name}.urdf").write_text(URDF.format(name=name, size=size))
        objects = "".join(ITEM.format(name=name, position=position) for name, (_, position) in boxes.items())
        (tmp_path / "boxes.yaml").write_text(YAML.format(objects=objects, fixed=fixed))
        return load_system(tmp_path / "boxes.yaml")

    return make


class TwoBoxes:
    """Two free boxes, ours and coal's."""

    def __init__(self, system: System) -> None:
        self.system, self.model = system, build_model(system)
        self.ws: Newton = make_newton(self.model)
        self.rows = np.array([c for c, item in enumerate(system.contacts) if item.pair == self._pair()])

    def _pair(self) -> int:
        return next(k for k, pair in enumerate(self.system.pairs) if {pair.geometry_a, pair.geometry_b} == {0, 1})

    def ours(self, q: np.ndarray) -> tuple[float, np.ndarray, int]:
        """Return the least gap, m, the normal from the second box to the first and the kind of contact."""
        measure_gaps(self.model, self.ws, q)
        c = self.rows[np.argmin(self.ws.con.phi[self.rows])]
        return self.ws.con.phi[c], self.model.pairs.sign[c] * self.ws.con.n[c], self.model.pairs.kind[c]

    def coal(self, q: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return gap and normal, the shallowest that its own supporting planes prove; None where none is proved."""
        measure_gaps(self.model, self.ws, q)
        X_A, X_B = (geometry_pose(self.system, self.ws.kin, g) for g in (0, 1))
        a, b = (self.system.geometries[g].shape for g in (0, 1))
        return proved_distance(a, X_A, b, X_B, PROOF_M)

    def near_pose(self, rng: np.random.Generator, gap: float) -> np.ndarray | None:
        """Return a q whose gap is this by coal."""
        q = self.system.q_default.copy()
        for i in (0, 7):
            quaternion = rng.normal(size=4)
            q[i : i + 4] = quaternion / np.linalg.norm(quaternion)
        away = rng.normal(size=3)
        q[4:7] = q[11:14] + 0.25 * away / np.linalg.norm(away)
        for _ in range(6):
            found = self.coal(q)
            if found is None:
                return None
            q[4:7] += (gap - found[0]) * found[1]
        found = self.coal(q)
        return q if found is not None and abs(found[0] - gap) < GAP_TOLERANCE_M else None


@pytest.fixture
def two_boxes(make_boxes: Callable[..., System]) -> TwoBoxes:
    return TwoBoxes(make_boxes({"first": ("0.1 0.12 0.14", [0, 0, 0]), "second": ("0.08 0.2 0.12", [1, 0, 0])}))


@pytest.mark.parametrize("gap", [5e-3, 1e-3, 1e-9, -1e-4, -3e-3])
def test_gap_and_normal_of_two_boxes_are_those_of_coal(gap: float, two_boxes: TwoBoxes) -> None:
    """Depths may exceed coal's by 1 / COS_FLAT, where a crossing of two nearly flat faces is deeper than their axis."""
    rng, kinds, compared = np.random.default_rng(0), [], 0
    for _ in range(150):
        q = two_boxes.near_pose(rng, gap)
        if q is None:
            continue
        compared += 1
        expected, normal = two_boxes.coal(q)
        found, n, kind = two_boxes.ours(q)
        kinds.append(kind)
        deepest = expected / COS_FLAT if gap < 0.0 else expected
        assert deepest - GAP_TOLERANCE_M <= found <= expected + GAP_TOLERANCE_M
        if abs(gap) > 1e-5 and abs(found - expected) < GAP_TOLERANCE_M:
            np.testing.assert_allclose(n, normal, atol=NORMAL_TOLERANCE)
    assert compared >= 120
    assert sum(kind in (EDGES, MORE_EDGES) for kind in kinds) > 0.2 * compared


@pytest.mark.parametrize("gap", [1e-3, -3e-3])
def test_crossings_move_as_their_derivatives_say(gap: float, two_boxes: TwoBoxes, check_jacobian: Callable) -> None:
    """Of every crossing: dphi = n . J dq, and J is the relative motion of the two boxes at the contact point."""
    rng, checked = np.random.default_rng(1), 0
    model, ws, system = two_boxes.model, two_boxes.ws, two_boxes.system
    while checked < 10:
        q = two_boxes.near_pose(rng, gap)
        if q is None or two_boxes.ours(q)[2] != EDGES:
            continue
        checked += 1
        c = two_boxes.rows[np.argmin(ws.con.phi[two_boxes.rows])]
        count = model.pairs.dof_count[c]
        J_n = np.zeros((1, system.n_v))
        J_n[0, model.pairs.dofs[c, :count]] = ws.con.J[c, :count] @ ws.con.n[c]

        def gap_of(x: np.ndarray, q: np.ndarray = q, c: int = c) -> np.ndarray:
            return measure_gaps(model, ws, system.integrate(q, x))[c : c + 1].copy()

        check_jacobian(J_n, gap_of, JACOBIAN_TOLERANCE, step=DIFFERENCE)


def test_planks_laid_crosswise_touch_in_four_crossings_and_no_corner(make_boxes: Callable[..., System]) -> None:
    system = make_boxes({"lower": ("0.6 0.1 0.04", [0, 0, 0.02]), "upper": ("0.1 0.6 0.04", [0, 0, 0.06])})
    boxes = TwoBoxes(system)
    measure_gaps(boxes.model, boxes.ws, system.q_default)
    at_contact = boxes.rows[np.abs(boxes.ws.con.phi[boxes.rows]) < 1e-12]
    assert set(boxes.model.pairs.kind[at_contact]) == {EDGES, MORE_EDGES}
    np.testing.assert_allclose(np.sort(np.abs(boxes.ws.con.p[at_contact]), axis=0), np.tile([0.05, 0.05, 0.04], (4, 1)))


@pytest.mark.parametrize("formulation", ["log_barrier", "socp", "qp", "lcp"])
@pytest.mark.parametrize("turn", [0.0, np.pi / 4])
def test_plank_on_a_beam_is_carried_by_crossings(
    formulation: str, turn: float, make_boxes: Callable[..., System]
) -> None:
    """Flat on a fixed beam that is shorter one way and longer the other, no corner over a face."""
    beam = f"{{name: beam, shape: box, size_m: [0.6, 0.1, 0.04], position_m: [0, 0, -0.02], rpy_rad: [0, 0, {turn}]}}"
    system = make_boxes({"plank": ("0.1 0.6 0.04", [0, 0, 0.02])}, beam)
    dynamics = ContactDynamics(system, formulation, h_s=STEP_S, kappa=1e5)
    q = system.q_default.copy()
    for _ in range(20):
        result = dynamics.step(q, q[-1:])
        assert result.is_converged
        q = result.q_next
    np.testing.assert_allclose(result.impulses.sum(axis=0) / STEP_S, [0.0, 0.0, 0.5 * 9.81], atol=1e-4)
    assert np.abs(system.difference(system.q_default, q)).max() < 1e-4


def test_a_crossing_that_leaves_its_edge_hands_over_to_the_corner(make_boxes: Callable[..., System]) -> None:
    """The least gap is continuous where the nearest feature changes from edge to corner."""
    system = make_boxes({"first": ("0.1 0.12 0.14", [0, 0, 0.2]), "second": ("0.2 0.2 0.1", [0, 0, 0])})
    boxes = TwoBoxes(system)
    q, half = system.q_default.copy(), np.deg2rad([20.0, 25.0]) / 2.0
    q[:4] = [
        np.cos(half[0]) * np.cos(half[1]),
        np.sin(half[0]) * np.cos(half[1]),
        np.cos(half[0]) * np.sin(half[1]),
        np.sin(half[0]) * np.sin(half[1]),
    ]
    gaps, kinds = [], []
    for x in np.linspace(0.0, 0.25, 2001):
        q[4] = x
        gap, _, kind = boxes.ours(q)
        gaps.append(gap)
        kinds.append(kind)
    assert {EDGES} < set(kinds)  # corner over the face, edge across edge, apart
    assert np.abs(np.diff(gaps)).max() < 0.25 / 2000


def test_systems_without_two_boxes_have_no_crossings(named_system: Callable[[str], System]) -> None:
    assert not np.isin(build_model(named_system("allegro_ball")).pairs.kind, (EDGES, MORE_EDGES)).any()
