"""Where the heads of an attention module lie in its parameters."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from headwise.transformers.attention_layers import attention_layers


@dataclasses.dataclass(frozen=True)
class HeadLayout:
    """How a class of attention modules stores its heads.

    head_size    the attribute that holds D, the features per head
    inputs       for each projection, what its output features are: "q", "k" and
                 "v", all heads of one after all heads of the other
    output       the projection of the heads' outputs; "../" is the parent module
    counts       attributes that hold the number of query heads
    widths       attributes that hold the number of query heads times D
    interleaved  a fused projection has q, k and v of one head next to each other
    own_config   the module's forward pass reads these numbers of heads from
                 its config
    """
    head_size: str
    inputs: dict[str, str]
    output: str
    counts: tuple[str, ...] = ()
    widths: tuple[str, ...] = ()
    interleaved: bool = False
    own_config: bool = False


_BERT = HeadLayout("attention_head_size", {"query": "q", "key": "k", "value": "v"},
                   "../output.dense", ("num_attention_heads",), ("all_head_size",))
_PROJECTIONS = {"q_proj": "q", "k_proj": "k", "v_proj": "v"}
_LLAMA = HeadLayout("head_dim", _PROJECTIONS, "o_proj")

LAYOUTS = {
    "BertSelfAttention": _BERT,
    "RobertaSelfAttention": _BERT,
    "DistilBertSelfAttention": HeadLayout(
        "attention_head_size", {"q_lin": "q", "k_lin": "k", "v_lin": "v"},
        "out_lin", ("n_heads",)),
    "GPT2Attention": HeadLayout("head_dim", {"c_attn": "qkv"}, "c_proj",
                                ("num_heads",), ("split_size",)),
    "GPTNeoXAttention": HeadLayout("head_size", {"query_key_value": "qkv"}, "dense",
                                   interleaved=True),
    "LlamaAttention": _LLAMA,
    "MistralAttention": _LLAMA,
    "Qwen2Attention": _LLAMA,
    "Qwen3Attention": _LLAMA,
    "Phi3Attention": HeadLayout("head_dim", {"qkv_proj": "qkv"}, "o_proj",
                                own_config=True),
    "ViTAttention": HeadLayout("head_dim", _PROJECTIONS, "o_proj",
                               ("num_attention_heads",)),
    "BartAttention": HeadLayout("head_dim", _PROJECTIONS, "out_proj", ("num_heads",)),
}

REFUSED = {
    "T5Attention": "the position bias has a column for every head and is shared "
                   "by all layers",
    "Olmo2Attention": "a norm runs over the features of all heads",
    "BloomAttention": "the forward pass has a fixed number of heads",
}


def layers_with_heads(model: nn.Module) -> dict[str, nn.Module]:
    """The attention layers of a model whose heads have known places.

    Raises NotImplementedError for another model.
    """
    for module in model.modules():
        kind = type(module).__name__
        if kind in REFUSED:
            raise NotImplementedError(f"heads of {kind} cannot be addressed: "
                                      f"{REFUSED[kind]}")
    layers = attention_layers(model)
    if not layers:
        raise NotImplementedError(f"{type(model).__name__} has no attention layers "
                                  "that headwise knows")
    for module in layers.values():
        layout_of(module)
    return layers


def layout_of(module: nn.Module) -> HeadLayout:
    """Raises NotImplementedError for a module whose layout is not known."""
    kind = type(module).__name__
    if kind not in LAYOUTS:
        raise NotImplementedError(f"the layout of {kind} is not known; those of "
                                  f"{', '.join(sorted(LAYOUTS))} are")
    if getattr(module, "is_cross_attention", False):
        raise NotImplementedError(f"the layout of a {kind} for cross-attention is "
                                  "not known")
    return LAYOUTS[kind]


class HeadFeatures:
    """The projections of one attention module, and which features are whose."""

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
        self.head_size = getattr(self.module, self.layout.head_size)
        self.query_heads = features(self.output, "in") // self.head_size
        letters = "".join(self.layout.inputs.values())
        heads = sum(features(each, "out")
                    for each in self.inputs.values()) // self.head_size
        self.key_heads = (heads - self.query_heads) // (len(letters) - 1)

    @property
    def group_size(self) -> int:
        """The number of query heads that read one head of keys."""
        return self.query_heads // self.key_heads

    def of_input(self, path: str, letter: str, heads: list[int]) -> torch.Tensor:
        """The output features of a projection that are `letter` of these heads."""
        letters = self.layout.inputs[path]
        if self.layout.interleaved:
            first = [(head * len(letters) + letters.index(letter)) * self.head_size
                     for head in heads]
        else:
            before = sum(self.heads_of(each)
                         for each in letters[:letters.index(letter)])
            first = [(before + head) * self.head_size for head in heads]
        return _runs(first, self.head_size)

    def of_output(self, heads: list[int]) -> torch.Tensor:
        """The input features of the output projection that are of these heads."""
        return _runs([head * self.head_size for head in heads], self.head_size)

    def heads_of(self, letter: str) -> int:
        return self.query_heads if letter == "q" else self.key_heads

    def value_bias(self, heads: list[int]) -> torch.Tensor | None:
        """The bias of these query heads' values, (heads * D); None without one."""
        for path, letters in self.layout.inputs.items():
            if "v" in letters and self.inputs[path].bias is not None:
                read = [head // self.group_size for head in heads]
                return self.inputs[path].bias[self.of_input(path, "v", read)]
        return None


def features(projection: nn.Module, side: str) -> int:
    """The number of features on the side "in" or "out" of a projection."""
    return projection.weight.shape[weight_axis(projection, side)]


def weight_axis(projection: nn.Module, side: str) -> int:
    """The axis of the weight that the input or output features lie on."""
    out_axis = 1 if isinstance(projection, Conv1D) else 0
    return out_axis if side == "out" else 1 - out_axis


def _projection(owner: nn.Module, path: str) -> nn.Module:
    projection = owner.get_submodule(path)
    if type(projection) not in (nn.Linear, Conv1D):
        raise NotImplementedError(
            f"{path} of {type(owner).__name__} is {type(projection).__name__}, "
            "expected an unchanged torch.nn.Linear or Conv1D")
    return projection


def _runs(first: list[int], size: int) -> torch.Tensor:
    starts = torch.tensor(first, dtype=torch.int64)
    return (starts[:, None] + torch.arange(size)).flatten()
