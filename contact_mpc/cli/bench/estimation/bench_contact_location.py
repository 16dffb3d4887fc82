"""``contact-mpc bench contact-location``: contacts on an iiwa from the torques of its joints alone.

A configuration within nine tenths of the joint limits, a place drawn evenly over what can be touched of links 3 to 7,
a normal force drawn log-uniformly from 5 to 50 N, a direction evenly in the friction cone (mu = 0.5); its torques by
pinocchio, disturbed. The locator knows the model, the torques and how noisy they are.

Noise moves a minimum: at 5 N and 0.05 N m a lever arm is off by 10 mm in each joint, one standard deviation. So a true
contact is called **found** where the local minimum that it belongs to is reported: the true place slides, on the
torques as measured, to a place within 10 mm of a reported minimum on the same link (`single_found_share`). How far that
is from the true place are `single_error_mm` (median distance of the nearest minimum, on the true link) and the shares
within 20 and 40 mm; `chance_within_20_mm_share` is the share of these links that lies within 20 mm of some minimum, and
so the score of a guess: where it is large, torques leave the place open. `told_share` is the share of contacts that
torques alone tell: one hypothesis, not wider than 20 mm. Below a contact on link 3 there are 3 joints for 5 unknowns,
on link 4 there are 4: there the places that explain the torques are regions and curves, and are reported as such.

Two contacts on different links count as found where both are within 40 mm of those of one reported pair.
Rates are of CPU time of one thread.
"""

import contact_mpc.cli.frame.single_thread  # noqa: F401, I001  before anything that imports numpy

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from contact_mpc.cli.bench.estimation.contact_location_workload import (
    LINKS,
    SingleTrial,
    Workload,
    summarise_doubles,
    summarise_singles,
)
from contact_mpc.cli.frame.line_bar import LineBar
from contact_mpc.cli.frame.output import EXIT_GOAL_MISSED, emit
from contact_mpc.estimation.contact_location.double_contacts import DoubleContacts
from contact_mpc.model.system_builder import load_system

SYSTEM = "iiwa_box"
NOISE_NM = 0.05
LEAST_RATE_HZ, LEAST_FOUND, LARGEST_ERROR_MM = 200.0, 0.99, 5.0
DISTURBANCES: dict[str, dict[str, Any]] = {
    "noise 0.01 N m": {"noise_nm": 0.01},
    "noise 0.05 N m": {"noise_nm": 0.05},
    "noise 0.1 N m": {"noise_nm": 0.1},
    "noise 0.2 N m": {"noise_nm": 0.2},
    "noise 0.5 N m": {"noise_nm": 0.5},
    "bias 0.1 N m": {"bias_nm": 0.1},
    "bias 0.3 N m": {"bias_nm": 0.3},
    "bias 0.1 N m, not told": {"bias_nm": 0.1, "is_told": False},
    "resolution 0.1 N m": {"resolution_nm": 0.1},
    "resolution 0.5 N m": {"resolution_nm": 0.5},
}


