"""The threads of headwise.torch: torch's own.

A pool of threads waits for a while without sleeping after its work. Where two pools
take turns, as torch's and headwise's would in a model, each slows the other down.
"""

from __future__ import annotations

import functools
import pathlib

import torch

from headwise import _core

_LIBRARY = pathlib.Path(torch.__file__).with_name("lib") / "libtorch_cpu.so"


@functools.cache
def _executor(threads: int) -> _core.Executor:
    if threads > 1:
        pool = _core.openmp_executor(str(_LIBRARY), threads)
        if pool is not None:
            return pool
    return _core.Executor.with_threads(threads)


def executor() -> _core.Executor:
    """As many threads as torch.get_num_threads() says."""
    return _executor(torch.get_num_threads())
