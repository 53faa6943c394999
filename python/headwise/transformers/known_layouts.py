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
    per_head     by path, what has an entry per query head ("q") or key head ("k"), in
                 modules that have it: a parameter (its first axis), an embedding (its
                 features) or a list of modules
    own_config   the forward pass reads the numbers of heads from module.config
    keeps_heads  why heads cannot be removed; None if they can

    Raises ValueError if `inputs` does not name q, k and v once each, for another letter
    in `per_head`, and if `compressed` has a path that `inputs` lacks.
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

_PROJECTIONS = {"q_proj": "q", "k_proj": "k", "v_proj": "v"}
_LLAMA = HeadLayout(_PROJECTIONS, "o_proj")
_BART = HeadLayout(_PROJECTIONS, "out_proj")
_BERT = HeadLayout({"query": "q", "key": "k", "value": "v"}, "../output.dense",
                   head_size="attention_head_size", widths=("all_head_size",))
_T5 = HeadLayout({"q": "q", "k": "k", "v": "v"}, "o", head_size="key_value_proj_dim",
                 counts=("n_heads",), widths=("inner_dim",),
                 per_head={"relative_attention_bias": "q"})
_POSITION_BIAS = ("the position bias, which has a column for every head, is shared with "
                  "other modules")
_SHARED_BIAS = dataclasses.replace(_T5, keeps_heads=_POSITION_BIAS)
_NORMED = dataclasses.replace(
    _LLAMA, keeps_heads="a norm runs over the features of all heads")
_SINKS = dataclasses.replace(_LLAMA, per_head={"sinks": "q"})
_GPT2 = HeadLayout({"c_attn": "qkv"}, "c_proj", widths=("split_size", "embed_dim"))
_GPT2_CROSS = dataclasses.replace(_GPT2, inputs={"q_attn": "q", "c_attn": "kv"})
_LATENT = HeadLayout(
    {"q_b_proj": "q", "kv_b_proj": "kv"}, "o_proj", head_size="qk_head_dim",
    key_size="qk_nope_head_dim", value_size="v_head_dim", interleaved=True,
    compressed=("q_b_proj", "kv_b_proj"))
_LATENT_KEYS = dataclasses.replace(
    _LATENT, inputs={"q_proj": "q", "kv_b_proj": "kv"}, compressed=("kv_b_proj",))


def _gpt2(module: nn.Module) -> HeadLayout:
    return _GPT2_CROSS if module.is_cross_attention else _GPT2


def _gpt_bigcode(module: nn.Module) -> HeadLayout:
    return dataclasses.replace(_GPT2, interleaved=not module.multi_query)


def _deepseek(module: nn.Module) -> HeadLayout:
    """Keys have features of their own, after which come rotary ones of all heads."""
    return _LATENT_KEYS if module.q_lora_rank is None else _LATENT


def _biased(layout: HeadLayout, *options: str) -> Row:
    """For models with such a position bias if one of these options is set."""
    biased = dataclasses.replace(layout, keeps_heads=_POSITION_BIAS)
    return lambda module: (biased if any(getattr(module.config, each, False)
                                         for each in options) else layout)


def _same(layout: Row, names: str) -> dict[str, Row]:
    return {f"{name}Attention": layout for name in names.split()}


