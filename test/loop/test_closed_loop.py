"""The loop in one process: protocol, determinism, judgement, and the parameter files that it shares with the nodes."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc import load_system
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.errors import ConfigError
from contact_mpc.estimation.config import EstimatorConfig
from contact_mpc.loop.closed_loop import ClosedLoop, run_closed_loop
from contact_mpc.loop.config import LoopConfig, load_loop_config
from contact_mpc.loop.holding_effort import holding_effort
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.plants.common.plant import T0_NS
from contact_mpc.plants.common.sensors import SensorConfig
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import Goal, TaskConfig

MS = 1_000_000
BLEND_NS = 10 * MS  # the gaps between these plans are closed in less
DISC_HEIGHT_M = 0.8  # far above the fingers, without gravity: the disc stays where it is


@pytest.fixture(scope="module")
def task():
    """Keep the disc where it floats while the fingers move freely."""
    system = load_system("planar_hand_ball")
    q = system.q_default.copy()
    q[1] = DISC_HEIGHT_M
    q[3:] = [-0.8, -0.3, 0.8, 0.3]
    goal = Goal(np.array([1.0, 0.0, 0.0]), 0.0, np.zeros(3))
    return TaskConfig("float", system.path, "", system, q, q[3:].copy(), goal, 0.4, 0.1, 2.0, 2.0)


@pytest.fixture(scope="module")
def plan(task):
    """Commands that move every joint by 0.02 rad in 0.4 s."""
    times = np.linspace(0.0, 0.4, 5)
    u = task.start_u + 0.05 * times[:, None]
    return Plan(times, np.tile(task.start_q, (5, 1)), u, np.zeros_like(u), np.zeros((5, 0, 3)))


@pytest.fixture(scope="module")
def config():
    bridge = BridgeConfig(gravity_compensation="bridge", start_from="effort")
    return LoopConfig(TrackerConfig(horizon_steps=2), EstimatorConfig(), bridge, SensorConfig())


@pytest.fixture(scope="module")
def result(task, plan, config):
    return run_closed_loop(task.system, task, plan, config)


def test_object_that_nothing_touches_stays_and_meets_the_goal(result, task):
    assert result.goal_met
    assert result.angle_error_deg < 1e-6
    assert result.position_error_mm < 1e-6
    assert np.abs(result.q[-1, 3:] - (task.start_u + 0.02)).max() < 0.01


def test_run_covers_start_delay_motion_and_hold_at_one_kilohertz(result, task, config):
    total_ms = round(1e3 * (config.start_delay_s + task.duration_s + task.hold_s))
    assert np.array_equal(result.t_ns, T0_NS + MS * np.arange(total_ms + 1))


def test_estimates_and_plans_keep_their_rates_from_the_first_state_on(result):
    assert result.estimate_t_ns[0] == result.plan_t_ns[0] == T0_NS
    assert set(np.diff(result.estimate_t_ns)) == {5 * MS}
    assert set(np.diff(result.plan_t_ns)) == {50 * MS}
    assert set(result.plan_status) == {"ok"}


def test_same_seed_gives_the_same_bits_and_another_seed_does_not(task, plan, config, result):
    again = run_closed_loop(task.system, task, plan, config)
    other = run_closed_loop(task.system, task, plan, config, seed=1)
    for name in ("commands", "q", "estimate_q"):
        assert np.array_equal(getattr(again, name), getattr(result, name))
    assert not np.array_equal(other.estimate_q, result.estimate_q)


def test_plan_takes_effect_its_delay_after_the_state_it_was_solved_from(result, config):
    """Between blends, the setpoint is the plan with the newest stamp that is at least the delay old."""
    for t_ns in range(T0_NS + 60 * MS, int(result.t_ns[-1]), 7 * MS):
        if (t_ns - T0_NS - config.bridge.plan_delay_ns) % config.bridge.period_ns < BLEND_NS:
            continue
        due = [plan for plan in result.plans if plan.stamp_ns + config.bridge.plan_delay_ns <= t_ns]
        t_s = (t_ns - due[-1].stamp_ns) * 1e-9
        wanted = [np.interp(t_s, due[-1].times_s, column) for column in due[-1].u.T]
        assert result.u[(t_ns - T0_NS) // MS] == pytest.approx(wanted, abs=1e-9)
    assert result.u[:20] == pytest.approx(np.tile(result.u[0], (20, 1)), abs=1e-12)


def test_first_setpoint_keeps_the_start_commands(result, task):
    assert result.u[0] == pytest.approx(task.start_u, abs=1e-12)


def test_object_far_from_its_reference_counts_as_dropped_and_ends_the_run(task, plan, config):
    far = PlantPerturbation(object_offset_m=(0.0, 0.0, 0.06))
    result = run_closed_loop(task.system, task, plan, config, perturbation=far, stop_when_dropped=True)
    assert result.dropped
    assert len(result.t_ns) == 1
    assert not result.goal_met
    assert result.reasons[0].startswith("dropped")


def test_object_that_rests_at_its_goal_ends_the_run_after_the_hold(task, plan, config):
    result = run_closed_loop(task.system, task, plan, config, stop_when_settled=True)
    held_ms = round(1e3 * (config.start_delay_s + task.hold_s))
    assert len(result.t_ns) == held_ms + 1  # it is at its goal from the start of the motion on
    assert result.goal_met and result.is_complete
    assert result.reached_s == 0.0


def test_object_off_its_goal_is_never_settled(task, plan, config):
    off = PlantPerturbation(object_offset_m=(0.0, 0.003, 0.0))
    result = run_closed_loop(task.system, task, plan, config, perturbation=off, stop_when_settled=True)
    total_ms = round(1e3 * (config.start_delay_s + task.duration_s + task.hold_s))
    assert len(result.t_ns) == total_ms + 1
    assert np.isnan(result.reached_s)


def test_errors_are_those_of_the_true_pose(task, plan, config):
    noisy = replace(config, sensors=SensorConfig(pose_noise_mm=3.0))
    off = PlantPerturbation(object_offset_m=(0.0, 0.003, 0.0))
    result = run_closed_loop(task.system, task, plan, noisy, perturbation=off)
    assert result.position_error_mm == pytest.approx(3.0, abs=1e-6)
    assert result.reasons == ("position error 3.00 mm > 2 mm",)


def test_tracker_holds_while_the_pose_is_stale(task, plan, config):
    blind = replace(config, sensors=SensorConfig(pose_rate_hz=2.0))
    result = run_closed_loop(task.system, task, plan, blind)
    held = [plan.is_hold for plan in result.plans]
    stale = [status == "pose_stale" for status in result.plan_status]
    assert held == stale
    assert 0 < sum(held) < len(held)
    assert any("PLAN_HOLD" in text for _, text in result.holds)


def test_progress_tells_the_simulated_time(task, plan, config):
    seconds = []
    run_closed_loop(task.system, task, plan, config, progress=seconds.append)
    assert seconds == pytest.approx(np.arange(17) * 0.05)


@pytest.mark.parametrize("engine", ["drake", "mujoco"])
def test_both_engines_and_interfaces_run(task, plan, config, engine):
    bridge = BridgeConfig(command_interface="position", gravity_compensation="robot")
    loop = ClosedLoop(task.system, task, plan, replace(config, engine=engine, bridge=bridge))
    for _ in range(100):
        loop.step()
    assert len(loop.log.result().t_ns) == 100
    assert loop.log.result().commands[-1] == pytest.approx(loop.log.result().u[-1])


def test_holding_effort_is_stiffness_times_squeeze_plus_weight(task):
    squeezed = replace(task, start_u=task.start_u + [0.0, 0.1, 0.0, -0.1])
    effort = holding_effort(task.system, squeezed, "robot")
    assert effort == pytest.approx([0.0, 2.5, 0.0, -2.5])
    allegro = load_system("allegro_ball")
    q = allegro.q_default
    held = replace(task, system=allegro, start_q=q, start_u=q[allegro.n_q_u :])
    assert np.abs(holding_effort(allegro, held, "robot")).max() == 0.0
    weight = holding_effort(allegro, held, "bridge")
    assert np.abs(weight).max() > 1e-3


def test_tracker_and_bridge_that_disagree_are_refused(config):
    with pytest.raises(ConfigError, match="mpc_rate_hz is 10 for the tracker, 20 for the bridge"):
        replace(config, tracker=TrackerConfig(mpc_rate_hz=10))
    with pytest.raises(ConfigError, match="estimate_rate_hz = 50"):
        replace(config, estimate_rate_hz=50)


def write_parameters(tmp_path, **changes):
    """Write a parameter file with every part of the loop off its default."""
    nodes = {
        "mpc_tracker": "{system: x, horizon_steps: 3, mpc_rate_hz: 10, plan_delay_s: 0.03}",
        "state_estimator": "{rate_hz: 100, estimator: {pose_noise_m: 0.002}}",
        "command_bridge": "{clock: lockstep, gravity_compensation: robot, mpc_rate_hz: 10, plan_delay_s: 0.03}",
        "plant": "{engine: mujoco, sensors.pose_delay_s: 0.01}",
        "trajectory_server": "{start_delay_s: 0.5}",
    }
    path = tmp_path / "nodes.yaml"
    path.write_text("".join(f"/**/{k}: {{ros__parameters: {v}}}\n" for k, v in {**nodes, **changes}.items()))
    return path


def test_each_part_of_the_parameter_file_reaches_the_loop(tmp_path):
    config = load_loop_config(write_parameters(tmp_path))
    assert (config.tracker.horizon_steps, config.tracker.mpc_rate_hz) == (3, 10)
    assert (config.bridge.gravity_compensation, config.bridge.plan_delay_s) == ("robot", 0.03)
    assert (config.estimator.pose_noise_m, config.estimate_rate_hz) == (0.002, 100)
    assert (config.sensors.pose_delay_s, config.engine, config.start_delay_s) == (0.01, "mujoco", 0.5)
    assert load_loop_config(write_parameters(tmp_path), "drake").engine == "drake"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("mpc_tracker", "{horizon_stebs: 3}"),
        ("command_bridge", "{gravity_compensation: both}"),
        ("state_estimator", "{estimator: {pose_noise: 1.0}}"),
        ("plant", "{sensors: {pose_noise_mm: -1.0}}"),
    ],
)
def test_mistake_in_the_parameter_file_is_named(tmp_path, node, text):
    path = write_parameters(tmp_path, **{node: text})
    with pytest.raises(ConfigError, match="nodes.yaml") as caught:
        load_loop_config(path)
    key = text.strip("{}").split(":")[-2].strip(" {")
    assert key in str(caught.value)
