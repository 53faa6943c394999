"""Heads ranked by how well they match a pattern (docs/patterns.md defines them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from headwise import _core
from torch import nn

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.examples import Batch, as_batches
from headwise.transformers.head_scores import HeadScores
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.observed_layer import not_padding
from headwise.transformers.positional import (OffsetProfile, offset_profile,
                                              positional_scores)
from headwise.transformers.random_texts import repeated_random_tokens
from headwise.transformers.separators import separators_of
from headwise.transformers.pruned_record import head_numbers
from headwise.transformers.text_layers import (TILE, LayerCall, equal_attention,
                                               text_statistics, visit_layers,
                                               weights_of_queries)

_STATISTICS = ("previous", "next", "self", "first", "separator")
_OF_TOKENS = ("separator", "duplicate", "induction")
_NEEDS = {"next": "a model that is not causal", "positional": "two texts at least",
          "separator": "a text with a separator; separators= names their ids",
          "duplicate": "input_ids in which tokens repeat",
          "induction": "input_ids in which tokens repeat"}
PATTERNS = (*_STATISTICS, "duplicate", "positional", "induction")


def find_heads(model: nn.Module, pattern: str,
               batches: Batch | Iterable[Batch] | None = None, *,
               tokenizer: Any = None, separators: Sequence[int] | None = None,
               texts: int = 50, length: int = 25, seed: int = 0) -> HeadScores:
    """How well every head of self-attention matches a pattern, with 95% confidence
    intervals over texts: what `headwise heads --find` prints.

        found = headwise.find_heads(model, "induction")
        found.best(3)

    pattern     previous, next, self, first, separator: the attention on that token.
                duplicate: on other occurrences of the query's token.
                induction: on the token after an earlier occurrence of the query's token.
                positional: the attention that depends on the distance alone.
    batches     keyword arguments of `model`; each sequence is a text, padding does not
                count. None: `texts` sequences of `length` random tokens, each repeated
                once (`repeated_random_tokens`), drawn with `seed`.
    tokenizer   says which tokens begin words, and which are separators
    separators  ids of separators. None: those of [SEP] and </s> of the tokenizer;
                without one, the config's sep_token_id, else its eos_token_id.

    A score is from 0 to 1. The first five come from the pass that computes statistics,
    the others from the attention weights of a few queries at a time, so the memory grows
    with the length of a text, not with its square.

    Errors: ValueError for an unknown pattern, and if it applies to no text: no token
    that repeats, no separator, `next` in a causal model; for a model without
    self-attention, and for token ids of another length than its layers compute.
    NotImplementedError for a model that computes its attention itself.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"pattern is {pattern!r}, expected one of {', '.join(PATTERNS)}")
    model = model_of_transformers(model)
    if batches is None:
        batches = repeated_random_tokens(model, tokenizer, texts, length, seed)
    batches = as_batches(batches, "batches")
    marks = torch.tensor(separators_of(model, tokenizer) if separators is None
                         else list(separators))
    score = _positional if pattern == "positional" else _by_text(pattern, marks)
    calls: dict[int, list[tuple[Any, Any]]] = {}
    numbers: dict[int, list[int]] = {}

    def see(at: LayerCall) -> None:
        if pattern in _OF_TOKENS and at.tokens is None:
            return
        numbers[at.use.number] = head_numbers(model.config, at.use.pruned_as,
                                              at.call.query.shape[1])
        calls.setdefault(at.use.number, []).append(
            (score(at.call, at), score(equal_attention(at.call), at)))

    visit_layers(model, batches, see)
    scores, equal = {}, {}
    for layer, each in calls.items():
        of_heads, of_equal = zip(*each)
        scores[layer], equal[layer] = _joined(of_heads), _joined(of_equal)
    found = HeadScores(pattern, scores, equal, numbers)
    in_vain = pattern == "next" and not any(each.equal > 0 for each in found.values())
    if not found.texts or in_vain:
        raise ValueError(f"pattern is {pattern!r}, but no text has a query to which it "
                         f"applies: expected {_NEEDS.get(pattern, 'a text')}")
    return found


def _joined(of_batches: tuple[Any, ...]) -> torch.Tensor:
    """(texts, Hq)"""
    if not isinstance(of_batches[0], OffsetProfile):
        return torch.cat(of_batches)
    return positional_scores(OffsetProfile(*map(torch.cat, zip(*of_batches))))


def _positional(call: AttentionCall, _: LayerCall) -> OffsetProfile:
    return offset_profile(call)


def _by_text(pattern: str, separators: torch.Tensor
             ) -> Callable[[AttentionCall, LayerCall], torch.Tensor]:
    """The score (B, Hq) of a call; NaN for a text to which the pattern does not apply."""
    if pattern not in _STATISTICS:
        return lambda call, at: _share(call, _known(at), pattern == "induction")
    number = _core.STATISTICS.index(pattern)

    def of_statistics(call: AttentionCall, at: LayerCall) -> torch.Tensor:
        if pattern != "separator":
            return text_statistics(call)[..., number]
        marked = torch.isin(_known(at), separators) & not_padding(call)
        scores = text_statistics(call, marked)[..., number]
        return torch.where(marked.any(1, keepdim=True), scores, torch.nan)
    return of_statistics


def _known(at: LayerCall) -> torch.Tensor:
    assert at.tokens is not None  # other layers are left out
    return at.tokens


def _share(call: AttentionCall, tokens: torch.Tensor, induction: bool) -> torch.Tensor:
    """The attention on other occurrences of the query's token, or with `induction` on
    the tokens after earlier ones, averaged over the queries that see such a key.
    """
    counted, equal = not_padding(call), equal_attention(call)
    positions = torch.arange(tokens.shape[1])
    matched, known = tokens, counted
    if induction:  # the tokens before the keys
        matched, known = tokens.roll(1, 1), counted.roll(1, 1) & (positions > 0)
    sums = torch.zeros(call.query.shape[:2], dtype=torch.float64)
    queries = torch.zeros(len(tokens), 1)
    for first in range(0, len(positions), TILE):
        last = min(first + TILE, len(positions))
        i = positions[first:last, None]
        keys = (tokens[:, first:last, None] == matched[:, None]) & known[:, None]
        keys &= counted[:, first:last, None] & (positions <= i if induction
                                                else positions != i)
        visible = keys[:, None] & (weights_of_queries(equal, first, last) > 0)
        weights = weights_of_queries(call, first, last).double()
        sums += torch.where(visible, weights, 0).sum((2, 3))
        queries += visible.any(-1).sum(-1)
    return sums / queries
