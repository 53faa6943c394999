"""What every head of a model does, from the pass that computes the output."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import nn

from headwise.transformers.attention_layers import layer_uses
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.input_ids import InputIds
from headwise.transformers.observed_call import ObservedCall
from headwise.transformers.observed_layer import STATISTICS, ObservedLayer
from headwise.transformers.notebook_page import notebook_page
from headwise.transformers.observed_page import (
    Run,
    chosen_sequences,
    documents_of,
    page_groups,
    page_of,
    page_of_pairs,
)
from headwise.transformers.page_tokens import Labels, PageTokens
from headwise.transformers.pruned_record import gone_heads
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


_COLUMNS = 12  # of a terminal
_CAPTION = "Entropy of the attention weights, in nats"


class Observation:
    """What `observe` saw. It grows with every call of the model inside the block."""

    def __init__(self, layers: list[ObservedLayer], tokens: PageTokens, model: str):
        self._layers, self._tokens, self._model = layers, tokens, model

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

    def view(self, path: str | os.PathLike[str], tokens: Labels | None = None,
             key_tokens: Labels | None = None, layers: Sequence[int] | None = None, *,
             sequences: int | Sequence[int] | None = None, tokenizer: Any = None,
             against: Observation | None = None, labels: tuple[str, str] | None = None,
             **settings: Any) -> list[pathlib.Path]:
        """With maps=True: writes the page that shows every head, and returns its path.

            seen.view("page.html", tokenizer=tokenizer)
            seen.view("page.html", [["The", "cat"], ["It", "rains", "."]])
            whole.view("page.html", against=cut, labels=("whole", "without 3.1"))

        The page has all sequences of the batch, or those that `sequences` chooses, each
        without its padding. tokens are those of the queries, one list per sequence, or one
        list, which is that of sequence 0 unless `sequences` says otherwise; key_tokens
        those of the keys, in cross-attention. Without tokens, `tokenizer` names them;
        without it, those of observe(), else numbers. `layers` chooses layers.

        `against` is what was seen of the same sequences in another model or with
        interventions: the page shows each sequence in both, side by side, with the
        difference, and lists the heads by how much they changed, self minus `against`
        (docs/compare-models.md). `labels` say what sets the two apart, by default the
        names of their models.

        Settings are those of headwise.view(), such as title.

        A page has layers with the same lengths, head size and scale. An encoder with a
        decoder has a page for each kind: page.html, and page-2.html whose first layer
        is 2.

        Errors: KeyError if nothing was kept; ValueError for sequences, tokens and
        labels that do not fit; those of headwise.view().
        """
        if against is None and labels is not None:
            raise ValueError("labels needs against: they say what sets two runs apart")
        if "sequence" in settings:
            sequences = settings.pop("sequence")
        given = PageTokens(self._tokens.ids, tokens, key_tokens, tokenizer)
        runs = [self._run(layers, given.or_those_of(self._tokens))]
        if against is not None:
            own = given.or_those_of(against._tokens).or_those_of(self._tokens)
            runs = _told_apart([*runs, against._run(layers, own)], labels)
        chosen = [chosen_sequences(run.layers, run.tokens.queries, sequences) for run in runs]
        documents = [[documents_of(run, group, numbers) for group in page_groups(run.layers)]
                     for run, numbers in zip(runs, chosen)]
        names = dict.fromkeys(_short_name(run.model) for run in runs)
        settings.setdefault("title", " and ".join(names))
        first, paths = pathlib.Path(path), []
        for of_page in zip(*_as_many(documents)):
            layer = of_page[0][0].layers[0].number
            paths.append(first.with_stem(f"{first.stem}-{layer}") if paths else first)
            page = (page_of(of_page[0], **settings) if against is None
                    else page_of_pairs(list(zip(*of_page)), **settings))
            page.write(paths[-1])
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
        """The mean entropy of every head, a line per layer and twelve heads."""
        heads = dict(self.heads)
        if not heads:
            return "Observation: no attention was computed"
        numbers = _head_numbers(heads)
        blocks = []
        for first in range(0, len(numbers), _COLUMNS):
            columns = numbers[first:first + _COLUMNS]
            lines = [f"{'head':>10}" + "".join(f"{head:6}" for head in columns)]
            for layer in self.layers:
                cells = (f"{heads[layer, head].entropy:6.2f}" if (layer, head) in heads
                         else " " * 6 for head in columns)
                lines.append(f"layer {layer:4}" + "".join(cells).rstrip())
            blocks.append("\n".join(lines))
        return f"{_CAPTION}\n" + "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        """The mean entropy of every head, a darker cell attends to fewer keys; with
        maps=True also the page.
        """
        heads = dict(self.heads)
        if not heads:
            return "<p>No attention was computed.</p>"
        columns = _head_numbers(heads)
        most = max((each.entropy for each in heads.values() if each.entropy > 0),
                   default=1.0)
        rows = "".join(f"<tr><th style='text-align: left'>layer {layer} <small style='"
                       f"font-weight: normal'>{html.escape(name)}</small></th>"
                       + "".join(_cell(heads[layer, head], most) if (layer, head) in heads
                                 else "<td></td>" for head in columns) + "</tr>"
                       for layer, name in self.layers.items())
        numbers = "".join(f"<th>{head}</th>" for head in columns)
        caption = f"{_CAPTION}. Darker cells attend to fewer keys."
        table = (f"<table><caption>{caption}</caption>"
                 f"<tr><th>head</th>{numbers}</tr>{rows}</table>")
        if any(layer.largest is not None for layer in self._seen()):
            table += notebook_page(self._run(None, self._tokens), _short_name(self._model))
        return table

    def _run(self, layers: Sequence[int] | None, tokens: PageTokens) -> Run:
        return Run(self._kept(layers), tokens._replace(ids=self._tokens.ids), self._model)

    def _kept(self, layers: Sequence[int] | None) -> list[ObservedLayer]:
        if layers is not None and not len(layers):
            raise ValueError("layers is empty, expected at least one number")
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


def _told_apart(runs: list[Run], labels: tuple[str, str] | None) -> list[Run]:
    """Two models have names of their own; runs of one model are variants of it."""
    if labels is not None and (isinstance(labels, str) or len(labels) != 2):
        raise ValueError(f"labels is {labels!r}, expected two strings, such as "
                         "('whole', 'without 3.1')")
    if runs[0].model != runs[1].model:
        return [run._replace(model=name) for run, name in
                zip(runs, labels or [run.model for run in runs])]
    return [run._replace(variant=name) for run, name in
            zip(runs, labels or ("first run", "second run"))]


def _as_many(documents: list[list[Any]]) -> list[list[Any]]:
    """Two runs have the same pages, of the same sequences."""
    for what, sizes in (("pages", {len(of_run) for of_run in documents}),
                        ("sequences", {len(of_run[0]) for of_run in documents})):
        if len(sizes) > 1:
            raise ValueError(f"against has another number of {what}, expected the same "
                             "layers and sequences in both runs")
    return documents


def _short_name(model: str) -> str:
    """The last folder of its path."""
    return model.rstrip("/").split("/")[-1]


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
def observe(model: nn.Module, maps: bool = False, tokens: Labels | None = None,
            tokenizer: Any = None) -> Iterator[Observation]:
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
    attention weight. `tokens` labels the queries on the page, one string each, a list
    per sequence; or `tokenizer` decodes the model's input_ids.

    `model` may be compiled, or a module with one model of transformers in it.

    Errors: NotImplementedError for a model that computes its attention itself;
    TypeError for one that is not of transformers; RuntimeError for a model that is
    observed already.
    """
    model = model_of_transformers(model)
    observers = {use: ObservedLayer(use, model, gone_heads(model.config, use), maps)
                 for use in layer_uses(model)}
    ids = InputIds()
    name = getattr(model.config, "_name_or_path", "") or type(model).__name__
    with (attention_by_headwise(model), passes_counted(model, observers),
          observed(observers), ids.collected(model) if maps else contextlib.nullcontext()):
        yield Observation(list(observers.values()), PageTokens(ids, tokens, None, tokenizer),
                          name)
