"""How far apart two computations of a model are."""
import numpy as np


def parts(outputs):
    """{name: array} of what a reader of a model can see."""
    named = {} if outputs.logits is None else {"logits": outputs.logits}
    named |= {f"hidden {n}": each for n, each in enumerate(outputs.hidden)}
    for name in ("attn_weights", "cross_weights"):
        for n, layer in enumerate(getattr(outputs, name)):
            named |= {f"{name} {n} {at}": each for at, each in enumerate(layer)}
    if outputs.encoder:
        named |= {f"encoder {name}": each
                  for name, each in parts(outputs.encoder).items()}
    return named


def difference(reference, other):
    """The largest difference of two arrays, relative to the largest absolute value."""
    if reference.shape != other.shape or not np.isfinite(other).all():
        return np.inf
    return np.abs(reference - other).max() / np.abs(reference).max()


def largest_difference(expected, found):
    """That of all expected parts, and the part."""
    return max((difference(values, found[name]), name)
               for name, values in expected.items())
