"""`headwise run --dialect` against the libraries themselves, on random calls.

    dialects_peer_test.py HEADWISE CASES

Masks of every rank that the library takes, rows without a key, Lq unlike Lkv.
Equal within 1e-5 where the library is finite, and NaN where it is NaN. Skipped
in a Python without PyTorch.
"""
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError:
    print("skipped: no PyTorch in this Python")
    sys.exit(77)

HEADWISE = sys.argv[1]
CASES = int(sys.argv[2])


class Call:
    """Random tensors (B, H, L, D), and the masks that go with them."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.B, self.H, self.D = (self.draw.randint(1, 3) for _ in range(3))
        self.Lq, self.Lkv = (self.draw.randint(1, 9) for _ in range(2))
        self.q = self.tensor(self.B, self.H, self.Lq, self.D)
        self.k = self.tensor(self.B, self.H, self.Lkv, self.D)
        self.v = self.tensor(self.B, self.H, self.Lkv, self.D)

    def tensor(self, *shape):
        return self.numbers.standard_normal(shape).astype(np.float32)

    def mask(self, shape, true_attends):
        """Bool, or float with -inf or large numbers; often closes a row."""
        allowed = self.numbers.random(shape) < self.draw.choice((0.3, 0.8))
        if self.draw.random() < 0.5:
            allowed.reshape(-1, shape[-1])[0] = False
        if self.draw.random() < 0.5:
            return allowed if true_attends else ~allowed
        closed = self.draw.choice((-np.inf, -1e9, np.finfo(np.float32).min))
        return np.where(allowed, self.tensor(*shape), np.float32(closed))

    def run(self, dialect, *opts, **arrays):
        with tempfile.TemporaryDirectory(prefix="headwise-dialects-") as name:
            folder = pathlib.Path(name)
            line = [HEADWISE, "run", "--dialect", dialect, "--out", "o.npy",
                    *opts]
            arrays |= {"query": self.q, "key": self.k, "value": self.v}
            for option, array in arrays.items():
                np.save(folder / f"{option}.npy", array)
                line += ["--" + option.replace("_", "-"), f"{option}.npy"]
            subprocess.run(line, cwd=folder, check=True)
            weights = folder / "w.npy"
            return (np.load(folder / "o.npy"),
                    np.load(weights) if weights.exists() else None)


def assert_same(what, got, want):
    want = want.detach().numpy()
    assert got.shape == want.shape, (what, got.shape, want.shape)
    close = np.isclose(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert close.all(), (what, got[~close], want[~close])


def check_sdpa(seed):
    call = Call(seed)
    shape = call.draw.choice((
        (call.Lq, call.Lkv), (1, call.Lkv),
        (call.H, call.Lq, call.Lkv), (1, call.Lq, call.Lkv),
        (call.B, 1, 1, call.Lkv), (call.B, call.H, call.Lq, call.Lkv)))
    opts, arrays, attn_mask, causal = [], {}, None, call.draw.random() < 0.2
    if causal:
        opts.append("--causal")
    else:
        arrays["mask"] = call.mask(shape, true_attends=True)
        attn_mask = torch.tensor(arrays["mask"])
    output, _ = call.run("torch-sdpa", *opts, **arrays)
    assert_same(f"sdpa {seed}", output,
                torch.nn.functional.scaled_dot_product_attention(
                    *map(torch.tensor, (call.q, call.k, call.v)),
                    attn_mask=attn_mask, is_causal=causal))


def check_mha(seed):
    """The layer with projections that change nothing, heads side by side."""
    call = Call(seed)
    E = call.H * call.D
    layer = torch.nn.MultiheadAttention(E, call.H, bias=False,
                                        batch_first=True)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(E).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(E))
    shape = call.draw.choice(((call.Lq, call.Lkv),
                              (call.B * call.H, call.Lq, call.Lkv)))
    arrays = {"mask": call.mask(shape, true_attends=False)}
    padding = None
    # PyTorch wants both masks of one type.
    if arrays["mask"].dtype == bool and call.draw.random() < 0.5:
        arrays["key_padding"] = call.numbers.random(
            (call.B, call.Lkv)) < 0.3
        padding = torch.tensor(arrays["key_padding"])
    weights = call.draw.random() < 0.5
    opts = ["--attn-weights", "w.npy"] if weights else []
    output, got = call.run("torch-mha", *opts, **arrays)
    joined = (torch.tensor(x).transpose(1, 2).flatten(2)
              for x in (call.q, call.k, call.v))
    want, mean = layer(*joined, key_padding_mask=padding,
                       attn_mask=torch.tensor(arrays["mask"]),
                       need_weights=weights)
    # Its output projection spreads a head's NaN over all of them: 0 * NaN.
    output[np.isnan(output).any(axis=(1, 3), keepdims=True).repeat(
        call.H, 1).repeat(call.D, 3)] = np.nan
    assert_same(f"mha {seed}", output,
                want.unflatten(2, (call.H, call.D)).transpose(1, 2))
    if weights:
        assert_same(f"mha weights {seed}", got, mean)


for n in range(CASES):
    check_sdpa(n)
    check_mha(n)
print(f"{CASES} calls of each")
