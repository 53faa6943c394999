"""Signatures for inspect and help() of what the extension defines.

A function of nanobind has a text for its signature, but nothing that inspect reads.
"""

import __future__

import typing
from collections.abc import Callable


def described(value: typing.Any) -> typing.Any:
    """The same function, or class, with signatures; any other value as it is."""
    if isinstance(value, type):
        for name, member in list(vars(value).items()):
            if name == "__call__" or not name.startswith("__"):
                if hasattr(member, "__nb_signature__"):
                    bound = type(member).__name__ == "nb_method"
                    function = _described(member, f"{value.__name__}.{name}")
                    setattr(value, name, function if bound else staticmethod(function))
        return value
    return _described(value, value.__name__) if hasattr(value, "__nb_signature__") else value


def _described(function: typing.Any, qualified: str) -> Callable[..., typing.Any]:
    def call(*arguments: typing.Any, **options: typing.Any) -> typing.Any:
        return function(*arguments, **options)

    text, documentation, _ = function.__nb_signature__[0]
    call.__name__, call.__qualname__ = function.__name__, qualified
    call.__module__, call.__doc__ = "headwise", documentation
    call.__wrapped__ = _signature(function.__name__, text)  # type: ignore[attr-defined]
    return call


def _signature(name: str, text: str) -> Callable[..., typing.Any]:
    """A function that has only this signature; its annotations stay strings."""
    text = text.replace("_A", "Array")  # the stub's name for a type of array
    names: dict[str, typing.Any] = {}
    flags = __future__.annotations.compiler_flag
    exec(compile(f"{text}: ...", "<signature>", "exec", flags), names)
    return typing.cast("Callable[..., typing.Any]", names[name])
