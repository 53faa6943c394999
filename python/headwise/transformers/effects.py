"""What changing a head does to a measure, over examples."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

import torch

from headwise.transformers.head_sets import Head, HeadSet
from headwise.transformers.intervals import Interval
from headwise.transformers.text_table import SHOWN, TextTable, name_of

Key = Union[Head, HeadSet]


@dataclasses.dataclass(frozen=True, eq=False)
class Effect:
    """A number per example.

    examples   (N), float64
    mean       over the examples
    low, high  its 95% confidence interval, of Student's t distribution; NaN with
               fewer than two examples
    """
    examples: torch.Tensor

    @property
    def mean(self) -> float:
        return self._interval.mean

    @property
    def low(self) -> float:
        return self._interval.low

    @property
    def high(self) -> float:
        return self._interval.high

    @functools.cached_property
    def _interval(self) -> Interval:
        return Interval.of(self.examples)

    def __repr__(self) -> str:
        return f"{self.mean:+.4g} {_interval_text(self)}".rstrip()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HeadEffect(Effect):
    """The effect of one head, or of several together.

    heads        (layer, head), numbers from before any pruning
    to           of path_patch: the heads that receive; none: the output
    interaction  of a pair: its effect minus the effects of both heads alone
    share        of patch and path_patch: the mean effect divided by the mean of
                 measure(corrupted) - measure(clean)
    positions    of patch: the effect of one position at a time, (N, L), NaN after
                 the end of a shorter batch
    """
    heads: HeadSet
    to: HeadSet = ()
    interaction: Effect | None = None
    share: float | None = None
    positions: torch.Tensor | None = None


class HeadEffects(Mapping[Key, HeadEffect]):
    """HeadEffect by (layer, head): effects[3, 1].mean.

    Several heads have the tuple of all: effects[(3, 1), (4, 5)], and so does a pair
    of a sender and a receiver.

    clean      (N), the measure of every example with all heads as they are
    corrupted  of patch and path_patch: that of the corrupted examples, (N)
    """

    def __init__(self, title: str, rows: Iterable[HeadEffect], clean: torch.Tensor,
                 corrupted: torch.Tensor | None = None):
        self._title, self._rows = title, {_key(row): row for row in rows}
        self.clean, self.corrupted = clean, corrupted

    def __getitem__(self, key: Key) -> HeadEffect:
        if key not in self._rows and isinstance(key[0], tuple):
            key = tuple(sorted(key))  # of heads together the order does not matter
        if key not in self._rows:
            raise KeyError(f"no effect of {key!r} was computed")
        return self._rows[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def order(self) -> list[Key]:
        """The keys, those of the largest mean effects first, whatever their sign."""
        return sorted(self._rows, key=lambda key: -abs(self._rows[key].mean))

    def to_pandas(self) -> Any:
        """A DataFrame with a row per head or set of heads; with positions also a row
        per position, the mean over the examples.
        """
        import pandas
        table = pandas.DataFrame([each for row in self.values() for each in _records(row)])
        return table.astype({name: "Int64" for name in ("layer", "head", "position")
                             if name in table})

    def __repr__(self) -> str:
        """The strongest heads."""
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        shown = [self._rows[key] for key in self.order[:SHOWN]]
        columns = ["head", "effect", "95% confidence interval"]
        rows = [[_name(row), f"{row.mean:+.4g}", _interval_text(row)] for row in shown]
        if any(row.share is not None for row in shown):
            columns.append("share")
            for row, cells in zip(shown, rows):
                cells.append(f"{row.share:+.1%}" if math.isfinite(row.share or 0) else "-")
        if any(row.interaction is not None for row in shown):
            columns.append("interaction")
            for row, cells in zip(shown, rows):
                cells.append(repr(row.interaction) if row.interaction else "")
        count, left = len(self.clean), len(self) - SHOWN
        caption = f"{self._title}: mean over {count} example{'' if count == 1 else 's'}"
        rest = [f"and {left} weaker; to_pandas() has all"] if left > 0 else []
        return TextTable(caption, columns, rows, rest)


def share_of(effect: torch.Tensor, clean: torch.Tensor, corrupted: torch.Tensor) -> float:
    """See HeadEffect; not finite if clean and corrupted measure the same."""
    return float(effect.mean() / (corrupted - clean).mean())


def _key(row: HeadEffect) -> Key:
    return row.heads[0] if len(row.heads) == 1 and not row.to else row.heads + row.to


def _interval_text(effect: Effect) -> str:
    return f"[{effect.low:+.4g}, {effect.high:+.4g}]" if effect.low == effect.low else ""


def _name(row: HeadEffect) -> str:
    return " to ".join(name_of(heads) for heads in (row.heads, row.to) if heads)


def _records(row: HeadEffect) -> Iterator[dict[str, Any]]:
    layer, head = row.heads[0] if len(row.heads) == 1 else (None, None)
    names: dict[str, Any] = {"heads": _name(row), "layer": layer, "head": head}
    numbers: dict[str, Any] = {"effect": row.mean, "low": row.low, "high": row.high}
    if row.share is not None:
        numbers["share"] = row.share
    if row.interaction is not None:
        numbers |= {"interaction": row.interaction.mean,
                    "interaction_low": row.interaction.low,
                    "interaction_high": row.interaction.high}
    if row.positions is None:
        yield names | numbers
        return
    yield names | {"position": None} | numbers
    for position, values in enumerate(row.positions.unbind(1)):
        effect = Effect(values)
        yield names | {"position": position, "effect": effect.mean, "low": effect.low,
                       "high": effect.high}
