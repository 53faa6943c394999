"""Interventions in plain torch on an eager model: hooks on the inputs of the output
projections, and attention weights edited by hand.
"""
import collections
import contextlib
import sys
from unittest import mock

import torch
from headwise.transformers.attention_layers import layer_uses
from small_models import small_model

OUTPUT = {"BertSelfAttention": "../output.dense", "GPT2Attention": "c_proj",
          "ModernBertAttention": "Wo", "AlbertAttention": "dense", "T5Attention": "o",
          "BartAttention": "out_proj"}


class PlainModel:
    """An eager model. `z[layer]` changes (z (B, L, H, D), first query) in place;
    `weights[layer]` (weights (B, H, Lq, Lkv), first query, first key), and `cut[layer]` a
    mask of the same shape that is added to the scores.
    """

    def __init__(self, name):
        self.model = small_model(name)
        self.model.set_attn_implementation("eager")
        self.uses = layer_uses(self.model)  # ALBERT's are calls of one module
        self.modules = [use.module for use in self.uses]
        self.z, self.weights, self.cut, self.seen = {}, {}, {}, {}

    def projection(self, layer):
        name, module = self.uses[layer].name, self.modules[layer]
        path = OUTPUT.get(type(module).__name__, "o_proj")
        if path.startswith("../"):
            return self.model.get_submodule(name.rpartition(".")[0] + "." + path[3:])
        return module.get_submodule(path)

    def forward(self, **inputs):
        with self.changed():
            return self.model(**inputs)

    @contextlib.contextmanager
    def changed(self):
        """Inside, the model runs with the changes, from position 0 on."""
        first, patches, hooks = [0] * len(self.modules), [], []
        self.calls = collections.Counter()
        for file in {type(each).__module__ for each in self.modules}:
            eager = sys.modules[file].eager_attention_forward
            patches.append(mock.patch.object(
                sys.modules[file], "eager_attention_forward",
                lambda *tensors, eager=eager, **options: self._attend(
                    eager, first, *tensors, **options)))
        for projection in {self.projection(layer) for layer in range(len(self.modules))}:
            hooks.append(projection.register_forward_pre_hook(
                lambda _, inputs: self._project(self.layer, first, *inputs)))
        with contextlib.ExitStack() as stack:
            for each in patches:
                stack.enter_context(each)
            for each in hooks:
                stack.callback(each.remove)
            yield

    def _attend(self, eager, first, module, query, key, value, mask, **options):
        layers = [n for n, each in enumerate(self.modules) if each is module]
        layer = self.layer = layers[self.calls[module] % len(layers)]
        self.calls[module] += 1
        first_query, first_key = first[layer], first[layer] + query.shape[2] - key.shape[2]
        if "enc" in self.uses[layer].name.lower().rpartition("layer")[2]:
            first_key = 0  # cross-attention
        if layer in self.cut:
            cut = torch.zeros(*query.shape[:3], key.shape[2])
            self.cut[layer](cut, first_query, first_key)
            mask = cut if mask is None else cut + mask
        output, weights = eager(module, query, key, value, mask, **options)
        self.seen[layer] = (query, key, value, weights)
        if layer in self.weights:
            weights = weights.clone()
            self.weights[layer](weights, first_query, first_key)
            repeated = value.repeat_interleave(weights.shape[1] // value.shape[1], 1)
            output = (weights @ repeated).transpose(1, 2)
        self.heads = query.shape[1]
        return output, weights

    def _project(self, layer, first, merged):
        z = merged.unflatten(-1, (self.heads, -1)).clone()
        self.seen[layer] += (z,)
        if layer in self.z:
            self.z[layer](z, first[layer])
        first[layer] += z.shape[1]
        return (z.flatten(-2),)
