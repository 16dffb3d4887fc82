"""The page of Python: what the README shows runs as it stands, and gives the bits of the command line."""

import html
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from synthetic_bag import SyntheticRun

import contact_mpc
from contact_mpc.api import _run_loop
from contact_mpc.errors import ConfigError, PlanError, StackError
from contact_mpc.evaluation.cases import make_cases
from contact_mpc.evaluation.trial_run import EvaluationSpec, run_trial
from contact_mpc.evaluation.trials import disturbance_of, trial_seeds
from contact_mpc.loop.apart import fresh_process, run_apart
from contact_mpc.loop.config import load_loop_config
from contact_mpc.planning.methods import make_plan

ROOT = Path(__file__).resolve().parents[1]
TASK = "planar_hand_ball"
MOST_LINES = 15


def readme_example() -> str:
    """Return the block of the README that goes from the import to an animation."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [block for block in blocks if "contact_mpc.simulate(" in block]
    return example


@pytest.fixture(scope="module")
def task() -> contact_mpc.Task:
    return replace(contact_mpc.load_task(TASK), hold_s=0.1)


@pytest.fixture(scope="module")
def plan(task: contact_mpc.Task) -> contact_mpc.Plan:
    return task.plan()


@pytest.fixture(scope="module")
def run(task: contact_mpc.Task, plan: contact_mpc.Plan) -> contact_mpc.Run:
    perturbation = contact_mpc.PlantPerturbation(mass_scale=1.1)
    return contact_mpc.simulate(task, plan, perturbation=perturbation, seed=3)


def test_a_run_and_its_record_show_themselves_in_a_line(run: contact_mpc.Run) -> None:
    assert re.fullmatch(rf"Run of {TASK}: goal (met|missed), .* at the end; RunRecord of .* s", repr(run))


@pytest.mark.drake
def test_the_example_of_the_readme_ends_with_an_animation(tmp_path: Path) -> None:
    example = readme_example()
    assert len([line for line in example.splitlines() if line.strip()]) <= MOST_LINES
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    environment = {**os.environ, "BROWSER": "true", "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("contact_mpc-*/page.html")
    assert '"frames":"' in page.read_text(encoding="utf-8")
    (report,) = tmp_path.rglob("report.html")
    assert "Plotly" in report.read_text(encoding="utf-8")


@pytest.mark.drake
def test_a_run_has_the_bits_of_a_process_that_never_planned(task, plan, run) -> None:
    make_plan(task)  # in this process, as a notebook may
    config, perturbation = load_loop_config(TASK), contact_mpc.PlantPerturbation(mass_scale=1.1)
    with fresh_process() as other:
        expected = other.submit(_run_loop, task, plan, config, perturbation, 3).result()
    again = contact_mpc.simulate(task, plan, perturbation=perturbation, seed=3)
    for record in (run.record, again.record):
        assert record.commands is not None
        assert np.array_equal(record.commands.values, expected.commands)


@pytest.mark.drake
def test_a_run_is_judged_as_the_loop_judges_itself(task, plan) -> None:
    config = load_loop_config(TASK)
    result = run_apart("loop", _run_loop, task, plan, config, None, 0)
    run = contact_mpc.simulate(task, plan)
    assert run.goal_met == result.goal_met
    assert run.metrics.angle_error_deg == pytest.approx(result.angle_error_deg, abs=1e-9)
    assert run.metrics.position_error_mm == pytest.approx(result.position_error_mm, abs=1e-6)
    assert run.metrics.dropped == result.dropped and run.metrics.completed == result.is_complete
    assert run.metrics.real_time_factor is None  # nothing was received


@pytest.mark.drake
def test_a_notebook_shows_the_animation_in_its_cell(run, monkeypatch) -> None:
    shell = InteractiveShell.instance()
    try:
        data, _ = shell.display_formatter.format(run)
        assert data["text/html"].startswith("<iframe srcdoc=")
        monkeypatch.setattr(type(shell), "kernel", object(), raising=False)  # what shells of notebooks have
        with capture_output() as captured:
            assert run.show() is None
        assert "text/html" in captured.outputs[0].data
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.drake
def test_an_evaluation_and_its_page_are_those_of_the_command_line(task, plan, tmp_path) -> None:
    """The page had neither the worst trial nor the line that gives it again."""
    seen = []
    found = contact_mpc.evaluate(task, trials=1, seed=7, progress=lambda index, _: seen.append(index))
    cases = make_cases(task)
    spec = EvaluationSpec(cases, load_loop_config(TASK), disturbance_of(task))
    expected = run_apart("loop", run_trial, spec, trial_seeds(7, 1, len(cases))[0])
    assert seen == [0] and found.success_rate == float(expected.goal_met)
    assert found.outcomes[0].angle_error_deg == expected.angle_error_deg
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert f"Worst trial: seed {found.outcomes[0].seed}, goal" in page and '"frames":"' in page
    assert re.fullmatch(rf"Evaluation of {TASK}: [01] of 1 trials met the goal", repr(found))
    line = f'contact_mpc.evaluate(replace(contact_mpc.load_task("{TASK}"), hold_s=0.1), trials=1, seed=7)'
    assert found.call == line and f"<td>run it again</td><td>{html.escape(line)}</td>" in page
    assert "<iframe" in found._repr_html_()


def test_a_recorded_bag_is_a_run_too(tmp_path: Path, finger_task) -> None:
    run = contact_mpc.read_bag(SyntheticRun().write(tmp_path / "bag"), finger_task.path)
    assert isinstance(run.task, contact_mpc.Task) and run.record.messages > 0
    page = run.report(tmp_path / "page").read_text(encoding="utf-8")
    assert "<td>run it again</td><td>contact_mpc.read_bag(" in page and "<td>processor</td>" in page


def test_a_start_that_nothing_holds_is_told(task: contact_mpc.Task) -> None:
    q = task.start_q.copy()
    q[: task.system.n_q_u] += 10.0  # m: out of reach
    with pytest.raises(PlanError, match="no posture holds the object"):
        replace(task, start_q=q).find_start(samples=2)


def test_an_unknown_plant_and_a_dead_process_are_told(task: contact_mpc.Task) -> None:
    with pytest.raises(ConfigError, match="unknown"):
        contact_mpc.simulate(task, plant="abacus")
    with pytest.raises(StackError, match="died"):
        run_apart("plan", os._exit, 1)
    assert run_apart("plan", os.getpid) != os.getpid()
