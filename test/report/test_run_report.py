"""The report is one file that works offline, states what was measured, and plays in a browser."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from patience import HANG_S

from contact_mpc.bags.bag import read_run
from contact_mpc.bags.metrics import compute_metrics
from contact_mpc.bags.object_track import evaluate_object
from contact_mpc.errors import BagError, InputError
from contact_mpc.report.plotting.figures import decimate
from contact_mpc.report.plotting.plots import build_figures
from contact_mpc.report.run_report import write_report
from contact_mpc.report.scene.animation import build_scene
from contact_mpc.report.scene.appearance import fingers

MAX_BYTES = 2_000_000  # 5.4 MB with all of plotly.js
BROWSER = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--window-size=1500,1200",
]  # fmt: skip


@pytest.fixture(scope="module")
def record(synthetic_run, tmp_path_factory):
    metadata = {"clock": "realtime", "task": "turn <ball>", "parameters": "/**/mpc_tracker: {horizon: 10}"}
    run = synthetic_run(offset_mm=(1.0, 0.0, 0.0), metadata=metadata)
    return read_run(run.write(tmp_path_factory.mktemp("report") / "run"))


@pytest.fixture(scope="module")
def report(record, finger_system, finger_task, tmp_path_factory):
    metrics = compute_metrics(record, finger_system, finger_task)
    folder = tmp_path_factory.mktemp("out") / "deep" / "er"
    return write_report(record, metrics, finger_system, finger_task, folder, "contact-mpc run turn <ball>")


def read_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def test_report_is_one_small_file_that_loads_nothing(report):
    text = report.read_text(encoding="utf-8")
    assert report.stat().st_size < MAX_BYTES
    own = text.replace(re.search(r"<script>\s*/\*\*\s*\* plotly.*?</script>", text, re.S).group(0), "")
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", own)
    assert "default-src 'none'" in own


def test_report_states_values_limits_and_provenance_escaped(report, finger_system):
    text = report.read_text(encoding="utf-8")
    for part in ("1.000 mm", "≤ 2 mm", "Goal met", "turn &lt;ball&gt;", "horizon: 10", finger_system.digest,
                 "processor", "<td>run it again</td><td>contact-mpc run turn &lt;ball&gt;</td>"):  # fmt: skip
        assert part in text
    assert "turn <ball>" not in text


def test_a_second_axis_has_round_ticks_of_its_own(record, finger_system, finger_task):
    context = (record, finger_system, finger_task, evaluate_object(record, finger_task))
    layout = next(item for item in build_figures(context) if item.key == "estimate_error").layout
    assert layout["yaxis2"]["tickmode"] == "auto"


def test_every_plot_that_the_bag_has_data_for_is_there(record, finger_system, finger_task):
    context = (record, finger_system, finger_task, evaluate_object(record, finger_task))
    assert [figure.key for figure in build_figures(context)] == [
        "turn", "estimate_error", "angle_error", "position_error", "position", "joints", "torques",
        "contact_forces", "rates", "solve_times", "lateness", "real_time_factor",
    ]  # fmt: skip


def test_goal_missed_is_said_with_its_reason(synthetic_run, finger_system, finger_task, tmp_path):
    record = read_run(synthetic_run(turn_deg=20.0).write(tmp_path / "run"))
    metrics = compute_metrics(record, finger_system, finger_task)
    text = write_report(record, metrics, finger_system, finger_task, tmp_path).read_text(encoding="utf-8")
    assert "Goal missed" in text
    assert "angle error 10.00 deg &gt; 3 deg" in text


def test_report_of_a_bag_without_commands_or_truth_leaves_those_plots_out(
    synthetic_run, finger_system, finger_task, tmp_path
):
    without = ("plant/object_odom", "effort_controller/commands", "command_bridge/applied", "mpc_tracker/solve_status")
    record = read_run(synthetic_run(without=without, metadata=None).write(tmp_path / "run"))
    metrics = compute_metrics(record, finger_system, finger_task)
    figures = read_data(write_report(record, metrics, finger_system, finger_task, tmp_path))["figures"]
    assert set(figures) == {
        "turn", "angle_error", "position_error", "position", "joints", "torques", "contact_forces",
        "real_time_factor",
    }  # fmt: skip


def test_folder_that_cannot_be_written_is_named(record, finger_system, finger_task, tmp_path):
    (tmp_path / "file").write_text("in the way")
    metrics = compute_metrics(record, finger_system, finger_task)
    with pytest.raises(InputError, match=r"file/out/report\.html: the report cannot be written"):
        write_report(record, metrics, finger_system, finger_task, tmp_path / "file" / "out")


def test_scene_stands_where_the_kinematics_say(record, finger_system, finger_task):
    evaluation = evaluate_object(record, finger_task)
    scene = build_scene(record, finger_system, evaluation)
    frames = np.frombuffer(base64.b64decode(scene["frames"]), dtype=np.float32)
    frames = frames.reshape(len(scene["times"]), len(scene["bodies"]), 7)
    names = [body["name"] for body in scene["bodies"]]
    ball = frames[:, names.index("ball/ball")]
    np.testing.assert_allclose(ball[-1, :3], [0.051, 0.0, 0.3], atol=1e-6)
    np.testing.assert_allclose(ball[-1, 3:], [np.cos(np.pi / 12), 0, 0, np.sin(np.pi / 12)], atol=1e-6)
    q_one = record.joint_states.position[-1, 0]
    tip = frames[-1, names.index("finger/two")]
    np.testing.assert_allclose(tip[:3], [0.12 * np.sin(q_one), 0.0, 0.12 * np.cos(q_one)], atol=1e-6)
    goal = [marker for marker in scene["markers"] if marker["body"] is None]
    np.testing.assert_allclose(goal[0]["q"], [np.cos(np.pi / 12), 0, 0, np.sin(np.pi / 12)], atol=1e-12)


def test_object_that_falls_far_does_not_shrink_the_view(synthetic_run, finger_system, finger_task, tmp_path):
    cameras = []
    for drop_m in (0.0, 50.0):
        record = read_run(synthetic_run(drop_m=drop_m).write(tmp_path / f"run{drop_m}"))
        cameras.append(build_scene(record, finger_system, evaluate_object(record, finger_task))["camera"])
    assert cameras[0] == cameras[1]


def test_scene_needs_joint_states(synthetic_run, finger_system, finger_task, tmp_path):
    record = read_run(synthetic_run(without=("joint_states",)).write(tmp_path / "run"))
    with pytest.raises(BagError, match="no messages on joint_states"):
        build_scene(record, finger_system, evaluate_object(record, finger_task))


def test_joints_of_one_chain_are_one_finger(finger_system):
    assert [(finger.name, finger.joints) for finger in fingers(finger_system)] == [("joint", (0, 1))]


def test_thinned_lines_keep_their_peaks():
    t_s, values = np.arange(100_000.0), np.zeros(100_000)
    values[54_321], values[77_777] = 5.0, -7.0
    t_kept, kept = decimate(t_s, values, 2000)
    assert len(kept) <= 2000
    assert (kept.max(), kept.min()) == (5.0, -7.0)
    assert t_kept[kept.argmax()] == 54_321.0
    assert t_kept[0] == 0.0 and t_kept[-1] == 99_999.0


@pytest.mark.chromium
def test_browser_draws_every_plot_and_plays_the_animation_without_errors(report, tmp_path):
    start_s = read_data(report)["scene"]["times"][0]
    for attempt in range(4):  # a busy machine may draw but two frames, both at the start, in the browser's own time
        page = open_in_browser(report, tmp_path / str(attempt), time_ms=4000 * 2**attempt)
        if float(attribute(page, "canvas", "data-time")) > start_s:
            break
    assert attribute(page, "html", "data-errors") is None
    assert 'data-unavailable="' not in page
    for key in read_data(report)["figures"]:
        assert re.search(rf'id="plot-{key}"[^>]*data-drawn="true"', page), key
    assert int(attribute(page, "canvas", "data-drawn")) >= 2
    assert float(attribute(page, "canvas", "data-time")) > start_s


@pytest.mark.chromium
def test_browser_without_webgl_says_so_and_still_draws_the_plots(report, tmp_path):
    page = open_in_browser(report, tmp_path, "--disable-3d-apis")
    assert "The animation cannot be shown: this browser offers no WebGL 2" in page
    assert attribute(page, "html", "data-errors") is None
    assert page.count('data-drawn="true"') == len(read_data(report)["figures"])


@pytest.mark.chromium
def test_browser_names_what_the_page_may_not_load_or_cannot_run(report, tmp_path):
    spoiled = tmp_path / "spoiled.html"
    text = report.read_text(encoding="utf-8")
    intruder = '<img src="http://192.0.2.1/x.png"><script>undefinedFunction()</script>'
    spoiled.write_text(text.replace("<header>", intruder + "<header>"), encoding="utf-8")
    errors = attribute(open_in_browser(spoiled, tmp_path), "html", "data-errors")
    assert "img-src http://192.0.2.1/x.png" in errors
    assert "undefinedFunction is not defined" in errors


def attribute(page, tag, name):
    found = re.search(rf'<{tag}\b[^>]*\b{name}="([^"]*)"', page)
    return None if found is None else found.group(1)


def open_in_browser(path, folder, *options, time_ms=4000):
    """Return the page's DOM after its scripts ran for `time_ms` of the browser's own time."""
    browser = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
    if browser is None:
        pytest.skip("NOT CHECKED IN A BROWSER: no chromium on this machine (apt-get install chromium)")
    settings = [*BROWSER, f"--virtual-time-budget={time_ms}", f"--user-data-dir={folder}/profile", *options]
    command = [browser, *settings, "--dump-dom", path.resolve().as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=True).stdout
