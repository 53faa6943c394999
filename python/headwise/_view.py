"""The page of every head from queries and keys, or from attention weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from headwise._core import ViewPage

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headwise._types import Array, ViewOptions


def view(path: str | PathLike[str],
         layers: Iterable[tuple[Array, Array] | Mapping[str, Any] | Array],
         tokens: Sequence[str] | Sequence[Sequence[str]],
         key_tokens: Sequence[str] | Sequence[Sequence[str]] | None = None,
         **settings: Unpack[ViewOptions]) -> ViewPage:
    """Writes the page that shows every head of `layers`, and returns it.

    >>> query, key = np.ones((2, 1, 3, 4, 8), np.float32)
    >>> tokens = ["heads", "are", "many"]
    >>> page = headwise.view("page.html", [(query, key)], tokens, mask=headwise.causal())
    >>> attentions = np.full((1, 4, 3, 3), 1 / 3, np.float32)  # of one layer
    >>> page = headwise.view("page.html", [attentions], tokens, title="Any model")
    >>> of_two = np.full((2, 4, 3, 3), 1 / 3, np.float32)  # two sequences, one padded
    >>> page = headwise.view("page.html", [of_two], [tokens, ["it", "rains"]])

    A layer is a pair query (B, Lq, Hq, D) and key (B, Lkv, Hkv, D), numbered from
    0, or a dict of the arguments of ViewPage.add(). Or each layer is its attention
    weights (B, Hq, Lq, Lkv), or a dict of the arguments of
    ViewPage.add_attn_weights(). {"num_heads": 4} is a layer whose heads were all
    pruned. tokens: one per query; key_tokens: one per key, by default the same. The
    page shows sequence=0 of the batch. Settings are those of ViewPage.create():
    title, model, text, cross, and the options of attention().

    With a list of tokens per sequence the page shows each sequence of the batch, cut
    to its own tokens: the first of the array, or the last with padding="left". The
    options are then those of a sequence without padding.

    Errors: those of ViewPage; ValueError for lists of tokens that are not one per
    sequence; OSError.
    """
    given: list[Any] = list(layers)
    keys = tokens if key_tokens is None else key_tokens
    if not _per_sequence(tokens):
        page = _page(None, given, tokens, keys, settings)
    else:
        page = _page_of_sequences(given, tokens, keys, **settings)
    page.write(path)
    return page


def _page(page: ViewPage | None, layers: list[Any], tokens: Sequence[str],
          key_tokens: Sequence[str], settings: dict[str, Any]) -> ViewPage:
    """A new page, or another document of a page."""
    weights = any(_is_of_weights(layer) for layer in layers)
    labels = {"query_labels": tokens, "key_labels": key_tokens}
    if page is not None:
        page.next(**labels, **settings)
    else:
        create = ViewPage.of_attn_weights if weights else ViewPage.create
        page = create(**labels, **settings)
    add = page.add_attn_weights if weights else page.add
    for number, layer in enumerate(layers):
        if isinstance(layer, Mapping):
            pruned = layer.keys() <= _OF_PRUNED
            (page.add_pruned if pruned else add)(**{"number": number, **layer})
        elif weights:
            add(layer, number=number)
        else:
            query, key = layer
            add(query, key, number=number)
    return page


def _page_of_sequences(layers: list[Any], tokens: Sequence[Sequence[str]],
                       key_tokens: Sequence[Sequence[str]], padding: str = "right",
                       **settings: Any) -> ViewPage:
    if padding not in ("left", "right"):
        raise ValueError(f"padding is {padding!r}, expected 'left' or 'right'")
    if not _per_sequence(key_tokens) or len(key_tokens) != len(tokens):
        raise ValueError("key_tokens is not a list per sequence, expected "
                         f"{len(tokens)} lists, as in tokens")
    page = None
    for number, labels in enumerate(zip(tokens, key_tokens)):
        lengths = [len(each) for each in labels]
        of_sequence = [_of_sequence(layer, number, len(tokens), lengths, padding)
                       for layer in layers]
        page = _page(page, of_sequence, *labels, {"text": " ".join(labels[0]), **settings})
    assert page is not None
    return page


def _of_sequence(layer: Any, number: int, count: int, lengths: list[int],
                 padding: str) -> Any:
    """The layer of one sequence, with so many queries and keys."""
    def cut(array: Array, length_of: Mapping[int, int]) -> Array:
        if len(array.shape) != 4 or array.shape[0] != count:
            raise ValueError(f"tokens has {count} lists, expected one per sequence of the "
                             f"layers, which have the shape {tuple(array.shape)}")
        parts = [slice(number, number + 1), *[slice(None)] * 3]
        for axis, length in length_of.items():
            first = max(array.shape[axis] - length, 0) if padding == "left" else 0
            parts[axis] = slice(first, first + length)
        return array[tuple(parts)]

    queries, keys = lengths
    axes = {"query": {1: queries}, "key": {1: keys}, "attn_weights": {2: queries, 3: keys}}
    if not isinstance(layer, Mapping):
        layer = ({"attn_weights": layer} if _is_of_weights(layer)
                 else dict(zip(("query", "key"), layer)))
    return {name: cut(value, axes[name]) if name in axes else value
            for name, value in layer.items()}


_OF_PRUNED = {"number", "num_heads"}


def _per_sequence(tokens: Any) -> bool:
    return len(tokens) > 0 and not isinstance(tokens, str) and not isinstance(tokens[0], str)


def _is_of_weights(layer: tuple[Array, Array] | Mapping[str, Any] | Array) -> bool:
    if isinstance(layer, Mapping):
        return "attn_weights" in layer
    return not isinstance(layer, (tuple, list))
