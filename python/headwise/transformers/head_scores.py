"""The scores of the heads of a model for one pattern."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from headwise.transformers.intervals import Interval
from headwise.transformers.text_table import SHOWN, TextTable, name_of

_NAMES = {
    "previous": "attention on the previous token", "next": "attention on the next token",
    "self": "attention on the token itself", "first": "attention on the first token",
    "separator": "attention on separators",
    "duplicate": "attention on other occurrences of the token",
    "positional": "attention that depends on the distance alone",
    "induction": "attention on the token after an earlier occurrence"}


@dataclasses.dataclass(frozen=True)
class HeadScore:
    """`layer` is the number of the layer (`attention_layers`), `head` the number from
    before any pruning.

    mean   over the texts to which the pattern applies, from 0 to 1
    low    the 95% confidence interval (Student's t), which few texts may take beyond
    high   0 or 1; NaN for "positional" and for one text
    texts  how many count
    equal  the score of a head that attends equally to all keys that it sees
    """
    layer: int
    head: int
    mean: float
    low: float
    high: float
    texts: int
    equal: float


class HeadScores(Mapping[tuple[int, int], HeadScore]):
    """HeadScore by (layer, head), the best first.

    pattern   what was looked for
    texts     how many texts have a query to which it applies
    left_out  how many have none
    """

    def __init__(self, pattern: str, scores: Mapping[int, torch.Tensor],
                 equal: Mapping[int, torch.Tensor], heads: Mapping[int, list[int]]):
        """By layer: scores (texts, Hq), those of equal attention (texts, 1), and the
        numbers of the heads.
        """
        self.pattern = pattern
        applies = [each.isfinite().any(1) for each in scores.values()]
        self.texts = max((int(each.sum()) for each in applies), default=0)
        self.left_out = max((len(each) for each in applies), default=0) - self.texts
        found = [_score(layer, head, values, equal[layer], pattern)
                 for layer, of_heads in scores.items()
                 for head, values in zip(heads[layer], of_heads.T)]
        found.sort(key=lambda each: (-each.mean if each.mean == each.mean else 1,
                                     each.layer, each.head))
        self._found = {(each.layer, each.head): each for each in found}

    def best(self, count: int) -> list[tuple[int, int]]:
        """(layer, head) of the `count` heads with the largest scores."""
        return list(self._found)[:count]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per head, the best first."""
        import pandas
        return pandas.DataFrame([dataclasses.asdict(each) for each in self.values()])

    def __getitem__(self, place: tuple[int, int]) -> HeadScore:
        return self._found[place]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()

    def _table(self) -> TextTable:
        rows = [[name_of((place,)), _number(each.mean), _range(each)]
                for place, each in list(self.items())[:SHOWN]]
        left = [f"and {len(self) - SHOWN} more heads"] if len(self) > SHOWN else []
        return TextTable(self._caption(), ["head", "score", "95% confidence interval"], rows,
                         [*left, self._equal()])

    def _caption(self) -> str:
        left_out = f" ({self.left_out} left out)" if self.left_out else ""
        return (f"{self.pattern}: {_NAMES[self.pattern]}, over {self.texts} "
                f"text{'' if self.texts == 1 else 's'}{left_out}")

    def _equal(self) -> str:
        # Layers with windows see fewer keys.
        scores = sorted(each.equal for each in self.values() if each.equal == each.equal)
        texts = dict.fromkeys(_number(each) for each in scores[:1] + scores[-1:])
        return f"equal attention to all visible tokens would score {' to '.join(texts)}"


def _number(score: float) -> str:
    return f"{score:.4f}" if score == score else "-"


def _range(of: HeadScore) -> str:
    return "-" if of.low != of.low else f"[{of.low:.4f}, {of.high:.4f}]"


def _score(layer: int, head: int, values: torch.Tensor, equal: torch.Tensor,
           pattern: str) -> HeadScore:
    mean, low, high = Interval.of(values)
    if pattern == "positional":
        # Each text is compared with the others: no interval of independent numbers.
        low = high = float("nan")
    return HeadScore(layer, head, mean, low, high, int(values.isfinite().sum()),
                     Interval.of(equal[:, 0]).mean)
