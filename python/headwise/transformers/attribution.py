"""Which tokens and heads matter for what a model computes.

    norms                w |f|, how much a key adds to the output of its layer
                         (Kobayashi et al. 2020, arXiv:2004.10102)
    gradient             w dF/dw, the first-order effect of a weight on a number F
                         (Barkan et al. 2021, Grad-SAM)
    integrated           gradients of F by the gates of the heads, integrated while all
                         gates go from 0 to 1 (Sundararajan et al. 2017,
                         arXiv:1703.01365)
    integrated-by-layer  the same while the gates of one layer go from 0 to 1 and all
                         others are 1 (Hao et al. 2021, arXiv:2004.11207)
    rollout              share of an input token that reaches an output token through
                         all layers (Abnar & Zuidema 2020, arXiv:2005.00928)
    flow                 upper bound of that share, a maximum flow (the same)

The definitions are those of `headwise stats --attribution`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from torch import nn

from headwise.transformers.attributed import HeadAttribution, TokenAttribution
from headwise.transformers.examples import Batch, size_of
from headwise.transformers.gradient_attention import gradient_attention
from headwise.transformers.inner_model import model_of_transformers
from headwise.transformers.integrated_gates import (integrated_gates,
                                                    integrated_gates_by_layer)
from headwise.transformers.own_pass import Target
from headwise.transformers.pruned_record import head_numbers_by_layer
from headwise.transformers.through_layers import (flow, mean_weights, positions_of,
                                                  rollout)
from headwise.transformers.value_norms import value_norms

OfHeads = Literal["norms", "gradient", "integrated", "integrated-by-layer"]
OfTokens = Literal["rollout", "flow"]

_OF_TARGET = {"gradient": gradient_attention, "integrated": integrated_gates,
              "integrated-by-layer": integrated_gates_by_layer}
_THROUGH_LAYERS = {"rollout": rollout, "flow": flow}


@overload
def attribution(model: nn.Module, inputs: Batch, method: OfHeads = "norms", *,
                target: Target | None = None) -> HeadAttribution: ...


@overload
def attribution(model: nn.Module, inputs: Batch, method: OfTokens, *,
                positions: int | Sequence[int] | None = None) -> TokenAttribution: ...


def attribution(model: nn.Module, inputs: Batch, method: str = "norms", *,
                target: Target | None = None,
                positions: int | Sequence[int] | None = None
                ) -> HeadAttribution | TokenAttribution:
    """Which tokens and heads matter for what `model` computes from `inputs`.

        headwise.attribution(model, inputs, "norms").pairs[3]
        headwise.attribution(model, inputs, "gradient",
                             target=lambda output, batch: output.logits[:, -1, token])
        headwise.attribution(model, inputs, "rollout", positions=0).shares

    inputs     the keyword arguments of `model`; the first axis of every tensor is the
               example
    method     "norms", "gradient", "integrated", "integrated-by-layer", "rollout" or
               "flow"
    target     for gradient and integrated gates: target(output, batch) gives the number
               F of every example, (B), such as a logit
    positions  for rollout and flow: the output tokens, padding counted, negative ones
               from the end; None: all

    The model is evaluated without dropout and without interventions: norms, rollout
    and flow take one pass, gradient one forward and one backward pass, integrated gates
    40 of each, by layer 40 per layer. Weights and pairs take the memory of a matrix
    (B, Hq, Lq, Lkv) per layer. Rollout and flow take models of one sequence, whose
    layers all attend among its tokens, flow at most 128 tokens.

    Errors: ValueError for an unknown method, a target that is missing or of another
    shape, and a position that does not exist; NotImplementedError of norms for a model
    whose layout is not known, of rollout and flow for one with cross-attention, of flow
    for more than 128 tokens; and those of `intervene`.
    """
    model = model_of_transformers(model)
    size_of(inputs)  # for its errors
    if method in _THROUGH_LAYERS:
        if target is not None:
            raise ValueError(f"target was given, but {method} has none")
        weights = mean_weights(model, inputs)
        rows = positions_of(positions, weights.shape[-1])
        return TokenAttribution(method, _THROUGH_LAYERS[method](weights, rows), rows)
    if method not in ("norms", *_OF_TARGET):
        expected = ", ".join(map(repr, ("norms", *_OF_TARGET, *_THROUGH_LAYERS)))
        raise ValueError(f"method is {method!r}, expected one of {expected}")
    if positions is not None:
        raise ValueError(f"positions was given, but {method} has all positions")
    if (target is None) != (method == "norms"):
        raise ValueError("target was given, but norms have none" if target else
                         "target is None, expected a function target(output, batch) that "
                         "gives a number per example")
    found = (value_norms(model, inputs) if target is None
             else _OF_TARGET[method](model, inputs, target))
    numbers = head_numbers_by_layer(model, {layer: each.shape[1]
                                            for layer, each in found.totals.items()})
    return HeadAttribution(method, found.totals, found.pairs, found.together, numbers)
