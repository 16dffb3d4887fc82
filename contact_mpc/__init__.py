"""Closed-loop control of contact-rich motion on quasi-dynamic contact models.

The numerical core (``model``, ``task``, ``geometry``, ``dynamics``, ``optimisation``, ``planning``, ``control``,
``estimation``, ``plants``, ``loop``, ``evaluation``, ``bags``, ``report``) knows no ROS; ``ros`` and the launch files
do. Names below load their modules on first use, so that ``import contact_mpc`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from contact_mpc.version import __version__

if TYPE_CHECKING:
    from contact_mpc.api import Evaluation, Run, Task, evaluate, load_task, read_bag, simulate
    from contact_mpc.dynamics.contact_dynamics import ContactDynamics
    from contact_mpc.model.system_builder import load_system
    from contact_mpc.plants.common.perturbation import PlantPerturbation
    from contact_mpc.task.plan import Plan, load_plan, save_plan

_HOMES = {
    "ContactDynamics": "contact_mpc.dynamics.contact_dynamics",
    "Evaluation": "contact_mpc.api",
    "Plan": "contact_mpc.task.plan",
    "PlantPerturbation": "contact_mpc.plants.common.perturbation",
    "Run": "contact_mpc.api",
    "Task": "contact_mpc.api",
    "evaluate": "contact_mpc.api",
    "load_plan": "contact_mpc.task.plan",
    "load_system": "contact_mpc.model.system_builder",
    "load_task": "contact_mpc.api",
    "read_bag": "contact_mpc.api",
    "save_plan": "contact_mpc.task.plan",
    "simulate": "contact_mpc.api",
}
__all__ = [
    "ContactDynamics",
    "Evaluation",
    "Plan",
    "PlantPerturbation",
    "Run",
    "Task",
    "__version__",
    "evaluate",
    "load_plan",
    "load_system",
    "load_task",
    "read_bag",
    "save_plan",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it exports {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
