"""Which attention modules are watched, and by whom."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.attention_layers import LayerUse


class Place(NamedTuple):
    """Where the queries and keys of a call stand in the model's input."""
    first_query: int | None = 0  # None: the mask does not say
    first_key: int = 0  # more than 0 once a cache with a window dropped keys
    first_gone: torch.Tensor | None = None  # as in Masked


class Attended(NamedTuple):
    """A call and what came of it."""
    call: AttentionCall
    place: Place
    z: torch.Tensor                # (B, Hq, Lq, Dv)
    weights: torch.Tensor | None   # (B, Hq, Lq, Lkv)


class Edit:
    """Changes what one layer's attention takes, or what it gives. This one changes
    nothing.
    """
    needs_weights = False  # whether `after` needs the attention weights

    def before(self, call: AttentionCall, place: Place) -> AttentionCall:
        return call

    def after(self, seen: Attended) -> Attended:
        return seen


class Observer:
    """Computes the attention of one layer, and may keep what it sees."""

    def attend(self, call: AttentionCall, place: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The output (B, Hq, Lq, Dv), and the weights if the call asks for them."""
        return call.run()

    def keep(self, seen: Attended) -> None:
        """Takes what the layer gave after all edits."""


class _Layer:
    """Who watches one use of a module."""

    def __init__(self) -> None:
        self.observer: Observer | None = None
        self.edits: list[Edit] = []

    def attend(self, call: AttentionCall, place: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        asked = call.attn_weights
        for edit in self.edits:
            call = edit.before(call, place)
        if asked == "none" and any(edit.needs_weights for edit in self.edits):
            call = call._replace(
                attn_weights="after_dropout" if call.dropout_p > 0 else "per_head")
        output, weights = (call.run() if self.observer is None
                           else self.observer.attend(call, place))
        seen = Attended(call, place, output, weights)
        # What follows from edited weights is a new z, so they come first.
        for edit in sorted(self.edits, key=lambda each: not each.needs_weights):
            seen = edit.after(seen)
        if self.observer is not None:
            self.observer.keep(seen._replace(weights=None) if seen.weights is weights
                               else seen)
        return seen.z, None if asked == "none" else seen.weights


class Watched:
    """Who watches a module, by its uses in a forward pass."""

    def __init__(self, shared: int) -> None:
        self._levels: list[dict[int, _Layer]] = [{}]
        self._shared, self._next = shared, 0

    def layer(self, use: int) -> _Layer:
        return self._levels[-1].setdefault(use, _Layer())

    def remove(self, use: int, edit: Edit) -> None:
        for level in self._levels:
            if use in level:
                level[use].edits = [each for each in level[use].edits if each is not edit]

    def hide(self) -> None:
        """Until `show`, nobody watches but who comes now."""
        self._levels.append({})

    def show(self) -> None:
        self._levels.pop()

    def start_pass(self) -> None:
        self._next = 0

    def is_unwatched(self) -> bool:
        return len(self._levels) == 1 and not any(
            layer.observer or layer.edits for layer in self._levels[0].values())

    @torch.compiler.disable(reason="observe() and intervene() see what heads do between "
                            "compiled parts: compile without fullgraph=True")
    def attend(self, call: AttentionCall, place: Place
               ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The output (B, Hq, Lq, Dv), and the weights if the call asks for them."""
        layer = self._levels[-1].get(self._next)
        self._next = (self._next + 1) % self._shared
        return call.run() if layer is None else layer.attend(call, place)


_watched: dict[int, Watched] = {}  # by id of the module


def watched(module: nn.Module) -> Watched | None:
    return _watched.get(id(module)) if _watched else None


@contextlib.contextmanager
def observed(observers: Mapping[LayerUse, Observer]) -> Iterator[None]:
    """Raises RuntimeError if one of the layers is observed."""
    layers = {use: _watch(use) for use in observers}
    if any(layer.observer is not None for layer in layers.values()):
        raise RuntimeError("the model is already observed")
    for use, layer in layers.items():
        layer.observer = observers[use]
    try:
        yield
    finally:
        for use, layer in layers.items():
            layer.observer = None
            _forget(use)


def add_edit(use: LayerUse, edit: Edit) -> None:
    """Edits apply in the order in which they were added, but those of weights before
    those of z. The caller keeps the module until `remove_edit`.
    """
    _watch(use).edits.append(edit)


def remove_edit(use: LayerUse, edit: Edit) -> None:
    if id(use.module) in _watched:
        _watched[id(use.module)].remove(use.use, edit)
        _forget(use)


@contextlib.contextmanager
def nothing_watched(uses: Iterable[LayerUse]) -> Iterator[None]:
    """Inside, nobody watches these layers: for passes of our own within a block of the
    user.
    """
    of_modules = {id(use.module): use for use in uses if id(use.module) in _watched}
    hidden = [(use, _watched[module]) for module, use in of_modules.items()]
    for _, known in hidden:
        known.hide()
    try:
        yield
    finally:
        for use, known in hidden:
            known.show()
            _forget(use)


@contextlib.contextmanager
def edited(edits: Mapping[LayerUse, Edit]) -> Iterator[None]:
    """Inside, the edits apply."""
    for use, edit in edits.items():
        add_edit(use, edit)
    try:
        yield
    finally:
        for use, edit in edits.items():
            remove_edit(use, edit)


def _watch(use: LayerUse) -> _Layer:
    return _watched.setdefault(id(use.module), Watched(use.shared)).layer(use.use)


def _forget(use: LayerUse) -> None:
    known = _watched.get(id(use.module))
    if known is not None and known.is_unwatched():
        del _watched[id(use.module)]


@contextlib.contextmanager
def passes_counted(model: nn.Module, uses: Iterable[LayerUse]) -> Iterator[None]:
    """Inside, every forward pass begins with the first use of a shared module."""
    shared = {id(use.module) for use in uses if use.shared > 1}

    def start(*_: object) -> None:
        for module in shared & _watched.keys():
            _watched[module].start_pass()

    hooks = [module.register_forward_pre_hook(start) for module in model.modules()
             if shared and isinstance(module, PreTrainedModel)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
