"""How far a long computation is, shown as a bar or told to a function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Union

# True: a bar; otherwise a function of (done, total).
Progress = Union[bool, Callable[[int, int], Any]]


class PassCount:
    """Counts forward passes, of which `expect` says how many there will be."""

    def __init__(self, report: Callable[[int, int], Any] | None):
        self._report, self._done, self._total = report, 0, 0

    def expect(self, total: int) -> None:
        self._total = total
        self._tell()

    def step(self) -> None:
        self._done += 1
        self._tell()

    def _tell(self) -> None:
        if self._report is not None and self._total:
            self._report(self._done, self._total)


@contextlib.contextmanager
def counted(progress: Progress, name: str) -> Iterator[PassCount]:
    """Raises TypeError for what is no progress."""
    if not isinstance(progress, bool):
        if not callable(progress):
            raise TypeError(f"progress is {progress!r}, expected True, False or a function "
                            "of (done, total)")
        yield PassCount(progress)
    elif not progress:
        yield PassCount(None)
    else:
        from tqdm.auto import tqdm
        with tqdm(desc=name, unit="pass") as bar:
            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)
            yield PassCount(show)
