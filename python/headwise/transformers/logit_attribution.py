"""Direct logit attribution: what every head adds to a logit."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Union

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse, layer_kind, layer_uses
from headwise.transformers.direct_path import DirectPath
from headwise.transformers.head_table import head_numbers, head_rows, head_table
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.own_pass import (Batch, KeepingEdit, own_passes,
                                            parameters_frozen)
from headwise.transformers.watched import Attended, Place

Numbers = Union[int, Sequence[int], torch.Tensor]


@dataclasses.dataclass(frozen=True, repr=False)
class LogitAttribution:
    """What every head adds to the logit of a token, or to a difference of two.

    logit    (B), the logit that is attributed
    heads    (B, Hq) by layer, what each head adds
    sources  (B, Hq, Lkv) by layer, the same by the token that a head reads; a head of
             cross-attention reads the encoder's
    rest     (B), what embedding, MLPs and biases add
    numbers  the numbers of the heads by layer, from before any pruning

    The heads of all layers and the rest add up to the logit, the sources of a head to
    what it adds.
    """
    logit: torch.Tensor
    heads: dict[int, torch.Tensor]
    sources: dict[int, torch.Tensor]
    rest: torch.Tensor
    numbers: dict[int, list[int]]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per example and head."""
        import pandas
        return pandas.DataFrame(head_rows(self.heads, self.numbers, "logit"),
                                columns=["example", "layer", "head", "logit"])

    def __repr__(self) -> str:
        """The mean over the examples of what every head adds, a line per layer."""
        means = {layer: each.mean(0).tolist() for layer, each in self.heads.items()}
        count = "" if len(self.logit) == 1 else f", means of {len(self.logit)} examples"
        logit, rest = self.logit.mean().item(), self.rest.mean().item()
        caption = (f"Direct logit attribution{count}: logit {logit:.4g}, "
                   f"{logit - rest:.4g} of it from the heads")
        return head_table(caption, means, self.numbers)


def logit_attribution(model: nn.Module, inputs: Batch, tokens: Numbers,
                      other: Numbers | None = None,
                      positions: Numbers = -1) -> LogitAttribution:
    """What every head adds to a logit directly, not through later layers.

        headwise.logit_attribution(model, inputs, tokens=mary, other=john)

    model      with an unembedding, such as a causal model or an encoder-decoder
    inputs     the keyword arguments of `model`; the first axis of every tensor is the
               example
    tokens     ids of the tokens whose logit is attributed, one or one per example
    other      the difference to the logits of these tokens is attributed
    positions  those of the logits, padding counted; negative ones from the end

    The output of the heads at the position goes through the output projection, the
    norms on its way with their scales as they are, and the unembedding. Of a model
    with a softcap on its logits, the logits before it are attributed; factors on the
    logits count. The model is evaluated without dropout and without interventions,
    twice, with a backward pass through the direct path.

    Errors: ValueError for tokens or positions that the model does not have;
    NotImplementedError for a model without unembedding, for one whose direct path is
    not linear, and those of `intervene`.
    """
    model = model_of_transformers(model)
    unembedding = getattr(model.get_output_embeddings(), "weight", None)
    if unembedding is None:
        raise NotImplementedError(f"{type(model).__name__} has no unembedding, so it has no "
                                  "logits of tokens")
    at = _Place(tokens, other, positions)
    uses = layer_uses(model)
    uses = [use for use in uses if layer_kind(use, uses) != "encoder"]
    first = DirectPath(unembedding)
    heads = {use: _Heads(use, first, at) for use in uses}
    second = DirectPath(unembedding, first)
    silent = {use: _Silent(second) for use in uses}
    with parameters_frozen(model), torch.enable_grad():
        with own_passes(model, heads), first:
            logit = at.logit_of(model(**inputs))
        if not logit.requires_grad:
            raise NotImplementedError(_not_linear(model))
        seen = {use: each for use, each in heads.items() if each.seen is not None}
        gradients = torch.autograd.grad(logit.sum(), [each.seen.z for each in seen.values()],
                                        allow_unused=True)
        with own_passes(model, silent), second:
            rest = at.logit_of(model(**inputs)).detach()
    return _attribution(model, at, logit.detach(), rest,
                        dict(zip(seen.values(), gradients)))


