"""Adds MXNet to the d2l cases (d2l.py): generate.py mxnet ROOT."""
import math

import mxnet
import numpy as np
from mxnet import npx
from mxnet.gluon import nn

from d2l import FILL, LAYERS, NUM_HEADS, add_framework


class Layer(nn.Block):
    def __init__(self, config):
        super().__init__()
        for name in LAYERS:
            setattr(self, name, nn.Dense(config.hidden, use_bias=config.bias, flatten=False))

    def forward(self, queries, keys, values, lengths):
        def split(x):
            """(B * heads, L, D): batch_dot() takes three axes."""
            x = x.reshape(*x.shape[:2], NUM_HEADS, -1).transpose(0, 2, 1, 3)
            return x.reshape(-1, *x.shape[2:])
        q, k, v = (split(project(x)) for project, x in (
            (self.W_q, queries), (self.W_k, keys), (self.W_v, values)))
        scores = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(q.shape[-1])
        _, Lq, Lk = scores.shape
        if lengths is not None:
            per_row = lengths.repeat(NUM_HEADS, axis=0).reshape(-1)
            if lengths.ndim == 1:
                per_row = per_row.repeat(Lq)
            scores = npx.sequence_mask(
                scores.reshape(-1, Lk), per_row, use_sequence_length=True,
                value=FILL, axis=1).reshape(-1, Lq, Lk)
        weights = npx.softmax(scores)
        context = npx.batch_dot(weights, v)
        context = context.reshape(-1, NUM_HEADS, *context.shape[1:])
        context = context.transpose(0, 2, 1, 3)
        return (self.W_o(context.reshape(*context.shape[:2], -1)),
                weights.reshape(-1, NUM_HEADS, Lq, Lk))


def layer_of(config, case):
    layer = Layer(config)
    layer.initialize()
    layer(*map(mxnet.np.array, config.inputs().values()), None)  # builds it
    weights = config.weights()
    parameters = {f"{name}.{part}": getattr(getattr(layer, name), part)
                  for name in LAYERS for part in ("weight", "bias")
                  if f"{name}.{part}" in weights}
    for name, parameter in parameters.items():
        parameter.set_data(mxnet.np.array(weights[name]))
    layer.save_parameters(str(case.native("mxnet_params", "mxnet.params")))
    if config.npz:
        np.savez(case.native("mxnet_npz", "mxnet.npz"), **weights)

    def call(queries, keys, values, lengths):
        arrays = (x if x is None else mxnet.np.array(x, dtype="float32")
                  for x in (queries, keys, values, lengths))
        return [x.asnumpy() for x in layer(*arrays)]
    return call


def write_all(root):
    npx.set_np()
    add_framework(root, "mxnet", {"mxnet": mxnet.__version__}, layer_of)
