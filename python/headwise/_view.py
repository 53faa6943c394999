"""The page of every head from the queries and keys of layers."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from headwise._core import ViewPage
from headwise._types import Array


def view(path: str | PathLike[str],
         layers: Iterable[tuple[Array, Array] | Mapping[str, Any]],
         tokens: Sequence[str],
         key_tokens: Sequence[str] | None = None,
         **settings: Any) -> ViewPage:
    """Writes the page that shows every head of `layers`, and returns it.

        headwise.view("page.html", [(query, key)], tokens, mask=headwise.causal())

    A layer is a pair query (B, Lq, Hq, D) and key (B, Lkv, Hkv, D), numbered from
    0, or a dict of the arguments of ViewPage.add(). tokens: one per query;
    key_tokens: one per key, by default the same. The page shows sequence=0 of the
    batch. Settings are those of ViewPage.create(): title, model, text, cross,
    and the options of attention().

    Errors: those of ViewPage; OSError.
    """
    page = ViewPage.create(query_labels=tokens,
                           key_labels=tokens if key_tokens is None else key_tokens,
                           **settings)
    for number, layer in enumerate(layers):
        if isinstance(layer, Mapping):
            page.add(**{"number": number, **layer})
        else:
            query, key = layer
            page.add(query, key, number=number)
    page.write(path)
    return page
