"""Compiles what the bridge calls before time runs."""

import numpy as np

from contact_mpc.control.bridge.bridge import BridgeCore
from contact_mpc.control.bridge.config import BridgeConfig
from contact_mpc.model.system import System
from contact_mpc.task.loop_records import CommandPlan


def warm_up(system: System, config: BridgeConfig) -> None:
    """Have a bridge of its own start, follow a plan and answer a few states."""
    core = BridgeCore(system, config, lockstep=True)
    q, zero = system.q_default[system.n_q_u :], np.zeros(system.n_a)
    core.activate()
    two, times = np.zeros((2, system.n_a)), np.array([0.0, 1.0])
    core.update_plan(CommandPlan(0, times, np.stack([q, q]), two, two))
    for t_ns in (0, config.plan_delay_ns, config.plan_delay_ns + config.state_period_ns):
        core.step(t_ns, q, zero)
