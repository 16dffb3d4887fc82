"""Pairs of all kinds in a system: distances against coal, derivatives of steps, bodies at rest."""

from collections.abc import Callable
from pathlib import Path

import coal
import numpy as np
import pytest
from coal_oracle import coal_shape, geometry_pose

from contact_mpc import ContactDynamics
from contact_mpc.dynamics.contact_dynamics import build_model
from contact_mpc.dynamics.smoothed.newton import make_newton, measure_gaps
from contact_mpc.errors import ConfigError, ModelError
from contact_mpc.geometry.contacts import (
    CONVEX,
    CROSSING,
    EDGES,
    LOWEST,
    MORE_CONVEX,
    MORE_EDGES,
    POINT,
    SEGMENTS,
)
from contact_mpc.model.polytopes import outward_triangles
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system

INERTIAL = (
    '<inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="2e-3" izz="1.5e-3" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-2" upper="2" effort="5" velocity="5"/>'
SHAPES = {
    "sphere": '<sphere radius="0.05"/>',
    "box": '<box size="0.1 0.12 0.14"/>',
    "capsule": '<capsule radius="0.03" length="0.2"/>',
    "cylinder": '<cylinder radius="0.05" length="0.15"/>',
    "hull": '<mesh filename="tetrahedron.obj" scale="0.1 0.1 0.1"/>',
}
TETRAHEDRON = "v 1 0 0\nv -1 1 0\nv -1 -1 0.2\nv 0 0 1.5\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n"
OBJECT = (
    '<robot name="thing"><link name="thing">{inertial}<collision><origin xyz="{offset}" rpy="0.1 0.2 0.3"/>'
    "<geometry>{shape}</geometry></collision></link></robot>"
)
ROBOT = (
    '<robot name="arm"><link name="base"/><joint name="slide" type="prismatic"><parent link="base"/>'
    '<child link="carriage"/><axis xyz="0 0.1 1"/>{limit}</joint><link name="carriage"/><joint name="turn" '
    'type="revolute"><parent link="carriage"/><child link="tip"/><origin xyz="0 0 0.1"/><axis xyz="0.2 1 0"/>{limit}'
    '</joint><link name="tip">{inertial}<collision><origin xyz="0.1 0 0" rpy="0.3 0.5 0"/><geometry>{shape}</geometry>'
    "</collision></link></robot>"
)
YAML = """name: pair
friction: {{default: 0.7}}
activation_distance_m: {activation}
robots: [{{name: arm, urdf: arm.urdf, joint_stiffness_nm_per_rad: 80.0, joint_damping_nms_per_rad: 1.0}}]
objects: [{{name: thing, urdf: thing.urdf, mobility: free, position_m: [0.2, 0.1, 0.3]}}]
fixed: [{fixed}]
"""
GROUND = "{name: ground, shape: half_space, position_m: [0, 0, 0.1], rpy_rad: [0.1, 0.2, 0.3]}"
SPREAD = np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2, 0.3, 1.0])  # rad and m, of v
GAP_TOLERANCE_M = 1e-6  # of coal's iterative distances
DIFFERENCE = 2e-6  # rad, m
NEWTON_TOLERANCE = 1e-18  # of steps whose differences are taken: 1e-14 leaves 5e-10 m, 1e-4 of a difference
KAPPA = 1e3
SINGLE_M = 1e-8  # mesh files are read in single precision
STEP_S = 0.1  # quasi-dynamic bodies fall by g h^2 per step


@pytest.fixture
def make_system(tmp_path: Path) -> Callable[..., System]:
    def make(thing: str, tip: str, fixed: str = "", offset: str = "0.01 0.02 0", activation: float = 1.0) -> System:
        (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)
        thing_text = OBJECT.format(inertial=INERTIAL, offset=offset, shape=SHAPES[thing])
        (tmp_path / "thing.urdf").write_text(thing_text)
        (tmp_path / "arm.urdf").write_text(ROBOT.format(inertial=INERTIAL, limit=LIMIT, shape=SHAPES[tip]))
        (tmp_path / "pair.yaml").write_text(YAML.format(fixed=fixed, activation=activation))
        return load_system(tmp_path / "pair.yaml")

    return make


