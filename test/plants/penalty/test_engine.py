"""Motion under penalty contacts against closed forms: rest, oscillation, order, energy, creep, and against Drake."""

from collections.abc import Callable

import numpy as np
import pytest

from contact_mpc.errors import InputError, ModelError
from contact_mpc.model.system import System
from contact_mpc.plants.penalty.clip import EXTENT, VOLUME
from contact_mpc.plants.penalty.engine import PenaltyEngine
from contact_mpc.plants.penalty.parameters import PenaltyParameters

G, MU = 9.81, 0.5  # of the table
NO_GAIN = PenaltyParameters(gain_per_n=0.0)
MakeTable = Callable[..., System]


@pytest.fixture(scope="module")
def box_on_ground(named_system: Callable[[str], System]) -> System:
    """The box of 2 kg, 0.3 m x 0.4 m x 0.3 m, on the ground; its pusher far away."""
    return named_system("box_pushing")


def away(system: System) -> np.ndarray:
    q = system.q_default.copy()
    q[system.n_q_u :] = [-0.6, 0.0, 0.3]
    return q


def settle(engine: PenaltyEngine, duration_s: float) -> None:
    engine.advance(duration_s, engine.gravity_torques() * (np.arange(engine.n_v) >= 6))


def test_ball_at_rest_carries_its_weight_with_the_volume_of_the_closed_form(make_table: MakeTable) -> None:
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.0601))
    engine.advance(0.2, np.zeros(engine.n_v))
    wrench = engine.settle_forces()
    assert wrench[:, 2].sum() == pytest.approx(0.1 * G, rel=1e-3)
    volume = engine.work.rows[:, VOLUME].sum()
    assert volume == pytest.approx(0.1 * G / 7.4e8, rel=1e-3)
    # The cap of a sphere in a plane would be sqrt(v / (pi R)) = 0.08 mm deep; a corner of the polytope goes deeper.
    assert 0.8e-4 < engine.work.rows[:, EXTENT].max() < 3e-4


def test_box_on_its_face_is_the_damped_oscillator_of_its_equation_to_fifth_order(box_on_ground: System) -> None:
    """m x'' = -g1 A x - g2 A x' - m g from a start 0.1 um too deep: linear while it touches. RK45 is of order five."""
    parameters = PenaltyParameters(gain_per_n=0.0, stiffness_n_per_m3=1e7, damping_ns_per_m3=2e3)
    mass, area, q = 2.0, 0.12, away(box_on_ground)
    depth = mass * G / (1e7 * area)
    q[6] = 0.15 - depth - 1e-6
    omega, decay = np.sqrt(1e7 * area / mass), 2e3 * area / (2.0 * mass)
    damped = np.sqrt(omega**2 - decay**2)
    t = 0.02
    expected = -1e-6 * np.exp(-decay * t) * (np.cos(damped * t) + decay / damped * np.sin(damped * t))
    errors, steps = [], np.array([4e-4, 2e-4, 1e-4])
    for h in steps:
        engine = PenaltyEngine(box_on_ground, parameters, rtol=1.0, atol=1.0, max_step_s=h)
        engine.reset(q)
        settle(engine, t)
        errors.append(abs(engine.q[6] - (0.15 - depth) - expected))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(5.0, abs=0.6)
    assert engine.settle_forces()[:, 2].sum() == pytest.approx(mass * G, rel=0.2)


def test_box_at_rest_carries_its_weight(box_on_ground: System) -> None:
    engine, q = PenaltyEngine(box_on_ground), away(box_on_ground)
    q[6] = 0.1501
    engine.reset(q)
    settle(engine, 0.1)
    assert engine.settle_forces()[:, 2].sum() == pytest.approx(2.0 * G, rel=0.01)
    assert np.linalg.norm(engine.v[:6]) < 1e-3


def test_energy_does_not_grow_when_a_ball_bounces(make_table: MakeTable) -> None:
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.065), NO_GAIN)
    q = engine.q.copy()
    engine.reset(q, np.array([0.0, 5.0, 0.0, 0.2, 0.0, 0.0, 0.0]))
    energies = [sum(engine.energy())]
    for _ in range(50):
        engine.advance(2e-3, np.zeros(engine.n_v))
        energies.append(sum(engine.energy()))
    # What a contact holds like a spring is left out, and never negative: no more than the start may be seen.
    assert max(energies) <= energies[0] + 1e-6
    assert energies[-1] < energies[0] - 1e-3


