"""Hits of a recorded push are stated only where the loop in one process gives the very commands of the bag."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("pydrake")
pytest.importorskip("casadi")

from contact_mpc.bags.record import CommandSeries
from contact_mpc.evaluation.contact_events import ContactCheck
from contact_mpc.evaluation.push_trial import follow_push
from contact_mpc.loop.closed_loop import ClosedLoop
from contact_mpc.loop.config import load_loop_config
from contact_mpc.planning.methods import make_plan
from contact_mpc.ros.stack.push_contacts import check_recorded_contacts
from contact_mpc.ros.stack.run_parameters import RunOptions
from contact_mpc.task.plan import load_plan, save_plan
from contact_mpc.task.task import TaskConfig, load_task

pytestmark = pytest.mark.drake
OPTIONS = RunOptions("drake", "lockstep", 3, "anypulator")


@dataclass(frozen=True)
class Recorded:
    """A push that ends right after its hit, and the commands that its bag would have."""

    task: TaskConfig
    plan_file: Path
    sent: CommandSeries
    contacts: ContactCheck

    def check(self, options: RunOptions, sent: CommandSeries | None) -> tuple[ContactCheck | None, str]:
        return check_recorded_contacts(self.task, options, self.plan_file.parent, self.plan_file, sent)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    plan_file, push = tmp_path_factory.mktemp("push") / "plan.npz", load_task("anypulator_block").moved_by(0.4)
    save_plan(plan_file, make_plan(push))
    task = replace(push, duration_s=0.6, hold_s=0.0)
    plan = load_plan(plan_file, task.system)
    loop = ClosedLoop(task.system, task, plan, load_loop_config("anypulator", "drake"), seed=OPTIONS.seed)
    result, _, contacts = follow_push(loop, plan)
    sent = CommandSeries("commands", result.t_ns, result.t_ns, result.commands.copy(), labelled=True)
    return Recorded(task, plan_file, sent, contacts)


def test_the_same_commands_have_the_hits_of_their_run(recorded: Recorded) -> None:
    contacts, reason = recorded.check(OPTIONS, recorded.sent)
    assert contacts == recorded.contacts and reason == ""
    (hit,) = recorded.contacts.hits
    assert hit.is_as_planned


def test_commands_after_the_run_do_not_count(recorded: Recorded) -> None:
    t_ns = np.append(recorded.sent.t_ns, recorded.sent.t_ns[-1] + 1_000_000)
    values = np.vstack([recorded.sent.values, np.ones((1, recorded.task.system.n_a))])
    contacts, _ = recorded.check(OPTIONS, replace(recorded.sent, t_ns=t_ns, receive_ns=t_ns, values=values))
    assert contacts == recorded.contacts


def test_one_other_bit_in_one_command_leaves_the_hits_unknown(recorded: Recorded) -> None:
    values = recorded.sent.values.copy()
    values[700, 2] = np.nextafter(values[700, 2], np.inf)
    contacts, reason = recorded.check(OPTIONS, replace(recorded.sent, values=values))
    assert contacts is None and "gave other commands" in reason


def test_a_command_that_is_missing_leaves_the_hits_unknown(recorded: Recorded) -> None:
    kept = np.arange(len(recorded.sent)) != 700
    part = replace(recorded.sent, t_ns=recorded.sent.t_ns[kept], values=recorded.sent.values[kept])
    contacts, reason = recorded.check(OPTIONS, part)
    assert contacts is None and "gave other commands" in reason


def test_without_commands_or_lockstep_hits_are_not_known(recorded: Recorded) -> None:
    assert recorded.check(OPTIONS, None) == (None, "hits are not known: the bag has no commands")
    for other in ({"clock": "realtime"}, {"plant": "gazebo"}, {"interface": "position"}):
        contacts, reason = recorded.check(replace(OPTIONS, **other), recorded.sent)
        assert contacts is None and "measured in lockstep" in reason
