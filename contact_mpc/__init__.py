"""Closed-loop control of contact-rich motion on quasi-dynamic contact models.

The numerical core (``model``, ``task``, ``geometry``, ``dynamics``, ``optimisation``, ``planning``, ``control``,
``estimation``, ``plants``, ``loop``, ``evaluation``, ``bags``, ``report``) knows no ROS; ``ros`` and the launch files
do. Names below load their modules on first use, so that ``import contact_mpc`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from contact_mpc.version import __version__

if TYPE_CHECKING:
    from contact_mpc.dynamics.contact_dynamics import ContactDynamics
    from contact_mpc.model.system_builder import load_system
    from contact_mpc.task.plan import load_plan

__all__ = ["ContactDynamics", "__version__", "load_plan", "load_system"]

_HOMES = {
    "ContactDynamics": "contact_mpc.dynamics.contact_dynamics",
    "load_plan": "contact_mpc.task.plan",
    "load_system": "contact_mpc.model.system_builder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it exports {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
