"""The tracker: follows a reference of object poses and commands by receding-horizon MPC.

A pure function of the states it is given, so that a recorded run can be recomputed. The commands of a solve are linear
between the steps of the model: the command in force at the stamp, the same plan's at the time at which the new one
takes effect, then u_0 at h, u_1 at 2 h, ...
"""

from collections.abc import Mapping

import numpy as np

from contact_mpc.control.tracking.command_adaptation import CommandAdaptation
from contact_mpc.control.tracking.config import TrackerConfig
from contact_mpc.control.tracking.drive_watch import DriveWatch
from contact_mpc.control.tracking.follower import (
    LAGGING,
    MODEL_FAILED,
    NOT_FOLLOWING,
    NOTE_SEPARATOR,
    OK,
    Follower,
    Moment,
    Reference,
    TrackerOutput,
)
from contact_mpc.control.tracking.lag_watch import LagWatch
from contact_mpc.control.tracking.mpc import Mpc
from contact_mpc.control.tracking.slip_watch import SlipWatch
from contact_mpc.model.system import System
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.units import NS_PER_S
from contact_mpc.task.loop_records import CommandPlan, EstimatedState
from contact_mpc.task.plan import Plan


class Tracker(Follower):
    """Receding-horizon tracking of a reference.

    Parameters
    ----------
    system, config
        What moves, and the parameters.
    mpc : Mpc, optional
        What solves a step in place of the MPC on the smoothed linearisation, see `control.tracking.comparison`.
    """

    def __init__(self, system: System, config: TrackerConfig, mpc: Mpc | None = None) -> None:
        super().__init__(system, config)
        self._mpc = Mpc(system, config) if mpc is None else mpc
        self._adaptation = CommandAdaptation(system, config.adaptation_gain, config.adaptation_weakest)
        self._lag = LagWatch(config.lag_angle_deg, config.lag_distance_m, config.lag_release_share)
        self._drives = DriveWatch(system, config.torque_shortfall, config.torque_filter_s)
        self._slip = SlipWatch(
            system, self._mpc.model, config.contact_reach_m, config.slip_speed_m_s, config.slip_window_s,
            config.slip_filter_s,
        )  # fmt: skip
        self._has_given_up = False

    @property
    def mpc(self) -> Mpc:
        """The problem with its horizon."""
        return self._mpc

    def warm_up(self) -> None:
        """Compile, or load what is compiled, by one solve at the system's default configuration."""
        system, T = self.system, self.config.horizon_steps
        q, u = system.q_default, system.q_default[system.n_q_u :]
        self._mpc.u[:] = u
        self._mpc.solve(q, np.tile(q, (T + 1, 1)), np.tile(u, (T, 1)), u, iterations=1)
        self._mpc.reset()

    def set_reference(self, reference: Reference | None) -> None:
        """Follow another reference from now on, also after one that the object was lost from; None holds."""
        super().set_reference(reference)
        self._has_given_up = False
        self._adaptation.reset()
        self._lag.reset()

    def tune(self, changes: Mapping[str, float]) -> None:
        """Take valid values of tunable parameters, by name, from the next solve on; nothing is forgotten."""
        super().tune(changes)
        self._mpc.tune(self.config)
        self._adaptation.gain = self.config.adaptation_gain

    def reset(self) -> None:
        """Forget the last solution, and that the object was lost or did not follow."""
        super().reset()
        self._has_given_up = False
        self._lag.reset()
        self._drives.reset()
        self._slip.reset()
        self._adaptation.reset()
        self._mpc.reset()

    def go_on_from(self, plan: CommandPlan | None) -> None:
        """Take a command plan, which is in force, as the last solution; None: the reference's commands are."""
        self._last = plan

    def _follow(self, state: EstimatedState, plan: Plan, moment: Moment) -> TrackerOutput:
        """Solve from an estimated state."""
        config, t_s = self.config, moment.t_s
        before = self._command_at(state.t_ns, t_s)
        note = "" if self._has_given_up else self._watch(state, before)
        lag_s = self._lag.update(state.t_ns, moment.angle_deg, moment.distance_mm)
        self._has_given_up |= lag_s >= config.give_up_s or min(lag_s, self._slip.sliding_s) >= config.slip_give_up_s
        if self._has_given_up:
            return self._hold(state, NOT_FOLLOWING, moment, note)
        if not self._solve(state, plan, t_s, before):
            self._mpc.reset()
            return self._hold(state, MODEL_FAILED, moment)
        commands = self._lay_out(state.t_ns, t_s, before, self._mpc.u)
        hz = self._mpc.horizon
        return TrackerOutput(
            commands, LAGGING if self._lag.is_lagging else OK, moment.solve_ms,
            int(hz.counts[0]), float(hz.last_change[0]), moment.angle_deg, moment.distance_mm, note=note,
        )  # fmt: skip

    def _watch(self, state: EstimatedState, u: FloatArray) -> str:
        """Return what is to be told of drives and fingers at a state under the command u (n_a,); "" for nothing."""
        weak = self._drives.update(state.t_ns, state.q[self.system.n_q_u :], u, state.tau)
        sliding = self._slip.update(state.t_ns, state.q)
        notes = [f"less torque than commanded: {', '.join(weak)}"] if weak else []
        notes += [f"fingers slide: {', '.join(sliding)}"] if sliding else []
        return NOTE_SEPARATOR.join(notes)

    def _solve(self, state: EstimatedState, plan: Plan, t_s: float, before: FloatArray) -> bool:
        mpc = self._mpc
        times = t_s + self._instants_s
        q_ref = np.array([plan.sample_q(self.system, t) for t in (t_s, *times)])
        u_plan = np.array([plan.sample_u(t) for t in times])
        for k, stage_s in enumerate(self._instants_s):
            mpc.u[k] = self._command_at(state.t_ns + round(stage_s * NS_PER_S), times[k])
        if not mpc.solve(state.q, q_ref, u_plan + self._adaptation.offset, before):
            return False
        self._adaptation.update(mpc.horizon.B[0], mpc.u[0] - u_plan[0])
        return True
