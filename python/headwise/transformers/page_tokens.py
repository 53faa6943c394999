"""What the tokens of a page are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from headwise.transformers.input_ids import InputIds
from headwise.transformers.observed_layer import ObservedLayer
from headwise.transformers.one_sequence import one_sequence
from headwise.transformers.token_labels import positions_of, token_labels

# Labels of one sequence, or a list of them for each sequence.
Labels = Sequence[str] | Sequence[Sequence[str]]


class PageTokens(NamedTuple):
    """Labels that were given, else those of the tokenizer, else numbers."""
    ids: InputIds
    queries: Labels | None = None
    keys: Labels | None = None
    tokenizer: Any = None

    def or_those_of(self, other: PageTokens) -> PageTokens:
        """What is not given here is that of `other`."""
        keys = other.keys if self.keys is None else self.keys
        if self.queries is None and self.tokenizer is None:
            return other._replace(keys=keys)
        return self._replace(keys=keys)

    def settings(self, layer: ObservedLayer, sequence: int, place: int) -> dict[str, Any]:
        """The settings of a document that shows `sequence`, the page's `place`-th."""
        cross, shown = layer.largest.cross, one_sequence(layer.largest, sequence)
        Lq, Lkv = layer.largest.query.shape[1], layer.largest.key.shape[1]
        ids = _row(self.ids.of_queries(layer.name, Lq), sequence, shown.queries)
        queries = self._side(self.queries, ids, place, shown.queries, Lq)
        if self.keys is None and not cross and shown.queries == shown.keys:
            keys, key_ids = queries, ids
        else:
            key_ids = _row(self.ids.of_encoder(Lkv), sequence, shown.keys) if cross else None
            keys = self._side(self.keys, key_ids, place, shown.keys, Lkv)
        return {"query_labels": queries.labels, "query_special": queries.special,
                "key_labels": keys.labels, "key_special": keys.special, "cross": cross,
                "text": self._text(ids, queries.labels), **self._separators(key_ids)}

    def _side(self, given: Labels | None, ids: torch.Tensor | None, place: int, cut: slice,
              count: int) -> _Side:
        """Labels given may be those of the padded sequence or of its own tokens."""
        if given is not None:
            labels = list(given[place] if per_sequence(given) else given)
            return _Side(labels[cut] if len(labels) == count else labels)
        if self.tokenizer is not None and ids is not None:
            return _Side(token_labels(self.tokenizer, ids),
                         positions_of(self.tokenizer.all_special_ids, ids))
        return _Side([str(number) for number in range(cut.stop - cut.start)])

    def _text(self, ids: torch.Tensor | None, labels: list[str]) -> str | None:
        if self.queries is not None:
            apart = "" if any(" " in label for label in labels) else " "
            return apart.join(labels).strip()
        if self.tokenizer is None or ids is None:
            return None
        return " ".join(self.tokenizer.decode(ids, skip_special_tokens=True).split())

    def _separators(self, ids: torch.Tensor | None) -> dict[str, Any]:
        separator = getattr(self.tokenizer, "sep_token_id", None)
        if separator is None or ids is None:
            return {}
        return {"statistics": {"separators": (ids == separator)[None]}}


class _Side(NamedTuple):
    """The queries or the keys of a sequence."""
    labels: list[str]
    special: Sequence[int] = ()


def per_sequence(tokens: Labels | None) -> bool:
    """Whether it is a list of labels for each sequence."""
    return tokens is not None and len(tokens) > 0 and not isinstance(tokens[0], str)


def _row(ids: torch.Tensor | None, sequence: int, part: slice) -> torch.Tensor | None:
    return None if ids is None else ids[sequence, part]
