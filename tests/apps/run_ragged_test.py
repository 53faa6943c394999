"""`headwise run --offsets`: sequences one after the other, without padding."""
import itertools
import math

import cli_case
from cli_case import BAD_INPUT, USAGE, npy_bytes, read_npy
from run_case import RunCase

OFFSETS = (0, 3, 3, 7)
QUERY_OFFSETS = (0, 1, 3, 5)
H, HKV, D, DV = 4, 2, 5, 7


class RaggedCase(RunCase):
    def setUp(self):
        super().setUp()
        self.put("offsets.npy", 4, descr="<i8", values=OFFSETS)
        self.put("query_offsets.npy", 4, descr="<i8", values=QUERY_OFFSETS)

    def ragged(self, *opts, q=(7, H, D), k=(7, HKV, D), v=(7, HKV, DV)):
        return self.inputs("--offsets", "offsets.npy", *opts, q=q, k=k, v=v)


class RaggedTest(RaggedCase):
    def attend(self, of_queries=OFFSETS, allowed=lambda b, i, j: True,
               term=lambda score, h, i, j: score):
        """(output, weights, lse) of ragged() by the formula."""
        q, k, v = (read_npy(self.folder / f"{name}.npy")[1] for name in "qkv")
        B = len(OFFSETS) - 1
        most_q = max(of_queries[b + 1] - of_queries[b] for b in range(B))
        most_k = max(OFFSETS[b + 1] - OFFSETS[b] for b in range(B))
        rows = of_queries[B]
        output = [0.0] * (rows * H * DV)
        weights = [0.0] * (B * H * most_q * most_k)
        lse = [-math.inf] * (H * rows)
        for b, h in itertools.product(range(B), range(H)):
            for i in range(of_queries[b + 1] - of_queries[b]):
                row, g = of_queries[b] + i, h // (H // HKV)
                exps = {}
                for j in range(OFFSETS[b + 1] - OFFSETS[b]):
                    if allowed(b, i, j):
                        key = ((OFFSETS[b] + j) * HKV + g) * D
                        score = D ** -0.5 * sum(
                            q[(row * H + h) * D + d] * k[key + d]
                            for d in range(D))
                        exps[j] = math.exp(term(score, h, i, j))
                if not exps:
                    continue
                lse[h * rows + row] = math.log(sum(exps.values()))
                for j, each in exps.items():
                    share = each / sum(exps.values())
                    weights[((b * H + h) * most_q + i) * most_k + j] = share
                    for d in range(DV):
                        output[(row * H + h) * DV + d] += share * v[
                            ((OFFSETS[b] + j) * HKV + g) * DV + d]
        return output, weights, lse

    def test_the_operation(self):
        files = ("--attn-weights", "a.npy", "--lse", "l.npy")
        self.put("lengths.npy", 3, descr="<i8", values=(2, 0, 3))
        self.put("lengths2.npy", 3, 4, descr="<i8",
                 values=(1, 2, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1))
        padding = [n % 3 != 0 for n in range(12)]
        self.put("padding.npy", 3, 4, descr="|b1", values=padding)
        self.put("starts.npy", 3, descr="<i8", values=(1, 0, 2))
        ids = (0, 0, 1, 1, 5, 5, 5, 5, 2, 3, 3, 4)
        self.put("ids.npy", 3, 4, descr="<i8", values=ids)
        for opts, allowed in (
                ((), lambda b, i, j: True),
                (("--causal",), lambda b, i, j: j <= i),
                (("--causal", "--query-start", "starts.npy"),
                 lambda b, i, j: j <= i + (1, 0, 2)[b]),
                (("--window", "1,0"), lambda b, i, j: 0 <= i - j <= 1),
                (("--key-lengths", "lengths.npy"),
                 lambda b, i, j: j < (2, 0, 3)[b]),
                (("--key-lengths", "lengths2.npy"),
                 lambda b, i, j: j < ((1, 2, 0), (), (4, 3, 2, 1))[b][i]),
                (("--key-starts", "starts.npy"),
                 lambda b, i, j: j >= (1, 0, 2)[b]),
                (("--key-padding", "padding.npy", "--causal"),
                 lambda b, i, j: padding[b * 4 + j] and j <= i),
                (("--mask", "padding.npy", "--mask-axes", "B,Lkv"),
                 lambda b, i, j: padding[b * 4 + j]),
                (("--documents", "ids.npy"),
                 lambda b, i, j: ids[b * 4 + i] == ids[b * 4 + j])):
            with self.subTest(opts):
                self.assertIn("query: rows=7 ",
                              self.succeed(*self.ragged(*files, *opts)))
                output, weights, lse = self.attend(allowed=allowed)
                self.assert_close("o.npy", (7, H, DV), output)
                self.assert_close("a.npy", (3, H, 4, 4), weights)
                self.assert_close("l.npy", (H, 7), lse)

    def test_queries_with_offsets_of_their_own(self):
        cut = ("--query-offsets", "query_offsets.npy")
        for opts, allowed in (
                ((), lambda b, i, j: True),
                (("--causal", "--query-start", "bottom-right"),
                 lambda b, i, j: j <= i + (2, -2, 2)[b])):
            with self.subTest(opts):
                self.succeed(*self.ragged("--attn-weights", "a.npy", "--lse",
                                          "l.npy", *cut, *opts, q=(5, H, D)))
                output, weights, lse = self.attend(QUERY_OFFSETS, allowed)
                self.assert_close("o.npy", (5, H, DV), output)
                self.assert_close("a.npy", (3, H, 2, 4), weights)
                self.assert_close("l.npy", (H, 5), lse)

    def test_the_terms_of_the_scores(self):
        self.succeed(*self.ragged("--softcap", "0.5", "--alibi", "auto"))
        self.assert_close("o.npy", (7, H, DV), self.attend(
            term=lambda s, h, i, j: 0.5 * math.tanh(s / 0.5) -
            2.0 ** (-2 * (h + 1)) * abs(i - j))[0])

    def test_the_mean_over_the_heads_has_a_batch(self):
        self.succeed(*self.ragged("--attn-weights", "a.npy",
                                  "--attn-weights-form", "mean"))
        weights = self.attend()[1]
        self.assert_close("a.npy", (3, 4, 4), [
            sum(weights[b * H * 16 + h * 16 + n] for h in range(H)) / H
            for b in range(3) for n in range(16)])

    def test_layouts_are_the_same_numbers(self):
        self.succeed(*self.ragged("--layout", "blhd", "--causal"))
        rows_first = (self.folder / "o.npy").read_bytes()
        self.succeed(*self.ragged("--causal"))
        self.assertEqual((self.folder / "o.npy").read_bytes(), rows_first)
        output = read_npy(self.folder / "o.npy")[1]
        arguments = self.ragged("--layout", "bhld", "--causal")
        for name in "qkv":
            (rows, heads, size), values = read_npy(self.folder / f"{name}.npy")
            self.put(f"{name}.npy", heads, rows, size, values=[
                values[(r * heads + h) * size + d] for h in range(heads)
                for r in range(rows) for d in range(size)])
        self.succeed(*arguments)
        shape, values = read_npy(self.folder / "o.npy")
        self.assertEqual(shape, (H, 7, DV))
        self.assertEqual(list(values), [
            output[(r * H + h) * DV + d] for h in range(H) for r in range(7)
            for d in range(DV)])

    def test_each_sequence_has_the_bits_it_has_alone(self):
        self.succeed(*self.ragged("--causal"))
        together = read_npy(self.folder / "o.npy")[1]
        whole = {name: read_npy(self.folder / f"{name}.npy") for name in "qkv"}
        for b in (0, 2):
            first, last = OFFSETS[b], OFFSETS[b + 1]
            for name, ((_, heads, size), values) in whole.items():
                self.put(f"{name}.npy", last - first, heads, size,
                         values=values[first * heads * size:
                                       last * heads * size])
            self.succeed("run", "--query", "q.npy", "--key", "k.npy", "--value",
                         "v.npy", "--layout", "blhd", "--causal", "--out",
                         "o.npy")
            self.assertEqual(read_npy(self.folder / "o.npy")[1],
                             together[first * H * DV:last * H * DV])

    def test_the_layer(self):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
            self.put(f"layer/{name}.bias.npy", 6)
        values = npy_bytes((7, 6))[-7 * 6 * 4:]
        self.put("x.npy", 7, 6)
        arguments = ("run", "--query", "x.npy", "--key", "x.npy", "--value",
                     "x.npy", "--params", "layer", "--num-heads", "2",
                     "--causal", "--out", "o.npy")
        self.succeed(*arguments, "--offsets", "offsets.npy", "--lse", "l.npy",
                     "--attn-weights", "a.npy")
        shape, together = read_npy(self.folder / "o.npy")
        self.assertEqual(shape, (7, 6))
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (2, 7))
        self.assertEqual(read_npy(self.folder / "a.npy")[0], (3, 2, 4, 4))
        of_all = read_npy(self.folder / "x.npy")[1]
        self.assertEqual(of_all.tobytes(), values)
        for b in (0, 2):
            first, last = OFFSETS[b], OFFSETS[b + 1]
            self.put("x.npy", last - first, 6,
                     values=of_all[first * 6:last * 6])
            self.succeed(*arguments)
            self.assertEqual(read_npy(self.folder / "o.npy")[1],
                             together[first * 6:last * 6])


