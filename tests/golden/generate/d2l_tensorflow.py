"""Adds Keras with TensorFlow to the d2l cases (d2l.py): generate.py tf ROOT."""
import math

import keras
import numpy as np
import tensorflow as tf

from d2l import FILL, LAYERS, NUM_HEADS, add_framework


class MHA(keras.Model):
    def __init__(self, config):
        super().__init__()
        for name in LAYERS:
            setattr(self, name, keras.layers.Dense(config.hidden, use_bias=config.bias))

    def call(self, queries, keys, values, lengths=None):
        def split(x):
            return tf.transpose(tf.reshape(x, (*x.shape[:2], NUM_HEADS, -1)), (0, 2, 1, 3))
        q, k, v = (split(project(x)) for project, x in (
            (self.W_q, queries), (self.W_k, keys), (self.W_v, values)))
        scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(q.shape[-1])
        if lengths is not None:
            valid = tf.range(scores.shape[-1], dtype=tf.int64) < tf.reshape(
                lengths, (len(lengths), 1, -1, 1))
            scores = tf.where(valid, scores, FILL)
        weights = tf.nn.softmax(scores)
        context = tf.transpose(weights @ v, (0, 2, 1, 3))
        return self.W_o(tf.reshape(context, (*context.shape[:2], -1))), weights


def layer_of(config, case):
    weights = config.weights()
    layer = MHA(config)
    layer(*config.inputs().values())  # builds it
    for name in LAYERS:
        values = [weights[f"{name}.weight"].T]
        if config.bias:
            values.append(weights[f"{name}.bias"])
        getattr(layer, name).set_weights(values)
    layer.save_weights(case.native("keras_h5", "keras.weights.h5"))
    if config.npz:
        np.savez(case.native("keras_npz", "keras.npz"),
                 **{f"{name}/{variable.name}": np.asarray(variable)
                    for name in LAYERS
                    for variable in getattr(layer, name).weights})
    return layer


def write_all(root):
    add_framework(root, "tensorflow",
                  {"tensorflow": tf.__version__, "keras": keras.__version__},
                  layer_of)
