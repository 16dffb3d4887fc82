"""``contact-mpc view BAG``: a recorded run in a browser, with a slider for its time. Without ROS."""

import sys
import time
from pathlib import Path
from typing import Any

from contact_mpc.cli.frame.output import emit
from contact_mpc.settings.extras import require_packages

PICTURES_PER_S = 30.0


def is_bag(name: str) -> bool:
    """Whether a name is that of a bag: a folder with its metadata, or a file of a bag."""
    path = Path(name).expanduser()
    return (path / "metadata.yaml").is_file() or (path.is_file() and path.suffix in (".mcap", ".db3"))


def view_bag(name: str, port: int, host: str, as_json: bool) -> None:
    """Show a bag at http://HOST:PORT until Ctrl-C."""
    require_packages("view of a bag", "viser", "rosbags")
    from contact_mpc.view.live_scene import LiveScene
    from contact_mpc.view.playback import Playback

    system, times_s, q, goal = read_motion(Path(name).expanduser())
    scene = LiveScene(system, port, host)
    url = f"http://{host}:{port}"
    try:
        scene.show_goal(*goal)
        playback = Playback(scene, times_s, q)
        print(f"{name}: {times_s[-1]:.1f} s at {url}; Ctrl-C ends it", file=sys.stderr)
        while True:
            time.sleep(1.0 / PICTURES_PER_S)
            playback.advance(1.0 / PICTURES_PER_S)
    except KeyboardInterrupt:
        emit({"bag": name, "url": url, "goal_met": True}, as_json, f"the view at {url} has ended")
    finally:
        scene.stop()


def read_motion(path: Path) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Return system, times (n,), s, configurations q (n, n_q) and the goal (R, p) of a bag's run."""
    import numpy as np

    from contact_mpc.bags.bag import read_run
    from contact_mpc.bags.object_track import configurations, evaluate_object
    from contact_mpc.bags.sources import find_task
    from contact_mpc.model.rotations import quaternion_to_matrix
    from contact_mpc.report.scene.animation import frame_stamps

    record = read_run(path)
    task = find_task(record)
    evaluation = evaluate_object(record, task)
    t_ns = frame_stamps(record, evaluation)
    q = configurations(record, task.system, evaluation, t_ns)
    goal = quaternion_to_matrix(np.array(evaluation.goal.quaternion_wxyz[0])), evaluation.goal.position_m[0]
    return task.system, np.asarray((t_ns - t_ns[0]) * 1e-9), q, goal
