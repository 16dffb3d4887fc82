"""What ``contact-mpc doctor`` looks at: cores, memory, real-time permissions, clock, DDS discovery."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from contact_mpc.cli.doctor.checks import Check

MIN_CORES = 2
MIN_MEMORY_GB = 3.0
MIN_LOCKED_MB = 512
MAX_CLOCK_RESOLUTION_S = 1e-6
MAX_DOMAIN = 101  # above, DDS ports reach into the range that Linux gives to clients
_FIFO_PROBE = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
_SECURITY_PLUGIN = b"builtin.PKI-DH"
_LIMITS = "/etc/security/limits.d/contact_mpc.conf"


def check_machine() -> Iterator[Check]:
    """Yield the checks of the machine and of its settings."""
    yield check_cores()
    yield check_memory()
    yield check_sched_fifo()
    yield check_memlock()
    yield check_clock()
    yield check_discovery()
    yield check_dds_security(_library_folders())
    yield check_domain()


def check_cores() -> Check:
    """The stack is six processes; on one core `lockstep` still works, `realtime` does not."""
    cores = len(os.sched_getaffinity(0))
    if cores >= MIN_CORES:
        return Check("cores", "ok", str(cores), "demo")
    return Check("cores", "warn", str(cores), "demo", f"give it {MIN_CORES} cores; only --clock lockstep will do")


def check_memory() -> Check:
    """The processes of a run with Drake together take 1.7 GB of resident memory."""
    total_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    if total_gb >= MIN_MEMORY_GB:
        return Check("memory", "ok", f"{total_gb:.1f} GB", "demo")
    return Check("memory", "warn", f"{total_gb:.1f} GB", "demo", f"give it {MIN_MEMORY_GB:.0f} GB")


def check_sched_fifo() -> Check:
    """The bridge asks for SCHED_FIFO when `rt_priority` is set."""
    probe = subprocess.run([sys.executable, "-c", _FIFO_PROBE], capture_output=True, text=True, timeout=60)
    if probe.returncode == 0:
        return Check("SCHED_FIFO", "ok", "permitted", "hardware")
    remedy = f"add `@realtime - rtprio 98` to {_LIMITS} and your user to that group, then log in again"
    return Check("SCHED_FIFO", "warn", "not permitted", "hardware", remedy)


def check_memlock() -> Check:
    """The bridge locks its memory when `lock_memory` is set."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    found = "unlimited" if limit == resource.RLIM_INFINITY else f"{limit / 2**20:.0f} MB"
    if limit == resource.RLIM_INFINITY or limit >= MIN_LOCKED_MB * 2**20 or os.geteuid() == 0:
        return Check("memlock", "ok", found, "hardware")
    return Check("memlock", "warn", found, "hardware", f"add `@realtime - memlock unlimited` to {_LIMITS}")


def check_clock() -> Check:
    """A 1 kHz loop with absolute deadlines needs a fine monotonic clock."""
    resolution_s = time.clock_getres(time.CLOCK_MONOTONIC)
    found = f"CLOCK_MONOTONIC {resolution_s * 1e9:.0f} ns"
    if resolution_s <= MAX_CLOCK_RESOLUTION_S:
        return Check("clock", "ok", found, "hardware")
    return Check("clock", "warn", found, "hardware", "enable high-resolution timers in the kernel")


def check_discovery() -> Check:
    """Nodes of other machines in the same domain would be found and could publish commands."""
    scope = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET (default)")
    if scope in ("LOCALHOST", "OFF"):
        return Check("DDS discovery", "ok", scope, "hardware")
    remedy = "export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST unless the robot is elsewhere; `run` sets it for itself"
    return Check("DDS discovery", "warn", scope, "hardware", remedy)


def check_dds_security(folders: Iterable[Path]) -> Check:
    """SROS 2 needs a Fast DDS that was built with it; without, whoever is in the domain may publish and call services.

    The names of its plugins are in the library if it was; that of the wheels from PyPI was not.
    """
    names = ("libfastrtps.so", "libfastdds.so")
    library = next((folder / name for folder in folders for name in names if (folder / name).is_file()), None)
    if library is None:
        return Check("DDS security", "warn", "no Fast DDS found", "hardware", "another middleware: see its manual")
    if _SECURITY_PLUGIN in library.read_bytes():
        return Check("DDS security", "ok", f"{library} has it; use it with keystore:=FOLDER", "hardware")
    remedy = "keystores have no effect: keep strangers out of the domain (one user, LOCALHOST), or install ROS 2 by apt"
    return Check("DDS security", "warn", f"{library} was built without", "hardware", remedy)


def _library_folders() -> list[Path]:
    """Return where the middleware may lie: beside the wheels, and where a sourced ROS 2 says."""
    found = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return [*(Path(folder) for folder in found if folder), Path(sys.prefix) / "lib"]


def check_domain() -> Check:
    """Another participant in the domain may be a stack that still runs; `run` picks a free domain by itself."""
    text = os.environ.get("ROS_DOMAIN_ID", "0")
    if not text.isdecimal() or int(text) > MAX_DOMAIN:
        return Check("DDS domain", "warn", text, "hardware", f"set ROS_DOMAIN_ID to a number from 0 to {MAX_DOMAIN}")
    ports = domain_ports_in_use(int(text), bound_udp_ports())
    if not ports:
        return Check("DDS domain", "ok", f"{text} is free", "hardware")
    found = f"{text} is in use (UDP {', '.join(map(str, ports))})"
    return Check("DDS domain", "warn", found, "hardware", "end the other nodes or choose another ROS_DOMAIN_ID")


def domain_ports_in_use(domain: int, bound: set[int]) -> list[int]:
    """Return those of the `bound` UDP ports that belong to a DDS domain: 7400 + 250 domain and the 249 above."""
    first = 7400 + 250 * domain
    return sorted(port for port in bound if first <= port < first + 250)


def bound_udp_ports() -> set[int]:
    """Return the UDP ports that are in use on this machine."""
    ports: set[int] = set()
    for table in (Path("/proc/net/udp"), Path("/proc/net/udp6")):
        lines = table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []
        ports.update(int(line.split()[1].rpartition(":")[2], 16) for line in lines)
    return ports
