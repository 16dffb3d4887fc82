"""Closed-loop control of contact-rich motion on quasi-dynamic contact models.

The numerical core (``model``, ``geometry``, ``dynamics``, ``optimisation``, ``planning``, ``control``,
``estimation``, ``sim``, ``replay``) knows no ROS; ``nodes`` and the launch files do. Names below load their modules
on first use, so that ``import contact_mpc`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contact_mpc.dynamics.contact_dynamics import ContactDynamics
    from contact_mpc.model.plan import load_plan
    from contact_mpc.model.system import load_system

__version__ = "0.1.0"
__all__ = ["ContactDynamics", "__version__", "load_plan", "load_system"]

_HOMES = {
    "ContactDynamics": "contact_mpc.dynamics.contact_dynamics",
    "load_plan": "contact_mpc.model.plan",
    "load_system": "contact_mpc.model.system",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it exports {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