class RaggedRefusesTest(RaggedCase):
    def test_offsets_that_are_wrong(self):
        for values, message in (
                ((1, 3, 7), "--offsets[0] is 1, expected 0"),
                ((0, 3, 2, 7), "--offsets[2] is 2, expected --offsets[1] = 3 "
                 "or more"),
                ((0, 3, 9), "--offsets[2] is 9, expected the number of rows, "
                 "7"),
                ((0, 3), "--offsets[1] is 3, expected the number of rows, 7"),
                ((0, 2**62, 7), "--offsets[2] is 7, expected --offsets[1] = "
                 f"{2**62} or more"),
                ((0, -1, 7), "--offsets[1] is -1, expected --offsets[0] = 0 "
                 "or more"),
                ((), "--offsets has shape (0), expected (B + 1), at least (1)")):
            with self.subTest(values):
                self.put("offsets.npy", len(values), descr="<i8",
                         values=values)
                self.refuse(BAD_INPUT, message, *self.ragged(
                    "--attn-weights", "a.npy", "--lse", "l.npy"))
        self.put("offsets.npy", 1, 4, descr="<i8", values=OFFSETS)
        self.refuse(BAD_INPUT, "--offsets has shape (1, 4), expected (B + 1)",
                    *self.ragged())
        self.put("offsets.npy", 4, values=OFFSETS)
        self.refuse(BAD_INPUT, "--offsets: offsets.npy holds float32 elements, expected "
                    "integers", *self.ragged())
        (self.folder / "offsets.npy").write_bytes(b"0 3 7")
        self.refuse(BAD_INPUT, "offsets.npy is not a .npy file: it ends at byte 5", *self.ragged())
        (self.folder / "offsets.npy").unlink()
        self.refuse(BAD_INPUT, "offsets.npy: No such file", *self.ragged())

    def test_offsets_of_queries_that_are_wrong(self):
        cut = ("--query-offsets", "query_offsets.npy")
        self.refuse(BAD_INPUT, "--query-offsets[3] is 5, expected the number "
                    "of rows, 6", *self.ragged(*cut, q=(6, H, D)))
        self.put("query_offsets.npy", 3, descr="<i8", values=(0, 1, 5))
        self.refuse(BAD_INPUT, "--offsets has shape (4), expected (B + 1) = "
                    "(3)", *self.ragged(*cut, q=(5, H, D)))
        self.refuse(USAGE, "--query-offsets needs --offsets", *self.inputs(*cut))

    def test_tensors_that_do_not_fit(self):
        for sizes, opts, message in (
                ({"q": (1, 7, H, D)}, (), "--query has shape (1, 7, 4, 5), "
                 "expected (rows, H, D), the same for --query, --key and "
                 "--value; tensors of --offsets have no batch axis"),
                ({"q": (H, D)}, ("--layout", "bhld"), "--query has shape (4, "
                 "5), expected (H, rows, D), the same"),
                ({"q": (5, H, D)}, (), "--key has shape (7, 2, 5), expected "
                 "(rows, Hkv, D) = (5, 2, 5); without --query-offsets it "
                 "has as many rows as --query"),
                ({"v": (6, HKV, DV)}, (), "--value has shape (6, 2, 7), "
                 "expected (rows, Hkv, Dv) = (7, 2, 7)"),
                ({"k": (7, HKV, 4)}, (), "--key has shape (7, 2, 4), expected "
                 "(rows, Hkv, D) = (7, 2, 5)"),
                ({"k": (7, 3, D), "v": (7, 3, DV)}, (), "--query has 4 heads, "
                 "expected a multiple of the 3 of --key")):
            with self.subTest(message):
                self.refuse(BAD_INPUT, message, *self.ragged(*opts, **sizes))

    def test_masks_have_a_batch(self):
        self.put("m.npy", 1, 7, descr="|b1")
        self.put("n.npy", 2, descr="<i8", values=(1, 1))
        self.put("d.npy", 3, 7, descr="<i8", values=(1,) * 21)
        for message, *opts in (
                ("--key-padding has shape (1, 7), expected (B, Lkv) = (3, 4)",
                 "--key-padding", "m.npy"),
                ("--key-lengths has shape (2), expected (B) = (3)",
                 "--key-lengths", "n.npy"),
                ("--key-starts has shape (2), expected (B) = (3)",
                 "--key-starts", "n.npy"),
                ("--query-start has shape (2), expected (B) = (3)",
                 "--query-start", "n.npy"),
                ("--sequence-ids has shape (2), expected (B) = (3)",
                 "--dropout", "0.5", "--sequence-ids", "n.npy"),
                ("--documents has shape (3, 7), expected (B, Lq) = (3, 4)",
                 "--documents", "d.npy")):
            with self.subTest(message):
                self.refuse(BAD_INPUT, message, *self.ragged(*opts))

    def test_the_layer(self):
        for name in ("w_q", "w_k", "w_v"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
        layer = ("run", "--params", "layer", "--num-heads", "2", "--offsets",
                 "offsets.npy", "--out", "o.npy")
        self.put("x.npy", 7, 6)
        self.put("x5.npy", 7, 5)
        self.put("y.npy", 5, 6)
        self.put("x3.npy", 1, 7, 6)
        for query, key, message in (
                ("x5", "x", "--query has shape (7, 5), expected (rows, "
                 "query_dim) = (7, 6)"),
                ("x", "x5", "--key has shape (7, 5), expected (rows, kdim) = "
                 "(7, 6)"),
                ("y", "x", "--key has shape (7, 6), expected (rows, kdim) = "
                 "(5, 6); without --query-offsets it has as many rows"),
                ("x3", "x3", "--query has shape (1, 7, 6), expected (rows, "
                 "E), the same"),
                ("y", "y", "--offsets[3] is 7, expected the number of rows, "
                 "5")):
            with self.subTest(message):
                self.refuse(BAD_INPUT, message, *layer, "--query",
                            f"{query}.npy", "--key", f"{key}.npy", "--value",
                            f"{key}.npy")

    def test_explain_pads_by_itself(self):
        self.refuse(USAGE, "unknown option --offsets", "explain", "--offsets",
                    "offsets.npy")


if __name__ == "__main__":
    cli_case.main()
