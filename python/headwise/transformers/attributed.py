"""What `attribution` found: by head, or by token through all layers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from headwise._core import ViewPage
from headwise._view import view

from headwise.transformers.head_table import head_rows, head_table

_CAPTIONS = {
    "norms": "Value-weighted norms: mean over the queries of sum_j w |f|",
    "gradient": "Gradient times attention: sum over all pairs",
    "integrated": "Gradients integrated while the gates of all heads go from 0 to 1",
    "integrated-by-layer": "Gradients integrated while the gates of a layer go from 0 to 1",
}

_ROWS_SHOWN = 10
ByLayer = dict[int, torch.Tensor]


class Found(NamedTuple):
    """As in HeadAttribution."""
    totals: ByLayer
    pairs: ByLayer
    together: ByLayer


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class HeadAttribution:
    """What every head and every pair of a query and a key contributes.

    method    as it was asked for
    totals    (B, Hq) by layer: of "norms" the mean over the queries of sum_j w |f|,
              of queries that see a key and are not padding; of "gradient" the sum over
              all pairs; of integrated gates a[l, h]
    pairs     (B, Hq, Lq, Lkv) by layer: w |f|, or the product of weight and gradient;
              empty for integrated gates, which have no pairs
    together  (B, Lq, Lkv) by layer, of "norms": |sum_h w f|, all heads together
    numbers   the numbers of the heads by layer, from before any pruning
    """
    method: str
    totals: ByLayer
    pairs: ByLayer
    together: ByLayer
    numbers: dict[int, list[int]]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per example and head, with its total."""
        import pandas
        return pandas.DataFrame(head_rows(self.totals, self.numbers, self.method),
                                columns=["example", "layer", "head", self.method])

    def view(self, path: str | os.PathLike[str], tokens: Sequence[str],
             key_tokens: Sequence[str] | None = None,
             layers: Sequence[int] | None = None, **settings: Any) -> ViewPage:
        """Writes the page that shows the norms of every pair, and returns it. Layers of
        an encoder and a decoder go on pages of their own: choose them with `layers`.

        Errors: ValueError for another method than "norms", whose numbers have a sign
        or no pairs; KeyError for a layer without heads; those of headwise.view().
        """
        if self.method != "norms":
            raise ValueError(f"method is {self.method!r}; a page shows norms")
        pages = [{"attn_weights": self.pairs[layer], "number": layer,
                  "head_numbers": self.numbers[layer],
                  "num_heads": self.numbers[layer][-1] + 1}
                 for layer in (self.pairs if layers is None else layers)]
        return view(path, pages, tokens, key_tokens,
                    **{"title": "Value-weighted norms", **settings})

    def __repr__(self) -> str:
        """The mean of the totals over the examples, a line per layer."""
        means = {layer: each.mean(0).tolist() for layer, each in self.totals.items()}
        return head_table(_CAPTIONS[self.method], means, self.numbers)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class TokenAttribution:
    """How much of every input token reaches output tokens through all layers.

    method     "rollout" or "flow"
    shares     (B, R, L): of output token positions[r], the share of each input token
    positions  (R), padding counted
    """
    method: str
    shares: torch.Tensor
    positions: list[int]

    def to_pandas(self) -> Any:
        """A DataFrame with a row per example, output token and input token."""
        import pandas
        rows = [(example, position, token, share)
                for example, matrix in enumerate(self.shares.tolist())
                for position, row in zip(self.positions, matrix, strict=True)
                for token, share in enumerate(row)]
        return pandas.DataFrame(rows, columns=["example", "output", "token", self.method])

    def __repr__(self) -> str:
        """The largest shares of the first output tokens, in the first example."""
        shown = self.positions[:_ROWS_SHOWN]
        lines = [f"Attention {self.method}, {tuple(self.shares.shape)}: largest shares of "
                 "the first example"]
        for position, row in zip(shown, self.shares[0]):
            values, tokens = row.topk(min(5, len(row)))
            lines.append(f"output token {position}: " + ", ".join(
                f"{value:.3f} of token {token}"
                for token, value in zip(tokens.tolist(), values.tolist())))
        left = len(self.positions) - len(shown)
        return "\n".join(lines + [f"and {left} more output tokens"] * (left > 0))
