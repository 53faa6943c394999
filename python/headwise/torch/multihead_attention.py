"""torch.nn.MultiheadAttention on headwise's kernels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from headwise.torch.attention_operator import attention
from headwise.torch.call_arguments import Operands
from headwise.torch.tensor_checks import check_tensors


def _is_called(module: torch.nn.Module, arguments: tuple) -> None:
    """A hook that does nothing, see MultiheadAttention.__init__()."""


class MultiheadAttention(torch.nn.MultiheadAttention):
    """torch.nn.MultiheadAttention with the same constructor, parameters, state
    and forward(), computed by headwise.

    Returning the attention weights costs no second pass, and what is behind a
    mask, NaN included, changes nothing that is not. A query that sees no key has
    attention weights of 0 and the output out_proj.bias (torch: NaN or
    out_proj.bias, depending on the path it takes). Elements are float32,
    bfloat16, float16 or float64, which torch computes.

    torch.nn.TransformerEncoderLayer calls it in training and inference.
    """

    def __init__(self, *arguments, **keywords) -> None:
        super().__init__(*arguments, **keywords)
        # In inference torch.nn.TransformerEncoderLayer computes attention itself
        # from the parameters of its self_attn, unless that has a forward hook.
        self.register_forward_pre_hook(_is_called)

    def forward(self, query: Tensor, key: Tensor, value: Tensor,
                key_padding_mask: Tensor | None = None, need_weights: bool = True,
                attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """
        query             (L, N, E), with batch_first (N, L, E), or (L, E)
        key               (S, N, kdim), etc.
        value             (S, N, vdim), etc.
        key_padding_mask  (N, S) or (S): bool, True = hidden, or floats that are
                          added to the scores
        attn_mask         (L, S) or (N * heads, L, S), as key_padding_mask
        is_causal         a hint that attn_mask is the causal mask

        Returns the output, like query, and the attention weights: None, (N, L, S)
        averaged over the heads, or (N, heads, L, S). Added keys (add_bias_kv,
        add_zero_attn) have columns behind the S keys.

        Errors: TypeError for other element types and devices; ValueError for
        shapes that do not fit, and for is_causal without attn_mask.
        """
        if query.is_nested:
            return self._forward_nested(query, key, value, need_weights)
        check_tensors("MultiheadAttention", query, key, value)
        if is_causal and attn_mask is None:
            raise ValueError(
                "MultiheadAttention: is_causal=True is a hint about attn_mask, which is not given"
            )
        batched = query.dim() == 3
        if not batched:
            query, key, value = _each(lambda tensor: tensor[None], query, key, value)
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        elif not self.batch_first:
            query, key, value = _each(lambda tensor: tensor.transpose(0, 1),
                                      query, key, value)
        self._check(query, key, value, key_padding_mask, attn_mask)

        # Like torch: only then the hint replaces the mask, for added keys, too.
        causal = is_causal and not need_weights and key_padding_mask is None
        operands = _mask_operands(key_padding_mask, None if causal else attn_mask,
                                  query, self._added_keys())
        q, k, v = (self._heads(projected) for projected in self._project(query, key, value))
        k, v = self._with_added_keys(k, self.bias_k), self._with_added_keys(v, self.bias_v)
        dropout_p = self.dropout if self.training else 0.0
        context, weights = attention(
            q, k, v, operands=operands, causal=causal, dropout_p=dropout_p,
            attn_weights=_weights_mode(need_weights, average_attn_weights, dropout_p))
        output = functional.linear(
            context.transpose(1, 2).flatten(2), self.out_proj.weight, self.out_proj.bias)
        if need_weights:
            # Of those after dropout the kernel returns no mean.
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights.to(output.dtype)
        if not batched:
            return output[0], weights[0] if need_weights else None
        return output if self.batch_first else output.transpose(0, 1), weights

    def _added_keys(self) -> int:
        return (self.bias_k is not None) + self.add_zero_attn

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """query, key and value times their weights, (N, length, E)."""
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self._qkv_same_embed_dim:
            if query is key and key is value:
                projected = functional.linear(query, self.in_proj_weight, self.in_proj_bias)
                return projected.chunk(3, dim=-1)
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return tuple(map(functional.linear, (query, key, value), weights, biases))

    def _heads(self, projected: Tensor) -> Tensor:
        """(N, length, E) to (N, heads, length, head_dim)."""
        return projected.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def _with_added_keys(self, keys: Tensor, bias: Tensor | None) -> Tensor:
        """The keys or values (N, heads, S, head_dim) with the added ones behind."""
        if bias is not None:
            row = self._heads(bias).to(keys.dtype)
            keys = torch.cat([keys, row.expand(keys.shape[0], -1, -1, -1)], dim=2)
        return functional.pad(keys, (0, 0, 0, 1)) if self.add_zero_attn else keys

    def _check(self, query, key, value, key_padding_mask, attn_mask) -> None:
        """Of tensors with the batch first. Errors: ValueError, TypeError."""
        batch, queries, _ = query.shape
        keys = key.shape[1] if key.dim() == 3 else 0
        expected = {
            "query": (query, [(batch, queries, self.embed_dim)]),
            "key": (key, [(batch, keys, self.kdim)]),
            "value": (value, [(batch, keys, self.vdim)]),
            "key_padding_mask": (key_padding_mask, [(batch, keys)]),
            "attn_mask": (attn_mask, [(queries, keys),
                                      (batch * self.num_heads, queries, keys)]),
        }
        for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
            if mask is not None and mask.dtype != torch.bool and not mask.is_floating_point():
                raise TypeError(
                    f"MultiheadAttention: {name} is {mask.dtype}; expected torch.bool "
                    "(True = hidden) or floats that are added to the scores")
        for name, (tensor, shapes) in expected.items():
            if tensor is not None and tuple(tensor.shape) not in shapes:
                raise ValueError(
                    f"MultiheadAttention: {name} has shape {tuple(tensor.shape)}, batch first; "
                    f"expected {' or '.join(map(str, shapes))}")

    def _forward_nested(self, query: Tensor, key: Tensor, value: Tensor,
                        need_weights: bool) -> tuple[Tensor, None]:
        """torch.nn.TransformerEncoder passes a nested tensor in inference where
        its layers got their self_attn later."""
        if need_weights or query is not key or key is not value:
            raise TypeError(
                "MultiheadAttention: query is a nested tensor; expected a padded one with "
                "key_padding_mask, or self-attention with need_weights=False")
        lengths = torch.tensor([len(sequence) for sequence in query.unbind()])
        padded = torch.nested.to_padded_tensor(query, 0.0)
        hidden = torch.arange(padded.shape[1]) >= lengths[:, None]
        output, _ = self.forward(padded, padded, padded, key_padding_mask=hidden,
                                 need_weights=False)
        sequences = [row[:length] for row, length in zip(output, lengths.tolist())]
        return torch.nested.as_nested_tensor(sequences), None


def _each(change: Callable[[Tensor], Tensor], query: Tensor, key: Tensor,
          value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """change() of the three. One tensor stays one, so that self-attention is
    still seen."""
    first = change(query)
    second = first if key is query else change(key)
    return first, second, second if value is key else change(value)


def _weights_mode(need_weights: bool, average: bool, dropout_p: float) -> str:
    if not need_weights:
        return "none"
    if dropout_p > 0:
        return "after_dropout"
    return "mean" if average else "per_head"


def _mask_operands(key_padding_mask: Tensor | None, attn_mask: Tensor | None, query: Tensor,
                   added_keys: int) -> Operands:
    """torch's masks, in which True means hidden, as headwise's. Every query sees
    the added keys."""
    mask = bias = key_mask = None
    batch = query.shape[0]
    of_scores = torch.float64 if query.dtype == torch.float64 else torch.float32
    if attn_mask is not None:
        # (1, 1, L, S) or (N, heads, L, S)
        by_scores = (attn_mask[None, None] if attn_mask.dim() == 2
                     else attn_mask.unflatten(0, (batch, -1)))
        if attn_mask.dtype == torch.bool:
            mask = functional.pad(~by_scores, (0, added_keys), value=True)
        else:
            bias = functional.pad(by_scores.to(of_scores), (0, added_keys))
    if key_padding_mask is not None:
        if key_padding_mask.dtype == torch.bool:
            key_mask = functional.pad(~key_padding_mask, (0, added_keys), value=True)
        else:
            of_keys = functional.pad(key_padding_mask.to(of_scores), (0, added_keys))
            of_keys = of_keys[:, None, None, :]
            bias = of_keys if bias is None else bias + of_keys
    return Operands(bias=bias, mask=mask, key_mask=key_mask)
