"""What the rules of the house allow, and how breaches of them are found; the rules are test_architecture.py."""

import ast
import importlib.util
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
