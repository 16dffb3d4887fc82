"""What the rules of the house allow, and how breaches of them are found; the rules are test_architecture.py."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Numbers at module level that stay in planning. What was tuned is a field of a frozen config, with range and reason.
KEPT_NUMBERS = {
    "tolerances of comparisons and round-off": {
        *("SAME", "TOUCHING_M", "MARGIN", "POSTURE_TOLERANCE_M", "STARTS_RAD", "STARTS_M", "STEP_TOLERANCE"),
        *("ARRIVED_RAD", "STANDING_RAD", "DAMPING", "LEAST_LEVER_M", "MARGIN_RAD"),
        *("RANK_SHARE", "LEAST_TURN", "NEAR_DEG", "NEAR_MM", "LEAST_RANK", "SHARE_ACCURACY", "ACCURACY_M"),
    },
    "bounds that stand for none, and ends of bisections": {
        *("LOOSE", "UNJUDGED_MM", "LARGEST_SCALE", "LARGEST_FRICTION", "LARGEST_EFFORT_SHARE", "LEAST_FORCE_N"),
        "FURTHEST_M",
    },
    "caps of loops, sizes of arrays, how finely a way is looked at": {
        *("BISECTIONS", "RESOLVING_STEPS", "LEADING_POINTS", "TURNING_STEPS", "RETREAT_STEPS", "STEPS", "INSTANTS"),
        *(
            "MOST_BYTES",
            "MOST_MEMORIES",
            "WAYPOINTS",
            "DETOURS",
            "SCRATCH",
            "CLOSING_STEPS",
            "MOST_STEPS",
            "PORTION",
            "START_TRIES",
            "ROUNDS",
            "STEP_RAD",
            "HIT_ITERATIONS",
        ),
    },
    "codes, indices, seeds far apart": {
        *("READY", "TOUCH", "ROOT", "EXTENSION", "REGRASP", "SMOOTHED", "UNSMOOTHED", "EXTENDED", "KEPT_EXTENSIONS"),
        *("REGRASPED", "KEPT_REGRASPS", "WHOLE", "STILL", "SEED_STEP"),
    },
    "units of a comparison": {"FORCE_SCALE_N", "GAP_SCALE_M"},
    "published": {"SIGMA_EXPONENT", "PACKING_DISTANCE"},
    "default of a keyword": {"EFFORT_SHARE"},
    "step sizes of compiled code, which has them as constants": {
        *("RETREAT_STEP_RAD", "LINE_STEP_RAD", "SMALLEST_SHARE", "DEEPEST_RETREAT_M", "TOUCH_GAP_M", "LOAD_WEIGHT"),
        *("HALVINGS", "HOLDING_GAP_M", "FREE_STEP_RAD", "FREE_MARGIN"),
    },
}
# Bytes, gigabytes, nonsense for the bridge: what is 1e9 without being nanoseconds in a second.
OTHER_BILLIONS = {
    *("settings/units.py", "bags/recovery.py", "cli/doctor/machine_checks.py", "settings/machine.py"),
    *("ros/faults/adversary.py", "ros/faults/kinds.py"),
}
# What may write other than by settings.file_access, which leaves the old file or the whole new one, and why.
TEMPORARY = "in a temporary folder of its own, gone with the process or the call"
OTHER_WRITERS = {
    "cli/frame/output.py": "standard output",
    "evaluation/outcome_store.py": "adds lines, and cuts off what was added where that fails",
    "examples/grasp/bullet.py": TEMPORARY,
    "examples/grasp/grippers.py": TEMPORARY,
    "examples/grasp/shadow.py": TEMPORARY,
    "loop/compile_ahead.py": "a lock without content; what programs say",
    "planning/push/program/compiled.py": TEMPORARY,
    "plants/common/hull_files.py": TEMPORARY,
    "plants/gazebo/server.py": TEMPORARY,
    "ros/measure/view_bench.py": "what a browser says, while it runs",
    "ros/stack/processes.py": "what a node says, while it runs",
    "settings/file_access.py": "it is the way",
}
WRITING = re.compile(r"(?=.*[wax+])[rwaxbt+]{1,3}")  # modes of `open`


@cache
def figures_of_the_house() -> ModuleType:
    """Return the module docs/architecture.py."""
    specification = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "architecture.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@cache
def house() -> Any:
    """Return the files of this checkout with what they import, see docs/architecture.py."""
    return figures_of_the_house().House(ROOT)


def private_patches(tree: ast.AST) -> Iterator[str]:
    """Yield private names that a test replaces: by monkeypatch, by an assignment, not those of its own `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            words = [item.value for item in node.args[:2] if isinstance(item, ast.Constant)]
            yield from (str(word) for word in words if str(word).rpartition(".")[2].startswith("_"))
            yield from (item.attr for item in node.args[:1] if isinstance(item, ast.Attribute) and item.attr[0] == "_")
        targets = node.targets if isinstance(node, ast.Assign) else []
        for item in targets:
            if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id != "self":
                yield from [item.attr] if item.attr.startswith("_") else []


def direct_writes(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that write to a file in its place: `write_text`, `write_bytes`, `open` to write, as source."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        is_method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "file_access"
        given = [*node.args, *(item.value for item in node.keywords if item.arg == "mode")]
        modes = [item.value for item in given if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        is_open = name in ("open", "fdopen", "TemporaryFile", "NamedTemporaryFile")
        if (is_method and name in ("write_text", "write_bytes")) or (is_open and any(map(WRITING.fullmatch, modes))):
            yield ast.unparse(node)
