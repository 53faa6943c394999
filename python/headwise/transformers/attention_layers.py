"""The attention layers of a model and their numbers.

Layer n is the n-th attention module in the order of `model.named_modules()`. In
a model with one stack this is the number of the layer. An encoder with a decoder
has the layers of the encoder first; then, for each layer of the decoder, its
self-attention and its cross-attention.
"""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedModel


def attention_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The attention modules of `model` by name, in the order of their numbers.

    A module that several layers share occurs once.
    """
    return {name: module for name, module in model.named_modules()
            if hasattr(module, "is_causal") and "Attention" in type(module).__name__
            and not isinstance(module, PreTrainedModel)}


def layer_number(layers: dict[str, nn.Module], layer: int | str) -> int:
    """The number of a layer that was given by its number or its name.

    Raises ValueError if the model has no layer of that number or name.
    """
    names = list(layers)
    if isinstance(layer, str):
        if layer not in layers:
            raise ValueError(f"the model has no attention layer {layer!r}; "
                             f"its layers are {', '.join(names)}")
        return names.index(layer)
    if not 0 <= layer < len(names):
        raise ValueError(f"layer is {layer}, expected a number below "
                         f"{len(names)}, the number of attention layers")
    return layer
