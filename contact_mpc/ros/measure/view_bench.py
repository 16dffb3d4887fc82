"""What the live view costs the bridge: its lateness alone, beside the viewer, and beside a browser that shows its page.

Each block is a stack of its own, in realtime, that does the same; what runs beside it is up before the bridge is
active. The blocks take turns, so that what else happens on the machine meets all of them.
"""

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from contact_mpc.errors import StackError
from contact_mpc.model.system import System
from contact_mpc.ros.measure.bridge_bench import Report, measure_stack
from contact_mpc.ros.stack.stack import Stack
from contact_mpc.ros.stack.viewing import viewing
from contact_mpc.task.task import TaskConfig

NOTHING, VIEW, PAGE = "nothing", "viewer", "viewer and page"
ACTIVE = "ACTIVE"
CONDITIONS = (NOTHING, VIEW, PAGE)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-background-networking", "--no-first-run", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader", "--remote-debugging-port=0", "--window-size=1280,800",
)  # fmt: skip
PAGE_TIMEOUT_S, PAGE_SETTLES_S, BROWSER_ENDS_S = 60.0, 5.0, 10.0


def find_browser() -> str | None:
    """Return the path of a Chromium, None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def measure_blocks(
    task: TaskConfig,
    parameters: dict[str, dict[str, Any]],
    folder: Path,
    block_s: float,
    rounds: int,
    port: int,
    report: Report,
) -> list[dict[str, Any]]:
    """Return figures of `rounds` blocks of each condition, of those with a page only where there is a browser.

    Parameters
    ----------
    task, parameters, folder
        As in `measure_stack`.
    block_s : float
        Time that is measured in a block, s.
    rounds : int
        Blocks of each condition.
    port : int
        Of the page.
    report : callable
        Called with the time that was measured so far, s.

    Raises
    ------
    StackError
        A node or the page did not come up.
    """
    browser, blocks = find_browser(), list[dict[str, Any]]()
    for number in range(rounds):
        for condition in CONDITIONS if browser else (NOTHING, VIEW):
            place = folder / f"{condition.replace(' ', '_')}_{number}"
            place.mkdir()
            show = partial(_add, report, len(blocks) * block_s)
            shown = browser if condition == PAGE else None
            beside = None if condition == NOTHING else partial(_viewed, task.system, place, port, shown)
            figures = measure_stack(task, parameters, place, block_s, show, beside)
            blocks.append({"beside": condition, **figures})
    return blocks


def _share_active(block: dict[str, Any]) -> float:
    return float(sum(share for said, share in block["safety_shares"].items() if said.startswith(ACTIVE)))


def _add(report: Report, before_s: float, elapsed_s: float) -> None:
    report(before_s + elapsed_s)


@contextmanager
def _viewed(system: System, folder: Path, port: int, browser: str | None, stack: Stack) -> Iterator[None]:
    """Show a stack, in a browser where one is given, while the context lasts."""
    with viewing(system, folder, stack.domain, port):
        _wait_for_page(port, folder)
        with nullcontext() if browser is None else _browsing(browser, port, folder):
            yield


def summarise(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return by condition the p99 lateness of each block, and the difference of the medians to nothing beside, ms.

    `bridge_active` is the median share of reports in which the bridge followed plans: where cores are few a page that
    is drawn without a graphics card leaves the tracker too little of them, and the bridge holds.
    """
    p99 = {
        name: [block["lateness_ms"]["p99"] for block in blocks if block["beside"] == name]
        for name in dict.fromkeys(block["beside"] for block in blocks)
    }
    active = {name: [_share_active(block) for block in blocks if block["beside"] == name] for name in p99}
    alone = float(np.median(p99[NOTHING]))
    return {
        "p99_lateness_ms": p99,
        "p99_difference_ms": {name: float(np.median(item)) - alone for name, item in p99.items() if name != NOTHING},
        "bridge_active": {name: float(np.median(item)) for name, item in active.items()},
        "p99_spread_alone_ms": float(np.ptp(p99[NOTHING])),
    }


def _wait_for_page(port: int, folder: Path) -> None:
    deadline = time.monotonic() + PAGE_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=1.0):
                return
        except OSError:
            time.sleep(0.2)
    raise StackError(f"the page of the view did not come up within {PAGE_TIMEOUT_S:g} s; see {folder / 'viewer.log'}")


@contextmanager
def _browsing(browser: str, port: int, folder: Path) -> Iterator[None]:
    """Show the page in a browser without a window while the context lasts."""
    command = [browser, *OPTIONS, f"--user-data-dir={folder / 'profile'}", f"http://127.0.0.1:{port}"]
    with (folder / "browser.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            time.sleep(PAGE_SETTLES_S)
            if process.poll() is not None:
                raise StackError(f"{browser} ended with exit code {process.returncode}; see {log.name}")
            yield
        finally:
            process.terminate()
            process.wait(BROWSER_ENDS_S)
