"""The version of the package, read by code; setup.py has the same one for ament and colcon."""

__version__ = "0.2.0"
