"""A page in headless Chromium, driven through the DevTools protocol: real mouse events, pictures, expressions."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from patience import HANG_S

connect = pytest.importorskip("websockets.sync.client").connect  # comes with viser

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0", "--hide-scrollbars",
)  # fmt: skip
LARGEST_MESSAGE = 64 * 2**20  # a picture


def browser_or_skip() -> str:
    """Return Chromium's name; skips the test, loudly, where there is none."""
    browser = next((name for name in NAMES if shutil.which(name)), None)
    if browser is None:
        pytest.skip("NOT CHECKED IN A BROWSER: no chromium on this machine (apt-get install chromium)")
    return browser


class BrowserPage:
    """A page of (width, height) pixels; a context manager, at whose end the browser ends."""

    def __init__(self, url: str, folder: Path, size: tuple[int, int] = (1280, 800)) -> None:
        profile = folder / "profile"
        command = [browser_or_skip(), *OPTIONS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={profile}"]
        self._log = (folder / "chromium.log").open("wb")
        self._process = subprocess.Popen([*command, "about:blank"], stdout=self._log, stderr=self._log)
        try:
            port = self._port(profile / "DevToolsActivePort")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=HANG_S) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            self._socket = connect(pages[0]["webSocketDebuggerUrl"], max_size=LARGEST_MESSAGE)
            self._number = 0
            width, height = size
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **metrics)
            self.call("Page.navigate", url=url)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "BrowserPage":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(HANG_S)
        self._log.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(HANG_S))
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + HANG_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, f"not so: {expression}"
            time.sleep(0.2)

    def wait_for_frames(self, count: int) -> None:
        """Wait until the page has been drawn so often again, however slowly."""
        frames = (
            f"new Promise(done => {{let n = {count}; const f = () => n-- ? requestAnimationFrame(f) : done(); f()}})"
        )
        self.call("Runtime.evaluate", expression=frames, awaitPromise=True)

    def drag(self, path: list[tuple[float, float]], pause_s: float = 0.1) -> None:
        """Press the left button at the first pixel, move through the others, let go at the last."""
        self._mouse("mouseMoved", path[0], 0, pause_s)
        self._mouse("mousePressed", path[0], 1, pause_s)
        for pixel in path[1:]:
            self._mouse("mouseMoved", pixel, 1, pause_s)
        self._mouse("mouseReleased", path[-1], 0, pause_s)

    def rest(self, is_resting: bool) -> None:
        """Stop the page's scripts and drawing, which may take all of a processor, or let them go on."""
        self.call("Page.setWebLifecycleState", state="frozen" if is_resting else "active")

    def picture(self, file: Path) -> None:
        """Write what is seen as a PNG."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _mouse(self, kind: str, pixel: tuple[float, float], buttons: int, pause_s: float) -> None:
        button = "none" if kind == "mouseMoved" and not buttons else "left"
        clicks = int(kind != "mouseMoved")
        x, y = pixel
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=clicks)
        time.sleep(pause_s)

    def _port(self, file: Path) -> int:
        deadline = time.monotonic() + HANG_S
        while not (file.is_file() and "\n" in file.read_text()):
            assert self._process.poll() is None and time.monotonic() < deadline, "chromium does not start"
            time.sleep(0.05)
        return int(file.read_text().split("\n")[0])
