"""What ``bench contact-location`` counts: a few trials, and what makes the goal."""

import numpy as np

from contact_mpc.cli.bench.estimation.bench_contact_location import by_force, by_link, is_goal_met, make_tables
from contact_mpc.cli.bench.estimation.contact_location_workload import Workload, summarise_doubles, summarise_singles
from contact_mpc.estimation.contact_location.double_contacts import DoubleContacts
from contact_mpc.model.system_builder import load_system


def test_exact_torques_leave_no_error_and_rounded_ones_do() -> None:
    system, medians = load_system("iiwa_box"), []
    for disturbance in ({"noise_nm": 1e-4}, {"noise_nm": 1e-4, "resolution_nm": 0.3}):
        work = Workload(system, 0, **disturbance)
        trials = [work.single() for _ in range(12)]
        summary = summarise_singles(trials)
        assert sum(item["trials"] for _, item in by_link(trials)) == 12
        medians.append(float(np.median([item.likeliest_m for item in trials if item.link in ("link_6", "link_7")])))
    assert medians[0] < 1e-3 < medians[1]
    single, pair = summary, summarise_doubles([work.double(DoubleContacts(work.locator, 200))])
    assert 0.0 <= single["found_share"] <= 1.0 and pair["trials"] == 1
    result = {
        "rate_hz": 300.0, "single_found_share": 0.995, "single_error_mm": 4.0, "single": single, "double": pair,
        "by_link": dict(by_link(trials)), "by_force": dict(by_force(trials)), "disturbances": {},
    }  # fmt: skip
    assert is_goal_met(result) and not is_goal_met({**result, "single_error_mm": 6.0})
    assert make_tables(result).renderables
