"""The attention layers of a model and their numbers.

The number of a layer is the model's own (`layer_idx`) where every attention module
has one and no two have the same: the attention layers of Jamba are 1 and 3, if 0
and 2 are of another kind. Otherwise layer n is the n-th attention module in the
order of `model.named_modules()`. An encoder with a decoder has the layers of the
encoder first; then, for each layer of the decoder, its self-attention and its
cross-attention.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import nn
from transformers import PreTrainedModel


def attention_layers(model: nn.Module) -> dict[str, nn.Module]:
    """The attention modules of `model` by name, in the order of their numbers.

    A module that several layers share occurs once.
    """
    found = {name: module for name, module in model.named_modules()
             if hasattr(module, "is_causal") and "Attention" in type(module).__name__
             and not isinstance(module, PreTrainedModel)}
    return dict(sorted(found.items(), key=lambda item: getattr(item[1], "layer_idx"))
                ) if _own_numbers(found) else found


def layer_numbers(layers: dict[str, nn.Module]) -> list[int]:
    """The numbers of `attention_layers`, in their order."""
    return _own_numbers(layers) or list(range(len(layers)))


def _own_numbers(layers: dict[str, nn.Module]) -> list[int]:
    """Those of the model, ascending; none if they do not tell its layers apart."""
    numbers = [getattr(module, "layer_idx", None) for module in layers.values()]
    if any(type(number) is not int for number in numbers):
        return []
    return sorted(numbers) if len(set(numbers)) == len(numbers) else []


def layer_number(layers: dict[str, nn.Module], layer: int | str) -> int:
    """The number of a layer that was given by its number or its name.

    Raises ValueError if the model has no layer of that number or name.
    """
    numbers = layer_numbers(layers)
    if isinstance(layer, str):
        if layer not in layers:
            raise ValueError(f"the model has no attention layer {layer!r}; "
                             f"its layers are {', '.join(layers)}")
        return numbers[list(layers).index(layer)]
    if layer not in numbers:
        expected = (f"a number below {len(numbers)}, the number of attention layers"
                    if numbers[-1:] == [len(numbers) - 1] else f"one of {numbers}")
        raise ValueError(f"layer is {layer}, expected {expected}")
    return layer


def is_cross_attention(module: nn.Module) -> bool:
    """Whether queries and keys are of different sequences."""
    if "Cross" in type(module).__name__:
        return True
    return bool(getattr(module, "is_cross_attention", False)
                or (getattr(module, "is_decoder", False) and not module.is_causal))


class LayerUse(NamedTuple):
    """One layer of a forward pass. Of a module that `shared` layers share, `use`
    counts the calls; `pruned_as` is the module's number in `attention_layers`.
    """
    number: int
    name: str
    module: nn.Module
    pruned_as: int
    use: int = 0
    shared: int = 1


def layer_uses(model: nn.Module) -> list[LayerUse]:
    """The attention layers as a forward pass meets them.

    The layers of ALBERT share their modules and are numbered as they come.
    """
    layers = attention_layers(model)
    groups = getattr(model.config, "num_hidden_groups", None)
    if groups is None:
        return [LayerUse(number, name, module, number) for number, (name, module)
                in zip(layer_numbers(layers), layers.items())]
    inner = len(layers) // groups  # modules of a group run one after the other
    names = list(layers)
    count = model.config.num_hidden_layers
    called = [name for layer in range(count) for first in [layer * groups // count * inner]
              for name in names[first:first + inner]]
    return [LayerUse(number, name, layers[name], names.index(name),
                     called[:number].count(name), called.count(name))
            for number, name in enumerate(called)]


def layer_kind(use: LayerUse, uses: list[LayerUse]) -> str:
    """"cross", "decoder" or "encoder". In a model without cross-attention, layers that
    are causal are a decoder's.
    """
    if is_cross_attention(use.module):
        return "cross"
    crosses = [each for each in uses if is_cross_attention(each.module)]
    if crosses:
        decoder = any(self_attention_of(each, uses) == use for each in crosses)
    else:
        decoder = use.module.is_causal
    return "decoder" if decoder else "encoder"


def self_attention_of(cross: LayerUse, uses: list[LayerUse]) -> LayerUse:
    """The self-attention in the decoder layer of a cross-attention."""
    return uses[uses.index(cross) - 1]
