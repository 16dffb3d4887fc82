"""The trials of ``contact-mpc evaluate --through-nodes``, whose commands are held against those of one process."""

import tempfile
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from contact_mpc.bags.record import CommandSeries
from contact_mpc.cli.evaluate.trials import Campaign
from contact_mpc.cli.run.run_output import StateBar
from contact_mpc.evaluation.trial_run import EvaluationSpec, TrialOutcome, loop_of_trial
from contact_mpc.loop.closed_loop import run_closed_loop


def run_node_trials(
    spec: EvaluationSpec, seeds: list[int], parameter_file: Path | str, settings: tuple[str, ...]
) -> tuple[Campaign, list[float]]:
    """Run trials through the nodes, one after the other; Ctrl-C keeps what is done.

    Returns
    -------
    campaign : Campaign
        Outcomes through the nodes.
    differences : list of float
        Per trial, the largest difference of a command to that of the loop in one process, N m or rad; NaN where one of
        the two lacks a command. 0.0 is equality of every bit, but for the sign of zero.
    """
    from contact_mpc.ros.stack.node_trial import run_node_trial

    outcomes: list[TrialOutcome] = []
    differences: list[float] = []
    with StateBar(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as bar:
        row = bar.add_task(f"{spec.cases[0].task.name}: through the nodes", total=len(seeds), state="")
        try:
            for seed in seeds:
                with tempfile.TemporaryDirectory(prefix="contact_mpc_") as folder:
                    done = run_node_trial(
                        spec.case(seed), spec.draw(seed), parameter_file, spec.config.engine, settings, Path(folder),
                        spec.config.start_delay_s,
                    )  # fmt: skip
                outcomes.append(done.outcome)
                differences.append(command_difference(spec, seed, done.record.commands))
                equal = sum(item == 0.0 for item in differences)
                bar.update(row, advance=1, state=f"commands equal in {equal} of {len(differences)}")
        except KeyboardInterrupt:
            return Campaign(outcomes, True), differences
    return Campaign(outcomes, False), differences


def command_difference(spec: EvaluationSpec, seed: int, sent: CommandSeries | None) -> float:
    """Return the largest difference of the commands sent to those of the same trial in one process."""
    case, trial = spec.case(seed), spec.draw(seed)
    result = run_closed_loop(
        case.task.system, case.task, case.plan, loop_of_trial(spec, trial), perturbation=trial.perturbation, seed=seed,
        stop_when_dropped=True,
    )  # fmt: skip
    if sent is None:
        return float("nan")
    both = np.isin(sent.t_ns, result.t_ns)
    if not np.isin(result.t_ns, sent.t_ns).all() or int(both.sum()) != len(result.t_ns):
        return float("nan")
    return float(np.abs(sent.values[both] - result.commands).max())
