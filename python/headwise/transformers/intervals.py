"""Means over texts with their confidence intervals."""

from __future__ import annotations

from typing import NamedTuple

import torch
from headwise import _core


class Interval(NamedTuple):
    """A mean, and the 95% confidence interval of Student's t around it. NaN without
    numbers; `low` and `high` are NaN for one number.
    """
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: torch.Tensor) -> Interval:
        """Of numbers (n), NaN left out."""
        mean, half = _core.mean_with_interval(values.tolist())
        return cls(mean, mean - half, mean + half)

    @property
    def excludes_0(self) -> bool:
        return self.low > 0 or self.high < 0
