"""`headwise run`: its numbers against plain loops."""
import math
import struct
import unittest

import cli_case
import params_case
from cli_case import read_npy
from run_case import RunCase


def rounded(x, dtype):
    """The nearest number of that type, ties to even."""
    if dtype == "float16":
        return struct.unpack("<e", struct.pack("<e", x))[0]
    bits, = struct.unpack("<I", struct.pack("<f", x))
    bits += 0x7fff + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xffff0000))[0]


def half_bytes(x, dtype):
    if dtype == "float16":
        return struct.pack("<e", x)
    return struct.pack("<f", x)[2:]


class RunTest(RunCase):
    def test_16_bit_tensors(self):
        call = self.inputs()
        self.put("g.npy", 2, 4, 3, 7)
        gradients = ("--d-output", "g.npy", "--grad-dir", "grad")
        results = ("o.npy", "grad/d_query.npy", "grad/d_key.npy",
                   "grad/d_value.npy")
        shapes = {"q.npy": (2, 4, 3, 5), "k.npy": (2, 2, 6, 5),
                  "v.npy": (2, 2, 6, 7), "g.npy": (2, 4, 3, 7)}
        given = {name: read_npy(self.folder / name)[1] for name in shapes}
        for dtype, step in (("bfloat16", 2**-8), ("float16", 2**-11)):
            self.succeed(*call, *gradients, "--dtype", dtype)
            got = {name: read_npy(self.folder / name) for name in results}
            for name, (_, values) in got.items():
                for x in values:
                    self.assertEqual(x, rounded(x, dtype), name)
            # The same numbers as float32: near, but not rounded.
            for name, shape in shapes.items():
                self.put(name, *shape,
                         values=[rounded(x, dtype) for x in given[name]])
            self.succeed(*call, *gradients)
            _, want = read_npy(self.folder / "o.npy")
            self.assertEqual([rounded(x, dtype) for x in want],
                             list(got["o.npy"][1]))
            for name in results[1:]:
                _, want = read_npy(self.folder / name)
                for x, y in zip(got[name][1], want):
                    self.assertLess(abs(x - y), 4 * step)
            # Read from 16-bit files, one of them with a tensor too many.
            tensors = {name[0]: (dtype, shapes[name], b"".join(
                half_bytes(rounded(x, dtype), dtype) for x in given[name]))
                       for name in shapes}
            self.put_half("q.safetensors", {"query": tensors["q"],
                                            "other": tensors["k"]})
            self.put_half("k.safetensors", {"any": tensors["k"]})
            self.put_half("v.safetensors", {"any": tensors["v"]})
            self.succeed("run", "--query", "q.safetensors", "--key",
                         "k.safetensors", "--value", "v.safetensors", "--out",
                         "o.npy", "--dtype", dtype)
            self.assertEqual(read_npy(self.folder / "o.npy"), got["o.npy"])
            for name, shape in shapes.items():
                self.put(name, *shape, values=given[name])

    def put_half(self, name, tensors):
        (self.folder / name).write_bytes(
            params_case.safetensors_bytes(tensors))

    def test_a_layer_on_16_bit_tensors(self):
        for name, shape in (("x", (2, 3, 4)), ("w_q", (4, 4)), ("w_k", (4, 4)),
                            ("w_v", (4, 4)), ("w_o", (4, 4))):
            path = name if name == "x" else f"layer/{name}.weight"
            self.put(path + ".npy", *shape)
        self.put("g.npy", 2, 3, 4)
        call = ("run", "--query", "x.npy", "--key", "x.npy", "--value",
                "x.npy", "--params", "layer", "--num-heads", "2", "--out",
                "o.npy", "--d-output", "g.npy", "--grad-dir", "grad")
        results = ("o.npy", "grad/d_query.npy", "grad/d_w_q.weight.npy")
        self.succeed(*call, "--dtype", "bfloat16")
        got = [read_npy(self.folder / name)[1] for name in results]
        for name in ("x.npy", "g.npy"):
            shape, values = read_npy(self.folder / name)
            self.put(name, *shape,
                     values=[rounded(x, "bfloat16") for x in values])
        self.succeed(*call)
        want = [list(read_npy(self.folder / name)[1]) for name in results]
        for n in range(2):
            self.assertEqual(list(got[n]),
                             [rounded(x, "bfloat16") for x in want[n]])
        self.assertEqual(list(got[2]), want[2])

    def test_refuses_files_of_16_bit_tensors_that_it_cannot_tell_apart(self):
        self.inputs()
        one = ("float16", (1,), b"ab")
        self.put_half("q.safetensors", {"a": one, "b": one})
        self.refuse(cli_case.BAD_INPUT,
                    "--query: q.safetensors has 2 tensors, expected one "
                    "tensor, or one of them with the name query", "run",
                    "--query", "q.safetensors", "--key", "k.npy", "--value",
                    "v.npy", "--out", "o.npy")
        self.refuse(cli_case.USAGE, "--dtype", *self.inputs("--dtype", "int8"))

    def test_the_operation(self):
        files = ("--attn-weights", "a.npy", "--lse", "l.npy")
        lengths = (4, 0)
        self.put("len.npy", 2, descr="<i8", values=lengths)
        mask = [n % 3 != 0 for n in range(12)]
        self.put("m.npy", 2, 6, descr="|b1", values=mask)
        self.put("m3.npy", 2, 1, 6, descr="<i8", values=mask)
        documents = (0, 0, 3, 3, 4, 9, -1, -1, -1, -1, 5, 5)
        of_queries = (3, 4, 4, -1, 0, 5)
        self.put("d.npy", 2, 6, descr="<i8", values=documents)
        self.put("dq.npy", 2, 3, descr="<i8", values=of_queries)
        for opts, allowed in (
                ((), lambda b, h, i, j: True),
                (("--window", "1,2"), lambda b, h, i, j: -1 <= j - i <= 2),
                (("--window", "0,inf"), lambda b, h, i, j: i <= j),
                (("--window", "inf,1"), lambda b, h, i, j: j <= i + 1),
                (("--window", "inf,inf"), lambda b, h, i, j: True),
                (("--window", "1,0,2", "--query-start", "3"),
                 lambda b, h, i, j: j <= i + 3 and (j >= i + 2 or j < 2)),
                (("--window", "0,0,9"), lambda b, h, i, j: j <= i),
                (("--window", "0,9223372036854775807", "--query-start", "2"),
                 lambda b, h, i, j: i + 2 <= j),
                (("--window", "2,0", "--query-start", "bottom-right"),
                 lambda b, h, i, j: i + 1 <= j <= i + 3),
                (("--key-starts", "len.npy"),
                 lambda b, h, i, j: j >= lengths[b]),
                (("--documents", "d.npy", "--query-documents", "dq.npy"),
                 lambda b, h, i, j:
                 of_queries[b * 3 + i] == documents[b * 6 + j]),
                (("--documents", "d.npy", "--query-documents", "dq.npy",
                  "--window", "1,3", "--key-starts", "len.npy"),
                 lambda b, h, i, j: -1 <= j - i <= 3 and j >= lengths[b] and
                 of_queries[b * 3 + i] == documents[b * 6 + j]),
                (("--causal",), lambda b, h, i, j: j <= i),
                (("--causal", "--query-start", "-1"),
                 lambda b, h, i, j: j <= i - 1),
                (("--causal", "--query-start", "bottom-right"),
                 lambda b, h, i, j: j <= i + 3),
                (("--causal", "--query-start", "len.npy"),
                 lambda b, h, i, j: j <= i + lengths[b]),
                (("--key-lengths", "len.npy"),
                 lambda b, h, i, j: j < lengths[b]),
                (("--key-padding", "m.npy"),
                 lambda b, h, i, j: mask[b * 6 + j]),
                (("--mask", "m3.npy", "--mask-axes", "B,1,Lkv"),
                 lambda b, h, i, j: mask[b * 6 + j]),
                (("--mask", "m.npy", "--mask-axes", "B,Lkv", "--causal"),
                 lambda b, h, i, j: mask[b * 6 + j] and j <= i)):
            with self.subTest(opts):
                self.assertEqual(self.succeed(*self.inputs(*files, *opts)),
                                 "query: B=2 H=4 L=3 D=5, layout bhld\n"
                                 "key: B=2 H=2 L=6 D=5, layout bhld\n"
                                 "value: B=2 H=2 L=6 D=7, layout bhld\n")
                output, weights, lse = self.attention(allowed)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)
                self.assert_close("l.npy", (2, 4, 3), lse)
        self.succeed(*self.inputs("--scale", "-0.75"))
        self.assert_close("o.npy", (2, 4, 3, 7), self.attention(scale=-.75)[0])

    def test_softcap_biases_and_alibi(self):
        bias = [n * 37 % 11 / 5 - 1 for n in range(4 * 3 * 6)]
        bias[7] = bias[60] = -math.inf
        self.put("bias.npy", 4, 3, 6, values=bias)
        self.put("bias4.npy", 1, 4, 3, 6, values=bias)
        slopes = (0.5, 0.25, -0.125, 2)
        self.put("slopes.npy", 4, values=slopes)

        def add_bias(score, b, h, i, j):
            return score + bias[(h * 3 + i) * 6 + j]

        def cap(score, *_):
            return 0.75 * math.tanh(score / 0.75)

        def alibi(by, start=0):
            return lambda score, b, h, i, j: score - by[h] * abs(i + start - j)

        buckets = [n * 5 % 7 / 2 - 1 for n in range(8 * 4)]
        self.put("t5.npy", 8, 4, values=buckets)

        def t5(bidirectional, start=0):
            def add(score, b, h, i, j):
                offset = j - i - start
                if bidirectional:  # up to 3: 2 distances, then from 2.4 on
                    bucket = min(abs(offset), 3) + (4 if offset > 0 else 0)
                else:  # up to 5: 4 distances, then all
                    bucket = min(max(-offset, 0), 4)
                    bucket = 7 if bucket == 4 and -offset >= 5 else bucket
                return score + buckets[bucket * 4 + h]
            return add

        named = ("--bias", "bias.npy", "--bias-axes", "H,Lq,Lkv")
        for opts, term in (
                (("--softcap", "0.75"), cap),
                (named, add_bias),
                (("--bias", "bias4.npy"), add_bias),
                (("--t5-bias", "t5.npy", "--t5-bidirectional",
                  "--t5-max-distance", "3"), t5(True)),
                (("--t5-bias", "t5.npy", "--t5-max-distance", "5",
                  "--query-start", "4"), t5(False, 4)),
                (("--alibi", "slopes.npy"), alibi(slopes)),
                (("--alibi", "auto", "--query-start", "-2"),
                 alibi([2.0 ** -n for n in (2, 4, 6, 8)], -2)),
                (("--softcap", "0.75", *named, "--alibi", "slopes.npy"),
                 lambda s, *at: alibi(slopes)(add_bias(cap(s), *at), *at))):
            with self.subTest(opts):
                self.succeed(*self.inputs("--attn-weights", "a.npy", *opts))
                output, weights, _ = self.attention(term=term)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)

    def test_scores_at_each_stage(self):
        bias = [n * 37 % 11 / 5 - 1 for n in range(3 * 6)]
        self.put("bias.npy", 3, 6, values=bias)

        def cap(score, *_):
            return 0.75 * math.tanh(score / 0.75)

        def biased(score, b, h, i, j):
            return cap(score) + bias[i * 6 + j] if j <= i else -math.inf

        options = ("--softcap", "0.75", "--bias", "bias.npy", "--bias-axes",
                   "Lq,Lkv", "--causal")
        def plain(score, *_):
            return score

        for stage, term in ((None, plain), ("raw", plain), ("softcap", cap),
                            ("bias", biased)):
            given = () if stage is None else ("--scores-stage", stage)
            with self.subTest(stage):
                self.succeed(*self.inputs("--scores-out", "s.npy", *given,
                                          *options))
                self.assert_close("s.npy", (2, 4, 3, 6), self.scores(term))
        self.succeed(*self.inputs("--scores-out", "s.npy", "--scores-stage",
                                  "softmax", "--attn-weights", "a.npy",
                                  *options))
        self.assertEqual(read_npy(self.folder / "s.npy"),
                         read_npy(self.folder / "a.npy"))

    def test_sinks(self):
        sinks = (0.5, -math.inf, 3, -2)
        self.put("sinks.npy", 4, values=sinks)
        for opts, allowed in (
                ((), lambda b, h, i, j: True),
                (("--causal", "--query-start", "-1"),
                 lambda b, h, i, j: j <= i - 1)):
            with self.subTest(opts):
                self.succeed(*self.inputs("--attn-weights", "a.npy", "--lse",
                                          "l.npy", "--sinks", "sinks.npy",
                                          *opts))
                output, weights, lse = self.attention(allowed, sinks=sinks)
                self.assert_close("o.npy", (2, 4, 3, 7), output)
                self.assert_close("a.npy", (2, 4, 3, 6), weights)
                self.assert_close("l.npy", (2, 4, 3), lse)

    def test_added_keys_are_keys_of_every_sequence(self):
        learned_k = [0.25 * n - 1 for n in range(10)]
        learned_v = [1 - 0.125 * n for n in range(14)]
        self.put("bk.npy", 2, 5, values=learned_k)
        self.put("bv.npy", 2, 7, values=learned_v)
        self.succeed(*self.inputs("--attn-weights", "a.npy", "--bias-k",
                                  "bk.npy", "--bias-v", "bv.npy",
                                  "--zero-attn"))

        def appended(name, learned):
            (B, G, L, D), x = read_npy(self.folder / name)
            rows = []
            for n in range(B * G):
                g = n % G
                rows += x[n * L * D:(n + 1) * L * D]
                rows += learned[g * D:(g + 1) * D]
                rows += [0] * D
            self.put("more_" + name, B, G, L + 2, D, values=rows)

        appended("k.npy", learned_k)
        appended("v.npy", learned_v)
        self.succeed("run", "--query", "q.npy", "--key", "more_k.npy",
                     "--value", "more_v.npy", "--out", "o2.npy",
                     "--attn-weights", "a2.npy")
        self.assert_close("o.npy", (2, 4, 3, 7),
                          read_npy(self.folder / "o2.npy")[1])
        self.assert_close("a.npy", (2, 4, 3, 8),
                          read_npy(self.folder / "a2.npy")[1])

    def test_unbatched_and_the_mean_of_the_heads(self):
        self.put("q1.npy", 1, 4, 3, 5)
        self.succeed(*self.inputs("--attn-weights", "a.npy", q=(1, 4, 3, 5),
                                  k=(1, 2, 6, 5), v=(1, 2, 6, 7)))
        output, weights, _ = self.attention()
        self.succeed(*self.inputs(
            "--attn-weights", "a.npy", "--attn-weights-form", "mean", "--lse",
            "l.npy", q=(4, 3, 5), k=(2, 6, 5), v=(2, 6, 7)))
        self.assert_close("o.npy", (4, 3, 7), output)
        self.assertEqual(read_npy(self.folder / "l.npy")[0], (4, 3))
        self.assert_close("a.npy", (3, 6), [
            sum(weights[h * 18 + n] for h in range(4)) / 4 for n in range(18)])

    def test_masks_of_one_sequence_leave_the_batch_out(self):
        ids = (1, 1, 2, 2, 2, 3)
        self.put("d.npy", 6, descr="<i8", values=ids)
        self.put("dq.npy", 3, descr="<i8", values=(1, 2, 3))
        self.put("s.npy", 1, descr="<i8", values=(1,))
        self.succeed(*self.inputs(
            "--documents", "d.npy", "--query-documents", "dq.npy",
            "--key-starts", "s.npy", q=(4, 3, 5), k=(2, 6, 5), v=(2, 6, 7)))
        self.inputs(q=(1, 4, 3, 5), k=(1, 2, 6, 5), v=(1, 2, 6, 7))
        self.assert_close("o.npy", (4, 3, 7), self.attention(
            lambda b, h, i, j: j >= 1 and ids[j] == i + 1)[0])

    def test_documents_are_those_of_keys_and_queries_alike(self):
        ids = (1, 1, 2, 0, 0, 0)
        self.put("d.npy", 2, 3, descr="<i8", values=ids)
        self.succeed(*self.inputs("--documents", "d.npy", k=(2, 2, 3, 5),
                                  v=(2, 2, 3, 7)))
        self.assert_close("o.npy", (2, 4, 3, 7), self.attention(
            lambda b, h, i, j: ids[b * 3 + i] == ids[b * 3 + j])[0])

    def test_threads_change_no_bit_and_say_nothing(self):
        outputs = set()
        for threads in ("1", "2", "7", "1000000"):
            self.succeed(*self.inputs("--threads", threads, "--dropout", "0.5"))
            outputs.add((self.folder / "o.npy").read_bytes())
        self.assertEqual(len(outputs), 1)

    def test_keep_mask_and_after_dropout(self):
        keep = [n % 4 != 1 for n in range(2 * 4 * 3 * 6)]
        self.put("keep.npy", 2, 4, 3, 6, descr="|b1", values=keep)
        self.succeed(*self.inputs(
            "--keep-mask", "keep.npy", "--dropout", "0.25", "--attn-weights",
            "a.npy", "--attn-weights-form", "after-dropout"))
        weights = self.attention()[1]
        self.assert_close("a.npy", (2, 4, 3, 6), [
            w / 0.75 if kept else 0 for w, kept in zip(weights, keep)])


if __name__ == "__main__":
    cli_case.main()
