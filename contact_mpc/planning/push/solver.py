"""fatrop on the staged program: one solver per set of options, each solve in a memory of its own.

casadi's interface to fatrop heeds options until the pattern of bounds changes, and then goes on with fatrop's defaults
(three times the iterations). A fresh memory heeds them and costs a tenth of a new solver, but stays, with about 10 MB,
as long as the solver does: so a solver is built again after a few solves.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from contact_mpc.planning.push.program.bounds import Bounds
from contact_mpc.planning.push.program.program import Program
from contact_mpc.settings.arrays import FloatArray

Options = Mapping[str, float]
MOST_MEMORIES = 8


class _Solver(NamedTuple):
    function: ca.Function
    memories: list[Any]  # ca.FunctionBuffer, whose types say otherwise than it is called


class StagedSolver:
    """Solves the program within bounds.

    Parameters
    ----------
    program : Program
        What is solved.
    problem : str or ca.Function
        Its functions, compiled or not: see `compiled.Library`.
    iterations : int
        Most of them, where options name no other number.
    """

    def __init__(self, program: Program, problem: str | ca.Function, iterations: int) -> None:
        self._program, self._problem, self._iterations = program, problem, iterations
        self._solvers: dict[str, _Solver] = {}

    @property
    def memories(self) -> int:
        """How many memories are kept."""
        return sum(len(solver.memories) for solver in self._solvers.values())

    def solve(self, options: Options, z: FloatArray, parameters: FloatArray, bounds: Bounds) -> tuple[FloatArray, int]:
        """Return variables (n_z,) and the iterations they took, from a guess z (n_z,)."""
        buffer = self._fresh_memory(options)
        inputs = (z, parameters, bounds.lbx, bounds.ubx, bounds.lbg, bounds.ubg)  # nlpsol's first six, in its order
        arguments = [np.array(item, dtype=np.float64).ravel() for item in inputs]  # the buffer has their addresses only
        for i, argument in enumerate(arguments):
            buffer.set_arg(i, argument.data)
        found = np.empty(self._program.n_z)
        buffer.set_res(0, found.data)
        buffer._eval()
        return found, int(buffer.stats()["iter_count"])

    def _fresh_memory(self, options: Options) -> Any:
        key = repr(sorted(options.items()))
        solver = self._solvers.get(key)
        if solver is None or len(solver.memories) == MOST_MEMORIES:
            solver = self._solvers[key] = _Solver(self._build(options), [])
        solver.memories.append(solver.function.buffer()[0])
        return solver.memories[-1]

    def _build(self, options: Options) -> ca.Function:
        program = self._program
        structure: dict[str, Any] = {
            "structure_detection": "manual", "N": program.steps, "nx": [program.n_x] * program.stages,
            "nu": [program.n_u] * program.steps + [0], "ng": program.row_counts,
        }  # fmt: skip
        quiet = {"print_time": False, "error_on_fail": False, "calc_lam_p": False, "calc_lam_x": False}
        inner = {"print_level": 0, "max_iter": self._iterations, **options}
        expand = {} if isinstance(self._problem, str) else {"expand": True}
        chosen = {**structure, **quiet, **expand, "fatrop": inner}
        solver: ca.Function = ca.nlpsol("contact_implicit", "fatrop", self._problem, chosen)
        return solver
