"""Direct logit attribution: what every head adds to a logit."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import LayerUse, layer_kind, layer_uses
from headwise.transformers.direct_path import DirectPath
from headwise.transformers.examples import Batch, size_of
from headwise.transformers.head_table import head_rows, head_table
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.logit_place import LogitPlace, Numbers
from headwise.transformers.own_pass import KeepingEdit, own_passes, parameters_frozen
from headwise.transformers.pruned_record import head_numbers_by_layer
from headwise.transformers.watched import Attended, Edit


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
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
    size_of(inputs)  # for its errors
    unembedding = getattr(_output_embeddings(model), "weight", None)
    if unembedding is None:
        raise NotImplementedError(f"{type(model).__name__} has no unembedding, so it has no "
                                  "logits of tokens")
    at = LogitPlace(tokens, other, positions)
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
        seen = [layer for layer in heads.values() if layer.seen is not None]
        gradients = torch.autograd.grad(logit.sum(), [layer.start for layer in seen],
                                        allow_unused=True)
        with own_passes(model, silent), second:
            rest = at.logit_of(model(**inputs)).detach()
    return _attribution(model, at, logit.detach(), rest, dict(zip(seen, gradients)))


def _attribution(model: PreTrainedModel, at: LogitPlace, logit: torch.Tensor,
                 rest: torch.Tensor, gradients: dict[_Heads, Any]) -> LogitAttribution:
    added, sources, size = {}, {}, logit.abs() + rest.abs()
    for layer, gradient in gradients.items():
        if gradient is None:
            raise NotImplementedError(_not_linear(model))
        # Only the rows of the positions are not 0.
        row = at.row_of(gradient).to(layer.value.dtype)
        added[layer.use.number] = (row * at.row_of(layer.start.detach())).sum(-1)
        sources[layer.use.number] = layer.row * torch.einsum(
            "bhd,bhjd->bhj", row, layer.value)
        size = size + added[layer.use.number].abs().sum(1)
    error = logit - rest - sum(each.sum(1) for each in added.values())
    allowed = max(1e-4, 8 * torch.finfo(model.dtype).eps)
    if (error.abs() > allowed * size).any():
        raise NotImplementedError(_not_linear(model))
    numbers = head_numbers_by_layer(model, {layer: each.shape[1]
                                            for layer, each in added.items()})
    return LogitAttribution(logit, added, sources, rest, numbers)


def _output_embeddings(model: Any) -> Any:
    return model.get_output_embeddings()  # untyped in transformers


def _not_linear(model: PreTrainedModel) -> str:
    return (f"what the heads of {type(model).__name__} add does not reach the logits through "
            "norms and the unembedding alone")


class _Heads(KeepingEdit):
    """Starts the direct path at z, the output of the heads."""

    def __init__(self, use: LayerUse, path: DirectPath, at: LogitPlace):
        super().__init__(use)
        self._path, self._at = path, at

    def kept(self, seen: Attended) -> Attended:
        self._path.leave_attention()
        assert seen.weights is not None
        self.row = self._at.row_of(seen.weights.detach())  # (B, Hq, Lkv)
        self.start = seen.z.detach().requires_grad_()
        return seen._replace(z=self.start, weights=None)


class _Silent(Edit):
    """Heads that give 0."""

    def __init__(self, path: DirectPath):
        self._path = path

    def after(self, seen: Attended) -> Attended:
        self._path.leave_attention()
        return seen._replace(z=torch.zeros_like(seen.z).requires_grad_())
