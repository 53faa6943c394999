"""Tokens as text to read."""

from __future__ import annotations

from typing import Any

import torch


def token_labels(tokenizer: Any, ids: torch.Tensor | list[int]) -> list[str]:
    """One label per id of a sequence, (L).

    The tokens of byte-level BPE are decoded: "Ġworkers" is " workers". Bytes that are
    only a part of a character are written as "\\xea\\xb0". "▁" of SentencePiece and "##"
    of WordPiece stay.
    """
    numbers = [int(each) for each in ids]
    tokens = tokenizer.convert_ids_to_tokens(numbers)
    if not _is_byte_level(tokenizer):
        return list(tokens)
    whole = tokenizer.get_added_vocab()  # these are not spelled in bytes
    return [token if token in whole else _decoded(token) for token in tokens]


def positions_of(wanted: list[int], ids: torch.Tensor | list[int]) -> list[int]:
    """The positions of ids such as that of [CLS], ascending."""
    return [at for at, each in enumerate(ids) if int(each) in wanted]


def _is_byte_level(tokenizer: Any) -> bool:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return "ByteLevel(" in repr(getattr(backend, "decoder", None))


def _alphabet() -> dict[str, int]:
    """The byte of each character of byte-level BPE: printable bytes are themselves, the
    others follow from U+0100 on.
    """
    printable = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(byte): byte for byte in printable},
            **{chr(0x100 + n): byte for n, byte in enumerate(others)}}


_BYTES = _alphabet()


def _decoded(token: str) -> str:
    if any(character not in _BYTES for character in token):
        return token
    return bytes(_BYTES[character] for character in token).decode("utf-8", "backslashreplace")
