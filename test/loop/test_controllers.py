"""Controllers in the loop: each runs behind the face of the tracker, repeats bit for bit; physics like the plant's."""

from dataclasses import replace

import numpy as np
import pytest

from contact_mpc.control.tracking.comparison.sampling import SamplingConfig
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.follower import LAGGING, OK
from contact_mpc.errors import ConfigError
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import load_loop_config
from contact_mpc.loop.controllers import CONTROLLERS, one_step_config
from contact_mpc.plants.common.perturbation import PlantPerturbation
from contact_mpc.task.plan import Plan
from contact_mpc.task.task import load_task

OTHERS = ("receding_horizon", "reorient", "reorient_rollouts")  # of other tasks
COMPARED = [name for name in CONTROLLERS if name not in OTHERS]
STEPS = 160  # of 1 ms: four solves
ROLLOUT_TOLERANCE = 1e-3  # m, rad: damping acts implicitly here, explicitly in the plant; 0.06 mm at the ball's surface


@pytest.fixture(scope="module")
def task():
    return load_task("planar_hand_ball")


@pytest.fixture(scope="module")
def plan(task):
    times = np.linspace(0.0, task.duration_s, 7)
    u, q = task.start_u + 0.01 * times[:, None], task.start_q.copy()
    q[: task.system.n_q_u] = task.system.q_from_object_pose(*task.goal_pose(0.5), q)  # not where u holds the object
    return Plan(times, np.tile(q, (7, 1)), u, np.zeros_like(u), np.zeros((7, 0, 3)))


def run(task, plan, controller, settings=()):
    config = load_loop_config("planar_hand_ball", "drake", settings, controller)
    loop = ClosedLoop(task.system, task, plan, replace(config, start_delay_s=0.0), seed=4)
    for _ in range(STEPS):
        loop.step()
    return loop.log.result()


@pytest.mark.parametrize("controller", COMPARED)
def test_every_controller_runs_and_repeats_its_commands(task, plan, controller):
    first, again = (run(task, plan, controller) for _ in range(2))
    assert set(first.plan_status) == {OK if controller == "playback" else LAGGING}  # 22 deg behind its reference
    assert all(np.all(np.isfinite(item.u)) for item in first.plans)
    assert np.array_equal(first.commands, again.commands)


def test_controllers_differ_and_playback_is_the_plan(task, plan):
    commands = {name: run(task, plan, name).commands[-1] for name in COMPARED}
    names = COMPARED
    assert all(not np.allclose(commands[a], commands[b], atol=1e-9) for a in names for b in names if a < b)
    replayed = run(task, plan, "open_loop").plans[-1]
    t_s = (replayed.stamp_ns - 1_000_000_000) * 1e-9
    for time_s, u in zip(replayed.times_s, replayed.u, strict=True):
        np.testing.assert_allclose(u, plan.sample_u(t_s + time_s), atol=1e-12)


def test_settings_reach_tracker_sensors_and_comparison(task, plan):
    settings = ["mpc_tracker.horizon_steps=4", "plant.sensors.pose_delay_s=0.03", "comparison.sampling.samples=6"]
    config = load_loop_config("planar_hand_ball", "drake", settings, "sampling")
    assert (config.tracker.horizon_steps, config.sensors.pose_delay_s) == (4, 0.03)
    assert (config.comparison.sampling.samples, config.controller) == (6, "sampling")


@pytest.mark.parametrize(
    ("settings", "controller", "words"),
    [
        ([], "pid", "controller 'pid' is unknown; allowed: tracker, playback"),
        (["comparison.admm_lcs.rhoo=1"], "admm_lcs", "did you mean 'rho'"),
        (["tracker.h_s=1"], "tracker", "expected node.key=value with a node of mpc_tracker"),
    ],
)
def test_wrong_controller_or_setting_is_named(settings, controller, words):
    with pytest.raises(ConfigError, match=words):
        load_loop_config("planar_hand_ball", "drake", settings, controller)


def test_one_step_controller_has_one_step_and_no_rate_cost():
    config = one_step_config(TrackerConfig(h_s=0.2, object_rotation_weight=7.0))
    assert (config.horizon_steps, config.rate_weight, config.iterations) == (1, 0.0, 1)
    assert (config.h_s, config.object_rotation_weight) == (0.2, 7.0)


@pytest.mark.mujoco
@pytest.mark.parametrize("name", ["allegro_ball", "planar_hand_ball"])
def test_rollouts_move_as_the_plant_does(name):
    pytest.importorskip("mujoco")
    from contact_mpc.loop.mujoco_rollouts import MujocoRollouts
    from contact_mpc.plants.mujoco.plant import MujocoPlant

    task = load_task(name)
    system, friction, stages = task.system, 0.65, 2
    rollouts = MujocoRollouts(system, friction, 0.1, SamplingConfig(step_s=0.001, threads=1))
    u = np.tile(task.start_u, (2, stages, 1))
    u[1, :, -1] += [0.01, 0.02]
    found = rollouts.roll_out(task.start_q, task.start_u, u)
    for sample in range(2):
        plant = MujocoPlant(system, "position", PlantPerturbation(friction=friction), gravity_compensation=True)
        plant.reset(task.start_q)
        before = task.start_u
        for stage in range(stages):
            for step in range(1, 101):
                plant.step(before + step / 100 * (u[sample, stage] - before))
            before = u[sample, stage]
            difference = system.difference(plant.state().q, found[sample, stage])
            assert np.abs(difference).max() < ROLLOUT_TOLERANCE
