"""Plans: trajectories of (q, u, feed-forward torque, contact impulses), and their files."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contact_mpc.errors import InputError, PlanError
from contact_mpc.model.kinematic_tree import FREE, REVOLUTE
from contact_mpc.model.system import UNIT_QUATERNION_TOLERANCE, System
from contact_mpc.settings.array_files import read_arrays, write_arrays
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.task.interpolation import interpolate_rows
from contact_mpc.version import __version__

FORMAT = "contact_mpc plan 1"
ARRAYS = ("times_s", "q", "u", "tau_ff", "contact_impulses")
LONGEST_PLAN_S = 3600.0  # of a file; motions of tasks last 600 s at most, those of trees some more
FURTHEST_OBJECT_M, MOST_TURNED_RAD = 100.0, 1000.0  # of each coordinate of an object in a file
MOST_IMPULSE_N_S = 1e6  # of a contact in one step of a file, along an axis: a tonne for 100 s
EDGE_S = 1e-6  # a held torque changes within this time where a trajectory is linear between its points


@dataclass(frozen=True)
class Plan:
    """A plan over N + 1 instants.

    Attributes
    ----------
    times_s : (N + 1,) array
        Increasing times from 0, s.
    q : (N + 1, n_q) array
        Configurations; m, rad, quaternions wxyz.
    u : (N + 1, n_a) array
        Commands, rad (m), linear in between; u[k] is reached at times_s[k].
    tau_ff : (N + 1, n_a) array
        Feed-forward torque, N m; linear in between, or with `tau_ff_held` the value at times_s[k] until times_s[k + 1].
    contact_impulses : (N + 1, n_c, 3) array
        Impulse on the object per contact pair of the step that ends at times_s[k], world frame, N s.
    provenance : dict
        System, its digest, planner, parameters, seed, package version.
    du : (N + 1, n_a) array, optional
        Reference of the joint velocities, rad/s, linear in between; without it the slope of u.
    tau_ff_held : bool
        Whether tau_ff is held (zero order) instead of interpolated: the torques of a contact-implicit plan are, and its
        u is q_k - (dt / 2) v_k, the middle of what semi-implicit Euler steps over (`planning/push`).
    """

    times_s: FloatArray
    q: FloatArray
    u: FloatArray
    tau_ff: FloatArray
    contact_impulses: FloatArray
    provenance: dict[str, Any] = field(default_factory=dict)
    du: FloatArray | None = None
    tau_ff_held: bool = False

    def __post_init__(self) -> None:
        times_s = self.times_s
        is_finite = times_s.ndim == 1 and times_s.size > 0 and bool(np.all(np.isfinite(times_s)))
        if not is_finite or not np.all(np.diff(times_s) > 0.0):
            raise InputError(f"plan: times_s must be finite and increase, with at least one entry; found {times_s}")
        count = self.times_s.shape[0]
        for name in ARRAYS[1:]:
            array = getattr(self, name)
            if array.shape[:1] != (count,) or not np.all(np.isfinite(array)):
                raise InputError(f"plan: {name} has shape {array.shape}; expected {count} finite rows, one per time")
        if self.du is not None and (self.du.shape != self.u.shape or not np.all(np.isfinite(self.du))):
            raise InputError(f"plan: du has shape {self.du.shape}; expected finite {self.u.shape}, as u")

    def linear(self) -> "Plan":
        """Return this plan with all quantities linear between instants: a held torque gets a second point per edge.

        The point at times_s[k] - EDGE_S still has tau_ff[k - 1]; u, du and q are interpolated there.
        """
        if not self.tau_ff_held or len(self.times_s) == 1:
            return self
        before = self.times_s[1:] - EDGE_S
        times_s = np.sort(np.concatenate([self.times_s, before]))
        source = np.searchsorted(self.times_s, times_s, side="right") - 1
        columns = {name: getattr(self, name) for name in ("u", "du") if getattr(self, name) is not None}
        filled: dict[str, Any] = {
            name: np.stack([np.interp(times_s, self.times_s, column) for column in array.T], axis=1)
            for name, array in columns.items()
        }
        end = np.searchsorted(self.times_s, times_s - 0.5 * EDGE_S, side="right")  # of the interval, for both points
        return replace(
            self, times_s=times_s, tau_ff=self.tau_ff[source], tau_ff_held=False, **filled,
            q=self.q[end], contact_impulses=self.contact_impulses[end],
        )  # fmt: skip

    def rows(self, rows: slice | NDArray[np.bool_]) -> "Plan":
        """Return some rows of this plan, from time 0 on."""
        times_s, du = self.times_s[rows], None if self.du is None else self.du[rows]
        return replace(
            self, times_s=times_s - times_s[0], q=self.q[rows], u=self.u[rows], tau_ff=self.tau_ff[rows], du=du,
            contact_impulses=self.contact_impulses[rows],
        )  # fmt: skip

    @property
    def impulse_sizes(self) -> FloatArray:
        """Size of the sum of all contact impulses of the step that ends at each instant (N + 1,), N s."""
        return np.asarray(np.linalg.norm(self.contact_impulses.sum(axis=1), axis=1))

    def sample_u(self, t_s: float) -> FloatArray:
        """Return the command at t_s, held constant outside the plan."""
        return interpolate_rows(t_s, self.times_s, self.u)

    def sample_q(self, system: System, t_s: float) -> FloatArray:
        """Return the configuration at t_s, on the geodesic between instants, held constant outside the plan."""
        return interpolate_q(system, self.times_s, self.q, t_s)


def interpolate_q(system: System, times_s: FloatArray, q: FloatArray, t_s: float) -> FloatArray:
    """Return the configuration at t_s on the geodesics between the rows of q (n, n_q) at times_s (n,)."""
    k = int(np.searchsorted(times_s, t_s, side="right")) - 1
    if k < 0 or k >= len(times_s) - 1:
        return q[min(max(k, 0), len(times_s) - 1)].copy()
    fraction = (t_s - times_s[k]) / (times_s[k + 1] - times_s[k])
    return system.integrate(q[k], fraction * system.difference(q[k], q[k + 1]))


def save_plan(path: Path, plan: Plan) -> None:
    """Write a plan to a .npz file; raises PlanError where the file cannot be written."""
    arrays = {name: getattr(plan, name) for name in ARRAYS} | ({} if plan.du is None else {"du": plan.du})
    write_arrays(path, "plan", {"format": FORMAT, "tau_ff_held": plan.tau_ff_held, **plan.provenance}, arrays)


def load_plan(path: Path | str, system: System | None = None) -> Plan:
    """Read a plan file.

    Parameters
    ----------
    path : path
        A file written by `save_plan`.
    system : System, optional
        Where given, a plan of another system, of another version of its model files or of the package, is refused.

    Raises
    ------
    PlanError
        The file is missing, not a plan, belongs to another system, or asks for what its joints and objects cannot do.
    """
    path = Path(path)
    if not path.exists():
        raise PlanError(f"{path}: no such plan file; write one with `contact-mpc plan TASK --out {path}`")
    header, read = read_arrays(path, "plan", ARRAYS, ("du",))
    arrays = {name: values.astype(np.float64) for name, values in read.items()}
    if header.pop("format", None) != FORMAT:
        raise PlanError(f"{path}: not a plan of format '{FORMAT}'; plan again with this version")
    held = bool(header.pop("tau_ff_held", False))
    try:
        plan = Plan(**arrays, provenance=header, tau_ff_held=held)
    except InputError as error:
        raise PlanError(f"{path}: {error}") from error
    if system is not None:
        check_plan(path, plan, system)
    return plan


def check_plan(path: Path | str, plan: Plan, system: System) -> None:
    """Raise PlanError where a plan belongs to another system or asks for what joints or objects cannot do.

    path is where it was read from, or what else messages shall name.
    """
    _check_system(path, plan, system)
    _check_values(path, system, plan)


def _check_system(path: Path | str, plan: Plan, system: System) -> None:
    header = plan.provenance
    if header.get("system") != system.name:
        raise PlanError(f"{path}: a plan of system '{header.get('system')}', not of '{system.name}'")
    if header.get("version", __version__) != __version__:
        raise PlanError(f"{path}: made by version {header['version']} of this package, not {__version__}; plan again")
    if header.get("system_digest") != system.digest:
        raise PlanError(
            f"{path}: made for another version of system '{system.name}' (its YAML or URDF changed since); plan again"
        )
    widths = {"q": system.n_q, "u": system.n_a, "tau_ff": system.n_a}
    for name, width in widths.items():
        shape = getattr(plan, name).shape
        if len(shape) != 2 or shape[1] != width:
            raise PlanError(f"{path}: {name} has shape {shape}; expected (n, {width})")
    if plan.contact_impulses.shape[2:] != (3,):
        shape = plan.contact_impulses.shape
        raise PlanError(f"{path}: contact_impulses has shape {shape}; expected (n, contacts, 3)")


def _check_values(path: Path | str, system: System, plan: Plan) -> None:
    """Refuse what no run lasts, what no spring at its effort limit explains, and what no object does.

    A command is as far outside a joint's range as its spring reaches, and the joint as far from its command. Torques
    and velocities are up to twice their limits: a feed-forward torque is without the robot's weight, which may be as
    large, and a reference of the velocity may overshoot.
    """
    reach, tau_max, v_max = system.tau_max_nm / system.kp, 2.0 * system.tau_max_nm, 2.0 * system.v_max
    q_u, q_a = plan.q[:, : system.n_q_u], plan.q[:, system.n_q_u :]
    far = _most_of_objects(system)
    joints, impulses = system.joint_names, np.full(3, MOST_IMPULSE_N_S)
    _refuse_outside(path, "times_s", plan.times_s, np.zeros(()), np.array(LONGEST_PLAN_S), "s")
    _refuse_outside(path, "u", plan.u, system.q_min - reach, system.q_max + reach, "rad (m)", joints)
    _refuse_outside(path, "q", q_a, system.q_min - 2.0 * reach, system.q_max + 2.0 * reach, "rad (m)", joints)
    _refuse_outside(path, "q", q_u, -far, far, "m (rad, or of a quaternion)")
    _refuse_outside(path, "tau_ff", plan.tau_ff, -tau_max, tau_max, "N m (N)", joints)
    if plan.du is not None:
        _refuse_outside(path, "du", plan.du, -v_max, v_max, "rad/s (m/s)", joints)
    _refuse_outside(path, "contact_impulses", plan.contact_impulses, -impulses, impulses, "N s")
    _refuse_quaternions(path, system, plan.q)


def _most_of_objects(system: System) -> FloatArray:
    """Return the largest size (n_q_u,) of each coordinate of the objects: 1 in quaternions."""
    most = np.full(system.n_q_u, 1.0 + UNIT_QUATERNION_TOLERANCE)
    for kind, i in zip(system.tree.joint, system.tree.i_q, strict=True):
        if i >= system.n_q_u:
            continue
        if kind == FREE:
            most[i + 4 : i + 7] = FURTHEST_OBJECT_M
        else:
            most[i] = MOST_TURNED_RAD if kind == REVOLUTE else FURTHEST_OBJECT_M
    return most


def _refuse_quaternions(path: Path | str, system: System, q: FloatArray) -> None:
    """Raise PlanError for the first row (of n, n_q) whose quaternion is none of a rotation, as `System.check_q`."""
    for i in system.tree.i_q[system.tree.joint == FREE]:
        norms = np.linalg.norm(q[:, i : i + 4], axis=1)
        wrong = np.flatnonzero(np.abs(norms - 1.0) > UNIT_QUATERNION_TOLERANCE)
        if len(wrong):
            k = wrong[0]
            raise PlanError(
                f"{path}: q[{k}, {i}:{i + 4}] has norm {norms[k]:.6g}; a unit quaternion wxyz is needed; plan again"
            )


def _refuse_outside(
    path: Path | str, name: str, rows: FloatArray, lower: FloatArray, upper: FloatArray, unit: str,
    joints: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Raise PlanError for the first value outside its range, the same in all rows; joints name the columns, if any."""
    outside = np.argwhere((rows < lower) | (rows > upper))
    if not len(outside):
        return
    at = tuple(int(i) for i in outside[0])
    place = f"{name}[{at[0]}] of joint {joints[at[1]]}" if joints else f"{name}[{', '.join(map(str, at))}]"
    low, high = (np.broadcast_to(bound, rows.shape)[at] for bound in (lower, upper))
    what = "what the joint can follow" if joints else "what a plan may have"
    raise PlanError(f"{path}: {place} = {rows[at]:g} is outside [{low:.4g}, {high:.4g}] {unit}, {what}; plan again")
