"""Safetensors files as mappings of names to arrays."""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator, Mapping

from headwise import _core

if typing.TYPE_CHECKING:
    from numpy.typing import NDArray

    from headwise._types import FileAccess

__all__ = ["SafetensorsFile", "read_safetensors"]


class SafetensorsFile(Mapping[str, "NDArray[typing.Any]"]):
    """The tensors of a file by name, in the order of their names.

    file[name]      a read-only NumPy array; bfloat16 through ml_dtypes
    file.metadata   dict of str to str
    file.path       as it was given

    An array looks at the file's bytes, where they are aligned to its elements;
    otherwise it is a copy. It keeps the bytes, even after this object is gone.
    """

    def __init__(
        self, path: str | bytes | os.PathLike[str], access: FileAccess = "mapped"
    ) -> None:
        self._file = _core.open_safetensors(path, access)
        self._names = dict.fromkeys(self._file.names)
        self.path = path
        self.metadata: dict[str, str] = self._file.metadata

    def __getitem__(self, name: str) -> NDArray[typing.Any]:
        return self._file.array(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<SafetensorsFile {os.fspath(self.path)!r}: {len(self)} tensors>"


def read_safetensors(
    path: str | bytes | os.PathLike[str], *, access: FileAccess = "mapped"
) -> SafetensorsFile:
    """Opens a safetensors file, after all of its header was checked.

    access   "mapped": bytes are loaded when they are used; if another program
             writes to the file, the arrays change, and if it gets shorter, the
             process ends (SIGBUS). "read": the whole file is read into memory

    >>> layer = headwise.MultiHeadAttention.create(embed_dim=16, num_heads=2)
    >>> layer.save("layer.safetensors")
    >>> file = headwise.read_safetensors("layer.safetensors")
    >>> file["w_q.weight"].shape, file.metadata["num_heads"]
    ((16, 16), '2')

    Element types: F64 F32 F16 BF16, I8 to I64, U8 to U64, BOOL.

    Errors: OSError; ValueError for a file with wrong content;
    NotImplementedError for other element types; MemoryError. Of file[name]:
    KeyError; ImportError for bfloat16 without ml_dtypes.
    """
    return SafetensorsFile(path, access)