LAYOUTS: dict[str, Row] = {
    **_same(_LLAMA, """
        Llama Mistral Mixtral Qwen2 Qwen2Moe Qwen3 Qwen3Moe Gemma Gemma2 Gemma3 Cohere2
        Starcoder2 Granite GraniteMoe SmolLM3 Olmo Nemotron Helium Glm Glm4 Glm4Moe Arcee
        Ministral Ministral3 Exaone4 ExaoneMoe Ernie4_5 Ernie4_5_Moe SeedOss HunYuanDenseV1
        HunYuanMoEV1 Dots1 Apertus Llama4Text Cwm VaultGemma Jais2 NanoChat Phimoe Jamba
        Bamba GraniteMoeHybrid GraniteMoeShared FalconH1 NemotronH Zamba Zamba2
        EuroBert Gte NomicBert JinaEmbeddingsV3 T5GemmaSelf T5GemmaCross
        ViT DeiT Dinov2 Dinov2WithRegisters DINOv3ViT IJepa ViTMAE ViTMSN Vivit AST"""),
    **_same(_BART, """
        Bart MBart Marian Pegasus PegasusX M2M100 NllbMoe Blenderbot BlenderbotSmall PLBart
        BioGpt OPT GPTJ Whisper Speech2Text Musicgen Wav2Vec2 Hubert UniSpeech
        UniSpeechSat SEW Data2VecAudio CLIP CLIPSeg AltCLIP MetaClip2 ChineseCLIPVision
        GitVision Siglip Siglip2 Owlv2 OwlViT Lfm2 Lfm2Moe"""),
    **_same(_BERT, """
        BertSelf BertCross BertGenerationSelf BertGenerationCross RobertaSelf RobertaCross
        XLMRobertaSelf XLMRobertaCross XLMRobertaXLSelf XLMRobertaXLCross CamembertSelf
        CamembertCross Data2VecTextSelf Data2VecTextCross ElectraSelf ElectraCross
        ErnieSelf ErnieCross EsmSelf RobertaPreLayerNormSelf RobertaPreLayerNormCross
        RoCBertSelf RoCBertCross ChineseCLIPTextSelf AltRobertaSelf XmodSelf XmodCross
        MobileBertSelf YolosSelf DPTSelf VideoMAESelf"""),
    **_same(_T5, "UMT5"),
    **_same(_SHARED_BIAS, "T5 MT5 LongT5 SwitchTransformers Pop2Piano"),
    **_same(_NORMED, "Olmo2 Olmo3 Olmoe FlexOlmo MiniMaxM2"),
    **_same(_SINKS, "GptOss GraniteSWA GraniteMoeSWA"),
    "Phi3Attention": HeadLayout({"qkv_proj": "qkv"}, "o_proj", own_config=True),
    **_same(_deepseek, "DeepseekV2 DeepseekV3 Glm4MoeLite Mistral4 MiniCPM3 Youtu"),
    **_same(_gpt2, "GPT2 DecisionTransformerGPT2"),
    "GPTBigCodeAttention": _gpt_bigcode,
    "DistilBertSelfAttention": HeadLayout(
        {"q_lin": "q", "k_lin": "k", "v_lin": "v"}, "out_lin",
        head_size="attention_head_size", counts=("n_heads",)),
    "BeitAttention": _biased(_LLAMA, "use_relative_position_bias",
                             "use_shared_relative_position_bias"),
    "LayoutLMv3SelfAttention": _biased(_BERT, "has_relative_attention_bias",
                                       "has_spatial_attention_bias"),
    "AlbertAttention": dataclasses.replace(_BERT, output="dense"),
    "ModernBertAttention": HeadLayout({"Wqkv": "qkv"}, "Wo"),
    "ModernBertDecoderAttention": HeadLayout(_PROJECTIONS, "Wo"),
    "GPTNeoXAttention": HeadLayout({"query_key_value": "qkv"}, "dense",
                                   head_size="head_size", interleaved=True),
    "PersimmonAttention": HeadLayout({"query_key_value": "qkv"}, "dense",
                                     interleaved=True),
    "PhiAttention": HeadLayout(_PROJECTIONS, "dense"),
    "CohereAttention": dataclasses.replace(
        _LLAMA, per_head={"q_norm.weight": "q", "k_norm.weight": "k"}),
    "StableLmAttention": dataclasses.replace(
        _LLAMA, per_head={"q_layernorm.norms": "q", "k_layernorm.norms": "k"}),
    "DbrxAttention": HeadLayout({"Wqkv": "qkv"}, "out_proj", widths=("hidden_size",)),
}

_GATED = "a gate multiplies the outputs of its heads before the output projection"
_NORMED_OUTPUT = "a norm runs over the outputs of all its heads"

REFUSED = {
    "BloomAttention": "the forward pass has a fixed number of heads",
    **{f"{name}Attention": _GATED for name in
       "Qwen3Next Qwen3_5 Qwen3_5Moe Afmoe Laguna Step3p7 Lfm3 HrmText".split()},
    **{f"{name}Attention": _NORMED_OUTPUT for name in "BitNet KosmosText".split()},
    "DiffLlamaAttention": "each of its outputs is the difference of two heads",
}


def register_layout(module_class: type[nn.Module] | str, layout: HeadLayout) -> None:
    """Tells headwise how a class of attention modules stores its heads.

    `prune_heads`, `head_importance` and everything else that addresses heads then
    serve models with modules of exactly this class (or name of a class), not of derived
    ones. A later call replaces an earlier one. To be found, the module must have an
    attribute `is_causal` and "Attention" in the name of its class.

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
    """The layout of a module; NotImplementedError if it is not known."""
    kind = type(module).__name__
    row = LAYOUTS.get(kind)
    if row is None:
        raise NotImplementedError(
            f"the layout of {kind} is not known: describe where its heads are with "
            f"headwise.transformers.register_layout({kind!r}, HeadLayout(...))")
    return row if isinstance(row, HeadLayout) else row(module)
