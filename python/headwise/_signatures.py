"""Signatures for inspect of the functions of the extension.

A function of nanobind has a text for its signature, but nothing that inspect reads, and
no attributes can be added. A partial without arguments can have some, and forwards a call
in 20 ns where a function in Python needs 150. Methods keep their docstrings, which begin
with the text.
"""

import __future__

import functools
import inspect
import typing
from collections.abc import Callable


def described(value: typing.Any) -> typing.Any:
    """The same function with a signature; any other value as it is."""
    if isinstance(value, type) or not hasattr(value, "__nb_signature__"):
        return value
    known = functools.partial(value)
    known.__name__ = known.__qualname__ = value.__name__  # type: ignore[attr-defined]
    known.__module__, known.__doc__ = "headwise", value.__doc__
    known.__signature__ = _signature(value)  # type: ignore[attr-defined]
    return known


def _signature(function: typing.Any) -> inspect.Signature:
    """Its annotations stay strings."""
    text = function.__nb_signature__[0][0]
    text = text.replace("_A", "Array")  # the stub's name for a type of array
    names: dict[str, typing.Any] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(f"{text}: ...", "<signature>", "exec", flags), names)
    return inspect.signature(typing.cast("Callable[..., typing.Any]",
                                         names[function.__name__]))
