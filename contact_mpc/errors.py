"""Errors of the package: misuse names the value, the allowed range and the remedy.

Expected numerical outcomes (a solver that stops) are statuses in results, not exceptions.
"""


class ContactMpcError(Exception):
    """Base of every error that a user can cause and repair; the command line prints it without traceback."""


class ConfigError(ContactMpcError):
    """A configuration file is missing, misspelt, of the wrong unit, shape or range."""


class ModelError(ContactMpcError):
    """A URDF or a system does not describe what the package needs."""


class InputError(ContactMpcError):
    """An argument has a wrong shape, a non-finite value or lies outside its range."""


class PlanError(ContactMpcError):
    """A plan file is unreadable, foreign, or belongs to another system or version."""


class BagError(ContactMpcError):
    """A bag is unreadable, truncated beyond repair, or lacks the topics that are needed."""


class StackError(ContactMpcError):
    """A process of the stack did not start, died, or did not answer."""
