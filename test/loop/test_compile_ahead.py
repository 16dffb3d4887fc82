"""Compiling ahead of a run: once per version of the sources, in a process of its own that says what it does."""

import subprocess
import sys
from threading import Event, Thread

import pytest
from patience import HANG_S

from contact_mpc.errors import StackError
from contact_mpc.loop import compile_ahead as module

PROGRAM = """
import sys
if sys.argv[1] == "mujoco":
    sys.exit("first\\nthe reason")
print("unrelated")
print("compiled contact_mpc.some.function 1.5", flush=True)
"""


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Return the engines that were compiled for, by a program that compiles nothing; marks lie in an empty package."""
    seen, start = [], module.subprocess.Popen
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(command, **options):
        seen.append(command[-2:])
        return start([sys.executable, str(tmp_path / "program.py"), *command[-2:]], **options)

    monkeypatch.setattr(module.subprocess, "Popen", run)
    (tmp_path / "package").mkdir()
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "package")
    return seen


def test_second_run_of_a_version_compiles_nothing(runs):
    said = []
    for _ in range(2):
        module.compile_ahead("drake", report=lambda *item: said.append(item))
    assert runs == [["drake", program] for program in module.PARTS["loop"]]
    assert said == 2 * [("contact_mpc.some.function", 1.5)]


def test_parts_are_compiled_each_on_its_own(runs):
    for part in (module.TREE, module.LOOP, module.TREE):
        module.compile_ahead("drake", part)
    assert runs == [["drake", program] for part in ("tree", "loop") for program in module.PARTS[part]]


def test_failure_is_named_and_leaves_no_mark(runs):
    for _ in range(2):
        with pytest.raises(StackError, match="the reason"):
            module.compile_ahead("mujoco")
    assert len(runs) == 4


def test_mark_changes_with_the_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    before = module._mark("loop")
    (tmp_path / "a.py").write_text("x = 12\n")
    assert module._mark("loop") != before != module._mark("tree")


def test_what_numba_compiles_is_said():
    program = (
        "import numba; from contact_mpc.loop import compile_ahead as module; "
        "module._say_what_is_compiled(); numba.njit(lambda x: 2.0 * x)(1.0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S, check=True)
    assert done.stdout.startswith("compiled __main__.<lambda> ")


def test_what_all_parts_need_is_compiled_by_one_process_at_a_time(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    order, begins = [], Event()

    def other():
        begins.set()
        with module._alone():
            order.append("second")

    thread = Thread(target=other, daemon=True)
    with module._alone():
        thread.start()
        assert begins.wait(HANG_S)
        thread.join(0.2)  # long enough for whoever does not wait
        order.append("first")
    thread.join(HANG_S)
    assert order == ["first", "second"]


def test_a_cache_that_cannot_be_written_keeps_nobody_waiting(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with module._alone(), module._alone():
        pass
