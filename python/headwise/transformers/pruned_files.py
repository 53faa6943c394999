"""Reads a model whose heads were pruned."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from safetensors import safe_open
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel

from headwise.transformers.attention_layers import attention_layers
from headwise.transformers.pruned_record import (forget_pruned_heads, layers_of_record,
                                                  pruned_heads, record_kept_heads)
from headwise.transformers.pruning import prune_heads


def from_pretrained(model_class: Any, folder: str | os.PathLike[str],
                    **options: Any) -> PreTrainedModel:
    """`model_class.from_pretrained(folder, **options)` for a model that
    `prune_heads` changed, or `headwise prune`; a model that was not pruned is read as
    well.

    `model_class` is the class of a model or an AutoModel class. Raises ValueError
    if the class has another number of attention layers than the model that was
    saved, and what `from_pretrained` raises.

        model = from_pretrained(AutoModelForCausalLM, "pruned")
    """
    config = options.pop("config", None)
    if config is None:
        config = AutoConfig.from_pretrained(folder)
    if not pruned_heads(config):
        record_kept_heads(config, _kept_heads(folder))
    if not pruned_heads(config):
        return model_class.from_pretrained(folder, config=config, **options)
    named = _class_of(model_class, config)
    model = _pruned_class(named).from_pretrained(folder, config=config, **options)
    model.__class__ = named
    return model


def _kept_heads(folder: str | os.PathLike[str]) -> list[list[int]]:
    """Of each layer, as `headwise prune` writes them into the metadata of the file;
    empty for a folder without."""
    file = pathlib.Path(folder) / "model.safetensors"
    if not file.is_file():
        return []
    with safe_open(file, "np") as tensors:
        return json.loads((tensors.metadata() or {}).get("kept_heads", "[]"))


def _class_of(model_class: Any, config: PretrainedConfig) -> type[PreTrainedModel]:
    if issubclass(model_class, PreTrainedModel):
        return model_class
    if type(config) not in model_class._model_mapping:
        raise ValueError(f"{model_class.__name__} has no model for "
                         f"{type(config).__name__}")
    classes = model_class._model_mapping[type(config)]
    return classes[0] if isinstance(classes, (list, tuple)) else classes


def _pruned_class(named: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The class with smaller parameters from its construction on, so that the
    files of a pruned model fit them.
    """

    def __init__(self: PreTrainedModel, config: PretrainedConfig, *args: Any,
                 **kwargs: Any) -> None:
        named.__init__(self, config, *args, **kwargs)
        heads, layers = pruned_heads(config), layers_of_record(config)
        if layers != len(attention_layers(self)):
            raise ValueError(
                f"{named.__name__} has {len(attention_layers(self))} attention layers; "
                f"the pruned model had {layers}")
        forget_pruned_heads(self.config)
        prune_heads(self, heads, constant="dropped")

    return type(named.__name__, (named,),
                {"__init__": __init__, "__module__": named.__module__})
