"""The page as a notebook shows it, in a frame."""

from __future__ import annotations

import dataclasses

from headwise.transformers.observed_layer import ObservedLayer
from headwise.transformers.observed_page import (
    Document,
    Run,
    chosen_sequences,
    documents_of,
    page_groups,
    page_of,
    with_document,
)

# A notebook keeps the page in its file.
_MOST_BYTES = 4_000_000


def notebook_page(run: Run, title: str) -> str:
    """The frame, and a line about what there is no room for: the last sequences, or the
    last layers of the first.
    """
    documents = _documents(run)
    # Without queries and keys a page is smaller and shows the same weights.
    settings = {"title": title, "elements": False}
    shown = _fitting(documents, settings)
    page = page_of(shown, **settings).html()
    return (f"{_left_out(shown, documents)}<iframe style='width: 100%; height: 720px; "
            f"border: 0' srcdoc='{_quoted(page)}'></iframe>")


def _documents(run: Run) -> list[Document]:
    """Every kind of layers of the first sequence, then of the next."""
    groups = page_groups(run.layers)
    sequences = chosen_sequences(run.layers, run.tokens.queries, None)
    by_group = [documents_of(run if len(groups) == 1 else run._replace(variant=_kind(group)),
                             group, sequences) for group in groups]
    return [document for of_sequence in zip(*by_group) for document in of_sequence]


def _fitting(documents: list[Document], settings: dict[str, object]) -> list[Document]:
    page = None
    for count, document in enumerate(documents):
        page = with_document(page, document, **settings)
        size = len(page.html())
        if size > _MOST_BYTES and count == 0:
            layers = max(1, len(document.layers) * _MOST_BYTES // size)
            return [dataclasses.replace(document, layers=document.layers[:layers])]
        if size > _MOST_BYTES:
            return documents[:count]
    return documents


def _left_out(shown: list[Document], documents: list[Document]) -> str:
    layers = len(documents[0].layers)
    if len(shown[0].layers) < layers:
        what = f"the first {len(shown[0].layers)} of {layers} layers"
        what += "" if len(documents) == 1 else " of the first sequence"
    elif len(shown) < len(documents):
        of_each = len({document.settings["variant"] for document in documents})
        what = (f"{len(shown)} of {len(documents)} sequences" if of_each == 1 else
                f"{len(shown)} of {len(documents)} views, {of_each} of each sequence")
    else:
        return ""
    return (f"<p>To keep the notebook small, the page has {what}. "
            "<code>view(\"page.html\")</code> writes all.</p>")


def _kind(group: list[ObservedLayer]) -> str:
    """"decoder, layers 2, 4"."""
    first, numbers = group[0], [layer.number for layer in group]
    kind = "cross-attention" if first.largest.cross else next(
        (each for each in ("decoder", "encoder") if each in first.name), "self-attention")
    in_a_row = numbers == list(range(numbers[0], numbers[-1] + 1))
    which = (f"{numbers[0]} to {numbers[-1]}" if in_a_row and len(numbers) > 1
             else ", ".join(map(str, numbers)))
    return f"{kind}, layer{'s' if len(numbers) > 1 else ''} {which}"


def _quoted(page: str) -> str:
    """For an attribute in apostrophes: of all characters only these two need an escape."""
    return page.replace("&", "&amp;").replace("'", "&#x27;")
