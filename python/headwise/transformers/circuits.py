"""What a head reads and writes, from the parameters alone: its OV and QK circuits
(Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").

Vectors are rows: x @ W_V @ W_O is what a head adds for the hidden state x of a key with
weight 1, and x @ W_Q @ W_K.T @ y is its score of query x and key y, before the scale.
Biases are left out, and so are norms and rotary positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import torch
from torch import nn

from headwise.transformers.attention_layers import LayerUse
from headwise.transformers.circuit import Circuit
from headwise.transformers.head_layout import HeadFeatures

# Ids of tokens, or "tokens" for the whole vocabulary.
Tokens = Union[str, Sequence[int], torch.Tensor, None]


def ov_circuit(model: nn.Module, use: LayerUse, head: int,
               tokens: Tokens = None) -> Circuit:
    """See HeadSelection.ov. `head` is the position among those that the layer has."""
    found = HeadFeatures(model, use.name)
    circuit = Circuit(_exact(found.w_v(head)), _exact(found.w_o(head)))
    if tokens is None:
        return circuit
    return circuit.between(_embedding(model, tokens, circuit.shape[0]),
                           _unembedding(model, tokens, circuit.shape[1]))


def qk_circuit(model: nn.Module, use: LayerUse, head: int,
               tokens: Tokens = None) -> Circuit:
    """See HeadSelection.qk. `head` is the position among those that the layer has."""
    found = HeadFeatures(model, use.name)
    circuit = Circuit(_exact(found.w_q(head)), _exact(found.w_k(head)).T)
    if tokens is None:
        return circuit
    rows, columns = (_embedding(model, tokens, size) for size in circuit.shape)
    return circuit.between(rows, columns.T)


def _exact(weight: torch.Tensor) -> torch.Tensor:
    """In float32 at least: products of 16-bit numbers would be rounded."""
    return weight.detach().to(torch.promote_types(weight.dtype, torch.float32))


def _embedding(model: Any, tokens: Tokens, hidden: int) -> torch.Tensor:
    """(tokens, hidden)"""
    return _vectors(model, model.get_input_embeddings(), "embedding", tokens, hidden)


def _unembedding(model: Any, tokens: Tokens, hidden: int) -> torch.Tensor:
    """(hidden, tokens)"""
    return _vectors(model, model.get_output_embeddings(), "unembedding", tokens, hidden).T


def _vectors(model: nn.Module, module: nn.Module | None, name: str,
             tokens: Tokens, hidden: int) -> torch.Tensor:
    weight = getattr(module, "weight", None)
    if weight is None or weight.ndim != 2 or weight.shape[1] != hidden:
        given = "none" if weight is None else f"of the shape {tuple(weight.shape)}"
        raise ValueError(f"the {name} of {type(model).__name__} is {given}, expected one of "
                         f"tokens with {hidden} features; give matrices to "
                         "Circuit.between()")
    if isinstance(tokens, str):
        if tokens != "tokens":
            raise ValueError(f"tokens is {tokens!r}, expected 'tokens' or ids")
        return _exact(weight)
    return _exact(weight[torch.as_tensor(tokens, dtype=torch.int64)])
