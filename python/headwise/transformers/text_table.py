"""A table as text, and for a notebook."""

from __future__ import annotations

import html
from typing import NamedTuple

SHOWN = 10  # rows of a table of heads


class TextTable(NamedTuple):
    """Rows of cells under a caption; `rest` are lines below."""
    caption: str
    columns: list[str]
    rows: list[list[str]]
    rest: list[str]

    def text(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in cells]
        return "\n".join([self.caption, *lines, *self.rest])

    def html(self) -> str:
        body = "".join("<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
                       + "</tr>" for tag, row in [("th", self.columns),
                                                  *(("td", row) for row in self.rows)])
        rest = "".join(f"<p>{html.escape(each)}</p>" for each in self.rest)
        return f"<table><caption>{html.escape(self.caption)}</caption>{body}</table>{rest}"


def name_of(heads: tuple[tuple[int, int], ...]) -> str:
    """As the command writes heads, (layer, head): 3.1, and 3.1 4.5 for two."""
    return " ".join(f"{layer}.{head}" for layer, head in heads)
