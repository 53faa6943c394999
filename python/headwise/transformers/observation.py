"""What every head of a model does, from the pass that computes the output."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from headwise.transformers.attention_layers import layer_uses
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.observed_call import ObservedCall
from headwise.transformers.observed_layer import STATISTICS, ObservedLayer
from headwise.transformers.observed_page import page_groups, page_of
from headwise.transformers.pruned_record import pruned_heads
from headwise.transformers.registration import attention_by_headwise
from headwise.transformers.watched import observed, passes_counted


@dataclasses.dataclass(frozen=True)
class HeadStatistics:
    """Means over the queries that were seen; NaN without any. `layer` is the
    number of the layer (`attention_layers`), `head` the number from before any
    pruning, `queries` how many queries count.

    entropy   of the attention weights, in nats
    distance  mean distance from the query to the keys, in keys
    largest   largest weight of a query
    first     weight of the sequence's first key
    previous  weight of the key before the query, of the query's own key, and of
    self      the key after it; like distance, NaN in cross-attention
    next
    sink      weight of the head's sink (gpt-oss), which is no key; 0 without one
    key_entropy  like entropy, of the weights divided by their sum: entropy counts
              the sink as an outcome
    """
    layer: int
    head: int
    queries: int
    entropy: float
    distance: float
    largest: float
    first: float
    previous: float
    self: float
    next: float
    sink: float
    key_entropy: float


class SeenHeads(Mapping):
    """HeadStatistics by (layer, head)."""

    def __init__(self, layers: list[ObservedLayer]):
        self._layers = layers

    def __getitem__(self, place: tuple[int, int]) -> HeadStatistics:
        number, head = place
        for layer in self._layers:
            if layer.number == number and head in layer.head_numbers:
                at = layer.head_numbers.index(head)
                means = dict(zip(STATISTICS, layer.means()[at].tolist(), strict=True))
                return HeadStatistics(number, head, int(layer.queries[at]), **means)
        raise KeyError(f"no attention of head {head} of layer {number} was computed")

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter([(layer.number, head) for layer in self._layers
                     for head in layer.head_numbers])

    def __len__(self) -> int:
        return sum(len(layer.head_numbers) for layer in self._layers)


_CAPTION = "Entropy of the attention weights, in nats"


class Observation:
    """What `observe` saw. It grows with every call of the model inside the block."""

    def __init__(self, layers: list[ObservedLayer], tokens: Sequence[str] | None):
        self._layers, self._tokens = layers, tokens

    @property
    def layers(self) -> dict[int, str]:
        """The names of the layers that computed attention, by number."""
        return {layer.number: layer.name for layer in self._seen()}

    @property
    def heads(self) -> SeenHeads:
        """`seen.heads[3, 1].entropy`: layer 3, head 1."""
        return SeenHeads(self._seen())

    def call(self, layer: int) -> ObservedCall:
        """With maps=True: the layer's call with the most queries, the last of
        equals: its query, key, value, z, attention weights and more. Raises KeyError
        if there is none.
        """
        return self._kept([layer])[0].largest

    def head_numbers(self, layer: int) -> list[int]:
        """The numbers of the heads of a layer, from before any pruning. Raises KeyError
        for a layer that computed no attention.
        """
        for each in self._seen():
            if each.number == layer:
                return each.head_numbers
        raise KeyError(f"layer {layer} computed no attention")

    def view(self, path: str | os.PathLike[str], tokens: Sequence[str] | None = None,
             key_tokens: Sequence[str] | None = None,
             layers: Sequence[int] | None = None, **settings: Any) -> list[pathlib.Path]:
        """With maps=True: writes the page that shows every head, and returns its path.

        tokens are those of the queries, by default those of observe(), else numbers;
        key_tokens those of the keys, in cross-attention. `layers` chooses layers.
        Settings are those of headwise.view(), such as title and sequence.

        A page has layers with the same lengths and options. Where layers differ,
        as with windows in every other layer or an encoder with a decoder, each
        kind gets a page: page.html, and page-1.html whose first layer is 1.

        Errors: KeyError if nothing was kept; those of headwise.view().
        """
        first = pathlib.Path(path)
        tokens = self._tokens if tokens is None else tokens
        paths = []
        for group in page_groups(self._kept(layers)):
            paths.append(first.with_stem(f"{first.stem}-{group[0].number}")
                         if paths else first)
            page_of(group, tokens, key_tokens, **settings).write(paths[-1])
        return paths

    def to_pandas(self) -> Any:
        """A DataFrame with a row per head."""
        import pandas
        names = self.layers
        rows = [{**dataclasses.asdict(head), "name": names[head.layer]}
                for head in self.heads.values()]
        columns = ["layer", "name", "head", "queries", *STATISTICS]
        return pandas.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        """The mean entropy of every head, a line per layer."""
        heads = dict(self.heads)
        if not heads:
            return "Observation: no attention was computed"
        columns = _head_numbers(heads)
        lines = [f"{_CAPTION}\n{'head':>10}" + "".join(f"{head:6}" for head in columns)]
        for layer in self.layers:
            cells = (f"{heads[layer, head].entropy:6.2f}" if (layer, head) in heads else " " * 6
                     for head in columns)
            lines.append(f"layer {layer:4}" + "".join(cells).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The mean entropy of every head, a darker cell attends to fewer keys; with
        maps=True also the page of the first layers.
        """
        heads = dict(self.heads)
        if not heads:
            return "<p>No attention was computed.</p>"
        columns = _head_numbers(heads)
        most = max((each.entropy for each in heads.values() if each.entropy > 0),
                   default=1.0)
        rows = "".join(f"<tr><th title='{html.escape(name, quote=True)}'>layer {layer}</th>"
                       + "".join(_cell(heads[layer, head], most) if (layer, head) in heads
                                 else "<td></td>" for head in columns) + "</tr>"
                       for layer, name in self.layers.items())
        numbers = "".join(f"<th>{head}</th>" for head in columns)
        table = (f"<table><caption>{_CAPTION}</caption><tr><th>head</th>{numbers}</tr>"
                 f"{rows}</table>")
        if any(layer.largest is not None for layer in self._seen()):
            page = page_of(page_groups(self._kept(None))[0], self._tokens)
            table += ("<iframe style='width: 100%; height: 720px; border: 0' srcdoc='"
                      f"{html.escape(page.html(), quote=True)}'></iframe>")
        return table

    def _kept(self, layers: Sequence[int] | None) -> list[ObservedLayer]:
        kept = {each.number: each for each in self._seen() if each.largest is not None}
        if layers is None and not kept:
            raise KeyError("nothing was kept: no attention was computed, or "
                           "observe(maps=True) was not asked for")
        for layer in layers or ():
            if layer not in kept:
                raise KeyError(f"nothing was kept of layer {layer}: it computed no "
                               "attention, or observe(maps=True) was not asked for")
        return [kept[layer] for layer in (kept if layers is None else layers)]

    def _seen(self) -> list[ObservedLayer]:
        return [layer for layer in self._layers if layer.calls]


