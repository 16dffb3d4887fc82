"""The commands of one solve as the bridge takes them: linear between the instants at which they are given."""

import numpy as np

from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.loop_records import CommandPlan


def lay_out_commands(
    stamp_ns: int, before: FloatArray, at_delay: tuple[float, FloatArray] | None, instants_s: FloatArray, u: FloatArray
) -> CommandPlan:
    """Return the plan from the command in force at its stamp through u_k at instants_s[k].

    Parameters
    ----------
    stamp_ns : int
        Stamp of the state solved from, ns.
    before : (n_a,) array
        Command in force then, rad (m).
    at_delay : (float, (n_a,) array), optional
        When the plan takes effect, s after its stamp, and the command in force by then; None: at once.
    instants_s : (k,) array
        Instants after the stamp, s.
    u : (k, n_a) array
        Commands there, rad (m).
    """
    times, head = [0.0], [before]
    if at_delay is not None:
        times.append(at_delay[0])
        head.append(at_delay[1])
    times_s, commands = np.concatenate([times, instants_s]), np.vstack([*head, u])
    du = np.zeros_like(commands)
    du[:-1] = np.diff(commands, axis=0) / np.diff(times_s)[:, None]
    return CommandPlan(stamp_ns, times_s, commands, du, np.zeros_like(commands))
