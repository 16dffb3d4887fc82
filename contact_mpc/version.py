"""The version of the package, read by code; setup.py has the same one for ament and colcon."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


__version__ = "0.2.0"
