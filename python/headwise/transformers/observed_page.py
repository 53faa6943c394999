"""Pages of every head from observed layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from headwise import _core
from headwise.torch import core_calls

from headwise.transformers.observed_layer import ObservedLayer
from headwise.transformers.one_sequence import OneSequence, one_sequence
from headwise.transformers.page_changes import changes_of
from headwise.transformers.page_tokens import Labels, PageTokens, per_sequence


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
    queries, size = call.query.shape[2:]
    keys, start = call.key.shape[2], call.positions.query_start
    if not kept.cross:
        keys = min(keys, start + queries)  # one_sequence() cuts off a cache's room
    return (kept.cross, queries, keys, size, start,
            size ** -0.5 if call.scale is None else call.scale, call.softcap,
            call.operands.bias is None)


def chosen_sequences(layers: list[ObservedLayer], tokens: Labels | None,
                     given: int | Sequence[int] | None) -> list[int]:
    """By default all, or the first if the labels are those of one sequence.

    Errors: ValueError for a sequence that the batch does not have, and for a list of
    labels that is not one per sequence.
    """
    count = layers[0].largest.query.shape[0]
    if given is None:
        chosen = [0] if tokens is not None and not per_sequence(tokens) else range(count)
    else:
        chosen = [given] if isinstance(given, int) else given
    for each in chosen:
        if not 0 <= each < count:
            raise ValueError(f"sequences has {each}, expected 0 to {count - 1}: the batch "
                             f"has {count}")
    if per_sequence(tokens) and len(tokens) != len(chosen):
        raise ValueError(f"tokens has {len(tokens)} lists, expected {len(chosen)}, one per "
                         "sequence of the page")
    return list(chosen)


def documents_of(run: Run, group: list[ObservedLayer], sequences: list[int]
                 ) -> list[Document]:
    documents = []
    for place, number in enumerate(sequences):
        settings = run.tokens.settings(group[0], number, place)
        if settings["text"] is None and len(sequences) > 1:
            settings["text"] = f"sequence {number}"
        documents.append(Document(
            group, {"model": run.model, "variant": run.variant, **settings}, number))
    return documents


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
