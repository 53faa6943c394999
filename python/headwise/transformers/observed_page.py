"""The page of every head from observed layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwise import _core

from headwise.transformers.observed_layer import ObservedLayer


def page_groups(layers: list[ObservedLayer]) -> list[list[ObservedLayer]]:
    """The layers that fit on one page, for every page; all have a call."""
    groups: list[list[ObservedLayer]] = []
    for layer in layers:
        for group in groups:
            if layer.largest.fits_on_a_page_with(group[0].largest):
                group.append(layer)
                break
        else:
            groups.append([layer])
    return groups


def page_of(layers: list[ObservedLayer], tokens: Sequence[str] | None = None,
            key_tokens: Sequence[str] | None = None, **settings: Any) -> _core.ViewPage:
    """The page of layers of one group. Without tokens, labels are numbers.

    Errors: those of ViewPage.
    """
    first = layers[0].largest
    queries, keys = first.query.shape[1], first.key.shape[1]
    if key_tokens is None and not first.cross and queries == keys:
        key_tokens = tokens
    page = _core.ViewPage.create(
        query_labels=_numbers(queries) if tokens is None else list(tokens),
        key_labels=_numbers(keys) if key_tokens is None else list(key_tokens),
        cross=first.cross, **first.options, **settings)
    for layer in layers:
        pruned = {"head_numbers": layer.head_numbers, "num_heads": layer.num_heads}
        page.add(layer.largest.query, layer.largest.key, number=layer.number,
                 **(pruned if layer.num_heads > len(layer.head_numbers) else {}))
    return page


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]