def test_rate_of_the_overlap_is_that_of_its_volume(make_table: MakeTable) -> None:
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, 0.0), 0.0595), NO_GAIN)
    v = np.array([1.0, -2.0, 0.5, 0.1, 0.05, -0.02, 0.0])
    engine.reset(engine.q.copy(), v)
    rate = engine.settle_forces()[0, 7]
    volumes = []
    for dt in (-1e-6, 1e-6):
        q = engine.y.copy()
        q[: engine.n_q] = engine._system.integrate(engine.q, dt * v)
        engine._find(q)
        volumes.append(engine.work.rows[0, VOLUME])
    assert rate == pytest.approx((volumes[1] - volumes[0]) / 2e-6, rel=1e-4)


def test_stuck_slider_creeps_as_the_law_of_friction_says(make_table: MakeTable) -> None:
    """mu f_n tanh(gamma v) + beta v = load: v = atanh(0.9) / gamma, up to the small viscous part."""
    angle = np.arctan(0.9 * MU)
    system = make_table("slider", (G * np.sin(angle), 0.0, -G * np.cos(angle)), 0.05)
    engine = PenaltyEngine(system, NO_GAIN)
    engine.advance(0.3, np.zeros(engine.n_v))  # until the normal force rings no more
    assert engine.v[0] == pytest.approx(np.arctanh(0.9) / 1e3, rel=0.02)


@pytest.mark.parametrize("choice", [{"rate": "filter"}, {"direction": "weights"}, {"friction": "point"}], ids=str)
def test_other_readings_rest_at_the_same_force(choice: dict, make_table: MakeTable) -> None:
    parameters = PenaltyParameters(gain_per_n=0.0, filter_rad_per_s=6e4, **choice)
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.0599), parameters)
    engine.advance(0.15, np.zeros(engine.n_v))
    assert engine.settle_forces()[:, 2].sum() == pytest.approx(0.1 * G, rel=0.01)


def test_manifold_and_clip_move_the_ball_alike(make_table: MakeTable) -> None:
    pytest.importorskip("manifold3d")
    ends = []
    for method in ("clip", "manifold"):
        engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.0598), method=method)
        engine.advance(0.005, np.zeros(engine.n_v))
        ends.append(engine.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_slow_filter_and_unknown_method_are_refused(make_table: MakeTable) -> None:
    system = make_table("ball", (0.0, 0.0, -G), 0.0601)
    with pytest.raises(InputError, match=r"contacts of ball and top unstable; above [\d.e+]+ rad/s"):
        PenaltyEngine(system, PenaltyParameters(rate="filter", filter_rad_per_s=10.0))
    with pytest.raises(InputError, match="allowed: clip, manifold"):
        PenaltyEngine(system, method="guess")
    with pytest.raises(ModelError, match="mesh of 'egg'"):
        PenaltyEngine(system, meshes={"egg": engine_mesh()})


def engine_mesh():
    from contact_mpc.model.urdf import Pose, Shape
    from contact_mpc.plants.penalty.solids import solid_of

    return solid_of(Shape("box", (0.1, 0.1, 0.1), Pose(np.eye(3), np.zeros(3)))).mesh


def test_steps_that_cannot_be_made_end_in_one_line_with_a_remedy(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.0599))
    monkeypatch.setattr(engine, "rate", lambda *_: np.full(len(engine.y), np.nan))
    with pytest.raises(InputError, match="penalty engine stopped at 0 s .*lower the stiffness"):
        engine.advance(1e-3, np.zeros(engine.n_v))


def test_deep_overlap_is_refused_and_names_the_bodies(make_table: MakeTable) -> None:
    engine = PenaltyEngine(make_table("ball", (0.0, 0.0, -G), 0.02))
    with pytest.raises(InputError, match="ball and top overlap by .* cm\\^3"):
        engine.advance(1e-3, np.zeros(engine.n_v))
