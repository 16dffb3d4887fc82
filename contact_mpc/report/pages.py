"""The pages by name that a command's result becomes; adding one is a file and a line of `PAGES`.

A page is a function (result, folder) that writes one self-contained HTML file from the JSON result of a command and
returns its path. The pages of one run and of one plan, which hold an animation, take objects: `run_report`,
`plan_report`, `push_report`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from contact_mpc.settings.plain_values import to_plain
from contact_mpc.settings.registry import Entry, Registry

PAGES: Registry[Callable[[dict[str, Any], Path], Path]] = Registry(
    "page",
    {
        "evaluation": Entry("contact_mpc.report.evaluation_report:write_evaluation_report", "rates of many trials"),
        "tracking": Entry("contact_mpc.report.study_report:write_study_report", "variants on the same trials"),
        "generality": Entry("contact_mpc.report.study_report:write_generality_report", "hands x objects"),
        "metric": Entry("contact_mpc.report.planning_study_report:write_metric_report", "coverage of trees"),
        "smoothing": Entry("contact_mpc.report.planning_study_report:write_smoothing_report", "cost of gradients"),
        "penalty_grasp": Entry("contact_mpc.report.penalty_report:write_penalty_report", "grasps by overlap"),
    },
)


def write_result_page(name: str, result: dict[str, Any], folder: str | Path) -> Path:
    """Write the page of a result into a folder, which is made, and return its path.

    Raises
    ------
    ConfigError
        There is no such page.
    InputError
        The file cannot be written.
    """
    return PAGES.load(name)(to_plain(result), Path(folder))