def random_q(system: System, count: int, seed: int = 0, scale: float = 0.3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [system.integrate(system.q_default, scale * SPREAD * rng.standard_normal(system.n_v)) for _ in range(count)]


def coal_gap(system: System, q: np.ndarray, g_a: int, g_b: int) -> float:
    """Signed distance of two geometries by coal alone."""
    model = build_model(system)
    ws = make_newton(model)
    measure_gaps(model, ws, q)
    shapes = [coal_shape(system.geometries[g].shape) for g in (g_a, g_b)]
    poses = [coal.Transform3s(*geometry_pose(system, ws.kin, g)) for g in (g_a, g_b)]
    request = coal.DistanceRequest()
    request.gjk_tolerance = request.epa_tolerance = 1e-7
    request.gjk_max_iterations = request.epa_max_iterations = 500
    return float(coal.distance(shapes[0], poses[0], shapes[1], poses[1], request, coal.DistanceResult()))


@pytest.mark.parametrize("shape", ["sphere", "box", "capsule", "cylinder", "hull"])
def test_lowest_point_over_a_half_space_is_that_of_coal(shape: str, make_system: Callable) -> None:
    system = make_system(shape, "sphere", GROUND)
    ground = len(system.geometries) - 1
    rows = [c for c, item in enumerate(system.contacts) if item.geometry_b == ground]
    assert {system.contacts[c].geometry_a for c in rows} != {0} or shape == "sphere"
    dynamics = ContactDynamics(system)
    for q in random_q(system, 20):
        gaps = dynamics.step(q, q[-2:]).gaps[rows]
        assert gaps.min() == pytest.approx(coal_gap(system, q, 0, ground), abs=GAP_TOLERANCE_M)


@pytest.mark.parametrize(
    ("thing", "tip"),
    [
        ("capsule", "capsule"),
        ("hull", "sphere"),
        ("hull", "box"),
        ("hull", "hull"),
        ("hull", "capsule"),
        ("hull", "cylinder"),
        ("capsule", "box"),
        ("box", "capsule"),
        ("cylinder", "capsule"),
        ("cylinder", "cylinder"),
        ("box", "cylinder"),
        ("box", "box"),
    ],
)
def test_gap_of_two_shapes_is_that_of_coal(thing: str, tip: str, make_system: Callable) -> None:
    system = make_system(thing, tip)
    dynamics = ContactDynamics(system)
    for q in random_q(system, 10):
        assert dynamics.step(q, q[-2:]).gaps.min() == pytest.approx(coal_gap(system, q, 1, 0), abs=GAP_TOLERANCE_M)


def bring_to_gap(dynamics: ContactDynamics, q: np.ndarray, gap: float) -> np.ndarray:
    """Move the object along the normal of its nearest contact until that has this gap."""
    for _ in range(10):
        problem = dynamics.assemble(q, q[-2:])
        k = int(np.argmin(problem.phi))
        sign = dynamics.model.pairs.sign[problem.pair[k]]
        q = q.copy()
        q[4:7] += sign * (gap - problem.phi[k]) * problem.n[k]
    assert dynamics.step(q, q[-2:]).gaps.min() == pytest.approx(gap, abs=1e-6)
    return q


def difference_of_steps(dynamics: ContactDynamics, q: np.ndarray, u: np.ndarray, step: float) -> np.ndarray:
    """A (n_v, n_v) by central differences of the step."""
    system, nominal = dynamics.system, dynamics.step(q, u).q_next
    A = np.empty((system.n_v, system.n_v))
    for k, unit in enumerate(np.eye(system.n_v)):
        ends = [dynamics.step(system.integrate(q, s * step * unit), u).q_next for s in (1.0, -1.0)]
        back = [system.difference(nominal, end) for end in ends]
        A[:, k] = (back[0] - back[1]) / (2.0 * step)
    return A


@pytest.mark.parametrize("gap", [-2e-3, 1e-3])
@pytest.mark.parametrize(
    ("thing", "tip", "fixed", "tolerance"),
    [
        ("capsule", "capsule", "", 1e-6),
        ("cylinder", "sphere", GROUND, 1e-6),
        ("box", "box", "", 1e-6),
        ("hull", "sphere", "", 1e-6),
        ("hull", "box", GROUND, 1e-6),
        ("capsule", "box", GROUND, 1e-6),
        ("box", "capsule", "", 1e-6),
        ("capsule", "cylinder", "", 1e-6),
        ("cylinder", "cylinder", "", 1e-6),
        ("hull", "cylinder", "", 1e-6),
        ("cylinder", "box", "", 1e-6),
        ("hull", "hull", "", 1e-6),
        ("hull", "capsule", "", 1e-6),
    ],
)
def test_step_is_differentiated_with_all_terms_of_its_contacts(
    thing: str, tip: str, fixed: str, tolerance: float, gap: float, make_system: Callable
) -> None:
    system = make_system(thing, tip, fixed)
    dynamics = ContactDynamics(system, h_s=0.1, kappa=KAPPA, tolerance=NEWTON_TOLERANCE)
    checked = 0
    for q in random_q(system, 5):
        q = bring_to_gap(dynamics, q, gap)
        u = q[-2:] + 0.01
        found = dynamics.linearize(q, u)
        assert found.step.is_converged
        A, wider = (difference_of_steps(dynamics, q, u, scale * DIFFERENCE) for scale in (1.0, 2.0))
        if np.abs(A - wider).max() < 0.1 * np.abs(A).max():  # else the nearest points jump within the differences
            checked += 1
            A = (4.0 * A - wider) / 3.0  # the error of second order cancels
            assert np.abs(A - found.A).max() <= tolerance * np.abs(A).max()
    assert checked >= 3


@pytest.mark.parametrize(
    ("thing", "tip"),
    [
        ("capsule", "capsule"),
        ("hull", "sphere"),
        ("hull", "box"),
        ("box", "capsule"),
        ("box", "box"),
    ],
)
def test_exact_step_is_differentiated_with_all_terms_of_its_contacts(
    thing: str, tip: str, make_system: Callable
) -> None:
    """socp, with the contact pressed so that it keeps its mode."""
    system = make_system(thing, tip)
    dynamics = ContactDynamics(system, "socp", h_s=0.1)
    checked = 0
    for q in random_q(system, 6):
        q = bring_to_gap(dynamics, q, -1e-3)
        found = dynamics.linearize(q, q[-2:])
        if not (found.step.is_converged and np.linalg.norm(found.step.impulses) > 1e-3):
            continue
        A = difference_of_steps(dynamics, q, q[-2:], DIFFERENCE)
        if np.abs(A).max() < 100.0:  # no change of mode within the differences
            checked += 1
            assert np.abs(A - found.A).max() <= 1e-4 * np.abs(A).max()
    assert checked >= 3


def test_crossing_capsules_turn_their_normal_with_their_axes(make_system: Callable) -> None:
    """The nearest points are inside both segments: the derivative has terms that no sphere has."""
    system = make_system("capsule", "capsule")
    model = build_model(system)
    ws = make_newton(model)
    crossing = 0
    for q in random_q(system, 40, seed=3, scale=0.5):
        measure_gaps(model, ws, q)
        q[4:7] += geometry_pose(system, ws.kin, 1)[1] - geometry_pose(system, ws.kin, 0)[1] + [0.0, 0.08, 0.0]
        measure_gaps(model, ws, q)
        if np.any(np.abs(ws.con.M[0]) > 0.1) and np.all(ws.con.N[0] == 0.0):
            crossing += 1
            n = ws.con.n[0].copy()
            columns = []
            for k in range(3):
                ends = []
                for sign in (1.0, -1.0):
                    dq = np.zeros(system.n_v)
                    dq[k] = sign * DIFFERENCE
                    measure_gaps(model, ws, system.integrate(q, dq))
                    ends.append(ws.con.n[0].copy())
                columns.append((ends[0] - ends[1]) / (2.0 * DIFFERENCE))
            measure_gaps(model, ws, q)
            centre = ws.con.centre[0] - q[4:7]
            expected = [ws.con.M[0] @ e + ws.con.N[0] @ np.cross(e, centre) for e in np.eye(3)]
            np.testing.assert_allclose(columns, expected, atol=1e-8)
            assert np.abs(n @ np.array(columns).T).max() < 1e-8
    assert crossing >= 3


def test_kinds_of_contacts_follow_from_the_shapes(make_system: Callable) -> None:
    kinds = {
        ("capsule", "capsule"): {SEGMENTS, POINT},
        ("cylinder", "sphere"): {POINT, LOWEST},
        ("capsule", "box"): {CROSSING, POINT},
        ("box", "box"): {POINT, EDGES, MORE_EDGES},
        ("hull", "box"): {CONVEX, MORE_CONVEX, POINT},
        ("capsule", "cylinder"): {CONVEX, MORE_CONVEX, POINT},
    }
    for shapes, expected in kinds.items():
        assert set(build_model(make_system(*shapes, GROUND)).pairs.kind) == expected, shapes


def test_pairs_beyond_the_activation_distance_have_a_lower_bound_of_their_gap(make_system: Callable) -> None:
    system = make_system("hull", "box", activation=0.05)
    dynamics = ContactDynamics(system)
    for x in (0.1, 0.3, 1.0):
        q = system.q_default.copy()
        q[4:7] += [x, 0.0, 0.0]
        result = dynamics.step(q, q[-2:])
        assert 0.05 < result.gaps[0] <= coal_gap(system, q, 1, 0) + GAP_TOLERANCE_M
        assert not result.impulses.any()


@pytest.mark.parametrize("shape", ["box", "cylinder", "hull", "capsule"])
def test_body_on_the_ground_is_carried_with_its_weight_and_stays_where_it_is(
    shape: str, make_system: Callable, tmp_path: Path
) -> None:
    system = make_system(shape, "sphere", "{name: ground, shape: half_space}", offset="0 0 0")
    dynamics = ContactDynamics(system, "socp", h_s=STEP_S)
    q = system.q_default.copy()
    q[-2:] = [1.0, 0.0]  # the arm is out of the way
    for _ in range(300):
        q = dynamics.step(q, q[-2:]).q_next
    rest = dynamics.step(q, q[-2:])
    np.testing.assert_allclose(rest.impulses.sum(axis=0) / STEP_S, [0.0, 0.0, 0.5 * 9.81], atol=1e-4)
    assert rest.gaps[rest.impulses[:, 2] > 1e-6].max() < 1e-5
    assert np.abs(system.difference(q, rest.q_next)).max() < 1e-6


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ("{name: ground, shape: cone}", ("shape", "cone", "half_space")),
        ("{name: wall, shape: box, size_m: [1, 2]}", ("size_m", "3", "2")),
        ("{name: wall, shape: sphere, size_m: [-1]}", ("size_m", "-1", "greater than 0")),
        ("{name: thing, shape: half_space}", ("thing", "twice")),
        ("{name: ground, shape: half_space, colour: red}", ("colour",)),
    ],
)
def test_fixed_shapes_that_cannot_be_are_refused(fixed: str, words: tuple[str, ...], make_system: Callable) -> None:
    with pytest.raises(ConfigError) as caught:
        make_system("sphere", "sphere", fixed)
    assert all(word in str(caught.value) for word in ("pair.yaml", *words)), caught.value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", ("no mesh",)),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", ("no mesh with a volume",)),
    ],
)
def test_files_that_are_no_bodies_are_refused(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    from contact_mpc.model.meshes import load_hull

    (tmp_path / "bad.obj").write_text(text)
    with pytest.raises(ModelError) as caught:
        load_hull(tmp_path / "bad.obj", np.ones(3))
    assert all(word in str(caught.value) for word in ("bad.obj", *words))


def test_hull_of_many_vertices_is_thinned_out_within_the_deviation_that_it_states(tmp_path: Path) -> None:
    from contact_mpc.model.meshes import MAX_VERTICES, load_hull

    points = np.random.default_rng(0).normal(size=(300, 3))
    points *= 0.03 / np.linalg.norm(points, axis=1, keepdims=True)
    faces = [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in outward_triangles(points)]
    (tmp_path / "ball.obj").write_text(
        "\n".join([*(f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()), *faces, ""])
    )
    hull = load_hull(tmp_path / "ball.obj", np.ones(3))
    assert len(hull.vertices) == MAX_VERTICES
    directions = np.random.default_rng(1).normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lost = (directions @ points.T).max(axis=1) - (directions @ hull.vertices.T).max(axis=1)
    assert lost.min() >= -SINGLE_M
    assert 0.8 * hull.deviation_m < lost.max() <= hull.deviation_m + SINGLE_M  # support distances add up to Hausdorff's
    assert hull.added_volume == pytest.approx(0.0, abs=1e-6)
    assert "100 of 300 vertices" in hull.describe()


def test_mesh_that_is_not_convex_says_how_much_volume_its_hull_adds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from contact_mpc.model.meshes import load_hull

    base = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [1, 1, 0], [1, 2, 0], [0, 2, 0]], dtype=float)  # an L
    points = np.vstack([base, base + [0.0, 0.0, 1.0]])
    floor = [(0, 3, 1), (1, 3, 2), (0, 5, 3), (3, 5, 4)]
    sides = [(i, (i + 1) % 6, (i + 1) % 6 + 6) for i in range(6)] + [(i, (i + 1) % 6 + 6, i + 6) for i in range(6)]
    triangles = [*floor, *(tuple(np.array(t)[::-1] + 6) for t in floor), *sides]
    lines = [f"v {x} {y} {z}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]
    (tmp_path / "l.obj").write_text("\n".join([*lines, ""]))
    hull = load_hull(tmp_path / "l.obj", np.ones(3))
    assert hull.added_volume == pytest.approx(3.5 / 3.0 - 1.0)
    assert "17 % more volume" in caplog.text
    assert "l.obj" in caplog.text
