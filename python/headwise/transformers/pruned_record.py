"""What was pruned, in the config of a model, which is saved as JSON:

    "headwise_pruned_heads": {"layers": 12, "heads": {"0": [1, 3], "5": [0]}}
"""

from __future__ import annotations

from collections.abc import Mapping

from transformers import PretrainedConfig, PreTrainedModel

from headwise.transformers.attention_layers import LayerUse, attention_layers, layer_uses

_KEY = "headwise_pruned_heads"


def pruned_heads(config: PretrainedConfig) -> dict[int, list[int]]:
    """The heads that were removed, by the number of the layer."""
    record = getattr(config, _KEY, None) or {"heads": {}}
    return {int(layer): list(heads) for layer, heads in record["heads"].items()}


def gone_heads(config: PretrainedConfig, use: LayerUse) -> list[int]:
    """The heads that a layer lost."""
    return pruned_heads(config).get(use.pruned_as, [])


def head_numbers(config: PretrainedConfig, layer: int, count: int) -> list[int]:
    """The numbers of the `count` heads that a layer has, from before any pruning."""
    gone = pruned_heads(config).get(layer, [])
    return [head for head in range(count + len(gone)) if head not in gone]


def head_numbers_by_layer(model: PreTrainedModel,
                          counts: Mapping[int, int]) -> dict[int, list[int]]:
    """`head_numbers` by the number of the layer; `counts` has how many heads each has."""
    return {use.number: head_numbers(model.config, use.pruned_as, counts[use.number])
            for use in layer_uses(model) if use.number in counts}


def layers_of_record(config: PretrainedConfig) -> int | None:
    """The number of attention layers that the model with the record had."""
    record = getattr(config, _KEY, None)
    return None if record is None else record["layers"]


def record_pruned_heads(model: PreTrainedModel,
                        heads: Mapping[int, list[int]]) -> None:
    """Adds to what the model's config records."""
    all_heads = pruned_heads(model.config)
    for layer, numbers in heads.items():
        all_heads[layer] = sorted({*all_heads.get(layer, []), *numbers})
    setattr(model.config, _KEY, {
        "layers": len(attention_layers(model)),
        "heads": {str(layer): all_heads[layer] for layer in sorted(all_heads)}})


def record_kept_heads(config: PretrainedConfig, kept: list[list[int]]) -> None:
    """Records in config which heads each layer keeps; an empty list records nothing."""
    if kept:
        gone = {str(layer): sorted({*range(config.num_attention_heads)} - {*heads})
                for layer, heads in enumerate(kept)}
        setattr(config, _KEY, {"layers": len(kept), "heads": {
            layer: heads for layer, heads in gone.items() if heads}})


def forget_pruned_heads(config: PretrainedConfig) -> None:
    """Removes the record."""
    if hasattr(config, _KEY):
        delattr(config, _KEY)
