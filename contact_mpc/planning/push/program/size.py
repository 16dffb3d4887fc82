"""How large a program is, counted as the paper counts its own."""

from dataclasses import dataclass

import numpy as np

from contact_mpc.planning.push.program.bounds import Bounds
from contact_mpc.planning.push.program.program import Program

PAPER = {"variables": 896, "equalities": 819, "inequalities": 1955}
PRODUCTS = ("gap_product", "rebound_product", "aligned_product", "friction_product", "stiction_product")


@dataclass(frozen=True)
class ProgramSize:
    """Counts of a program.

    variables : all but those that the start and the goal fix. The paper counts the 7 inputs of the last stage, too,
        which act on nothing.
    equalities : dynamics, and the complementarity conditions that are equalities without relaxation
    inequalities : finite bounds of variables and of the other rows, each side by itself
    """

    variables: int
    equalities: int
    inequalities: int


def count_size(program: Program, bounds: Bounds) -> ProgramSize:
    """Count the program under the bounds of a search."""
    n_x, products = program.n_x, _product_columns(program)
    last = slice(program.first_row(program.steps), None)
    fixed = n_x + int(np.sum(bounds.lbg[last] == bounds.ubg[last]))
    is_open = bounds.lbg != bounds.ubg
    is_product = np.zeros(program.n_g, dtype=np.bool_)
    for k in range(program.steps):
        is_product[program.first_row(k) + n_x + products] = True
    counted = is_open & ~is_product
    is_free = bounds.lbx != bounds.ubx
    sides = [bounds.lbg[counted], bounds.ubg[counted], bounds.lbx[is_free], bounds.ubx[is_free]]
    active = int(np.sum(is_product & is_open & (np.isfinite(bounds.lbg) | np.isfinite(bounds.ubg))))
    return ProgramSize(
        program.n_z - fixed, program.steps * n_x + active, sum(int(np.isfinite(side).sum()) for side in sides)
    )


def _product_columns(program: Program) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    names = [name for name, row in program.stage.rows.items() for _ in range(row.numel())]
    return np.array([index for index, name in enumerate(names) if name in PRODUCTS], dtype=np.int64)
