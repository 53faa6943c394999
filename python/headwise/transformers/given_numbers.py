"""Whole numbers as arguments, of Python, NumPy or torch."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def whole(value: Any) -> int | None:
    """The number that `value` is; None if it is no whole number."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def numbers(given: Any, name: str) -> tuple[int, ...]:
    """One number, or several. Raises TypeError for anything else, ValueError for none."""
    one = whole(given)
    if one is not None:
        return (one,)
    found = ([whole(each) for each in given]
             if isinstance(given, Iterable) and not isinstance(given, str) else [None])
    if None in found:
        raise TypeError(f"{name} is {given!r}, expected a number or a list of numbers")
    if not found:
        raise ValueError(f"{name} is empty, expected at least one number")
    return tuple(each for each in found if each is not None)
