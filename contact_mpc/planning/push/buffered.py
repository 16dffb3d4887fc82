"""casadi functions on numpy arrays, without a matrix of casadi's per argument and result.

Such a matrix and its conversion cost ten times as much as the small functions of the tool's geometry. Not for two
threads at once: a function has one set of arrays.
"""

from typing import Any

import casadi as ca
import numpy as np

from contact_mpc.settings.arrays import FloatArray


class Buffered:
    """A casadi function evaluated in arrays of its own.

    Parameters
    ----------
    name : str
        Name for messages.
    inputs, outputs : list of ca.SX
        Arguments and results; results are made dense.
    """

    def __init__(self, name: str, inputs: list[ca.SX], outputs: list[ca.SX]) -> None:
        self._function = ca.Function(name, inputs, [ca.densify(item) for item in outputs])
        buffer: Any
        buffer, self._evaluate = self._function.buffer()
        self._buffer = buffer  # kept: the trigger does not keep it
        self._arguments = [np.zeros(item.numel()) for item in inputs]
        self._results = [np.zeros(item.shape, order="F") for item in outputs]
        for i, argument in enumerate(self._arguments):
            buffer.set_arg(i, argument.data)
        for i, result in enumerate(self._results):
            buffer.set_res(i, result.ravel(order="K").data)

    def __call__(self, *arguments: FloatArray | float) -> list[FloatArray]:
        """Return the results, one array per output, columns as vectors (n,)."""
        for own, argument in zip(self._arguments, arguments, strict=True):
            own[:] = argument
        self._evaluate()
        return [item[:, 0].copy() if item.shape[1] == 1 else item.copy() for item in self._results]
