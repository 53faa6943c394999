"""What a model folder computes, in float64: config.json and safetensors alone, each
sequence alone, NumPy alone."""
import dataclasses
import json
import pathlib

import numpy as np

from families import describe
from tensors import Tensors


@dataclasses.dataclass
class Outputs:
    """Rows are the tokens of all sequences, one after another."""
    logits: np.ndarray | None  # (rows, V)
    hidden: np.ndarray  # (layers + 1, rows, E), the last after the final norm
    attn_weights: list  # for each layer, for each sequence: (H, L, L)
    cross_weights: list  # those of a decoder with the encoder's tokens
    encoder: "Outputs | None" = None


def files(folder):
    """config.json and the tensors"""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text("utf-8"))
    return config, Tensors.read(folder)


def read(folder):
    return describe(*files(folder))


def outputs(stack, head, sequences, encoded):
    runs = [stack(np.asarray(ids), states) for ids, states in zip(sequences, encoded)]
    hidden = np.concatenate([states for states, _ in runs], 1)
    return Outputs(
        head(hidden[-1]) if head else None, hidden,
        [list(layer) for layer in zip(*(seen.attn_weights for _, seen in runs))],
        [list(layer) for layer in zip(*(seen.cross_weights for _, seen in runs))])


def compute(model, sequences, decoder_sequences=None):
    nothing = [None] * len(sequences)
    if not model.encoder:
        return outputs(model.stack, model.head, sequences, nothing)
    encoder = outputs(model.encoder, None, sequences, nothing)
    ends = np.cumsum([len(ids) for ids in sequences])[:-1]
    decoder = outputs(model.stack, model.head, decoder_sequences,
                      np.split(encoder.hidden[-1], ends))
    return dataclasses.replace(decoder, encoder=encoder)


def run(folder, sequences, decoder_sequences=None):
    return compute(read(folder), sequences, decoder_sequences)
