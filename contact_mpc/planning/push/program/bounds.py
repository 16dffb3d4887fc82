"""Bounds of variables and rows: with complementarity relaxed by sigma for the search, with fixed modes for the polish.

The search (Scholtes) bounds the products of (8), (10), (12), (14) by sigma. The polish bounds their factors:

    contact (c_k)    phi_k = rebound = aligned = steady = 0, face >= 0, lam >= 0    else    lam_k = 0, phi_k >= 0
    c_k or c_{k-1}   braking = 0
    sliding (m_k)    F_f = F_s, speed_{k+1} >= 0                                    else    speed_{k+1} = 0, F_f <= F_s

From three steps after the last contact on, the tool stays 1 cm behind the object (phi_k >= `clear_m`): if it followed
closer, an object that is slower than planned would be hit once more.

With the friction of (12) as printed a stage that does not slide has F_f = lam instead, and the last one that slides
ends at rest. A row without bounds is left out by the solver. One whose mode may change between solves keeps bounds
that it cannot reach, because the solver does not clear multipliers of rows that it leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contact_mpc.planning.push.program.instance import Instance
from contact_mpc.planning.push.program.model import Model
from contact_mpc.planning.push.program.program import Program
from contact_mpc.settings.arrays import FloatArray

BoolArray = NDArray[np.bool_]
Range = tuple[float | FloatArray, float | FloatArray]
INF = float("inf")
LOOSE = 1e6
MARGIN = 1e-6  # of inequalities (m, rad, share of a limit): solvers let bounds be passed by 1e-8
FREE = (-INF, INF)


@dataclass(frozen=True)
class Modes:
    """Per step: whether the tool touches (c_k) and whether the object slides (m_k), (N - 1,) each."""

    contact: BoolArray
    sliding: BoolArray


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds of variables (n_z,) and constraints (n_g,)."""

    lbx: FloatArray
    ubx: FloatArray
    lbg: FloatArray
    ubg: FloatArray


