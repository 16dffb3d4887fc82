"""Plans: sampling, files that come back as they were, refusal of files of another kind, system or version."""

import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contact_mpc.errors import InputError, PlanError
from contact_mpc.model.system import System
from contact_mpc.model.system_builder import load_system
from contact_mpc.settings.array_files import write_arrays
from contact_mpc.settings.resources import resource
from contact_mpc.task.plan import ARRAYS, FORMAT, Plan, load_plan, save_plan


@pytest.fixture
def plan(planar: System) -> Plan:
    rng = np.random.default_rng(0)
    q = np.tile(planar.q_default, (4, 1)) + rng.normal(0.0, 0.1, (4, planar.n_q))
    u, tau = rng.normal(size=(2, 4, planar.n_a))
    u = np.clip(u, planar.q_min, planar.q_max)
    return Plan(0.1 * np.arange(4), q, u, tau, rng.normal(size=(4, 4, 3)), planar.provenance() | {"planner": "test"})


def test_file_gives_the_plan_back_bit_for_bit(plan: Plan, planar: System, tmp_path: Path) -> None:
    save_plan(tmp_path / "folder" / "plan.npz", plan)
    loaded = load_plan(tmp_path / "folder" / "plan.npz", planar)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(plan, name))
    assert loaded.provenance == plan.provenance


