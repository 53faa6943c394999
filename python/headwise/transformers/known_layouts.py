"""How the attention modules of transformers store their heads, by class."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Union

from torch import nn


@dataclasses.dataclass(frozen=True)
class HeadLayout:
    """How a class of attention modules stores its heads.

    inputs       by path of a projection, what its output features are: "q", "k" and
                 "v", all heads of one letter before those of the next
    output       path of the projection of the heads' outputs, whose input features
                 are the heads in order; "../" is the parent module
    head_size    the attribute that holds D, the features per head of q (and k)
    key_size     the attribute for k, where a projection gives k fewer features
    value_size   the attribute that holds Dv, where it is not D
    interleaved  a fused projection has q, k and v of one head next to each other
                 (q of a whole group before its k and v)
    compressed   paths of projections that do not read the hidden states: they have
                 heads, but no w_q, w_k and w_v
    counts       attributes with the number of query heads; these, `key_counts` and
                 `widths` are changed by pruning in modules that have them
    key_counts   attributes with the number of key heads
    widths       attributes with the number of query heads times Dv
    per_head     by path, parameters and lists of modules with an entry per query
                 head ("q") or key head ("k") along their first axis; modules that
                 lack them are allowed
    own_config   the forward pass reads the numbers of heads from module.config
    keeps_heads  why heads cannot be removed; None if they can

    Raises ValueError if `inputs` does not name q, k and v once each, and for another
    letter in `per_head`.
    """
    inputs: Mapping[str, str]
    output: str
    head_size: str = "head_dim"
    key_size: str | None = None
    value_size: str | None = None
    interleaved: bool = False
    compressed: tuple[str, ...] = ()
    counts: tuple[str, ...] = ("num_heads", "num_attention_heads")
    key_counts: tuple[str, ...] = ("num_key_value_heads",)
    widths: tuple[str, ...] = ()
    per_head: Mapping[str, str] = dataclasses.field(default_factory=dict)
    own_config: bool = False
    keeps_heads: str | None = None

    def __post_init__(self) -> None:
        if sorted("".join(self.inputs.values())) != ["k", "q", "v"]:
            raise ValueError(f"inputs is {dict(self.inputs)}, expected projections with "
                             "the letters q, k and v, each once")
        for path, letter in self.per_head.items():
            if letter not in ("q", "k"):
                raise ValueError(f"per_head has {path!r}: {letter!r}, expected 'q' or 'k'")
        for path in self.compressed:
            if path not in self.inputs:
                raise ValueError(f"compressed has {path!r}, expected paths of inputs")


# A class whose modules differ has a function that chooses by the module.
Row = Union[HeadLayout, Callable[[nn.Module], HeadLayout]]

_BERT = HeadLayout({"query": "q", "key": "k", "value": "v"}, "../output.dense",
                   head_size="attention_head_size", widths=("all_head_size",))
_PROJECTIONS = {"q_proj": "q", "k_proj": "k", "v_proj": "v"}
_LLAMA = HeadLayout(_PROJECTIONS, "o_proj")
_BART = HeadLayout(_PROJECTIONS, "out_proj")

LAYOUTS: dict[str, Row] = {
    "BertSelfAttention": _BERT,
    "RobertaSelfAttention": _BERT,
    "DistilBertSelfAttention": HeadLayout(
        {"q_lin": "q", "k_lin": "k", "v_lin": "v"}, "out_lin",
        head_size="attention_head_size", counts=("n_heads",)),
    "GPT2Attention": HeadLayout({"c_attn": "qkv"}, "c_proj", widths=("split_size",)),
    "GPTNeoXAttention": HeadLayout({"query_key_value": "qkv"}, "dense",
                                   head_size="head_size", interleaved=True),
    "LlamaAttention": _LLAMA,
    "MistralAttention": _LLAMA,
    "Qwen2Attention": _LLAMA,
    "Qwen3Attention": _LLAMA,
    "Phi3Attention": HeadLayout({"qkv_proj": "qkv"}, "o_proj", own_config=True),
    "ViTAttention": _LLAMA,
    "BartAttention": _BART,
}

REFUSED = {
    "T5Attention": "the position bias has a column for every head and is shared "
                   "by all layers",
    "Olmo2Attention": "a norm runs over the features of all heads",
    "BloomAttention": "the forward pass has a fixed number of heads",
}


def register_layout(module_class: type[nn.Module] | str, layout: HeadLayout) -> None:
    """Tells headwise how a class of attention modules stores its heads.

    `prune_heads`, `head_importance` and everything else that addresses heads then
    serve models with modules of exactly this class, which is given itself or by its
    name. A later call replaces an earlier one. Like those that headwise knows, the
    module has an attribute `is_causal` and "Attention" in the name of its class.

    Raises TypeError for another kind of argument.

        register_layout("MyAttention", HeadLayout(
            inputs={"wq": "q", "wkv": "kv"}, output="wo", head_size="head_dim"))
    """
    is_module = isinstance(module_class, type) and issubclass(module_class, nn.Module)
    if not is_module and not isinstance(module_class, str):
        raise TypeError(f"module_class is {module_class!r}, expected a class of torch "
                        "modules or its name")
    if not isinstance(layout, HeadLayout):
        raise TypeError(f"layout is {type(layout).__name__}, expected a HeadLayout")
    LAYOUTS[module_class if isinstance(module_class, str)
            else module_class.__name__] = layout


def layout_of(module: nn.Module) -> HeadLayout:
    """Raises NotImplementedError for a module whose layout is not known."""
    kind = type(module).__name__
    row = LAYOUTS.get(kind)
    if row is None:
        raise NotImplementedError(
            f"the layout of {kind} is not known: describe where its heads are with "
            f"headwise.transformers.register_layout({kind!r}, HeadLayout(...))")
    return row if isinstance(row, HeadLayout) else row(module)
