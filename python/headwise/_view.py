"""The page of every head from queries and keys, or from attention weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from headwise._core import ViewPage

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headwise._types import Array, ViewOptions


def view(path: str | PathLike[str],
         layers: Iterable[tuple[Array, Array] | Mapping[str, Any] | Array],
         tokens: Sequence[str],
         key_tokens: Sequence[str] | None = None,
         **settings: Unpack[ViewOptions]) -> ViewPage:
    """Writes the page that shows every head of `layers`, and returns it.

    >>> query, key = np.ones((2, 1, 3, 4, 8), np.float32)
    >>> tokens = ["heads", "are", "many"]
    >>> page = headwise.view("page.html", [(query, key)], tokens, mask=headwise.causal())
    >>> attentions = np.full((1, 4, 3, 3), 1 / 3, np.float32)  # of one layer
    >>> page = headwise.view("page.html", [attentions], tokens, title="Any model")

    A layer is a pair query (B, Lq, Hq, D) and key (B, Lkv, Hkv, D), numbered from
    0, or a dict of the arguments of ViewPage.add(). Or each layer is its attention
    weights (B, Hq, Lq, Lkv), or a dict of the arguments of
    ViewPage.add_attn_weights(). {"num_heads": 4} is a layer whose heads were all
    pruned. tokens: one per query; key_tokens: one per key, by default the same. The
    page shows sequence=0 of the batch. Settings are those of ViewPage.create():
    title, model, text, cross, and the options of attention().

    Errors: those of ViewPage; OSError.
    """
    given: list[Any] = list(layers)
    weights = any(_is_of_weights(layer) for layer in given)
    create: Callable[..., ViewPage] = ViewPage.of_attn_weights if weights else ViewPage.create
    page = create(query_labels=tokens, key_labels=tokens if key_tokens is None else key_tokens,
                  **settings)
    add: Callable[..., None] = page.add_attn_weights if weights else page.add
    for number, layer in enumerate(given):
        if isinstance(layer, Mapping):
            pruned = layer.keys() <= _OF_PRUNED
            (page.add_pruned if pruned else add)(**{"number": number, **layer})
        elif weights:
            add(layer, number=number)
        else:
            query, key = layer
            add(query, key, number=number)
    page.write(path)
    return page


_OF_PRUNED = {"number", "num_heads"}


def _is_of_weights(layer: tuple[Array, Array] | Mapping[str, Any] | Array) -> bool:
    if isinstance(layer, Mapping):
        return "attn_weights" in layer
    return not isinstance(layer, (tuple, list))
