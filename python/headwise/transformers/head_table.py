"""A number per head as text and as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch


def head_rows(values: Mapping[int, torch.Tensor], numbers: Mapping[int, list[int]],
              name: str) -> Iterator[dict[str, Any]]:
    """A row per example and head of values (B, Hq) by layer."""
    for layer, heads in numbers.items():
        for example, row in enumerate(values[layer].tolist()):
            for head, value in zip(heads, row, strict=True):
                yield {"example": example, "layer": layer, "head": head, name: value}


def head_table(caption: str, values: Mapping[int, Sequence[float]],
               numbers: Mapping[int, list[int]]) -> str:
    """A line per layer with a number per head; pruned heads leave holes."""
    columns = sorted({head for heads in numbers.values() for head in heads})
    lines = [caption, f"{'head':>10}" + "".join(f"{head:10}" for head in columns)]
    for layer, heads in numbers.items():
        of_head = dict(zip(heads, values[layer], strict=True))
        lines.append(f"layer {layer:4}" + "".join(
            f"{of_head[head]:10.3g}" if head in of_head else " " * 10
            for head in columns).rstrip())
    return "\n".join(lines)
