"""Adds flax to the d2l cases (d2l.py): generate.py torch ROOT."""
import math

import flax
import jax
import numpy as np
from flax import linen as nn
from jax import numpy as jnp

from d2l import FILL, LAYERS, NUM_HEADS, add_framework


class Layer(nn.Module):
    hidden: int
    bias: bool

    @nn.compact
    def __call__(self, queries, keys, values, lengths):
        def project(x, name):
            return nn.Dense(self.hidden, use_bias=self.bias, name=name)(x)

        def split(x):
            return x.reshape(*x.shape[:2], NUM_HEADS, -1).swapaxes(1, 2)
        q, k, v = (split(project(x, name)) for x, name in zip((queries, keys, values), LAYERS))
        scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
        if lengths is not None:
            valid = jnp.arange(scores.shape[-1]) < lengths.reshape(len(lengths), 1, -1, 1)
            scores = jnp.where(valid, scores, FILL)
        weights = nn.softmax(scores, axis=-1)
        context = (weights @ v).swapaxes(1, 2)
        return project(context.reshape(*context.shape[:2], -1), "W_o"), weights


def layer_of(config, case):
    weights = config.weights()
    params = {}
    for name in LAYERS:
        params[name] = {"kernel": weights[f"{name}.weight"].T.copy()}
        if config.bias:
            params[name]["bias"] = weights[f"{name}.bias"]
    np.savez(case.native("jax", "jax_flax.npz"),
             **flax.traverse_util.flatten_dict({"params": params}, sep="/"))
    layer = Layer(config.hidden, config.bias)
    return lambda *inputs: layer.apply({"params": params}, *inputs)


def write_all(root):
    add_framework(root, "jax", {"jax": jax.__version__, "flax": flax.__version__}, layer_of)
