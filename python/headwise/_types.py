"""The types in the signatures of headwise._core.

Options are the keyword arguments of calls: `**options: Unpack[CallOptions]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    from headwise._core import Bias, Executor, KvCache, Mask, SequenceId


class Array(Protocol):
    """A NumPy array, a torch tensor, or anything else with __dlpack__.

    NumPy declares __dlpack__ for arrays of numbers only, and not for masks.
    """

    def __dlpack_device__(self) -> Any: ...


# Whole numbers: an array of any integer type, or (nested) sequences.
Integers = Array | Sequence[int] | Sequence[Sequence[int]]

AttnWeights = Literal["per_head", "mean", "after_dropout"]
Scores = Literal["raw", "softcap", "bias", "softmax"]
EmptyRows = Literal["zero", "uniform", "nan"]
KeyPart = Literal["first", "middle", "last"]
Arithmetic = Literal["exact", "bf16"]
AxisName = Literal["B", "H", "Lq", "Lkv", "1"]
Statistic = Literal[
    "entropy", "distance", "largest", "first", "previous", "self", "next", "separator"
]
Gradient = Literal[
    "query", "key", "value", "bias", "t5_bias", "alibi", "score_weight", "sinks",
    "bias_k", "bias_v",
]
CacheDType = Literal["float32", "bfloat16", "float16", "int8"]
FileAccess = Literal["mapped", "read"]
TruncationStrategy = Literal["longest_first", "only_first", "only_second"]
TruncationSide = Literal["right", "left"]
Scoring = Literal["dot", "additive"]
ConstantPart = Literal["into_bias", "dropped"]
ImportanceMethod = Literal[
    "gradient", "fisher", "ablation", "entropy", "confidence", "random"
]
RotaryLayout = Literal["halves", "interleaved"]


class T5Bias(TypedDict, total=False):
    table: Array  # (buckets, Hq), float32
    max_distance: int
    bidirectional: bool


class Dropout(TypedDict, total=False):
    p: float
    training: bool
    seed: int
    step: int
    layer: int
    sequence_ids: Integers  # (B)
    keep_mask: Array  # (B, Hq, Lq, Lkv), bool
    first_key: int


class StatisticsOptions(TypedDict, total=False):
    rows: bool
    top_keys: int
    columns: bool
    map: bool
    separators: Array  # (B, Lkv), bool
    query_lengths: Integers  # (B)


class RollingWindow(TypedDict, total=False):
    left: int
    keep_first: int


class AddedKeys(TypedDict, total=False):
    bias_k: Array  # (Hkv, D), float32
    bias_v: Array  # (Hkv, Dv), float32
    zero_attn: bool


class QkNorm(TypedDict, total=False):
    kind: Literal["rms", "layer"]
    eps: float
    over: Literal["head", "each_head", "projection"]
    plus_one: bool
    bias: bool


class RotaryScaling(TypedDict, total=False):
    kind: Literal["linear", "ntk", "yarn", "llama3", "longrope"]
    factor: float
    original_length: int
    beta_fast: float
    beta_slow: float
    truncate: bool
    attention_factor: float
    low_freq_factor: float
    high_freq_factor: float
    factors: Sequence[float]


class Rotary(TypedDict, total=False):
    rotary_dim: int
    base: float
    layout: RotaryLayout
    scaling: RotaryScaling
    cos: Array  # (positions, rotary_dim / 2), float32
    sin: Array


class SharedOptions(TypedDict, total=False):
    """Those of every call, without what it returns besides the output."""

    mask: Mask | Array | None
    scale: float | None
    softcap: float | None
    bias: Bias | Array | None
    t5_bias: T5Bias | None
    alibi: Array | None
    sinks: Array | None
    query_start: int | Integers | Literal["bottom_right"] | None
    offsets: Integers | tuple[Integers, Integers] | None
    empty_rows: EmptyRows | None
    dropout: Dropout | None
    arithmetic: Arithmetic | None
    executor: Executor | None


class CallOptions(SharedOptions, total=False):
    """Those of attention() and its gradients."""

    score_weight: Array | None
    kv_groups: Integers | None
    added_keys: AddedKeys | None


class CallOutputs(CallOptions, total=False):
    """Of attention() without attn_weights and statistics."""

    scores: Scores | None
    key_part: KeyPart | None
    lse: bool | None
    softmax_rows: bool | None
    out: Array | None
    state: tuple[Array, Array] | None


class PlanOptions(CallOptions, total=False):
    """Of attention() in two steps, and of its steps and its page."""

    attn_weights: AttnWeights | None
    statistics: StatisticsOptions | None
    scores: Scores | None
    key_part: KeyPart | None


class LayerOptions(SharedOptions, total=False):
    """Of a layer's call."""

    head_gates: Array | None
    query_positions: Integers | None
    key_positions: Integers | None
    cache: KvCache | None
    sequences: Sequence[SequenceId] | None


class LayerOutputs(LayerOptions, total=False):
    """Of a layer's call without attn_weights."""

    scores: Scores | None
    lse: bool | None


class TrainingOptions(SharedOptions, total=False):
    """Of a layer's call whose gradients are needed."""

    head_gates: Array | None
    query_positions: Integers | None
    key_positions: Integers | None
    attn_weights: AttnWeights | None
    scores: Scores | None
    lse: bool | None


class ExplainOptions(PlanOptions, total=False):
    """Of a call or of a layer's."""

    head_gates: Array | None
    query_positions: Integers | None
    key_positions: Integers | None
    lse: bool | None


class LayerConfig(TypedDict, total=False):
    num_kv_heads: int | None
    kv_group_sizes: Integers | None
    dropout: float | None
    bias: bool | None
    query_dim: int | Literal["open"] | None
    kdim: int | Literal["open"] | None
    vdim: int | Literal["open"] | None
    head_dim: int | None
    v_head_dim: int | None
    out_proj: bool | None
    value_proj: bool | None
    scoring: Scoring | None
    qk_norm: QkNorm | None
    rotary: Rotary | None
    add_bias_kv: bool | None
    add_zero_attn: bool | None
    arithmetic: Arithmetic | None


class PageSettings(TypedDict, total=False):
    """Of a ViewPage, without its labels."""

    title: str
    command: str
    model: str | None
    text: str | None
    cross: bool
    language: str
    elements: bool | None
    query_special: Integers
    key_special: Integers
    sequence: int
    most_bytes: int


class LabelledSettings(PageSettings, total=False):
    query_labels: Sequence[str]
    key_labels: Sequence[str]


class ViewOptions(PageSettings, PlanOptions, total=False):
    """Of view(), which takes the labels as tokens."""
