"""Pages of every head from observed layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from headwise import _core
from headwise.torch import core_calls

from headwise.transformers.input_ids import InputIds
from headwise.transformers.observed_layer import ObservedLayer
from headwise.transformers.one_sequence import OneSequence, one_sequence
from headwise.transformers.page_changes import changes_of
from headwise.transformers.token_labels import special_positions, token_labels

# Labels of one sequence, or a list of them for each sequence.
Labels = Sequence[str] | Sequence[Sequence[str]]


class PageTokens(NamedTuple):
    """Where the labels of a page come from: what is given, else the tokenizer, else the
    numbers of the tokens.
    """
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


class Run(NamedTuple):
    """Kept layers of an observation, and what sets its documents apart."""
    layers: list[ObservedLayer]
    tokens: PageTokens
    model: str
    variant: str | None = None


@dataclasses.dataclass
class Document:
    """A sequence in layers that fit on one page."""
    layers: list[ObservedLayer]
    settings: dict[str, Any]
    sequence: int

    def calls(self) -> Iterator[tuple[ObservedLayer, OneSequence]]:
        for layer in self.layers:
            yield layer, one_sequence(layer.largest, self.sequence)


def page_groups(layers: list[ObservedLayer]) -> list[list[ObservedLayer]]:
    """The layers that fit on one page, for every page; all have a call."""
    groups: dict[Any, list[ObservedLayer]] = {}
    for layer in layers:
        groups.setdefault(_shared_by_a_page(layer), []).append(layer)
    return list(groups.values())


def _shared_by_a_page(layer: ObservedLayer) -> Any:
    kept = layer.largest
    call = kept.call
    size = call.query.shape[3]
    return (kept.cross, call.query.shape[2], call.key.shape[2], size,
            call.positions.query_start, size ** -0.5 if call.scale is None else call.scale,
            call.softcap, call.operands.bias is None)


def chosen_sequences(layers: list[ObservedLayer], tokens: Labels | None,
                     given: int | Sequence[int] | None) -> list[int]:
    """By default all, or the first if the labels are those of one sequence.

    Errors: ValueError for a sequence that the batch does not have, and for a list of
    labels that is not one per sequence.
    """
    count = layers[0].largest.query.shape[0]
    if given is None:
        chosen = [0] if tokens is not None and not _per_sequence(tokens) else range(count)
    else:
        chosen = [given] if isinstance(given, int) else given
    for each in chosen:
        if not 0 <= each < count:
            raise ValueError(f"sequences has {each}, expected 0 to {count - 1}: the batch "
                             f"has {count}")
    if _per_sequence(tokens) and len(tokens) != len(chosen):
        raise ValueError(f"tokens has {len(tokens)} lists, expected {len(chosen)}, one per "
                         "sequence of the page")
    return list(chosen)


def documents_of(run: Run, group: list[ObservedLayer], sequences: list[int]
                 ) -> list[Document]:
    return [Document(group, {"model": run.model, "variant": run.variant,
                             **_labels(run.tokens, group[0], number, place, len(sequences))},
                     number)
            for place, number in enumerate(sequences)]


def with_document(page: _core.ViewPage | None, document: Document, **settings: Any
                  ) -> _core.ViewPage:
    """Adds the document to the page; None: to a new one. Errors: those of ViewPage."""
    own = {**document.settings, **settings}
    if page is None:
        page = _core.ViewPage.create(**own)
    else:
        page.next(**own)
    for layer, shown in document.calls():
        call = shown.call
        pruned = {"head_numbers": layer.head_numbers, "num_heads": layer.num_heads}
        page.add(call.query.transpose(1, 2), call.key.transpose(1, 2), number=layer.number,
                 **core_calls.call_options(*call[3:]),
                 **(pruned if layer.num_heads > len(layer.head_numbers) else {}))
    return page


def page_of(documents: Sequence[Document], **settings: Any) -> _core.ViewPage:
    """Errors: those of ViewPage."""
    page = None
    for document in documents:
        page = with_document(page, document, **settings)
    assert page is not None
    return page


def page_of_pairs(pairs: Sequence[tuple[Document, Document]], **settings: Any
                  ) -> _core.ViewPage:
    """Each sequence in two runs, side by side."""
    page = page_of([document for pair in pairs for document in pair], **settings)
    page.set_changes(changes_of(pairs))
    return page


def _per_sequence(tokens: Labels | None) -> bool:
    return bool(tokens) and not isinstance(tokens[0], str)


def _labels(tokens: PageTokens, layer: ObservedLayer, number: int, place: int,
            sequences: int) -> dict[str, Any]:
    """The settings of a document that say what its tokens are."""
    shown = one_sequence(layer.largest, number)
    cross = layer.largest.cross
    queries, keys = layer.largest.query.shape[1], layer.largest.key.shape[1]
    of_queries = tokens.ids.of_queries(layer.name, queries)
    of_keys = tokens.ids.of_encoder(keys)
    ids = None if of_queries is None else of_queries[number, shown.queries]
    key_ids = None if of_keys is None else of_keys[number, shown.keys]
    labels, special = _label(tokens.queries, tokens.tokenizer, ids, place, shown.queries,
                             queries)
    if tokens.keys is None and not cross and _length(shown.queries) == _length(shown.keys):
        key_labels, key_special = labels, special
    else:
        key_labels, key_special = _label(tokens.keys, tokens.tokenizer,
                                         key_ids if cross else None, place, shown.keys, keys)
    text = _text(tokens, ids, labels)
    if text is None and sequences > 1:
        text = f"sequence {number}"
    return {"query_labels": labels, "key_labels": key_labels, "query_special": special,
            "key_special": key_special, "text": text, "cross": cross}


def _label(given: Labels | None, tokenizer: Any, ids: torch.Tensor | None, place: int,
           cut: slice, count: int) -> tuple[list[str], list[int]]:
    """Labels given may be those of the padded sequence or of its own tokens."""
    if given is not None:
        labels = list(given[place] if _per_sequence(given) else given)
        return (labels[cut] if len(labels) == count else labels), []
    if tokenizer is not None and ids is not None:
        return token_labels(tokenizer, ids), special_positions(tokenizer, ids)
    return [str(number) for number in range(_length(cut))], []


def _text(tokens: PageTokens, ids: torch.Tensor | None, labels: list[str]) -> str | None:
    if tokens.queries is not None:
        apart = "" if any(" " in label for label in labels) else " "
        return apart.join(labels).strip()
    if tokens.tokenizer is None or ids is None:
        return None
    return " ".join(tokens.tokenizer.decode(ids, skip_special_tokens=True).split())


def _length(part: slice) -> int:
    return part.stop - part.start
