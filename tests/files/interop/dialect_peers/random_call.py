"""A random call for `headwise run --dialect` and for the library it is about."""
import pathlib
import random
import subprocess
import tempfile

import numpy as np


LOWEST = np.finfo(np.float32).min


class RandomCall:
    """Random tensors (B, H, L, D), and the masks that go with them."""

    def __init__(self, headwise, seed):
        self.headwise = headwise
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.B, self.H, self.D = (self.draw.randint(1, 3) for _ in range(3))
        self.Lq, self.Lkv = (self.draw.randint(1, 9) for _ in range(2))
        self.q = self.tensor(self.B, self.H, self.Lq, self.D)
        self.k = self.tensor(self.B, self.H, self.Lkv, self.D)
        self.v = self.tensor(self.B, self.H, self.Lkv, self.D)

    def tensor(self, *shape):
        return self.numbers.standard_normal(shape).astype(np.float32)

    def chance(self, p):
        return self.draw.random() < p

    def allowed(self, shape):
        """Bool, true = may attend; often closes the first row."""
        allowed = self.numbers.random(shape) < self.draw.choice((0.3, 0.8))
        if self.chance(0.5):
            allowed.reshape(-1, shape[-1])[0] = False
        return allowed

    def added(self, shape, closed=(-np.inf, -1e9, LOWEST)):
        """Float, with one of these numbers where a query may not attend."""
        return np.where(self.allowed(shape), self.tensor(*shape),
                        np.float32(self.draw.choice(closed)))

    def run(self, dialect, *opts, weights=False, causal=False, **arrays):
        """The output (B, H, Lq, D), and the weights if they are asked for."""
        with tempfile.TemporaryDirectory(prefix="headwise-dialects-") as name:
            folder = pathlib.Path(name)
            line = [self.headwise, "run", "--dialect", dialect, "--layout",
                    "bhld", "--out", "o.npy", *opts]
            line += ["--causal"] * causal
            line += ["--attn-weights", "w.npy"] * weights
            line += ["--present-dir", "present"] * ("past_key" in arrays)
            arrays |= {"query": self.q, "key": self.k, "value": self.v}
            for option, array in arrays.items():
                if array is not None:
                    np.save(folder / f"{option}.npy", array)
                    line += ["--" + option.replace("_", "-"), f"{option}.npy"]
            subprocess.run(line, cwd=folder, check=True)
            output = np.load(folder / "o.npy")
            return (output, np.load(folder / "w.npy")) if weights else output


def blhd(tensor):
    """(B, H, L, D) as (B, L, H, D), and back."""
    return tensor.swapaxes(1, 2)


def assert_same(what, got, want, tolerance=1e-5):
    """Where the library is finite, and NaN where it is NaN."""
    want = np.asarray(want)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    close = np.isclose(got, want, rtol=tolerance, atol=tolerance,
                       equal_nan=True)
    assert close.all(), (what, got[~close], want[~close])
