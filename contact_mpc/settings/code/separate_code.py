"""Compiled functions that compiled code calls by their address.

numba compiles a function anew, with everything that it calls, into each function that calls it: what stands at the end
of a chain of ten calls is compiled ten times. A function that is called by its address is compiled once. The address
holds for one process and one signature; whoever lays out the arguments asks for it and hands it on with them:

    STEP = SeparateCode(solve_step, types.Tuple((types.int64, types.float64)))
    take_step = STEP.call                                     # a name of the module, as compiled code needs it
    address = STEP.address(model, workspace)                  # in Python; compiles solve_step for these types
    status, residual = take_step(address, (model, workspace)) # in compiled code

The arguments' types are compared when the caller is compiled, and an address of 0 is an error of Python.
"""

from collections.abc import Callable
from typing import Any

from numba import typeof, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

NO_CODE = 0


class SeparateCode:
    """A compiled function and the way to call it by its address.

    Parameters
    ----------
    function : dispatcher
        What ``njit`` returned.
    returns : numba type
        Of what it returns.
    """

    def __init__(self, function: Any, returns: types.Type) -> None:
        self._function, self._returns = function, returns
        self.call = self._make_call()

    def address(self, *arguments: Any) -> int:
        """Compile, or load, the function for the types of these arguments; return where it stands in this process."""
        signature = tuple(types.unliteral(typeof(item)) for item in arguments)
        self._function.compile(signature)
        compiled = self._function.overloads[signature]
        if compiled.signature.return_type != self._returns:
            raise TypeError(f"{self._name} returns {compiled.signature.return_type}, not {self._returns}")
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))

    @property
    def _name(self) -> str:
        return str(self._function.py_func.__name__)

    def _make_call(self) -> Any:
        """Return the intrinsic call(address, (argument, ..)) for compiled code."""
        function, returns, name = self._function, self._returns, self._name

        @intrinsic
        def call(context: Any, address: Any, arguments: Any) -> tuple[Any, Callable[..., Any]]:
            wanted = tuple(types.unliteral(item) for item in arguments)
            if function.overloads and wanted not in function.overloads:
                raise TypingError(f"{name} was not compiled for {wanted}")

            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                where, packed = values
                pointer = context.call_conv.get_function_type(returns, wanted).as_pointer()
                with builder.if_then(cgutils.is_null(builder, where), likely=False):
                    text = f"{name}: no code at this address; arguments are laid out in the process that uses them"
                    context.call_conv.return_user_exc(builder, RuntimeError, (text,))
                items = [
                    context.cast(builder, builder.extract_value(packed, i), own, other)
                    for i, (own, other) in enumerate(zip(arguments, wanted, strict=True))
                ]
                code = builder.inttoptr(where, pointer)
                status, result = context.call_conv.call_function(builder, code, returns, wanted, items)
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
                return result

            return returns(address, arguments), generate

        return call
