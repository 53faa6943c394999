"""Which attention modules are observed, and by whom."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn

from headwise.transformers.attention_call import AttentionCall


class Watcher(Protocol):
    """Computes the attention of one module in place of the interface."""

    def attend(self, call: AttentionCall, first_gone: torch.Tensor | None
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The output (B, Hq, Lq, Dv), and the weights if the call asks for them.
        `first_gone` as in Masked.
        """


_watchers: dict[int, Watcher] = {}  # by id of the module


def watcher_of(module: nn.Module) -> Watcher | None:
    return _watchers.get(id(module)) if _watchers else None


def watch(watchers: dict[nn.Module, Watcher]) -> None:
    """The caller keeps the modules until `unwatch`: their ids are the keys.

    Raises RuntimeError if one of the modules is watched.
    """
    if any(id(module) in _watchers for module in watchers):
        raise RuntimeError("the model is already observed")
    _watchers.update({id(module): watcher for module, watcher in watchers.items()})


def unwatch(modules: list[nn.Module]) -> None:
    for module in modules:
        del _watchers[id(module)]
