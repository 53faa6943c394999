"""The heads of two models compared on the same texts (docs/compare-models.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from headwise import _core
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.head_comparison import Head, HeadComparison
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.map_overlap import map_overlaps
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.pruned_record import head_numbers
from headwise.transformers.separators import separators_of
from headwise.transformers.text_layers import LayerCall, known_statistics, visit_layers

_ENTROPY = _core.STATISTICS.index("entropy")


def compare(model_a: nn.Module, model_b: nn.Module,
            texts: Iterable[str] | Iterable[Mapping[str, Any]], *, tokenizer: Any = None,
            tokenizer_b: Any = None, max_tokens: int | None = None) -> HeadComparison:
    """What the heads of two models do differently: what training, pruning or conversion
    changed. The numbers are those of `headwise stats --model a --against b`.

        changes = headwise.compare(tuned, base, sentences, tokenizer=tokenizer)
        changes.pairs()[0].similarity

    texts        strings, or batches: keyword arguments that both models take, each
                 sequence a text; padding does not count
    tokenizer    divides strings into tokens, for model b as well without `tokenizer_b`,
                 and says which tokens are separators. A text that the two divide into
                 different tokens counts in the differences of statistics only.
    max_tokens   of a string; None: all

    The models may have different numbers of layers and heads. The memory is that of one
    batch, and 8 bytes per text and pair of heads.

    Errors: ValueError without texts, for strings without a tokenizer, for a head that is
    NaN, and for inputs of which the models make different numbers of tokens; TypeError
    for one string; NotImplementedError for a model that computes its attention itself.
    """
    models = model_of_transformers(model_a), model_of_transformers(model_b)
    tokenizers = tokenizer, tokenizer if tokenizer_b is None else tokenizer_b
    marks = [torch.tensor(separators_of(*each)) for each in zip(models, tokenizers)]
    heads: tuple[list[Head], list[Head]] = ([], [])
    statistics: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])
    overlaps: list[torch.Tensor] = []
    for text in _inputs(models, tokenizers, texts, max_tokens):
        calls = [_calls(model, batch) for model, batch in zip(models, text.batches)]
        for n, of_model in enumerate(calls):
            heads[n][:] = [(each.use.number, head) for each in of_model for head in
                           head_numbers(models[n].config, each.use.pruned_as,
                                        each.call.query.shape[1])]
            statistics[n].append(_statistics(of_model, marks[n], "model_" + "ab"[n]))
        if text.same_tokens:
            overlaps.append(map_overlaps(*calls))
    if not heads[0]:
        raise ValueError("texts is empty, expected at least one text")
    of_a, of_b = (torch.cat(each) for each in statistics)
    none = torch.zeros(0, of_a.shape[1], of_b.shape[1], dtype=torch.float64)
    return HeadComparison((type(models[0]).__name__, type(models[1]).__name__), heads,
                          (of_a, of_b), torch.cat([none, *overlaps]))


class _Text(NamedTuple):
    """What both models are given."""
    batches: tuple[Mapping[str, Any], Mapping[str, Any]]
    same_tokens: bool = True


def _inputs(models: tuple[PreTrainedModel, PreTrainedModel], tokenizers: tuple[Any, Any],
            texts: Iterable[Any], max_tokens: int | None) -> Iterator[_Text]:
    if isinstance(texts, str):
        raise TypeError("texts is a string, expected a list of strings or of batches")
    for text in [texts] if isinstance(texts, Mapping) else texts:
        if not isinstance(text, str):
            yield _Text((text, text))
            continue
        if tokenizers[0] is None:
            raise ValueError("texts has strings, expected tokenizer= for them")
        a, b = (_encoded(*each, text, max_tokens) for each in zip(models, tokenizers))
        words = [tokenizer.convert_ids_to_tokens(each["input_ids"][0].tolist())
                 for tokenizer, each in zip(tokenizers, (a, b))]
        yield _Text((a, b), words[0] == words[1])


def _encoded(model: PreTrainedModel, tokenizer: Any, text: str,
             max_tokens: int | None) -> dict[str, torch.Tensor]:
    encoded = dict(tokenizer(text, return_tensors="pt", truncation=max_tokens is not None,
                             max_length=max_tokens))
    if getattr(model.config, "is_encoder_decoder", False):
        encoded["decoder_input_ids"] = encoded["input_ids"]
    return encoded


def _calls(model: PreTrainedModel, batch: Mapping[str, Any]) -> list[LayerCall]:
    calls: list[LayerCall] = []
    visit_layers(model, [batch], calls.append)
    return sorted(calls, key=lambda each: each.use.number)


def _statistics(calls: list[LayerCall], separators: torch.Tensor,
                name: str) -> torch.Tensor:
    """(texts, heads, statistics)"""
    means = []
    for each in calls:
        marked = None if each.tokens is None else torch.isin(each.tokens, separators)
        means.append(known_statistics(each.call, marked))
        known = not_padding(each.call).any(1)
        nan = (means[-1][known][..., _ENTROPY].isnan()).any(0).nonzero()
        if len(nan):
            raise ValueError(f"{name} computes NaN in head {int(nan[0, 0])} of layer "
                             f"{each.use.number}, expected attention weights that are "
                             "numbers")
    return torch.cat(means, 1)
