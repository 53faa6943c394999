"""Where the heads of an attention module lie in its parameters."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from headwise.transformers.attention_layers import attention_layers
from headwise.transformers.known_layouts import LAYOUTS, REFUSED, layout_of


def layers_with_heads(model: nn.Module) -> dict[str, nn.Module]:
    """The attention layers of a model whose heads have known places.

    Raises NotImplementedError for another model.
    """
    for module in model.modules():
        kind = type(module).__name__
        if kind in REFUSED and kind not in LAYOUTS:
            raise NotImplementedError(f"heads of {kind} cannot be addressed: "
                                      f"{REFUSED[kind]}")
    layers = attention_layers(model)
    if not layers:
        raise NotImplementedError(f"{type(model).__name__} has no attention layers "
                                  "that headwise knows")
    for module in layers.values():
        layout_of(module)
    return layers


class HeadFeatures:
    """The projections of one attention module, and which features are whose.

    A head is given by its position among those that the layer has. `w_q`, `w_k`, `w_v`
    and `w_o` are the parameters of one query head as matrices for x @ w_q(head), with
    gradients. They are the projections alone, without rotary positions, norms and
    clamps of q, k and v, and the scale of the scores. In cross-attention, k and v
    project the encoder's states.

    Raises NotImplementedError for a module whose layout is not known or whose
    projections are not Linear or Conv1D; ValueError if the layout does not fit it.
    """

    def __init__(self, model: nn.Module, name: str):
        self.module = model.get_submodule(name)
        self.layout = layout_of(self.module)
        self.inputs = {path: _projection(self.module, path)
                       for path in self.layout.inputs}
        path = self.layout.output
        owner = self.module
        if path.startswith("../"):
            owner, path = model.get_submodule(name.rpartition(".")[0]), path[3:]
        self.output = _projection(owner, path)
        self.head_size = _named(self.module, self.layout.head_size)
        self.value_size = _named(self.module,
                                 self.layout.value_size or self.layout.head_size)
        self._key_size = _named(self.module, self.layout.key_size or self.layout.head_size)
        self.query_heads, self.key_heads = self._numbers_of_heads()

    def _numbers_of_heads(self) -> tuple[int, int]:
        queries, rest = divmod(features(self.output, "in"), self.value_size)
        keys, other = divmod(
            sum(features(each, "out") for each in self.inputs.values())
            - queries * self.head_size, self._key_size + self.value_size)
        if rest or other or keys < 1 or queries % keys:
            sizes = {path: tuple(each.weight.shape) for path, each in self.inputs.items()}
            raise ValueError(
                f"the layout of {type(self.module).__name__} does not fit: projections "
                f"{sizes}, {self.layout.output} {tuple(self.output.weight.shape)}, heads "
                f"of {self.head_size} features, values of {self.value_size}")
        return queries, keys

    @property
    def group_size(self) -> int:
        """The number of query heads that read one head of keys."""
        return self.query_heads // self.key_heads

    def of_input(self, path: str, letter: str, heads: list[int]) -> torch.Tensor:
        """The output features of a projection that are `letter` of these heads."""
        letters = self.layout.inputs[path]
        before = letters[:letters.index(letter)]
        size = self._size_of(letter)
        if not self.layout.interleaved:
            start = sum(self.heads_of(each) * self._size_of(each) for each in before)
            return _runs([start + head * size for head in heads], size)
        start = sum(self._in_a_group(each) * self._size_of(each) for each in before)
        group = sum(self._in_a_group(each) * self._size_of(each) for each in letters)
        number = self._in_a_group(letter)
        return _runs([head // number * group + start + head % number * size
                      for head in heads], size)

    def of_output(self, heads: list[int]) -> torch.Tensor:
        """The input features of the output projection that are of these heads."""
        return _runs([head * self.value_size for head in heads], self.value_size)

    def heads_of(self, letter: str) -> int:
        return self.query_heads if letter == "q" else self.key_heads

    def _in_a_group(self, letter: str) -> int:
        return self.group_size if letter == "q" else 1

    def _size_of(self, letter: str) -> int:
        return {"q": self.head_size, "k": self._key_size, "v": self.value_size}[letter]

    def w_q(self, head: int) -> torch.Tensor:
        """(hidden, D). Errors of w_q, w_k, w_v and their biases: ValueError for a head
        that the layer does not have; NotImplementedError if the head's features are
        not a product of the hidden states and a matrix.
        """
        return self._weight("q", head)

    def w_k(self, head: int) -> torch.Tensor:
        """(hidden, D), of the keys that this query head reads."""
        return self._weight("k", head)

    def w_v(self, head: int) -> torch.Tensor:
        """(hidden, Dv), of the values that this query head reads."""
        return self._weight("v", head)

    def w_o(self, head: int) -> torch.Tensor:
        """(Dv, hidden). Raises ValueError for a head that the layer does not have."""
        self._check(head)
        axis = weight_axis(self.output, "in")
        index = self.of_output([head]).to(self.output.weight.device)
        columns = self.output.weight.index_select(axis, index)
        return columns if axis == 0 else columns.T

    def b_q(self, head: int) -> torch.Tensor | None:
        """(D), or None without a bias."""
        return self._bias("q", head)

    def b_k(self, head: int) -> torch.Tensor | None:
        """(D), or None without a bias."""
        return self._bias("k", head)

    def b_v(self, head: int) -> torch.Tensor | None:
        """(Dv), or None without a bias."""
        return self._bias("v", head)

    def _weight(self, letter: str, head: int) -> torch.Tensor:
        projection, index = self._place(letter, head)
        axis = weight_axis(projection, "out")
        rows = projection.weight.index_select(axis, index)
        return rows if axis == 1 else rows.T

    def _bias(self, letter: str, head: int) -> torch.Tensor | None:
        projection, index = self._place(letter, head)
        return None if projection.bias is None else projection.bias[index]

    def _place(self, letter: str, head: int) -> tuple[nn.Module, torch.Tensor]:
        """The projection and its output features that are `letter` of a query head."""
        self._check(head)
        path = self.path_of(letter)
        if path in self.layout.compressed:
            raise NotImplementedError(
                f"{letter} of {type(self.module).__name__} has no matrix: {path} reads "
                "compressed features after a norm, not the hidden states")
        read = head if letter == "q" else head // self.group_size
        projection = self.inputs[path]
        return projection, self.of_input(path, letter, [read]).to(projection.weight.device)

    def path_of(self, letter: str) -> str:
        """The path of the projection that computes "q", "k" or "v"."""
        return next(path for path, letters in self.layout.inputs.items()
                    if letter in letters)

    def _check(self, head: int) -> None:
        if not 0 <= head < self.query_heads:
            raise ValueError(f"head is {head}, expected a number below "
                             f"{self.query_heads}, the heads that the layer has")

    def value_bias(self, heads: list[int]) -> torch.Tensor | None:
        """The bias of these query heads' values, (heads * Dv); None without one."""
        path = self.path_of("v")
        bias = self.inputs[path].bias
        if bias is None:
            return None
        read = [head // self.group_size for head in heads]
        return bias[self.of_input(path, "v", read).to(bias.device)]


def features(projection: nn.Module, side: str) -> int:
    """The number of features on the side "in" or "out" of a projection."""
    return projection.weight.shape[weight_axis(projection, side)]


def weight_axis(projection: nn.Module, side: str) -> int:
    """The axis of the weight that the input or output features lie on."""
    out_axis = 1 if isinstance(projection, Conv1D) else 0
    return out_axis if side == "out" else 1 - out_axis


def _projection(owner: nn.Module, path: str) -> nn.Module:
    projection = _named(owner, path)
    if type(projection) not in (nn.Linear, Conv1D):
        raise NotImplementedError(
            f"{path} of {type(owner).__name__} is {type(projection).__name__}, "
            "expected an unchanged torch.nn.Linear or Conv1D")
    return projection


def _named(owner: nn.Module, path: str) -> Any:
    """What a layout names in a module."""
    try:
        return operator.attrgetter(path)(owner)
    except AttributeError:
        raise ValueError(f"the layout of an attention module names {path!r}, which "
                         f"{type(owner).__name__} does not have") from None


def _runs(first: list[int], size: int) -> torch.Tensor:
    starts = torch.tensor(first, dtype=torch.int64)
    return (starts[:, None] + torch.arange(size)).flatten()
