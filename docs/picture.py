"""Make the moving picture of the README from the canvas of a report (`make picture REPORT=FILE`)."""

import base64
import io
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image
from websockets.sync.client import ClientConnection, connect

PORT = 9333
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars",
    "--force-device-scale-factor=1", "--window-size=640,700", "--disable-background-networking",
)  # fmt: skip
FRAMES, FRAME_MS, LAST_MS, COLOURS, WIDTH = 24, 120, 1200, 64, 420
SEEK = """(() => { const s = document.querySelector('[data-part="slider"]');
s.value = Number(s.min) + (Number(s.max) - Number(s.min)) * %f; s.dispatchEvent(new Event('input'));
return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1)))); })()"""
STATE = """(() => { const scene = document.getElementById('scene'), c = scene?.querySelector('canvas');
return scene?.dataset.unavailable || (c?.dataset.drawn > 0 ? 'drawn' : ''); })()"""
RECTANGLE = """(() => { const c = document.querySelector('[data-part="canvas"]'); c.scrollIntoView();
const r = c.getBoundingClientRect();
return JSON.stringify({x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}); })()"""


class Browser:
    """A headless browser on one page, driven over its DevTools protocol on the loopback interface."""

    def __init__(self, page: Path) -> None:
        program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
        if program is None:
            sys.exit(f"no browser found: install one of {', '.join(BROWSERS)}")
        self._folder = tempfile.TemporaryDirectory()
        options = (f"--remote-debugging-port={PORT}", f"--user-data-dir={self._folder.name}")
        self._process = subprocess.Popen(
            [program, *FLAGS, *options, page.resolve().as_uri()], stderr=subprocess.DEVNULL
        )
        self._number, self._open = 0, ExitStack()
        self._socket = self._open.enter_context(self._connect())

    def _connect(self) -> ClientConnection:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/json", timeout=1.0) as answer:
                    pages = [item for item in json.load(answer) if item["type"] == "page"]
                if pages:
                    return connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
            except OSError:
                pass  # not yet listening
            time.sleep(0.1)
        sys.exit(f"the browser does not listen on port {PORT}")

    def call(self, method: str, **parameters: Any) -> Any:
        """Return the result of one command."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(timeout=120.0))).get("id") != self._number:
            continue
        return answer["result"]

    def evaluate(self, script: str) -> Any:
        """Return the value of a script, awaited."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)["result"]
        return found.get("value")

    def close(self) -> None:
        """End the browser."""
        self._open.close()
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()


def take_frames(report: Path) -> list[Image.Image]:
    """Return pictures of the report's canvas, evenly spaced over the run."""
    browser, frames = Browser(report), []
    try:
        while (state := browser.evaluate(STATE)) != "drawn":
            if state not in ("", None):
                sys.exit(f"{report}: {state}")
            time.sleep(0.2)
        clip = json.loads(browser.evaluate(RECTANGLE))
        for k in range(FRAMES):
            browser.evaluate(SEEK % (k / (FRAMES - 1)))
            data = browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
            frame = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
            frames.append(frame.resize((WIDTH, round(frame.height * WIDTH / frame.width)), Image.Resampling.LANCZOS))
    finally:
        browser.close()
    return frames


def main() -> None:
    """Write the picture of the report that is named first to the file that is named second."""
    report, out = Path(sys.argv[1]), Path(sys.argv[2])
    frames = [frame.quantize(COLOURS, dither=Image.Dither.NONE) for frame in take_frames(report)]
    out.parent.mkdir(parents=True, exist_ok=True)
    durations = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    print(f"{out}: {len(frames)} frames, {out.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
