"""Norms of a layer's queries and keys in `headwise run` and `explain`."""
import math

import cli_case
from cli_case import BAD_INPUT, USAGE, CliTest, read_npy

B, H, L, D = 2, 2, 4, 3
E = H * D


def normed(rows, weight, bias, *, kind, size, eps=1e-6, plus_one=False):
    """Every `size` features of each row, by the formula."""
    result = []
    for row in rows:
        out = []
        for first in range(0, len(row), size):
            x = row[first:first + size]
            mean = sum(x) / size if kind == "layer" else 0
            rate = 1 / math.sqrt(sum((v - mean) ** 2 for v in x) / size + eps)
            own = first if len(weight) == len(row) and size != len(row) else 0
            out += [(v - mean) * rate * (weight[own + n] + plus_one) +
                    (bias[own + n] if bias else 0) for n, v in enumerate(x)]
        result.append(out)
    return result


class QkNormCase(CliTest):
    def setUp(self):
        super().setUp()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", E, E)
        self.put("x.npy", B, L, E)
        self.call = ("run", "--query", "x.npy", "--key", "x.npy", "--value",
                     "x.npy", "--params", "layer", "--num-heads", str(H))

    def norms(self, count, bias=False):
        for name in ("q_norm", "k_norm"):
            for of in ("weight", "bias") if bias else ("weight",):
                self.put(f"layer/{name}.{of}.npy", count,
                         values=[0.5 + (n * 7 + len(of)) % 5 / 4
                                 for n in range(count)])

    def param(self, name):
        path = self.folder / f"layer/{name}.npy"
        return list(read_npy(path)[1]) if path.exists() else []

    def projected(self, name):
        _, x = read_npy(self.folder / "x.npy")
        weight = self.param(f"{name}.weight")
        return [[sum(x[n * E + i] * weight[o * E + i] for i in range(E))
                 for o in range(E)] for n in range(B * L)]

    def expect(self, name, **norm):
        """The output against the operation on heads that were normalised by
        the formula."""
        sides = {}
        for side in ("q", "k"):
            rows = normed(self.projected(f"w_{side}"),
                          self.param(f"{side}_norm.weight"),
                          self.param(f"{side}_norm.bias"), **norm)
            sides[side] = [row[h * D + d] for row in rows for h in range(H)
                           for d in range(D)]
        sides["v"] = [v for row in self.projected("w_v") for v in row]
        for side, values in sides.items():
            self.put(f"h{side}.npy", B, L, H, D, values=values)
        self.succeed("run", "--query", "hq.npy", "--key", "hk.npy", "--value",
                     "hv.npy", "--layout", "blhd", "--out", "context.npy")
        _, context = read_npy(self.folder / "context.npy")
        w_o = self.param("w_o.weight")
        _, got = read_npy(self.folder / name)
        for n in range(B * L):
            for o in range(E):
                want = sum(context[n * E + i] * w_o[o * E + i]
                           for i in range(E))
                self.assertAlmostEqual(got[n * E + o], want, delta=1e-5)


class RunTest(QkNormCase):
    def test_the_layer_normalises_queries_and_keys(self):
        for count, words, norm in (
                (D, ("rms",), {"kind": "rms", "size": D}),
                (D, ("rms", "--qk-norm-plus-one"),
                 {"kind": "rms", "size": D, "plus_one": True}),
                (E, ("rms", "--qk-norm-over", "projection"),
                 {"kind": "rms", "size": E}),
                (E, ("layer", "--qk-norm-over", "each-head", "--qk-norm-eps",
                     "0.5"), {"kind": "layer", "size": D, "eps": 0.5})):
            with self.subTest(words):
                self.norms(count, bias=words[0] == "layer")
                self.succeed(*self.call, "--qk-norm", *words, "--out", "o.npy")
                self.expect("o.npy", **norm)

    def test_gradients_have_their_names(self):
        self.norms(D, bias=True)
        self.put("d.npy", B, L, E)
        self.succeed(*self.call, "--qk-norm", "layer", "--out", "o.npy",
                     "--d-output", "d.npy", "--grad-dir", "g")
        for name in ("q_norm.weight", "q_norm.bias", "k_norm.weight",
                     "k_norm.bias"):
            self.assertEqual(read_npy(self.folder / f"g/d_{name}.npy")[0],
                             (D,))

    def test_what_is_wrong_is_named(self):
        out = ("--out", "o.npy")
        self.fail_with(BAD_INPUT, "layer has no q_norm.weight", *self.call,
                       "--qk-norm", "rms", *out)
        self.norms(D)
        for code, message, words in (
                (USAGE, "--params layer needs --qk-norm rms or --qk-norm layer",
                 ()),
                (USAGE, "--qk-norm-eps needs --qk-norm",
                 ("--qk-norm-eps", "0.1")),
                (USAGE, "--qk-norm", ("--qk-norm", "batch")),
                (USAGE, "--qk-norm-eps", ("--qk-norm", "rms",
                                          "--qk-norm-eps", "0")),
                (BAD_INPUT, "q_norm.weight has shape (3), expected (num_heads * "
                 "head_dim) = (6)", ("--qk-norm", "rms", "--qk-norm-over",
                                     "projection"))):
            self.fail_with(code, message, *self.call, *words, *out)
        self.norms(D, bias=True)
        self.fail_with(BAD_INPUT, "qk_norm.bias", *self.call, "--qk-norm",
                       "rms", *out)
        (self.folder / "layer/k_norm.weight.npy").unlink()
        self.fail_with(BAD_INPUT, "has q_norm.weight and no k_norm.weight",
                       *self.call, "--qk-norm", "layer", *out)
        self.put("q.npy", B, H, L, D)
        self.fail_with(USAGE, "--qk-norm needs --params", "run", "--query",
                       "q.npy", "--key", "q.npy", "--value", "q.npy",
                       "--qk-norm", "rms", *out)


class ExplainTest(CliTest):
    def test_the_norm_is_a_step_before_the_rotation(self):
        small = ("explain", "--embed-dim", "16", "--num-heads", "2")
        with_norm = (*small, "--qk-norm", "rms")
        shown = self.succeed(*with_norm, "--rotary-base", "10000")
        self.assertIn("q_normed[b,h,i,:] = x / sqrt(mean(x^2) + eps) * "
                      "q_norm.weight, x = q_heads[b,h,i,:]", shown)
        self.assertIn("k_rotated[b,h,j,:] = rotate(k_normed[b,h,j,:])", shown)
        self.assertIn("sum_d q_normed[b,h,i,d] * k_normed[b,h,j,d]",
                      self.succeed(*with_norm))
        self.assertIn("k_normed", self.succeed(*with_norm, "--shapes-only"))
        self.assertIn("정규화", self.succeed(*with_norm, "--lang", "ko"))
        self.assertIn("(x - mean(x)) / sqrt(var(x) + eps) * (1 + "
                      "k_norm.weight[h,:])", self.succeed(
                          *small, "--qk-norm", "layer", "--qk-norm-over",
                          "each-head", "--qk-norm-plus-one"))
        self.assertNotIn("normed", self.succeed(*small))


if __name__ == "__main__":
    cli_case.main()
