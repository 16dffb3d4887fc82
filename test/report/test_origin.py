"""What a page says of where it comes from."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from contact_mpc.report.origin import describe_call, origin_rows
from contact_mpc.settings.machine import describe_machine
from contact_mpc.task.task import load_task
from contact_mpc.version import __version__


def test_rows_name_version_machine_and_what_repeats_the_page() -> None:
    rows = dict(origin_rows("contact-mpc run planar_hand_ball"))
    assert rows["contact_mpc"] == __version__ and rows["run it again"] == "contact-mpc run planar_hand_ball"
    assert {"processor", "cores", "memory gb", "python"} <= set(rows)
    assert "run it again" not in dict(origin_rows()) and dict(origin_rows(machine={"cores": 96}))["cores"] == "96"
    assert describe_machine()["cores"] >= 1


def test_a_call_names_what_differs_from_the_file_and_nothing_else(tmp_path: Path) -> None:
    task = load_task("planar_hand_ball")
    shipped = 'contact_mpc.load_task("planar_hand_ball")'
    assert describe_call("simulate", task, seed=3) == f"contact_mpc.simulate({shipped}, seed=3)"
    longer = replace(task, hold_s=2.5, start_u=task.start_u + 1.0)
    call = describe_call("simulate", longer)
    assert call.startswith(f"contact_mpc.simulate(replace({shipped}, start_u=np.array([")
    assert call.endswith("]), hold_s=2.5))")
    values = eval(call.partition("start_u=")[2].partition(", hold_s")[0], {"np": np})
    assert np.array_equal(values, longer.start_u)
    own = tmp_path / "own.yaml"
    own.write_bytes(task.path.read_bytes())
    given = describe_call("evaluate", load_task(own), settings=("mpc_tracker.horizon=12",), plan=object())
    loaded = f'contact_mpc.load_task("{own}")'
    assert given == f"contact_mpc.evaluate({loaded}, settings=('mpc_tracker.horizon=12',), plan=plan)"
    own.unlink()
    assert describe_call("evaluate", replace(task, path=own)) == f"contact_mpc.evaluate({loaded})"
