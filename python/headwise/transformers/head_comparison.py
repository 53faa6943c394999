"""What the heads of two models do differently on the same texts."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from headwise import _core

from headwise.transformers.intervals import Interval
from headwise.transformers.text_table import SHOWN, TextTable

Head = tuple[int, int]

_SAME_PLACE = 1e-9  # decides between heads that are equally similar


@dataclasses.dataclass(frozen=True)
class HeadPair:
    """Two heads, (layer, head) of model a and of model b, by their numbers from before
    any pruning.

    similarity   the overlap of their attention maps, 1 for equal maps: a mean over texts
    a_means      the statistics of headwise.STATISTICS by name, means over texts
    b_means
    differences  a minus b, with 95% confidence intervals over texts (Student's t)
    """
    a: Head
    b: Head
    similarity: Interval
    a_means: dict[str, float]
    b_means: dict[str, float]
    differences: dict[str, Interval]


class HeadComparison:
    """What `compare` found.

    texts        how many were compared
    same_tokens  in how many both models see the same tokens: in these maps are compared
    heads_a      (layer, head) of all heads of model a
    heads_b
    match        the partner of each head of a if all heads are paired one to one, across
                 layers, with the largest total similarity; None for a head left over
    nearest      the most similar head of b for each head of a
    """

    def __init__(self, names: tuple[str, str], heads: tuple[list[Head], list[Head]],
                 statistics: tuple[torch.Tensor, torch.Tensor], similarity: torch.Tensor):
        """statistics (texts, heads, statistics) of a and b; similarity (texts with the
        same tokens, heads of a, heads of b).
        """
        self._names, self._statistics, self._similarity = names, statistics, similarity
        self.heads_a, self.heads_b = heads
        self.texts, self.same_tokens = len(statistics[0]), len(similarity)
        gains = similarity.nanmean(0)
        comparable = ~gains.isnan()
        here = torch.tensor([[a == b for b in self.heads_b] for a in self.heads_a])
        gains = torch.where(comparable, gains + _SAME_PLACE * here, -1)
        self.match = self._others(comparable, _best_pairs(gains))
        self.nearest = self._others(comparable, gains.argmax(1).tolist())

    def _others(self, comparable: torch.Tensor,
                columns: list[int | None]) -> dict[Head, Head | None]:
        return {head: self.heads_b[column]
                if column is not None and comparable[row, column] else None
                for row, (head, column) in enumerate(zip(self.heads_a, columns))}

    def similarity(self, a: Head, b: Head) -> Interval:
        """Of head `a` of model a and head `b` of model b, (layer, head)."""
        return Interval.of(self._similarity[:, self.heads_a.index(a), self.heads_b.index(b)])

    def pair(self, a: Head, b: Head) -> HeadPair:
        """Two heads, (layer, head). Raises ValueError for a head that is not there."""
        of_a = self._statistics[0][:, self.heads_a.index(a)].T
        of_b = self._statistics[1][:, self.heads_b.index(b)].T

        def means(values: torch.Tensor) -> dict[str, float]:
            return {name: Interval.of(each).mean
                    for name, each in zip(_core.STATISTICS, values)}
        return HeadPair(a, b, self.similarity(a, b), means(of_a), means(of_b),
                        {name: Interval.of(each)
                         for name, each in zip(_core.STATISTICS, of_a - of_b)})

    def pairs(self, by: str = "place") -> list[HeadPair]:
        """The heads that changed most first. by="place": each head with that of the same
        layer and number; "match": with its match.
        """
        if by not in ("place", "match"):
            raise ValueError(f"by is {by!r}, expected 'place' or 'match'")
        others = (self.match if by == "match" else
                  {head: head if head in self.heads_b else None for head in self.heads_a})
        pairs = [self.pair(a, b) for a, b in others.items() if b is not None]
        return sorted(pairs, key=lambda each: (each.similarity.mean != each.similarity.mean,
                                               each.similarity.mean, each.a))

    @property
    def only_in_a(self) -> list[Head]:
        """Heads whose place model b does not have."""
        return [head for head in self.heads_a if head not in self.heads_b]

    @property
    def only_in_b(self) -> list[Head]:
        """Heads whose place model a does not have."""
        return [head for head in self.heads_b if head not in self.heads_a]

    def to_pandas(self, by: str = "place") -> Any:
        """A DataFrame with a row per pair: similarity, and the difference of every
        statistic, each with `_low` and `_high`.
        """
        import pandas
        rows = []
        for pair in self.pairs(by):
            row: dict[str, Any] = {"layer": pair.a[0], "head": pair.a[1],
                                   "other_layer": pair.b[0], "other_head": pair.b[1],
                                   "match": self.match[pair.a],
                                   "nearest": self.nearest[pair.a]}
            for name, each in {"similarity": pair.similarity, **pair.differences}.items():
                row |= {name: each.mean, f"{name}_low": each.low, f"{name}_high": each.high}
            rows.append(row)
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        different = self.texts - self.same_tokens
        caption = (f"{self._names[0]} minus {self._names[1]}: {self.texts} texts"
                   + (f", {different} of them with different tokens" if different else ""))
        pairs = self.pairs()
        rows = [[_text(pair.a), _text(self.match[pair.a]),
                 *(f"{each:.4f}" for each in pair.similarity),
                 *map(_difference, pair.differences.values())] for pair in pairs[:SHOWN]]
        rest = [f"and {len(pairs) - SHOWN} more heads"] if len(pairs) > SHOWN else []
        rest.append("* the 95% confidence interval excludes 0")
        for name, only in (("a", self.only_in_a), ("b", self.only_in_b)):
            if only:
                rest.append(f"heads only in {name}: {', '.join(map(_text, only))}")
        columns = ["head", "match", "similarity", "low", "high", *_core.STATISTICS]
        return TextTable(caption, columns, rows, rest)


def _best_pairs(gains: torch.Tensor) -> list[int | None]:
    """The column of each row of `gains` (n, m) if both are paired one to one with the
    largest sum: the Hungarian method. None for rows left over.
    """
    from scipy.optimize import linear_sum_assignment
    column_of = dict(zip(*(each.tolist() for each in linear_sum_assignment(
        gains.numpy(), maximize=True))))
    return [column_of.get(row) for row in range(len(gains))]


def _difference(of: Interval) -> str:
    return f"{of.mean:+.4f}{'*' * of.excludes_0}" if of.mean == of.mean else "-"


def _text(head: Head | None) -> str:
    return "-" if head is None else f"{head[0]}.{head[1]}"
