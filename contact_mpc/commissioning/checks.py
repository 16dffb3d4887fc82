"""The checks of a robot, one after the other: what each needs consent for, does, measures, and how that is judged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from contact_mpc.commissioning.identification import friction_and_offset, onset_s, stiffness, sweep
from contact_mpc.commissioning.robot import HeldRobot, Reading, Sample
from contact_mpc.errors import StackError
from contact_mpc.settings.arrays import FloatArray

Verdict = Literal["ok", "warn", "fail", "skipped"]
LISTEN_S, HOLD_S = 2.0, 1.0
SWEEP_RAD, SWEEP_S, SWEEPS, SETTLE_S = 0.05, 4.0, 1.25, 0.3
STEP_RAD, STEP_WAIT_S, STEPS, STEP_REST_S = 0.03, 0.3, 3, 1.0
SILENT_S = 0.5  # of the watchdog's test
STILL_RAD_S, STOP_WAIT_S, MOST_DRIFT_RAD = 0.02, 1.0, 0.02
MOST_LATENCY_S, MOST_FRICTION, MOST_WEIGHT, STIFFNESS_OFF = 0.02, 0.1, 0.1, 0.2  # shares of limits and of the given
OFF_SHARE = 0.01  # of the torque limits
ROUNDING_RAD = 1e-3  # a joint that rests at its stop is measured so far beyond it
LEAST_ROOM_RAD = 0.01


@dataclass(frozen=True)
class Finding:
    """What a check measured of a joint, or of all ("")."""

    check: str
    joint: str
    value: float
    unit: str
    verdict: Verdict
    remark: str = ""


@dataclass(frozen=True)
class Check:
    """A check: its name, what moves during it, and how it is done."""

    name: str
    motion: str
    run: Callable[[HeldRobot, float], list[Finding]]


def listen(robot: HeldRobot, rate_hz: float) -> list[Finding]:
    """Measure rate and gaps of the joint states, and whether the joints are within their limits. Sends nothing."""
    first = robot.read()
    readings = [first]
    while readings[-1].t_s - first.t_s < LISTEN_S:
        readings.append(robot.read())
    gaps = np.diff([item.t_s for item in readings])
    measured, system, q = 1.0 / float(np.median(gaps)), robot.system, readings[-1].q
    is_near = abs(measured - rate_hz) <= 0.1 * rate_hz
    found = [
        Finding("states", "", measured, "Hz", "ok" if is_near else "warn", f"rate; the parameters say {rate_hz:g} Hz"),
        Finding("states", "", 1e3 * float(np.percentile(gaps, 99)), "ms", "ok", "99 % of the gaps are shorter"),
        _judged("states", "", float(gaps.min()), "s", gaps.min() > 0.0, "fail", "shortest gap: stamps must increase"),
    ]
    for name, present in (("velocities", first.dq is not None), ("torques", first.tau is not None)):
        remark = f"{name} {'are sent' if present else 'are not sent: derived or left out'}"
        found.append(Finding("states", "", float(present), "1", "ok" if present else "warn", remark))
    room = np.minimum(q - system.q_min, system.q_max - q)
    return found + [
        _judged(
            "limits", name, float(left), "rad", left > -ROUNDING_RAD, "fail", "room to the nearer limit of the URDF"
        )
        for name, left in zip(system.joint_names, room, strict=True)
    ]


def hold(robot: HeldRobot, _rate_hz: float) -> list[Finding]:
    """Hold the robot where it is and see how far it sags."""
    start = robot.read().q.copy()
    samples = _follow(robot, HOLD_S, lambda _t: start)
    drift = np.abs(samples[-1].reading.q - start)
    return [
        _judged("hold", name, float(off), "rad", off <= MOST_DRIFT_RAD, "fail", "sagged while held")
        for name, off in zip(robot.system.joint_names, drift, strict=True)
    ]


def identify(robot: HeldRobot, _rate_hz: float) -> list[Finding]:
    """Sweep joint after joint slowly to and fro: friction, and weight that nobody carries."""
    found, start = list[Finding](), robot.read().q.copy()
    for j, _name, amplitude in _joints_with_room(robot, start, "sweep", SWEEP_RAD, found):

        def wanted(t_s: float, j: int = j, amplitude: float = amplitude) -> FloatArray:
            u = start.copy()
            u[j] += sweep(t_s, amplitude, SWEEP_S)[0]
            return u

        samples = _follow(robot, SWEEPS * SWEEP_S, wanted)
        found += _identified(robot, samples, j, amplitude)
        _follow(robot, SETTLE_S, lambda _t: start)
    return found


def latency(robot: HeldRobot, _rate_hz: float) -> list[Finding]:
    """Step joint after joint: when it moves, and how stiffly it is held."""
    found, start = list[Finding](), robot.read().q.copy()
    for j, name, step in _joints_with_room(robot, start, "latency", STEP_RAD, found):
        onsets, answers = [], list[list[Sample]]()
        for k in range(STEPS):
            before = _follow(robot, STEP_REST_S, lambda _t: start)
            u = start.copy()
            u[j] += step if k % 2 == 0 else -step
            after = _follow(robot, STEP_WAIT_S, _constant(u))
            answers.append(after)
            rows = [item.reading for item in before + after]
            t_s, q = np.array([row.t_s for row in rows]), np.array([row.q[j] for row in rows])
            onsets.append(onset_s(t_s, q, after[0].sent_s, float(u[j] - start[j])))
        _follow(robot, SETTLE_S, lambda _t: start)
        known = [value for value in onsets if np.isfinite(value)]
        value = float(np.median(known)) if known else float("nan")
        remark = "from a step's command to its motion" if known else "the joint does not follow a step"
        verdict: Verdict = "fail" if not known else "ok" if value <= MOST_LATENCY_S else "warn"
        found += [Finding("latency", name, value, "s", verdict, remark), *_stiffness(robot, answers, j, value)]
    return found


def stop(robot: HeldRobot, _rate_hz: float) -> list[Finding]:
    """Move the first joint that has room and hold it on the way: how far it goes on."""
    system, start = robot.system, robot.read().q.copy()
    room = [_amplitude(robot, start, j, SWEEP_RAD) for j in range(system.n_a)]
    j = int(np.argmax(room))
    if room[j] < LEAST_ROOM_RAD:
        return [Finding("stop", "", room[j], "rad", "skipped", "no joint has room to move")]

    def wanted(t_s: float) -> FloatArray:
        u = start.copy()
        u[j] += sweep(t_s, room[j], SWEEP_S / 4.0)[0]
        return u

    moving = _follow(robot, SWEEP_S / 32.0, wanted)
    at = moving[-1].reading.q.copy()
    held = _follow(robot, STOP_WAIT_S, lambda _t: at)
    beyond = max(float(abs(item.reading.q[j] - at[j])) for item in held)
    is_still = abs(float(robot.speed[j])) <= STILL_RAD_S
    back = held[-1].reading.q.copy()
    _follow(robot, 1.0, lambda t: back + min(t, 1.0) * (start - back))
    remark = "furthest from where it was held" if is_still else "still moves a second after it was held"
    return [_judged("stop", system.joint_names[j], beyond, "rad", is_still, "fail", remark)]


def watchdog(robot: HeldRobot, _rate_hz: float) -> list[Finding]:
    """Send nothing for a while: a driver must not go on as it was told last. The robot may sag."""
    start = robot.read().q.copy()
    _follow(robot, SETTLE_S, lambda _t: start)
    first = robot.read()
    newest, fell_s = first, float("nan")
    is_loaded = first.tau is not None and not _is_off(robot, first)
    while newest.t_s - first.t_s < SILENT_S:
        newest = robot.read()
        if _is_off(robot, newest) and not np.isfinite(fell_s):
            fell_s = newest.t_s - first.t_s
        if np.abs(newest.q - start).max() > 5.0 * MOST_DRIFT_RAD:
            break
    sagged = float(np.abs(newest.q - start).max())
    at = newest.q.copy()
    _follow(robot, SETTLE_S, lambda _t: at)
    found = [Finding("watchdog", "", sagged, "rad", "ok", f"moved in {newest.t_s - first.t_s:.2f} s without commands")]
    if robot.is_effort:
        verdict: Verdict = "skipped" if not is_loaded else "ok" if np.isfinite(fell_s) else "warn"
        remark = {
            "ok": "torques were off after so long", "warn": "torques went on: no watchdog, or a longer one",
        }.get(verdict, "no torques were reported, or needed to hold, that could go off")  # fmt: skip
        found.append(Finding("watchdog", "", fell_s, "s", verdict, remark))
    return found


def _is_off(robot: HeldRobot, reading: Reading) -> bool:
    """Whether all torques are next to nothing."""
    return reading.tau is not None and bool(np.all(np.abs(reading.tau) <= OFF_SHARE * robot.system.tau_max_nm))


CHECKS = (
    Check("states", "", listen),
    Check("hold", "holds the robot where it is, for 1 s", hold),
    Check("identify", "moves joint after joint by 0.05 rad to and fro, 5 s each", identify),
    Check("latency", "steps joint after joint by 0.03 rad", latency),
    Check("stop", "moves one joint by up to 0.05 rad and stops it on the way", stop),
    Check("watchdog", "sends nothing for 0.5 s: the robot may sag or go limp", watchdog),
)


def run_checks(
    robot: HeldRobot, rate_hz: float, consent: Callable[[Check], bool], report: Callable[[Finding], None]
) -> list[Finding]:
    """Run all checks that are consented to; the first that is stopped by its guard is the last."""
    found: list[Finding] = []
    for check in CHECKS:
        if check.motion and not consent(check):
            rows = [Finding(check.name, "", float("nan"), "1", "skipped", "no consent")]
        else:
            try:
                rows = check.run(robot, rate_hz)
            except StackError as error:
                rows = [Finding(check.name, "", float("nan"), "1", "fail", str(error))]
        found += rows
        for row in rows:
            report(row)
        if any(row.verdict == "fail" for row in rows):
            break  # what follows moves more
    return found


def _follow(robot: HeldRobot, duration_s: float, wanted: Callable[[float], FloatArray]) -> list[Sample]:
    """Hold at `wanted(time since the first state, s)` for a time, by the stamps of the states."""
    samples = [robot.tick(wanted(0.0))]
    first_s = samples[0].reading.t_s
    while samples[-1].reading.t_s - first_s < duration_s:
        samples.append(robot.tick(wanted(samples[-1].reading.t_s - first_s)))
    return samples


def _constant(u: FloatArray) -> Callable[[float], FloatArray]:
    return lambda _t: u


def _amplitude(robot: HeldRobot, start: FloatArray, j: int, most_rad: float) -> float:
    """Return how far joint j may go to either side, rad."""
    room = min(start[j] - robot.system.q_min[j], robot.system.q_max[j] - start[j]) - LEAST_ROOM_RAD
    return float(min(most_rad, room))


def _joints_with_room(
    robot: HeldRobot, start: FloatArray, check: str, most_rad: float, found: list[Finding]
) -> Iterator[tuple[int, str, float]]:
    """Yield each joint with its name and how far it may go, rad; say of the others that they were left out."""
    for j, name in enumerate(robot.system.joint_names):
        amplitude = _amplitude(robot, start, j, most_rad)
        if amplitude < LEAST_ROOM_RAD:
            found.append(Finding(check, name, amplitude, "rad", "skipped", "too near to a limit to move"))
        else:
            yield j, name, amplitude


def _identified(robot: HeldRobot, samples: list[Sample], j: int, amplitude: float) -> list[Finding]:
    system, name = robot.system, robot.system.joint_names[j]
    first_s = samples[0].reading.t_s
    steady = [item for item in samples if item.reading.t_s - first_s > 0.25 * SWEEP_S]
    direction = np.array([sweep(item.reading.t_s - first_s, amplitude, SWEEP_S)[1] for item in steady])
    weight = np.array([robot.gravity(item.reading.q)[j] for item in steady])
    sent = [item.torque for item in steady]
    measured = [item.reading.tau for item in steady]
    torque = np.array([row[j] for row in (sent if robot.is_effort else measured) if row is not None])
    if len(torque) < len(steady):
        return [Finding("friction", name, float("nan"), "N m", "skipped", "the driver reports no torques")]
    friction, offset = friction_and_offset(torque - weight, direction)
    limit = float(system.tau_max_nm[j])
    return [
        _judged("friction", name, friction, "N m", abs(friction) <= MOST_FRICTION * limit, "warn", "dry friction"),
        _judged(
            "weight", name, offset, "N m", abs(offset) <= MOST_WEIGHT * limit, "warn",
            "mean torque of the sweep that compensation of weight leaves",
        ),
    ]  # fmt: skip


def _stiffness(robot: HeldRobot, steps: list[list[Sample]], j: int, latency_s: float) -> list[Finding]:
    """Return the stiffness of joint j by the torques that are reported after steps; nothing where none are.

    A torque is that of a command sent latency_s before, computed here from the state of then, or by the robot from its
    own of now.
    """
    torque, deflection, speed = [], [], []
    for samples in steps:
        measured = [item.reading.tau for item in samples]
        tau = np.array([row[j] for row in measured if row is not None])
        if len(tau) < len(samples) or not np.isfinite(latency_s):
            return []
        t_s = np.array([item.reading.t_s for item in samples])
        u, q = np.array([item.u[j] for item in samples]), np.array([item.reading.q[j] for item in samples])
        v, weight = np.array([[s.speed[j], robot.gravity(s.reading.q)[j]] for s in samples]).T
        then, late = t_s - latency_s, t_s - latency_s >= t_s[0]
        if robot.is_effort:
            q, v = np.interp(then, t_s, q), np.interp(then, t_s, v)
        torque.append((tau - weight)[late])
        deflection.append((np.interp(then, t_s, u) - q)[late])
        speed.append(v[late])
    value = stiffness(np.concatenate(torque), np.concatenate(deflection), np.concatenate(speed))
    given = float(robot.system.kp[j])
    is_right = abs(value - given) <= STIFFNESS_OFF * given
    remark = f"identified from steps; the system says {given:.3g} N m/rad"
    return [_judged("stiffness", robot.system.joint_names[j], value, "N m/rad", is_right, "warn", remark)]


def _judged(check: str, joint: str, value: float, unit: str, is_good: bool, otherwise: Verdict, remark: str) -> Finding:
    return Finding(check, joint, float(value), unit, "ok" if is_good else otherwise, remark)