class BoundsBuilder:
    """Lays bounds out in the order of a program."""

    def __init__(self, model: Model, program: Program) -> None:
        self._model, self._program = model, program

    def search(self, instance: Instance, sigma: float, contact_step: int) -> Bounds:
        """Return the bounds of the program relaxed by sigma, with contact at contact_step + i contact_spacing."""
        rows: dict[str, Range] = {
            **self._common(),
            "gap": (0.0, INF),
            "gap_product": (-INF, sigma),
            "rebound_product": (-sigma, sigma),
            "aligned_product": (-sigma, sigma),
            "face_product": (-sigma, INF),
        }
        if self._model.has_friction:
            rows |= {"speed": (0.0, INF), "friction_product": (-INF, sigma)}
            if self._model.settings.friction_form == "printed":
                rows["stiction_product"] = (-sigma, sigma)
        at_rest = self._model.settings.object_at_rest and self._model.has_friction and not instance.goal_weight
        speed = (
            (0.0, self._model.settings.speed_at_end * sigma if at_rest else INF) if self._model.has_friction else FREE
        )
        friction = np.full(self._program.steps, self._model.thing.breakaway_n)
        is_candidate = (np.arange(self._program.steps) - contact_step) % self._model.settings.contact_spacing == 0
        lam = np.where(is_candidate, INF, 0.0)
        return self._build(instance, rows, speed, lam, (np.zeros_like(friction), friction))

    def polish(self, instance: Instance, modes: Modes, keeps_speed: bool = True) -> Bounds:
        """Return the bounds of the program with fixed modes.

        keeps_speed: through a hit the tool keeps its speed and height, see `stage`; the paper does not ask for it.
        """
        c, m, settings = modes.contact, modes.sliding, self._model.settings
        clear = np.where(_is_clear(c, settings.clear_after_steps), settings.clear_m, MARGIN)
        follows = (c | np.append(False, c[:-1])) & keeps_speed
        held = c & keeps_speed
        pinned = (np.where(c, 0.0, -LOOSE), np.where(c, 0.0, LOOSE))
        rows: dict[str, Range] = {
            **self._common(),
            "gap": (np.where(c, 0.0, clear), np.where(c, 0.0, LOOSE)),
            "rebound": pinned,
            "aligned": pinned,
            "steady": (np.where(held, 0.0, -LOOSE), np.where(held, 0.0, LOOSE)),
            "braking": (np.where(follows, 0.0, -LOOSE), np.where(follows, 0.0, LOOSE)),
            "face": (np.where(c, MARGIN, -LOOSE), INF),
        }
        fs = self._model.thing.breakaway_n
        friction = (np.where(m, fs, 0.0), np.full(len(m), fs))
        if self._model.has_friction:
            rows["speed"] = (0.0, np.where(m, LOOSE, 0.0))
            if self._model.settings.friction_form == "printed":
                ends = m & ~np.append(m[1:], False)
                rows["speed"] = (np.where(m, 0.0, -LOOSE), np.where(ends, 0.0, LOOSE))
                rows["stiction"] = (np.where(m, -LOOSE, 0.0), np.where(m, LOOSE, 0.0))
        return self._build(instance, rows, FREE, np.where(c, INF, 0.0), friction)

    def _common(self) -> dict[str, Range]:
        settings = self._model.settings
        rod = (settings.rod_clearance_m + MARGIN, INF) if self._model.rod_end_m > 0.0 else FREE
        share = (1.0 - MARGIN) * settings.limit_share
        return {"torque": (-share, share), "clearance": (settings.clearance_m + MARGIN, INF), "rod": rod}

    def _build(
        self, instance: Instance, rows: Mapping[str, Range], speed_at_end: Range, lam: FloatArray,
        friction: tuple[FloatArray, FloatArray],
    ) -> Bounds:  # fmt: skip
        program, stage = self._program, self._program.stage
        low, high = (
            np.hstack([
                np.tile(np.broadcast_to(rows.get(name, FREE)[side], program.steps)[:, None], row.numel())
                for name, row in stage.rows.items()
            ]).astype(np.float64)
            for side in (0, 1)
        )  # fmt: skip
        self._free_start(low, high)
        goal = FREE if instance.goal_weight else (instance.goal, instance.goal)
        last_rows: dict[str, Range] = {
            **self._common(), "gap": (MARGIN, INF), "goal": goal, "arm_at_rest": (0.0, 0.0), "speed": speed_at_end
        }  # fmt: skip
        end_low, end_high = (
            np.concatenate([np.full(row.numel(), last_rows[name][side]) for name, row in stage.last_rows.items()])
            for side in (0, 1)
        )
        lbg, ubg = (self._lay_out(inner, end, instance) for inner, end in ((low, end_low), (high, end_high)))
        return Bounds(*self._variables(lam, friction), lbg, ubg)

    def _free_start(self, low: FloatArray, high: FloatArray) -> None:
        """Leave out the rows of x_0 alone: x_0 is given, and `checks` has judged it."""
        first = 0
        for name, row in self._program.stage.rows.items():
            if name in ("gap", "clearance", "rod"):
                low[0, first : first + row.numel()], high[0, first : first + row.numel()] = FREE
            first += row.numel()

    def _lay_out(self, inner: FloatArray, end: FloatArray, instance: Instance) -> FloatArray:
        n_x = self._program.n_x
        rest = np.hstack([np.zeros((len(inner), n_x)), inner])
        return np.concatenate([rest[0], instance.x_0, rest[1:].ravel(), end])

    def _variables(self, lam: FloatArray, friction: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        model, program, system = self._model, self._program, self._model.system
        share = (1.0 - MARGIN) * model.settings.limit_share
        speed, n, o = share * system.v_max, model.n_r, model.n_o
        found = []
        for side, (q, v) in enumerate(((system.q_min + MARGIN, -speed), (system.q_max - MARGIN, speed))):
            unbounded = FREE[side]
            x = np.tile(np.concatenate([q, np.full(o, unbounded), v, np.full(o, unbounded)]), (program.stages, 1))
            x[0] = unbounded
            u = np.full((program.steps, model.n_u), unbounded)
            u[:, n] = (np.zeros_like(lam), lam)[side]
            if model.has_friction:
                u[:, n + 1] = friction[side]
            found.append(program.pack(x, u))
        return found[0], found[1]


def _is_clear(contact: BoolArray, after: int) -> BoolArray:
    """Return at which steps (N - 1,) the last contact is over for so many steps."""
    steps = np.flatnonzero(contact)
    return np.asarray(np.arange(len(contact)) >= (steps[-1] + after if len(steps) else len(contact)))
