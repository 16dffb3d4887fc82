"""The trajectory server over real DDS: what it publishes when, and to whom."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from contact_mpc.errors import StackError
from contact_mpc.ros.messages import conversions as messages
from contact_mpc.ros.messages.references import read_reference
from contact_mpc.task.plan import Plan, save_plan
from contact_mpc.task.task import load_task

pytestmark = pytest.mark.dds

TASK = load_task("allegro_ball")
SYSTEM = TASK.system
RNG = np.random.default_rng(2)
SAME = 1e-14  # a rotation on its way through a quaternion


def make_plan(folder: Path) -> tuple[Plan, Path]:
    times = np.array([0.0, 0.1, 0.35])
    moves = np.zeros((3, SYSTEM.n_v))
    moves[:, :6] = 0.01 * RNG.normal(size=(3, 6))
    q = np.array([SYSTEM.integrate(TASK.start_q, move) for move in moves])
    u = TASK.start_u + 0.01 * RNG.normal(size=(3, SYSTEM.n_a))
    tau = 0.1 * RNG.normal(size=(3, SYSTEM.n_a))  # N m, within what joints can follow
    provenance = {"system": SYSTEM.name, "system_digest": SYSTEM.digest}
    plan = Plan(times, q, u, tau, np.zeros((3, len(SYSTEM.pairs), 3)), provenance)
    save_plan(folder / "plan.npz", plan)
    return plan, folder / "plan.npz"


@pytest.fixture(scope="module")
def server(make_rig: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Plan]:
    plan, file = make_plan(tmp_path_factory.mktemp("plan"))
    values = {"system": "allegro_ball", "plan_file": str(file), "use_sim_time": True, "start_delay_s": 0.25}
    return make_rig("lockstep", trajectory_server=values).configure().activate(), plan


def call(rig: Any, name: str) -> Any:
    return rig.call(Trigger, f"trajectory_server/{name}", Trigger.Request())


def test_the_plan_arrives_whole_also_at_those_who_come_later(server: tuple[Any, Plan]) -> None:
    rig, plan = server
    assert call(rig, "start").success
    commands, objects = rig.collect("reference"), rig.collect("object_reference")
    rig.wait_until(lambda: commands and objects, "latched references")
    read = read_reference(SYSTEM, messages.JointOrder(SYSTEM.joint_names), commands[-1], objects[-1])
    assert np.max(np.abs(read.times_s - plan.times_s)) <= SAME
    assert read.u.tolist() == plan.u.tolist() and read.tau_ff.tolist() == plan.tau_ff.tolist()
    for row, expected in zip(read.q, plan.q, strict=True):
        assert np.max(np.abs(SYSTEM.difference(row, expected)[: SYSTEM.n_v_u])) <= SAME


def test_before_the_clock_begins_the_start_counts_from_its_beginning(server: tuple[Any, Plan]) -> None:
    rig, _ = server
    assert call(rig, "start").success
    commands = rig.collect("reference")
    rig.wait_until(lambda: commands, "reference")
    assert messages.from_stamp(commands[-1].header.stamp) == 1_250_000_000


def test_later_the_start_counts_from_simulated_now(server: tuple[Any, Plan]) -> None:
    rig, _ = server
    clock, commands, objects = rig.publisher("/clock"), rig.collect("reference"), rig.collect("object_reference")
    rig.connect(clock)
    message = Clock(clock=messages.to_stamp(7_000_000_000))

    def started_at_seven() -> bool:
        clock.publish(message)
        assert call(rig, "start").success
        return bool(commands) and messages.from_stamp(commands[-1].header.stamp) == 7_250_000_000

    rig.wait_until(started_at_seven, "start at 7.25 s")
    rig.wait_until(lambda: objects[-1].header.stamp == commands[-1].header.stamp, "the same stamp")


def test_cancel_publishes_references_without_points(server: tuple[Any, Plan]) -> None:
    rig, _ = server
    assert call(rig, "start").success
    commands, objects = rig.collect("reference"), rig.collect("object_reference")
    assert call(rig, "cancel").success
    rig.wait_until(lambda: commands and not commands[-1].points and objects and not objects[-1].points, "cancelled")


def test_an_inactive_server_refuses_to_start(server: tuple[Any, Plan]) -> None:
    rig, _ = server
    assert rig.request("trajectory_server", "deactivate")
    response = call(rig, "start")
    assert rig.request("trajectory_server", "activate")
    assert not response.success and "activate it first" in response.message


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing.npz", "no such plan file"), ("other.npz", "a plan of system 'other'"), ("text.npz", "not a plan file")],
)
def test_plans_that_cannot_be_used_are_refused(
    make_rig: Callable[..., Any], tmp_path: Path, name: str, words: str
) -> None:
    empty = np.zeros((1, 1))
    save_plan(tmp_path / "other.npz", Plan(np.zeros(1), empty, empty, empty, empty, {"system": "other"}))
    (tmp_path / "text.npz").write_text("no archive")
    values = {"system": "allegro_ball", "plan_file": str(tmp_path / name)}
    with pytest.raises(StackError, match=f"{name}.*{words}"):
        make_rig("lockstep", trajectory_server=values).configure()