def _head_numbers(heads: Mapping[tuple[int, int], HeadStatistics]) -> list[int]:
    """Those of any layer; pruned heads leave holes."""
    return sorted({head for _, head in heads})


def _cell(head: HeadStatistics, most: float) -> str:
    details = ", ".join(f"{name} {getattr(head, name):.3g}" for name in STATISTICS)
    strength = 0.0 if head.entropy != head.entropy else 0.6 * (1 - head.entropy / most)
    return (f"<td title='head {head.head}: {details}' "
            f"style='background: rgba(33, 102, 172, {strength:.2f})'>"
            f"{head.entropy:.2f}</td>")


@contextlib.contextmanager
def observe(model: nn.Module, maps: bool = False,
            tokens: Sequence[str] | None = None) -> Iterator[Observation]:
    """Collects the statistics of every head while the block runs the model.

        with headwise.observe(model) as seen:
            model(**inputs)
        seen.heads[3, 1].entropy

    The statistics come from the pass that computes the output; there is no
    matrix with an element per pair, and the output has the bits of a model with
    attn_implementation="headwise", which `model` has inside the block. Queries
    that see no key do not count, nor do padded queries of self-attention. A model
    that records gradients computes the scores a second time if it has dropout.

    maps=True also keeps one call of each layer, with its queries, keys, values and
    outputs: `Observation.call` returns it, and `Observation.view` draws every
    attention weight. `tokens` labels the queries on the page, one string each.

    `model` may be compiled, or a module with one model of transformers in it.

    Errors: NotImplementedError for a model that computes its attention itself;
    TypeError for one that is not of transformers; RuntimeError for a model that is
    observed already.
    """
    model = model_of_transformers(model)
    gone = pruned_heads(model.config)
    observers = {use: ObservedLayer(use, model, gone.get(use.number, []), maps)
                 for use in layer_uses(model)}
    with (attention_by_headwise(model), passes_counted(model, observers),
          observed(observers)):
        yield Observation(list(observers.values()), tokens)
