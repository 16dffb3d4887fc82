"""The page of grasps by overlap: a line per gain in each sweep, failed runs left out, a row per grasp."""

import json
from pathlib import Path

from contact_mpc.report.pages import write_result_page


def shake(factor: float, gain: float, depth_mm: float, ratio: float | None) -> dict:
    return {"stiffness_factor": factor, "gain_per_n": gain, "depth_mm": depth_mm, "energy_ratio": ratio}


def test_sweeps_are_drawn_by_gain_and_grasps_listed(tmp_path: Path) -> None:
    energy = [shake(f, g, 2.0, 1.0 + f * g * 1e-6) for f in (0.1, 1.0, 10.0) for g in (0.0, 250.0)]
    energy += [shake(1.0, 250.0, 0.2, 1.01), shake(1.0, 250.0, 20.0, None)]
    held = {"is_held": True, "force_n": [20.0, 20.0], "slip_mm": 0.1, "real_time_factor": 0.05}
    lost = {"is_held": False, "force_n": None, "slip_mm": None, "real_time_factor": 15.0}
    grasps = [{"gripper": "2p", "object": "sphere", "penalty": held, "bullet": lost}]
    result = {
        "integrator": "Radau", "duration_s": 0.5, "scaling_s_per_m": 1e3, "grasps": grasps, "energy": energy,
    }  # fmt: skip
    page = write_result_page("penalty_grasp", result, tmp_path).read_text()
    figures = json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]
    stiffness, depth = (figures[f"energy_{key}"]["data"] for key in ("stiffness_factor", "depth_mm"))
    assert [line["x"] for line in stiffness] == [[0.1, 1.0, 10.0]] * 2
    assert [line["x"] for line in depth] == [[2.0], [0.2, 2.0]] and depth[1]["y"][0] == 1.01
    assert "<td>2p, sphere</td>" in page and "<td>not held</td>" in page
