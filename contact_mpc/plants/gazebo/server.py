"""gzserver of Gazebo classic 11 in a Debian 11 root, as a child process with a TCP connection to the plugin in it.

`gazebo/classic/install` makes the root, by default ~/.cache/contact_mpc/gazebo-classic-11 or what
CONTACT_MPC_GAZEBO_ROOT names. Entering it needs the right to chroot. The plugin is compiled on first use, 10 s.
"""

import ctypes
import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from contact_mpc.errors import ConfigError, StackError
from contact_mpc.settings.arrays import FloatArray
from contact_mpc.settings.resources import share_directory

ROOT_VARIABLE = "CONTACT_MPC_GAZEBO_ROOT"
COMPLETE = Path("opt/contact_mpc/complete")  # the last thing that the installation writes
PLUGIN_FOLDER = Path("opt/contact_mpc")
HEADERS = Path("/opt/contact_mpc/headers/usr/include")
INCLUDES = (
    "", "gazebo-11", "sdformat-9.3", "ignition/math6", "ignition/msgs5", "ignition/transport8", "ignition/common3",
    "ignition/fuel_tools4",
)  # fmt: skip
STEP, RESET = 1, 2  # kinds of requests, as in the plugin
START_TIMEOUT_S, ANSWER_TIMEOUT_S, END_TIMEOUT_S = 60.0, 60.0, 10.0
PR_SET_PDEATHSIG = 1
SEARCH_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def default_root() -> Path:
    """Return where the root of Gazebo classic is looked for."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(ROOT_VARIABLE) or cache / "contact_mpc" / "gazebo-classic-11")


def find_root() -> Path:
    """Return the installed root.

    Raises
    ------
    ConfigError
        It is not there or not whole, or this process may not enter it; says what to do.
    """
    root = default_root()
    if not (root / COMPLETE).is_file():
        script = share_directory() / "gazebo" / "classic" / "install"
        raise ConfigError(
            f"plant 'gazebo' needs Gazebo classic 11 in {root}; install it (as root, about 2 minutes, 1.7 GB) with: "
            f"{script} {root}"
        )
    if os.geteuid() != 0:
        raise ConfigError(f"plant 'gazebo' runs in {root}, which only root may enter (chroot); run it with sudo")
    return root


def build_plugin(root: Path) -> str:
    """Compile the plugin in the root unless that has been done; returns the path of its library there.

    Raises
    ------
    ConfigError
        It does not compile; the message holds what the compiler said.
    """
    source = share_directory() / "gazebo" / "classic" / "lockstep_plugin.cc"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = PLUGIN_FOLDER / f"libcontact_mpc_lockstep_{digest}.so"
    if (root / library).is_file():
        return f"/{library}"
    name = f"build-{os.getpid()}"
    copy, made = root / PLUGIN_FOLDER / f"{name}.cc", root / PLUGIN_FOLDER / f"{name}.so"
    shutil.copyfile(source, copy)
    includes = [word for folder in INCLUDES for word in ("-isystem", str(HEADERS / folder))]
    options = ["-std=c++17", "-O2", "-shared", "-fPIC", *includes]
    command = ["chroot", str(root), "g++", *options, f"/{copy.relative_to(root)}", "-o", f"/{made.relative_to(root)}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": SEARCH_PATH})
    copy.unlink()
    if done.returncode != 0:
        raise ConfigError(f"{source} does not compile in {root}: {done.stderr.strip()}")
    made.replace(root / library)
    return f"/{library}"


class GazeboServer:
    """A running gzserver; every request is answered with the state after it.

    Parameters
    ----------
    make_world : callable
        Given the TCP port and the path of the plugin, returns the text of the world.

    Raises
    ------
    ConfigError
        Gazebo classic is not installed.
    StackError
        The server did not come up; the message ends with what it said.
    """

    def __init__(self, make_world: Callable[[int, str], str]) -> None:
        root = find_root()
        plugin = build_plugin(root)
        self._folder = Path(tempfile.mkdtemp(prefix="contact_mpc_", dir=root / "tmp"))
        self._socket: socket.socket | None = None
        port = _free_port()
        (self._folder / "world.sdf").write_text(make_world(port, plugin))
        self._process = self._start(root)
        try:
            self._socket = self._connect(port)
        except StackError:
            self.close()
            raise

    def _start(self, root: Path) -> "subprocess.Popen[bytes]":
        inside = f"/{self._folder.relative_to(root)}"
        variables = {
            "PATH": SEARCH_PATH, "HOME": inside, "LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/gazebo-11/plugins",
            "GAZEBO_MASTER_URI": f"http://127.0.0.1:{_free_port()}", "GAZEBO_IP": "127.0.0.1",
            "GAZEBO_MODEL_DATABASE_URI": "", "GAZEBO_RESOURCE_PATH": "/usr/share/gazebo-11",
        }  # fmt: skip
        command = ["chroot", str(root), "gzserver", "--verbose", "-e", "ode", f"{inside}/world.sdf"]
        with (self._folder / "log").open("wb") as log:
            return subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0,
                preexec_fn=_die_with_parent,
            )  # fmt: skip

    def _connect(self, port: int) -> socket.socket:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise StackError(f"gzserver did not come up within {START_TIMEOUT_S:g} s: {self._last_words()}")
            try:
                connection = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_TIMEOUT_S)
            except ConnectionRefusedError:
                time.sleep(0.02)
                continue
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

    def request(self, kind: int, numbers: FloatArray) -> FloatArray:
        """Send a request and return the state that the plugin answers with.

        Raises
        ------
        StackError
            The server has ended or does not answer.
        """
        if self._socket is None:
            raise StackError("this Gazebo classic has been closed; make a new plant")
        try:
            self._socket.sendall(struct.pack("=II", kind, numbers.size) + numbers.tobytes())
            (count,) = struct.unpack("=I", self._receive(4))
            return np.frombuffer(self._receive(8 * count))
        except OSError as error:
            raise StackError(f"gzserver does not answer ({error}): {self._last_words()}") from error

    def _receive(self, size: int) -> bytes:
        assert self._socket is not None
        chunks = bytearray()
        while len(chunks) < size:
            chunk = self._socket.recv(size - len(chunks))
            if not chunk:
                raise ConnectionResetError("it hung up")
            chunks += chunk
        return bytes(chunks)

    def _last_words(self) -> str:
        lines = (self._folder / "log").read_text(errors="replace").splitlines()
        return " | ".join(line for line in lines[-5:] if line.strip()) or "it said nothing"

    def close(self) -> None:
        """Hang up, on which the server ends, and remove its folder."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _die_with_parent() -> None:
    """Have the kernel end the server with this process, also before the plugin could notice."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