def bench_contact_location(
    contacts: Annotated[int, typer.Option(min=10, max=100_000, help="Single contacts at 0.05 N m.")] = 500,
    sweep: Annotated[int, typer.Option(min=0, max=100_000, help="Single contacts of each other disturbance.")] = 100,
    doubles: Annotated[int, typer.Option(min=0, max=10_000, help="Double contacts.")] = 50,
    starts: Annotated[int, typer.Option(min=100, max=1_000_000, help="Pairs that a double search begins from.")] = 4000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of contacts and noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Locate single and double contacts on an iiwa by joint torques, against noise, bias and resolution."""
    system = load_system(SYSTEM)
    with LineBar() as bar:
        work = Workload(system, seed)
        trials = [work.single() for _ in bar.track(range(contacts), description="single contacts")]
        searcher = DoubleContacts(work.locator, starts, seed=seed)
        if doubles:
            work.double(searcher)  # compiles
        pairs = [work.double(searcher) for _ in bar.track(range(doubles), description="double contacts")]
        table = {}
        for name, kind in bar.track(DISTURBANCES.items() if sweep else (), description="disturbances"):
            disturbed = Workload(system, seed + 1, **kind)
            table[name] = summarise_singles([disturbed.single() for _ in range(sweep)])
    single = summarise_singles(trials)
    result: dict[str, Any] = {
        "seed": seed,
        "noise_nm": NOISE_NM,
        "rate_hz": 1e3 / single["cpu_ms"],
        "single_found_share": single["found_share"],
        "single_error_mm": single["error_mm"],
        "double_found_share": summarise_doubles(pairs)["found_share"] if pairs else None,
        "minima": single["minima"],
        "single": single,
        "by_link": dict(by_link(trials)),
        "by_force": dict(by_force(trials)),
        "double": summarise_doubles(pairs) if pairs else None,
        "disturbances": table,
    }
    result["goal_met"] = is_goal_met(result)
    emit(result, as_json, make_tables(result))
    raise typer.Exit(0 if result["goal_met"] else EXIT_GOAL_MISSED)


def by_link(trials: list[SingleTrial]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the summary of each link that was touched."""
    for link in LINKS:
        own = [item for item in trials if item.link == link]
        if own:
            yield link, summarise_singles(own)


def by_force(trials: list[SingleTrial]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the summary of each range of forces."""
    for low, high in ((5.0, 10.0), (10.0, 20.0), (20.0, 60.0)):
        own = [item for item in trials if low <= item.force_n < high]
        if own:
            yield f"{low:g} to {high:g} N", summarise_singles(own)


def is_goal_met(result: dict[str, Any]) -> bool:
    """Whether rate, share found and error of single contacts reach their goals."""
    return bool(
        result["rate_hz"] >= LEAST_RATE_HZ
        and result["single_found_share"] >= LEAST_FOUND
        and result["single_error_mm"] <= LARGEST_ERROR_MM
    )


def make_tables(result: dict[str, Any]) -> Group:
    """Return what people see."""
    columns = ("found", "20 mm", "40 mm", "a guess", "error mm", "p90 mm", "likeliest mm", "told")
    table = Table(
        "", *columns, "hypotheses", "minima", "classic", title="bench contact-location, iiwa, joint torques alone"
    )
    rows = {"0.05 N m": result["single"], **result["by_link"], **result["by_force"], **result["disturbances"]}
    for index, (name, item) in enumerate(rows.items()):
        end_section = index + 1 in (1, 1 + len(result["by_link"]), 1 + len(result["by_link"]) + len(result["by_force"]))
        table.add_row(name, *_cells(item), end_section=end_section)
    table.caption = (
        f"{result['rate_hz']:.0f} Hz (goal {LEAST_RATE_HZ:.0f}); found {100 * result['single_found_share']:.1f} % "
        f"(goal {100 * LEAST_FOUND:.0f}); error {result['single_error_mm']:.1f} mm (goal {LARGEST_ERROR_MM:.0f})"
    )
    if result["double"] is None:
        return Group(table)
    pair = result["double"]
    return Group(
        table,
        f"two contacts: both within 40 mm of one pair {100 * pair['found_share']:.0f} %, both links named "
        f"{100 * pair['links_share']:.0f} %, median {pair['error_mm']:.0f} mm, {pair['pairs']:.0f} pairs, "
        f"{pair['cpu_ms']:.0f} ms; one contact would explain {100 * pair['single_explains_share']:.0f} % of them",
    )


def _cells(item: dict[str, Any]) -> list[str]:
    shares = ("found_share", "within_20_mm_share", "within_40_mm_share", "chance_within_20_mm_share")
    return [
        *(f"{100 * item[key]:.1f} %" for key in shares),
        *(f"{item[key]:.1f}" for key in ("error_mm", "error_p90_mm", "likeliest_error_mm")),
        f"{100 * item['told_share']:.0f} %",
        f"{item['hypotheses']:.1f}",
        f"{item['minima']:.0f}",
        f"{100 * item['classic_within_20_mm_share']:.0f} %",
    ]