def _attribution(model: PreTrainedModel, at: _Place, logit: torch.Tensor,
                 rest: torch.Tensor, gradients: dict[_Heads, Any]) -> LogitAttribution:
    added, sources, size = {}, {}, logit.abs() + rest.abs()
    for layer, gradient in gradients.items():
        if gradient is None:
            raise NotImplementedError(_not_linear(model))
        # Only the rows of the positions are not 0.
        row = at.row_of(gradient).to(layer.value.dtype)
        added[layer.use.number] = (row * layer.z).sum(-1)
        sources[layer.use.number] = layer.row * torch.einsum(
            "bhd,bhjd->bhj", row, layer.value)
        size = size + added[layer.use.number].abs().sum(1)
    error = logit - rest - sum(each.sum(1) for each in added.values())
    allowed = max(1e-4, 8 * torch.finfo(model.dtype).eps)
    if (error.abs() > allowed * size).any():
        raise NotImplementedError(_not_linear(model))
    numbers = head_numbers(model, {layer: each.shape[1] for layer, each in added.items()})
    return LogitAttribution(logit, added, sources, rest, numbers)


def _not_linear(model: PreTrainedModel) -> str:
    return (f"what the heads of {type(model).__name__} add does not reach the logits through "
            "norms and the unembedding alone")


class _Place:
    """Which logits of an output are attributed."""

    def __init__(self, tokens: Numbers, other: Numbers | None, positions: Numbers):
        self._tokens = _given(tokens, "tokens")
        self._other = None if other is None else _given(other, "other")
        self._positions = _given(positions, "positions")

    def logit_of(self, output: Any) -> torch.Tensor:
        """(B), float32 or wider."""
        logits = output.logits
        if logits.ndim != 3:
            raise NotImplementedError(f"the logits are {tuple(logits.shape)}, expected "
                                      "(B, L, vocabulary)")
        rows = self.row_of(logits, axis=1)
        rows = rows.float() if rows.dtype.itemsize < 4 else rows
        chosen = _chosen(rows, self._tokens, "tokens")
        return chosen if self._other is None else chosen - _chosen(rows, self._other, "other")

    def row_of(self, values: torch.Tensor, axis: int = 2) -> torch.Tensor:
        """The positions, along an axis of (B, ..., L, ...)."""
        batch, length = values.shape[0], values.shape[axis]
        at = _of_batch(self._positions, batch, "positions")
        if ((at < -length) | (at >= length)).any():
            raise ValueError(f"positions is {at.tolist()}; there are {length}")
        return values.movedim(axis, 1)[torch.arange(batch), at]


def _given(numbers: Numbers, name: str) -> torch.Tensor:
    given = torch.as_tensor(numbers)
    if given.dtype.is_floating_point or given.dtype == torch.bool or given.ndim > 1:
        raise TypeError(f"{name} is {numbers!r}, expected a number or one per example")
    return given


def _of_batch(numbers: torch.Tensor, batch: int, name: str) -> torch.Tensor:
    """(B)"""
    if numbers.ndim == 1 and len(numbers) != batch:
        raise ValueError(f"{name} has {len(numbers)} numbers; the batch has {batch} examples")
    return numbers.expand(batch)


def _chosen(rows: torch.Tensor, tokens: torch.Tensor, name: str) -> torch.Tensor:
    """(B), of the logits (B, vocabulary) of a position."""
    tokens = _of_batch(tokens, rows.shape[0], name)
    if ((tokens < 0) | (tokens >= rows.shape[1])).any():
        raise ValueError(f"{name} is {tokens.tolist()}; the vocabulary has {rows.shape[1]} "
                         "tokens")
    return rows[torch.arange(len(tokens)), tokens]


class _Heads(KeepingEdit):
    """Starts the direct path at z, the output of the heads."""

    def __init__(self, use: LayerUse, path: DirectPath, at: _Place):
        super().__init__(use)
        self._path, self._at = path, at

    def kept(self, seen: Attended) -> Attended:
        self._path.leave_attention()
        assert seen.weights is not None
        self.row = self._at.row_of(seen.weights.detach())  # (B, Hq, Lkv)
        self.z = self._at.row_of(seen.z.detach())          # (B, Hq, Dv)
        return seen._replace(z=seen.z.detach().requires_grad_(), weights=None)


class _Silent:
    """Heads that give 0."""
    needs_weights = False

    def __init__(self, path: DirectPath):
        self._path = path

    def before(self, call: AttentionCall, _: Place) -> AttentionCall:
        return call

    def after(self, seen: Attended) -> Attended:
        self._path.leave_attention()
        return seen._replace(z=torch.zeros_like(seen.z).requires_grad_())
