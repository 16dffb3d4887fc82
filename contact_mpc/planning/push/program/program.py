"""The staged program of equation (3): stages mapped over the horizon, with the derivatives assembled from theirs.

Variables are x_0, u_0, x_1, ..., x_{N-1}; constraints are, stage by stage, the dynamics x_{k+1} - f(x_k, u_k) and the
rows, at k = 0 followed by x_0 itself. That order is the one that structured solvers need. Jacobian and Hessian are the
non-zeros of one stage, evaluated N - 1 times and put in their places: no differentiation of the whole program.

Cost and rows of a stage repeat the arm's kinematics many times over. Differentiated as they are, a Hessian takes 2.2
times the operations that it takes when repeated terms are made one first.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.push.program.stage import SHARED, Stage
from contact_mpc.settings.arrays import FloatArray

IntArray = NDArray[np.int64]
Interface = Literal["fatrop", "ipopt"]
CSE = {"cse": True}  # of repeated terms, once more after differentiation


@dataclass(frozen=True)
class Program:
    """A program of `stages` stages, N of the paper."""

    stage: Stage
    stages: int

    @property
    def steps(self) -> int:
        """N - 1."""
        return self.stages - 1

    @cached_property
    def n_x(self) -> int:
        """Length of a state."""
        return int(self.stage.x.numel())

    @cached_property
    def n_u(self) -> int:
        """Length of an input."""
        return int(self.stage.u.numel())

    @property
    def n_z(self) -> int:
        """Number of variables."""
        return self.steps * (self.n_x + self.n_u) + self.n_x

    @property
    def n_g(self) -> int:
        """Number of constraints, with the rows that have no bounds."""
        return self.steps * (self.n_x + self.n_rows) + self.n_x + self.n_last

    @cached_property
    def n_rows(self) -> int:
        """Rows of a step, without dynamics."""
        return sum(int(row.numel()) for row in self.stage.rows.values())

    @cached_property
    def n_last(self) -> int:
        """Rows of the last stage."""
        return sum(int(row.numel()) for row in self.stage.last_rows.values())

    @property
    def row_counts(self) -> list[int]:
        """Rows per stage, without dynamics, as structured solvers ask for them."""
        return [self.n_rows + self.n_x, *[self.n_rows] * (self.steps - 1), self.n_last]

    @property
    def initial_rows(self) -> slice:
        """Where x_0 stands among the constraints."""
        return slice(self.n_x + self.n_rows, 2 * self.n_x + self.n_rows)

    def first_row(self, k: int) -> int:
        """Index of the first constraint of stage k, its dynamics."""
        return k * (self.n_x + self.n_rows) + (self.n_x if k else 0)

    def pack(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return the variables of states x (N, n_x) and inputs u (N - 1, n_u)."""
        return np.concatenate([np.hstack([x[:-1], u]).ravel(), x[-1]])

    def unpack(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return states (N, n_x) and inputs (N - 1, n_u)."""
        inner = z[: -self.n_x].reshape(self.steps, self.n_x + self.n_u)
        return np.vstack([inner[:, : self.n_x], z[-self.n_x :]]), inner[:, self.n_x :]

    def split_rows(self, g: FloatArray) -> dict[str, FloatArray]:
        """Return the rows of the steps by name, (N - 1, size) each, from constraints (n_g,)."""
        first = np.array([self.first_row(k) for k in range(self.steps)]) + self.n_x
        rows = g[first[:, None] + np.arange(self.n_rows)]
        sizes = [int(row.numel()) for row in self.stage.rows.values()]
        return dict(zip(self.stage.rows, np.split(rows, np.cumsum(sizes)[:-1], axis=1), strict=True))

    def functions(self, interface: Interface = "fatrop") -> dict[str, ca.Function]:
        """Return the functions of (x, p) under the names and with the outputs that a solver looks for.

        p are the shared parameters (`stage.SHARED`). nlp_grad, of the Lagrangian, has no derivative along p (nan):
        solvers are to be told not to ask for it.
        """
        x, p = ca.MX.sym("x", self.n_z), ca.MX.sym("p", len(SHARED))
        lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", self.n_g)
        f, g = self._cost(x, p), self._constraints(x, p)
        slope, hessian = self._lagrangian(x, p, lam_f, lam_g)
        nothing = ca.MX(np.full(len(SHARED), np.nan))
        names = ["x", "p", "lam_f", "lam_g"]
        gradient, multipliers = self._gradient(x, p), [x, p, lam_f, lam_g]
        of_solver = {
            "fatrop": {
                "nlp_grad_f": ([x, p], [gradient], ["grad_f_x"]),
                "nlp_hess_l": (multipliers, [slope, hessian], ["grad_gamma_x", "hess_gamma_x_x"]),
            },
            "ipopt": {
                "nlp_grad_f": ([x, p], [f, gradient], ["f", "grad_f_x"]),
                "nlp_hess_l": (multipliers, [ca.triu(hessian)], ["triu_hess_gamma_x_x"]),
            },
        }
        table = {
            "nlp": ([x, p], [f, g], ["f", "g"]),
            "nlp_f": ([x, p], [f], ["f"]),
            "nlp_g": ([x, p], [g], ["g"]),
            "nlp_jac_g": ([x, p], [g, self._jacobian(x, p)], ["g", "jac_g_x"]),
            "nlp_grad": (multipliers, [f, g, slope, nothing], ["f", "g", "grad_gamma_x", "grad_gamma_p"]),
            **of_solver[interface],
        }
        return {
            name: ca.Function(name, inputs, outputs, names[: len(inputs)], labels)
            for name, (inputs, outputs, labels) in table.items()
        }

    @cached_property
    def _z(self) -> ca.SX:
        return ca.vertcat(self.stage.x, self.stage.u)

    @cached_property
    def _step_g(self) -> ca.SX:
        step_g: ca.SX = ca.cse(ca.vertcat(-self.stage.next_x, *self.stage.rows.values()))
        return step_g

    @cached_property
    def _step_f(self) -> ca.SX:
        step_f: ca.SX = ca.cse(self.stage.cost)
        return step_f

    @cached_property
    def _last_g(self) -> ca.SX:
        return ca.vertcat(*self.stage.last_rows.values())

    def _split(self, x: ca.MX, p: ca.MX) -> tuple[list[ca.MX], list[ca.MX]]:
        """Return the arguments of the mapped stage function and of the last stage's."""
        width = self.n_x + self.n_u
        inner = ca.reshape(x[: width * self.steps], width, self.steps)
        return [inner, ca.repmat(p, 1, self.steps)], [x[width * self.steps :], p]

    @cached_property
    def _stage_cost(self) -> ca.Function:
        return ca.Function("stage_cost", [self._z, self.stage.shared], [self._step_f]).map(self.steps)

    @cached_property
    def _last_cost(self) -> ca.Function:
        return ca.Function("last_cost", [self.stage.x, self.stage.shared], [self.stage.last_cost])

    def _cost(self, x: ca.MX, p: ca.MX) -> ca.MX:
        inner, last = self._split(x, p)
        return ca.sum2(self._stage_cost(*inner)) + self._last_cost(*last)

    @cached_property
    def _stage_rows(self) -> ca.Function:
        return ca.Function("stage_rows", [self._z, self.stage.shared], [self._step_g]).map(self.steps)

    @cached_property
    def _last_rows(self) -> ca.Function:
        return ca.Function("last_rows", [self.stage.x, self.stage.shared], [self._last_g])

    def _constraints(self, x: ca.MX, p: ca.MX) -> ca.MX:
        inner, last = self._split(x, p)
        g, width = self._stage_rows(*inner), self.n_x + self.n_u
        following = ca.horzcat(inner[0][: self.n_x, 1:], x[width * self.steps :])
        columns = ca.vertcat(following + g[: self.n_x, :], g[self.n_x :, :])
        return ca.vertcat(columns[:, 0], x[: self.n_x], ca.vec(columns[:, 1:]), self._last_rows(*last))

    def _gradient(self, x: ca.MX, p: ca.MX) -> ca.MX:
        inner, last = self._split(x, p)
        slope = ca.densify(ca.gradient(self._step_f, self._z))
        end = ca.densify(ca.gradient(self.stage.last_cost, self.stage.x))
        arguments, last_arguments = [self._z, self.stage.shared], [self.stage.x, self.stage.shared]
        return ca.vertcat(
            ca.vec(ca.Function("stage_slope", arguments, [slope], CSE).map(self.steps)(*inner)),
            ca.Function("last_slope", last_arguments, [end])(*last),
        )

    def _jacobian(self, x: ca.MX, p: ca.MX) -> ca.MX:
        inner, last = self._split(x, p)
        own, end = ca.jacobian(self._step_g, self._z), ca.jacobian(self._last_g, self.stage.x)
        mapped = ca.Function("stage_jac", [self._z, self.stage.shared], [_nonzeros(own)], CSE).map(self.steps)
        values = [
            ca.vec(mapped(*inner)), ca.MX.ones(self.n_x * self.steps), ca.MX.ones(self.n_x),
            ca.Function("last_jac", [self.stage.x, self.stage.shared], [_nonzeros(end)])(*last),
        ]  # fmt: skip
        (rows, columns), (last_rows, last_columns) = _triplets(own.sparsity()), _triplets(end.sparsity())
        first = np.array([self.first_row(k) for k in range(self.stages)])
        width, steps, diagonal = self.n_x + self.n_u, np.arange(self.steps)[:, None], np.arange(self.n_x)
        all_rows = [
            (first[:-1, None] + rows).ravel(), (first[:-1, None] + diagonal).ravel(),
            self.initial_rows.start + diagonal, first[-1] + last_rows,
        ]  # fmt: skip
        all_columns = [
            (width * steps + columns).ravel(), (width * (steps + 1) + diagonal).ravel(), diagonal,
            width * self.steps + last_columns,
        ]  # fmt: skip
        return _assemble(self.n_g, self.n_z, all_rows, all_columns, values)

    def _lagrangian(self, x: ca.MX, p: ca.MX, lam_f: ca.MX, lam_g: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return gradient and Hessian of lam_f f + lam_g . g."""
        inner, last = self._split(x, p)
        height, width = self.n_x + self.n_rows, self.n_x + self.n_u
        factor, own_lam, last_lam = ca.SX.sym("factor"), ca.SX.sym("lam", height), ca.SX.sym("lam_last", self.n_last)
        own, own_slope = ca.hessian(factor * self._step_f + ca.dot(own_lam, self._step_g), self._z)
        end, end_slope = ca.hessian(factor * self.stage.last_cost + ca.dot(last_lam, self._last_g), self.stage.x)
        step = ca.Function(
            "stage_hess", [self._z, self.stage.shared, own_lam, factor], [ca.densify(own_slope), _nonzeros(own)], CSE
        ).map(self.steps)
        finish = ca.Function(
            "last_hess", [self.stage.x, self.stage.shared, last_lam, factor],
            [ca.densify(end_slope), _nonzeros(end)],
        )  # fmt: skip
        rest = ca.reshape(lam_g[height + self.n_x : self.first_row(self.steps)], height, self.steps - 1)
        stage_lam = ca.horzcat(lam_g[:height], rest)
        slopes, values = step(*inner, stage_lam, ca.repmat(lam_f, 1, self.steps))
        last_slope, last_values = finish(*last, lam_g[self.first_row(self.steps) :], lam_f)
        of_states = ca.horzcat(lam_g[self.initial_rows], stage_lam[: self.n_x, :])
        shift = ca.vec(ca.vertcat(of_states, ca.MX.zeros(self.n_u, self.stages)))[: self.n_z]
        slope = ca.vertcat(ca.vec(slopes), last_slope) + shift
        (rows, columns), (last_rows, last_columns) = _triplets(own.sparsity()), _triplets(end.sparsity())
        offset, end_offset = width * np.arange(self.steps)[:, None], width * self.steps
        return slope, _assemble(
            self.n_z, self.n_z, [(offset + rows).ravel(), end_offset + last_rows],
            [(offset + columns).ravel(), end_offset + last_columns], [ca.vec(values), last_values],
        )  # fmt: skip


def _nonzeros(value: ca.SX) -> ca.SX:
    nonzeros: ca.SX = value.nz[:]
    return nonzeros


def _triplets(sparsity: ca.Sparsity) -> tuple[IntArray, IntArray]:
    rows, columns = sparsity.get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def _assemble(height: int, width: int, rows: list[IntArray], columns: list[IntArray], values: list[ca.MX]) -> ca.MX:
    """Return the sparse matrix with the given non-zeros, in casadi's order (by column, then row)."""
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((row, column))
    sparsity = ca.Sparsity.triplet(height, width, row[order].tolist(), column[order].tolist())
    return ca.MX(sparsity, ca.vertcat(*values)[order.tolist()])