def test_held_torques_and_velocity_reference_come_back_from_the_file(plan: Plan, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", replace(plan, du=2.0 * plan.u, tau_ff_held=True))
    loaded = load_plan(tmp_path / "plan.npz")
    assert loaded.tau_ff_held and loaded.du is not None
    np.testing.assert_array_equal(loaded.du, 2.0 * plan.u)
    with pytest.raises(InputError, match="du has shape"):
        replace(plan, du=plan.u[:, :1])


def test_command_is_linear_between_instants_and_constant_outside(plan: Plan) -> None:
    np.testing.assert_allclose(plan.sample_u(0.15), 0.5 * (plan.u[1] + plan.u[2]), atol=1e-14)
    np.testing.assert_array_equal(plan.sample_u(-1.0), plan.u[0])
    np.testing.assert_array_equal(plan.sample_u(9.0), plan.u[-1])


def test_orientation_between_instants_is_on_the_geodesic(allegro: System) -> None:
    turn = np.zeros(allegro.n_v)
    turn[:3] = [0.0, 0.0, 1.2]
    q = np.array([allegro.q_default, allegro.integrate(allegro.q_default, turn)])
    zeros = np.zeros((2, allegro.n_a))
    between = Plan(np.array([0.0, 1.0]), q, zeros, zeros, np.zeros((2, 1, 3))).sample_q(allegro, 0.25)
    np.testing.assert_allclose(allegro.difference(q[0], between), 0.25 * turn, atol=1e-12)


def test_plan_of_another_system_is_refused(plan: Plan, allegro: System, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", plan)
    with pytest.raises(PlanError, match="a plan of system 'planar_hand_ball', not of 'allegro_ball'"):
        load_plan(tmp_path / "plan.npz", allegro)


def test_plan_made_before_the_urdf_changed_is_refused(plan: Plan, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", plan)
    for kind, name in (("systems", "planar_hand_ball"), ("urdf", "planar_hand"), ("urdf", "disc")):
        source = resource(kind, name)
        (tmp_path / source.name).write_text(source.read_text().replace('effort="10"', 'effort="11"'))
    with pytest.raises(PlanError, match="another version of system 'planar_hand_ball'.*plan again"):
        load_plan(tmp_path / "plan.npz", load_system(tmp_path / "planar_hand_ball.yaml"))


def archive(header: Any, **arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, header=np.array(json.dumps(header)), **{name: np.zeros(1) for name in ARRAYS} | arrays)
    return file.getvalue()


def numpy_file() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


ROWS = {name: np.zeros((2, 3)) for name in ARRAYS}
FOREIGN = {
    "empty": b"",
    "text": b"joint: 1.0\n",
    "an array": numpy_file(),
    "no header": archive({}),
    "a list as header": archive([1, 2]),
    "an older format": archive({"format": "contact_mpc plan 0"}),
    "text for numbers": archive({"format": FORMAT}, times_s=np.array(["soon"])),
    "one number for times": archive({"format": FORMAT}, **ROWS | {"times_s": np.zeros(())}),
    "times that fall": archive({"format": FORMAT}, **ROWS | {"times_s": np.array([1.0, 0.0])}),
    "times without value": archive({"format": FORMAT}, **ROWS | {"times_s": np.array([0.0, np.nan])}),
    "commands without value": archive(
        {"format": FORMAT}, **ROWS | {"times_s": np.array([0.0, 1.0]), "u": np.full((2, 3), np.nan)}
    ),
    "too few rows": archive({"format": FORMAT}, **ROWS | {"times_s": np.arange(3.0)}),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_file_of_another_kind_is_refused_by_its_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "foreign.npz").write_bytes(content)
    with pytest.raises(PlanError, match=r"foreign\.npz"):
        load_plan(tmp_path / "foreign.npz")


def test_file_cut_or_changed_anywhere_never_gives_other_numbers(plan: Plan, planar: System, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", plan)
    content, path = (tmp_path / "plan.npz").read_bytes(), tmp_path / "damaged.npz"
    damaged = [content[: len(content) * k // 10] for k in range(10)]
    for i in range(0, len(content), 37):
        damaged.append(content[:i] + bytes([content[i] ^ 0x5A]) + content[i + 1 :])
    for data in damaged:
        path.write_bytes(data)
        try:
            loaded = load_plan(path, planar)
        except PlanError as error:
            assert "damaged.npz" in str(error)
        else:  # a byte that carries nothing, e.g. of a file time
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(loaded, name), getattr(plan, name))


@pytest.mark.parametrize(
    ("name", "column", "value", "words"),
    [
        ("u", 1, 50.0, r"u\[2\] of joint left_2 = 50 is outside .* rad"),
        ("tau_ff", 1, -1e9, r"tau_ff\[2\] of joint left_2 = -1e\+09"),
        ("q", 4, 1e300, r"q\[2\] of joint left_2 = 1e\+300 is outside .* rad"),
        ("du", 1, 1e300, r"du\[2\] of joint left_2 = 1e\+300 is outside .* rad/s"),
        ("q", 0, 1e300, r"q\[2, 0\] = 1e\+300 is outside \[-100, 100\] m"),
        ("q", 2, -1e300, r"q\[2, 2\] = -1e\+300 is outside \[-1000, 1000\]"),
        ("contact_impulses", 3, 1e300, r"contact_impulses\[2, 3, 0\] = 1e\+300 is outside .* N s"),
    ],
)
def test_a_plan_that_no_joint_or_object_can_follow_is_refused(
    plan: Plan, planar: System, tmp_path: Path, name: str, column: int, value: float, words: str
) -> None:
    plan = replace(plan, du=np.zeros_like(plan.u))
    rows = getattr(plan, name).copy()
    rows[2, column] = value
    save_plan(tmp_path / "plan.npz", replace(plan, **{name: rows}))
    with pytest.raises(PlanError, match=rf"plan\.npz: {words}"):
        load_plan(tmp_path / "plan.npz", planar)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda times_s: 1e300 * times_s, r"times_s\[1\] = 1e\+299 is outside \[0, 3600\] s"),
        (lambda times_s: times_s + 3600.0, r"times_s\[1\] = 3600.1 is outside \[0, 3600\] s"),
        (lambda times_s: times_s - 0.01, r"times_s\[0\] = -0.01 is outside \[0, 3600\] s"),
        (lambda times_s: np.append(times_s[:-1], np.inf), r"times_s must be finite and increase"),
    ],
    ids=["absurd", "long", "before the start", "endless"],
)
def test_a_plan_whose_times_no_run_lasts_is_refused(
    plan: Plan, planar: System, tmp_path: Path, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    file = {name: getattr(plan, name) for name in ARRAYS} | {"times_s": change(plan.times_s)}
    write_arrays(tmp_path / "plan.npz", "plan", {"format": FORMAT, **plan.provenance}, file)
    with pytest.raises(PlanError, match=rf"plan\.npz: .*{words}"):
        load_plan(tmp_path / "plan.npz", planar)


def test_a_plan_whose_object_has_no_unit_quaternion_or_is_far_away_is_refused(allegro: System, tmp_path: Path) -> None:
    u = np.tile(allegro.q_default[allegro.n_q_u :], (2, 1))
    q = np.tile(allegro.q_default, (2, 1))
    plan = Plan(np.arange(2.0), q, u, np.zeros_like(u), np.zeros((2, 0, 3)), allegro.provenance())
    save_plan(tmp_path / "plan.npz", plan)
    load_plan(tmp_path / "plan.npz", allegro)
    for column, value, words in (
        (0, 0.9, r"q\[1, 0:4\] has norm 0\.9; a unit quaternion"),
        (0, 1e300, r"q\[1, 0\] = 1e\+300 is outside"),
        (6, -1e3, r"q\[1, 6\] = -1000 is outside \[-100, 100\] m"),
    ):
        rows = q.copy()
        rows[1, column] = value
        save_plan(tmp_path / "plan.npz", replace(plan, q=rows))
        with pytest.raises(PlanError, match=rf"plan\.npz: {words}"):
            load_plan(tmp_path / "plan.npz", allegro)


def test_a_plan_at_the_ends_of_its_joints_ranges_is_taken(plan: Plan, planar: System, tmp_path: Path) -> None:
    q, u = plan.q.copy(), plan.u.copy()
    reach = planar.tau_max_nm / planar.kp
    u[0], u[1] = planar.q_min - reach, planar.q_max + reach
    q[:2, planar.n_q_u :] = planar.q_min - 1.99 * reach, planar.q_max + 1.99 * reach
    save_plan(tmp_path / "plan.npz", replace(plan, q=q, u=u, times_s=np.array([0.0, 0.1, 0.2, 3600.0])))
    np.testing.assert_array_equal(load_plan(tmp_path / "plan.npz", planar).q, q)


def test_contact_impulses_are_vectors(plan: Plan, planar: System, tmp_path: Path) -> None:
    save_plan(tmp_path / "plan.npz", replace(plan, contact_impulses=np.zeros((4, 3))))
    with pytest.raises(PlanError, match=r"contact_impulses has shape \(4, 3\); expected \(n, contacts, 3\)"):
        load_plan(tmp_path / "plan.npz", planar)


def test_a_write_that_fails_leaves_the_plan_before(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.npz"
    save_plan(path, plan)

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(PlanError, match="No space left"):
        save_plan(path, replace(plan, u=plan.u + 0.1))
    np.testing.assert_array_equal(load_plan(path).u, plan.u)


def test_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="contact-mpc plan"):
        load_plan(tmp_path / "none.npz")


def test_folder_that_cannot_be_written_is_named(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanError, match="writable folder"):
        save_plan(tmp_path / "file" / "plan.npz", plan)


def test_rows_must_match_the_times(plan: Plan) -> None:
    with pytest.raises(InputError, match="u has shape"):
        Plan(plan.times_s, plan.q, plan.u[:-1], plan.tau_ff, plan.contact_impulses)
