"""Removes heads from the parameters of a model.

    w_q        loses the features of a head
    w_k, w_v   lose the features of a head of keys with its whole group
    w_o        loses the columns of a head

What stays keeps its bits. Heads have the numbers from before any pruning.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping

import torch
from torch import nn
from transformers import PreTrainedModel

from headwise.transformers.attention_layers import layer_number, layer_numbers
from headwise.transformers.head_layout import (HeadFeatures, features, layers_with_heads,
                                               weight_axis)
from headwise.transformers.own_heads import OwnHeads
from headwise.transformers.pruned_record import pruned_heads, record_pruned_heads


@dataclasses.dataclass
class _Removal:
    """What one layer loses, checked; positions are among the heads it has."""
    number: int
    features: HeadFeatures
    heads: list[int]      # numbers from before any pruning
    positions: list[int]
    staying: list[int]


def prune_heads(model: PreTrainedModel,
                heads: Mapping[int, Iterable[int]] | Mapping[str, Iterable[int]],
                constant: str = "into_bias") -> None:
    """Removes heads from `model`, in place.

    `heads` gives, for the number or the name of a layer (`attention_layers`),
    the heads that go. A layer keeps at least one head. Where several query heads
    read the same keys, whole groups go, or equally many heads of every group that
    stays.

    A query's attention weights sum to 1, so a head adds w_o b_v to every output,
    whatever it attends to. `constant` says what becomes of that: "into_bias"
    adds it to the bias of w_o, if there is one; "dropped" removes it with the
    head.

    The model's config records what was removed: `save_pretrained` writes it, and
    `headwise.transformers.from_pretrained` reads it. An optimizer that was made
    earlier holds the old parameters.

    Either all heads are removed or, after an error, none. Errors: ValueError for
    a layer or a head that does not exist or was removed before, part of a group,
    or all heads of a layer; NotImplementedError for a model whose layout is not
    known or does not allow it.

        prune_heads(model, {0: [1, 3], 5: [0]})
    """
    if constant not in ("into_bias", "dropped"):
        raise ValueError(f"constant is {constant!r}, expected 'into_bias' or 'dropped'")
    removals = _checked(model, heads)
    with torch.no_grad():
        for removal in removals:
            _remove(removal, constant == "into_bias")
    record_pruned_heads(model, {each.number: each.heads for each in removals})


def _checked(model: PreTrainedModel,
             heads: Mapping[int, Iterable[int]] | Mapping[str, Iterable[int]]
             ) -> list[_Removal]:
    layers = layers_with_heads(model)
    names = dict(zip(layer_numbers(layers), layers))
    gone = pruned_heads(model.config)
    wanted: dict[int, list[int]] = {}
    for layer, numbers in heads.items():
        wanted.setdefault(layer_number(layers, layer), []).extend(numbers)
    return [_removal(model, number, names[number], sorted(wanted[number]),
                     gone.get(number, []))
            for number in sorted(wanted) if wanted[number]]


def _removal(model: PreTrainedModel, number: int, name: str, heads: list[int],
             gone: list[int]) -> _Removal:
    found = HeadFeatures(model, name)
    if found.layout.keeps_heads:
        raise NotImplementedError(
            f"heads of {type(found.module).__name__} cannot be removed: "
            f"{found.layout.keeps_heads}; gates and head_importance serve it")
    total = found.query_heads + len(gone)
    present = [head for head in range(total) if head not in gone]
    for head in heads:
        if not 0 <= head < total:
            raise ValueError(f"head {head} of layer {number}: expected a number "
                             f"below {total}")
        if head in gone:
            raise ValueError(f"head {head} of layer {number} was removed before")
    if len(set(heads)) < len(heads):
        raise ValueError(f"layer {number}: a head is given twice in {heads}")
    if len(heads) == found.query_heads:
        raise ValueError(f"layer {number} would have no heads left; a layer keeps "
                         "at least one")
    if _shares_parameters(model, found):
        raise NotImplementedError(f"heads of layer {number} cannot be removed: another "
                                  "module has the same parameters")
    positions = [present.index(head) for head in heads]
    staying = [each for each in range(found.query_heads) if each not in positions]
    _check_groups(found, number, positions, staying, present)
    return _Removal(number, found, heads, positions, staying)


def _shares_parameters(model: PreTrainedModel, found: HeadFeatures) -> bool:
    own = [found.output, *found.inputs.values()]
    weights = {id(each.weight) for each in own}
    return any(id(parameter) in weights and module not in own
               for module in model.modules() for parameter in module._parameters.values())


def _check_groups(found: HeadFeatures, number: int, positions: list[int],
                  staying: list[int], present: list[int]) -> None:
    """Attention reads a head of keys with equally many query heads each."""
    size = found.group_size
    left = collections.Counter(position // size for position in staying)
    if len(set(left.values())) == 1:
        return
    position = next(each for each in positions if left[each // size])
    first = position - position % size
    raise ValueError(
        f"head {present[position]} of layer {number} reads the same keys as heads "
        f"{present[first:first + size]}: remove all of them or none, or equally many of "
        "every group that stays")


def _remove(removal: _Removal, into_bias: bool) -> None:
    found = removal.features
    if into_bias:
        _add_constant(found, removal.positions)
    key_heads = sorted({position // found.group_size for position in removal.staying})
    stay = {"q": removal.staying, "k": key_heads, "v": key_heads}
    kept = {path: torch.cat([found.of_input(path, letter, stay[letter])
                             for letter in letters]).sort().values
            for path, letters in found.layout.inputs.items()}
    for path, index in kept.items():
        _keep(found.inputs[path], "out", index)
    _keep(found.output, "in", found.of_output(removal.staying))
    for path, letter in found.layout.per_head.items():
        _keep_entries(found.module, path, stay[letter])
    _set_counts(found, len(removal.staying), len(key_heads))


def _add_constant(found: HeadFeatures, positions: list[int]) -> None:
    value_bias = found.value_bias(positions)
    output = found.output
    if value_bias is None or output.bias is None:
        return
    columns = output.weight.index_select(weight_axis(output, "in"),
                                         found.of_output(positions)
                                         .to(output.weight.device)).double()
    if weight_axis(output, "in") == 0:
        columns = columns.T
    _set(output, "bias", (output.bias.double() + columns @ value_bias.double())
         .to(output.bias.dtype))


def _keep(projection: nn.Module, side: str, index: torch.Tensor) -> None:
    index = index.to(projection.weight.device)
    axis = weight_axis(projection, side)
    _set(projection, "weight", projection.weight.index_select(axis, index))
    if side == "out" and projection.bias is not None:
        _set(projection, "bias", projection.bias[index])
    if isinstance(projection, nn.Linear):
        projection.in_features = features(projection, "in")
        projection.out_features = features(projection, "out")
    else:
        projection.nx = features(projection, "in")
        projection.nf = features(projection, "out")


def _keep_entries(module: nn.Module, path: str, heads: list[int]) -> None:
    """See HeadLayout.per_head."""
    owner, _, name = path.rpartition(".")
    try:
        owner = module.get_submodule(owner)
    except AttributeError:
        return
    entries = getattr(owner, name, None)
    if isinstance(entries, nn.ModuleList):
        setattr(owner, name, nn.ModuleList(entries[head] for head in heads))
    elif isinstance(entries, nn.Embedding):
        _set(entries, "weight", entries.weight[:, heads])
        entries.embedding_dim = len(heads)
    elif entries is not None:
        _set(owner, name, entries[heads])


def _set(projection: nn.Module, name: str, values: torch.Tensor) -> None:
    wants_gradient = getattr(projection, name).requires_grad
    setattr(projection, name,
            nn.Parameter(values.contiguous(), requires_grad=wants_gradient))


def _set_counts(found: HeadFeatures, query_heads: int, key_heads: int) -> None:
    module, layout = found.module, found.layout
    for attributes, value in ((layout.counts, query_heads), (layout.key_counts, key_heads),
                              (layout.widths, query_heads * found.value_size),
                              (("num_key_value_groups",), query_heads // key_heads)):
        for attribute in attributes:
            if hasattr(module, attribute):
                setattr(module, attribute, value)
    if layout.own_config:
        module.config = OwnHeads(module.config, query_heads, key_heads)
