"""The types in the signatures of headwise._core."""

from collections.abc import Sequence
from typing import Any, Protocol, TypedDict


class Array(Protocol):
    """A NumPy array, a torch tensor, or anything else with __dlpack__."""

    def __dlpack__(self, *arguments: Any, **options: Any) -> Any: ...


# Whole numbers: an array of any integer type, or (nested) sequences.
Integers = Array | Sequence[int] | Sequence[Sequence[int]]


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
