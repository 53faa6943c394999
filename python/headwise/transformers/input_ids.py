"""The token ids that a model and the models inside it are given."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel


class InputIds:
    """Those of the call with the most tokens, the last of equals."""

    def __init__(self) -> None:
        self._by_module: dict[str, torch.Tensor] = {}  # (B, L), by the module's name

    def of_queries(self, layer: str, count: int) -> torch.Tensor | None:
        """(B, count), of the innermost model around the layer with such ids."""
        around = [name for name in self._by_module
                  if name == "" or layer.startswith(name + ".")]
        return self._of(count, sorted(around, key=len, reverse=True))

    def of_encoder(self, count: int) -> torch.Tensor | None:
        """(B, count): the keys of cross-attention."""
        return self._of(count, [name for name in self._by_module
                                if name.split(".")[-1] == "encoder"])

    def _of(self, count: int, names: list[str]) -> torch.Tensor | None:
        return next((self._by_module[name] for name in names
                     if self._by_module[name].shape[1] == count), None)

    @contextlib.contextmanager
    def collected(self, model: nn.Module) -> Iterator[None]:
        """Inside, calls of the model are recorded."""
        hooks = [module.register_forward_pre_hook(self._hook(name, module), with_kwargs=True)
                 for name, module in model.named_modules()
                 if isinstance(module, PreTrainedModel)]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _hook(self, name: str, module: nn.Module) -> Any:
        parameters = list(inspect.signature(module.forward).parameters)

        @torch.compiler.disable
        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            ids = kwargs.get("input_ids")
            if ids is None and "input_ids" in parameters[:len(args)]:
                ids = args[parameters.index("input_ids")]
            before = self._by_module.get(name)
            if isinstance(ids, torch.Tensor) and ids.ndim == 2 and (
                    before is None or ids.shape[1] >= before.shape[1]):
                self._by_module[name] = ids.detach().clone()
        return hook
