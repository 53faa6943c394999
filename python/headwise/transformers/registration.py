"""Makes attn_implementation="headwise" known to transformers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headwise.transformers.interface import headwise_attention
from headwise.transformers.mask_rules import mask_for_headwise

NAME = "headwise"


def register() -> None:
    """Makes attn_implementation="headwise" known to transformers.

        headwise.transformers.register()
        model = AutoModel.from_pretrained(..., attn_implementation="headwise")
        model.set_attn_implementation("headwise")

    For every model that goes through transformers' attention interface; another
    model is a NotImplementedError that names it. Call it once per process; again
    does nothing.
    """
    if NAME in ALL_ATTENTION_FUNCTIONS.valid_keys():
        return
    AttentionInterface.register(NAME, headwise_attention)
    AttentionMaskInterface.register(NAME, mask_for_headwise)
    # transformers itself accepts the name for any model, and one that computes
    # its attention itself would then get masks that it does not understand.
    _refuse_first("get_correct_attn_implementation")
    _refuse_first("set_attn_implementation")


@contextlib.contextmanager
def attention_by_headwise(model: PreTrainedModel) -> Iterator[None]:
    """Inside, headwise computes the attention of `model`.

    Raises NotImplementedError for a model that computes its attention itself, and at the
    end RuntimeError if another implementation was set inside.
    """
    register()
    check_interface(model)
    configs = {id(module.config): module.config for module in model.modules()
               if isinstance(module, PreTrainedModel)}
    before = [(config, config._attn_implementation) for config in configs.values()]
    model.set_attn_implementation(NAME)
    try:
        yield
        if any(config._attn_implementation != NAME for config in configs.values()):
            raise RuntimeError("another attention implementation was set inside the block, "
                               "or an outer block ended before an inner one: headwise did "
                               "not compute the attention to its end")
    finally:
        for config, name in before:
            config._attn_implementation = name


def check_interface(model: PreTrainedModel) -> None:
    """Raises NotImplementedError for a model that computes its attention itself."""
    if not model._can_set_attn_implementation():
        raise NotImplementedError(
            f"{type(model).__name__} does not go through the attention interface of "
            "transformers, so headwise cannot compute its attention. Its heads can be seen: "
            "headwise.view(path, outputs.attentions, tokens), with the outputs of "
            "model(..., output_attentions=True)")


def _refuse_first(method: str) -> None:
    original = getattr(PreTrainedModel, method)

    @functools.wraps(original)
    def checked(self: PreTrainedModel, requested: Any, *args: Any, **kwargs: Any) -> Any:
        if requested == NAME:
            check_interface(self)
        return original(self, requested, *args, **kwargs)

    setattr(PreTrainedModel, method, checked)
