"""Caches and past keys in `headwise run`, a decode step in `headwise explain`."""
import itertools
import json
import os
import pathlib
import struct

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase

B, H, HKV, L, D, DV = 2, 4, 2, 9, 8, 6


class DecodeCase(RunCase):
    def setUp(self):
        super().setUp()
        self.call = self.inputs(q=(B, H, L, D), k=(B, HKV, L, D),
                                v=(B, HKV, L, DV))
        self.call = self.call[:self.call.index("--out")]

    def read(self, *names):
        return [(self.folder / name).read_bytes() for name in names]

    def rows(self, name, heads, size, first, last, to):
        """Rows [first, last) of a tensor (B, heads, L, size)."""
        shape, values = read_npy(self.folder / name)
        rows = shape[2]
        self.put(to, B, heads, last - first, size, values=[
            values[((b * heads + h) * rows + n) * size + d]
            for b in range(B) for h in range(heads)
            for n in range(first, last) for d in range(size)])


class CacheTest(DecodeCase):
    def outputs(self, *arguments, weights=True):
        asked = ("--attn-weights", "a.npy") if weights else ()
        self.succeed(*self.call, "--out", "o.npy", "--lse", "l.npy", *asked,
                     *arguments)
        return self.read("o.npy", "l.npy", *(("a.npy",) if weights else ()))

    def put_options(self):
        self.put("s.npy", H)
        self.put("t5.npy", 8, H)
        self.put("bias.npy", L, L)
        self.put("m.npy", B, L, L, descr="|b1",
                 values=[n % 3 != 0 for n in range(B * L * L)])
        self.put("n.npy", B, descr="<i8", values=(4, 8))
        self.put("nq.npy", B, L, descr="<i8", values=[n % 9 for n in range(18)])
        self.put("ks.npy", B, descr="<i8", values=(2, 5))
        self.put("kp.npy", B, L, descr="|b1",
                 values=[n % 4 != 1 for n in range(B * L)])
        self.put("doc.npy", B, L, descr="<i8",
                 values=[n // 4 for n in range(B * L)])
        self.put("keep.npy", B, H, L, L, descr="|b1",
                 values=[n % 5 != 0 for n in range(B * H * L * L)])

    def test_bits_are_those_of_one_call(self):
        self.put_options()
        for options in (
                ("--causal",), ("--window", "3,0,2"),
                ("--causal", "--sinks", "s.npy", "--softcap", "2", "--scale",
                 "0.4", "--alibi", "auto"),
                ("--causal", "--t5-bias", "t5.npy", "--t5-max-distance", "6"),
                ("--causal", "--bias", "bias.npy", "--bias-axes", "Lq,Lkv"),
                ("--causal", "--mask", "m.npy", "--mask-axes", "B,Lq,Lkv",
                 "--empty-rows", "nan"),
                ("--causal", "--key-lengths", "n.npy", "--key-padding",
                 "kp.npy"),
                ("--causal", "--key-lengths", "nq.npy", "--key-starts",
                 "ks.npy"),
                ("--causal", "--documents", "doc.npy"),
                ("--causal", "--dropout", "0.5", "--attn-weights-form",
                 "after-dropout"),
                ("--causal", "--dropout", "0.5", "--keep-mask", "keep.npy"),
                ("--causal", "--rotary-base", "500")):
            one = self.outputs(*options)
            for cache in (("--cache", "contiguous"),
                          ("--cache", "contiguous", "--chunk", "4"),
                          ("--cache", "paged", "--page-size", "16", "--chunk",
                           "1")):
                with self.subTest(options + cache):
                    self.assertEqual(self.outputs(*options, *cache), one)

    def test_scores_and_mean_weights(self):
        self.put("m.npy", B, L, L, descr="|b1",
                 values=[n % 3 != 0 for n in range(B * L * L)])
        masks = (("--causal",), ("--window", "3,0"),
                 ("--causal", "--mask", "m.npy", "--mask-axes", "B,Lq,Lkv",
                  "--empty-rows", "nan"))
        asked = ("--softcap", "3", "--scores-out", "s.npy",
                 "--attn-weights-form", "mean", "--scores-stage")
        for mask, stage in itertools.product(
                masks, ("raw", "softcap", "bias", "softmax")):
            options = (*mask, *asked, stage)
            one = self.outputs(*options), self.read("s.npy")
            chunks = ((), ("--chunk", "4"), ("--chunk", "1"))
            for chunk in chunks[:1 if stage in ("raw", "softcap") else 3]:
                with self.subTest(options + chunk):
                    through = self.outputs(*options, "--cache", "paged", *chunk)
                    self.assertEqual((through, self.read("s.npy")), one)

    def test_a_call_that_is_not_causal_goes_in_one_chunk(self):
        self.assertEqual(self.outputs("--cache", "paged"), self.outputs())

    def test_many_keys(self):
        """Of several blocks; the first 20 keys are past."""
        self.call = self.inputs(q=(1, 1, 300, 4), k=(1, 1, 320, 4),
                                v=(1, 1, 320, 3))[:-2]
        one = self.outputs("--causal", "--query-start", "bottom-right",
                           weights=False)
        for chunk in ("64", "7", "300", "1000"):
            for cache in (("contiguous",), ("paged", "--page-size", "32")):
                self.assertEqual(
                    self.outputs("--causal", "--cache", *cache, "--chunk",
                                 chunk, weights=False), one, (chunk, cache))

    def test_a_ragged_batch(self):
        lengths = (5, 0, 9)
        offsets = list(itertools.accumulate(lengths, initial=0))
        self.put("off.npy", 4, descr="<i8", values=offsets)
        self.put("qoff.npy", 4, descr="<i8", values=(0, 2, 2, 8))
        for name, rows, heads, size in (("q", 14, H, D), ("q8", 8, H, D),
                                        ("k", 14, HKV, D), ("v", 14, HKV, DV)):
            self.put(f"{name}.npy", rows, heads, size)
        self.call = (*self.call, "--offsets", "off.npy", "--causal")
        own = [{"q.npy": "q8.npy"}.get(word, word) for word in self.call]
        for call, start in ((self.call, ()),
                            ((*own, "--query-offsets", "qoff.npy"),
                             ("--query-start", "bottom-right"))):
            self.call = call
            one = self.outputs(*start)
            for cache in (("contiguous", "--chunk", "1"),
                          ("paged", "--page-size", "16", "--chunk", "3"),
                          ("paged",)):
                self.assertEqual(self.outputs("--cache", *cache), one, cache)

    def test_types_of_caches(self):
        seen = set()
        for dtype in ("float32", "bfloat16", "float16", "int8"):
            every = [self.outputs("--causal", "--cache", *cache,
                                  "--cache-dtype", dtype, "--present-dir",
                                  f"{dtype}-{n}") +
                     self.read(f"{dtype}-{n}/key.npy", f"{dtype}-{n}/value.npy")
                     for n, cache in enumerate(
                         (("contiguous",), ("contiguous", "--chunk", "2"),
                          ("paged", "--page-size", "64", "--chunk", "1")))]
            self.assertEqual(every[1:], every[:-1], dtype)
            seen.add(every[0][0])
        self.assertEqual(len(seen), 4)
        self.assertEqual(read_npy(self.folder / "float32-0/key.npy"),
                         read_npy(self.folder / "k.npy"))
        rounded = self.outputs("--causal", "--dtype", "bfloat16")
        self.assertEqual(self.outputs("--causal", "--dtype", "bfloat16",
                                      "--cache", "paged", "--cache-dtype",
                                      "bfloat16", "--chunk", "1"), rounded)

    def test_nan_stays_in_its_token(self):
        values = [((n * 7) % 13) / 7 for n in range(B * HKV * L * D)]
        values[2 * D] = float("nan")  # token 2 of the first sequence
        self.put("k.npy", B, HKV, L, D, values=values)
        for dtype in ("float32", "int8"):
            self.outputs("--causal", "--cache", "paged", "--cache-dtype",
                         dtype, "--chunk", "1")
            _, output = read_npy(self.folder / "o.npy")
            for n in range(B * H * L):
                nan = n // L in (0, 1) and n % L >= 2
                self.assertEqual(output[n * DV] != output[n * DV], nan, n)

    def test_empty_calls(self):
        for b, lq, lkv in ((0, 3, 3), (2, 0, 0), (2, 0, 3)):
            self.call = self.inputs(q=(b, H, lq, D), k=(b, HKV, lkv, D),
                                    v=(b, HKV, lkv, DV))[:-2]
            self.assertEqual(
                self.outputs("--cache", "paged", "--causal", "--chunk", "1"),
                self.outputs("--causal", "--query-start", "bottom-right"))

    def test_what_is_wrong_is_named(self):
        self.put("q1.npy", B, H, L + 1, D)
        self.put("d.npy", B, H, L, DV)
        self.put("n.npy", B, descr="<i8", values=(4, 10))
        self.put("start.npy", B, descr="<i8", values=(0, 1))
        on = ("--cache", "paged")
        for code, message, words in (
                (USAGE, "--cache-dtype needs --cache", ("--cache-dtype", "int8")),
                (USAGE, "--chunk needs --cache", ("--chunk", "2", "--causal")),
                (USAGE, "--page-size needs --cache paged", ("--page-size", "16")),
                (USAGE, "--page-size needs --cache paged",
                 ("--page-size", "16", "--cache", "contiguous")),
                (USAGE, "--page-size is 0, expected a whole number, 1 or "
                 "greater", (*on, "--page-size", "0")),
                (USAGE, "--page-size is 48, expected 16, 32 or a multiple of 64",
                 (*on, "--page-size", "48")),
                (USAGE, "--chunk is 0, expected a whole number, 1 or greater",
                 (*on, "--chunk", "0")),
                (USAGE, "--chunk is -1, expected a whole number, 1 or greater",
                 (*on, "--chunk=-1")),
                (USAGE, "--chunk is nan, expected a whole number",
                 (*on, "--chunk", "nan")),
                (USAGE, "--cache is ring, expected", ("--cache", "ring")),
                (USAGE, "--cache-dtype is int4, expected",
                 (*on, "--cache-dtype", "int4")),
                (USAGE, "--chunk needs --causal or --window LEFT,0",
                 (*on, "--chunk", "3")),
                (USAGE, "--chunk needs --causal or --window LEFT,0",
                 (*on, "--chunk", "3", "--window", "2,1")),
                (USAGE, "--scores-out needs --scores-stage bias or softmax "
                 "with --chunk: before the mask it has scores of keys after "
                 "the chunk", (*on, "--scores-out", "s.npy", "--causal",
                               "--chunk", "2")),
                (USAGE, "--d-output cannot be used with --cache: it has no "
                 "backward pass", (*on, "--d-output", "d.npy", "--grad-dir",
                                   "g")),
                (USAGE, "--bias-k cannot be used with --cache: it takes no "
                 "added keys", (*on, "--bias-k", "s.npy", "--bias-v", "s.npy")),
                (USAGE, "--zero-attn cannot be used with --cache: it takes no "
                 "added keys", (*on, "--zero-attn")),
                (USAGE, "--empty-rows uniform cannot be used with --cache",
                 (*on, "--empty-rows", "uniform")),
                (BAD_INPUT, "--query has 10 queries, expected at most 9 with "
                 "--cache", (*on, "--query", "q1.npy")),
                (BAD_INPUT, "--query-start is 1, expected 0 with --cache: the "
                 "last query is at the last key",
                 (*on, "--query-start", "start.npy")),
                (BAD_INPUT, "--key-lengths[1] is 10, expected 0 to Lkv = 9",
                 (*on, "--causal", "--chunk", "1", "--key-lengths", "n.npy"))):
            call = list(self.call)
            if "--query" in words:
                call[call.index("q.npy")] = "q1.npy"
                words = words[:-2]
            with self.subTest(words):
                self.refuse(code, message, *call, "--out", "o.npy", *words)


class LayerTest(RunCase):
    def setUp(self):
        super().setUp()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.put(f"layer/{name}.weight.npy", 8, 8)
            self.put(f"layer/{name}.bias.npy", 8)
        self.put("x.npy", 2, 5, 8)
        self.put("rows.npy", 7, 8)
        self.put("off.npy", 4, descr="<i8", values=(0, 4, 4, 7))
        self.put("m.npy", 2, 5, 5, descr="|b1",
                 values=[n % 3 != 0 for n in range(50)])

    def outputs(self, *arguments, x="x.npy"):
        self.succeed("run", "--query", x, "--key", x, "--value", x, "--params",
                     "layer", "--num-heads", "2", "--out", "o.npy", "--lse",
                     "l.npy", "--attn-weights", "a.npy", *arguments)
        return [(self.folder / f"{n}.npy").read_bytes() for n in "ola"]

    def test_bits_are_those_of_one_call(self):
        for x, options in (
                ("x.npy", ("--causal", "--rotary-base", "50")),
                ("x.npy", ("--window", "1,0,1", "--dtype", "float16")),
                ("x.npy", ("--causal", "--mask", "m.npy", "--mask-axes",
                           "B,Lq,Lkv")),
                ("rows.npy", ("--causal", "--offsets", "off.npy",
                              "--rotary-base", "50"))):
            one = self.outputs(*options, x=x)
            for cache in (("contiguous",), ("paged", "--chunk", "1"),
                          ("paged", "--page-size", "16", "--chunk", "2")):
                with self.subTest(options + cache):
                    self.assertEqual(
                        self.outputs(*options, "--cache", *cache, x=x), one)

    def test_what_is_wrong_is_named(self):
        self.put("y.npy", 2, 6, 8)
        self.put("p.npy", 2, 5, descr="<i8")
        layer = ("run", "--query", "x.npy", "--params", "layer", "--num-heads",
                 "2", "--out", "o.npy", "--cache", "paged")
        self.refuse(BAD_INPUT, "--query has 5 queries, expected 6, one for "
                    "each key, with --cache and --params", *layer, "--key",
                    "y.npy", "--value", "y.npy")
        self.refuse(USAGE, "--query-positions cannot be used with --cache: a "
                    "layer rotates by the positions in the cache", *layer,
                    "--key", "x.npy", "--value", "x.npy", "--rotary-base", "9",
                    "--query-positions", "p.npy")
        self.put("layer/bias_k.npy", 8)
        self.put("layer/bias_v.npy", 8)
        self.refuse(BAD_INPUT, "--params layer has bias_k, an added key, which "
                    "--cache does not take", *layer, "--key", "x.npy",
                    "--value", "x.npy")


class PastTest(DecodeCase):
    def test_a_sequence_in_two_calls(self):
        for options, cache in ((("--causal",), ()),
                               (("--window", "4,0"), ("--cache", "paged")),
                               (("--causal", "--rotary-base", "100"),
                                ("--cache", "contiguous", "--chunk", "1")),
                               (("--causal", "--rotary-base", "100",
                                 "--dtype", "bfloat16"), ())):
            self.succeed(*self.call, "--out", "o.npy", *options)
            for name, heads, size in (("q", H, D), ("k", HKV, D),
                                      ("v", HKV, DV)):
                self.rows(f"{name}.npy", heads, size, 0, 5, f"{name}0.npy")
                self.rows(f"{name}.npy", heads, size, 5, L, f"{name}1.npy")
            parts = [[word.replace(".npy", f"{n}.npy") for word in self.call]
                     for n in (0, 1)]
            self.succeed(*parts[0], "--out", "o0.npy", "--present-dir", "p0",
                         *options)
            self.succeed(*parts[1], "--out", "o1.npy", "--past-key",
                         "p0/key.npy", "--past-value", "p0/value.npy",
                         "--present-dir", "p1", *options, *cache)
            self.rows("o.npy", H, DV, 5, L, "expected.npy")
            with self.subTest(options + cache):
                self.assertEqual(read_npy(self.folder / "o1.npy"),
                                 read_npy(self.folder / "expected.npy"))
            self.succeed(*self.call, "--out", "o.npy", "--present-dir", "p",
                         *options)
            self.assertEqual(self.read("p1/key.npy", "p1/value.npy"),
                             self.read("p/key.npy", "p/value.npy"))

    def test_layouts_and_no_batch(self):
        for layout, axes in (("bhld", (1, 0, 2)), ("blhd", (0, 1, 2))):
            def put(name, tokens, heads, size):
                shape = (tokens, heads, size)
                self.put(name, *(shape[n] for n in axes))
            put("q.npy", 2, H, D)
            put("k.npy", 2, HKV, D)
            put("v.npy", 2, HKV, DV)
            put("pk.npy", 3, HKV, D)
            put("pv.npy", 3, HKV, DV)
            self.succeed(*self.call, "--layout", layout, "--causal", "--out",
                         "o.npy", "--past-key", "pk.npy", "--past-value",
                         "pv.npy", "--present-dir", "p")
            shape, key = read_npy(self.folder / "p/key.npy")
            self.assertEqual(shape, tuple((5, HKV, D)[n] for n in axes))
            _, past = read_npy(self.folder / "pk.npy")
            self.assertEqual(key[:3 * D], past[:3 * D])

    def test_what_is_wrong_is_named(self):
        self.put("pk.npy", B, HKV, 3, D)
        self.put("pv.npy", B, HKV, 3, DV)
        self.put("pv2.npy", B, HKV, 2, DV)
        self.put("one.npy", 1, HKV, 3, D)
        self.put("rank.npy", HKV, 3, D)
        self.put("double.npy", B, HKV, 3, D, descr="<f8")
        self.put("d.npy", B, H, L, DV)
        self.put("off.npy", 2, descr="<i8", values=(0, L))
        (self.folder / "cut.npy").write_bytes(self.read("pk.npy")[0][:-4])
        past = ("--past-key", "pk.npy", "--past-value", "pv.npy")
        to = ("--present-dir", "p")
        for code, message, words in (
                (USAGE, "--past-key needs --present-dir", past),
                (USAGE, "--past-key needs --past-value", (*past[:2], *to)),
                (USAGE, "--past-value needs --past-key", (*past[2:], *to)),
                (BAD_INPUT, "--past-value has 2 tokens, expected 3, as "
                 "--past-key has", (*past[:3], "pv2.npy", *to)),
                (BAD_INPUT, "--past-key has shape (1, 2, 3, 8), expected (B, "
                 "Hkv, P, D), for P tokens the shape of --key",
                 ("--past-key", "one.npy", *past[2:], *to)),
                (BAD_INPUT, "--past-key has shape (2, 3, 8), expected (B, "
                 "Hkv, P, D)", ("--past-key", "rank.npy", *past[2:], *to)),
                (BAD_INPUT, "--past-value has shape (2, 2, 3, 8), expected (B, "
                 "Hkv, P, Dv)", (*past[:3], "pk.npy", *to)),
                (BAD_INPUT, "--past-key holds float64 elements, expected "
                 "float32, as --key has",
                 ("--past-key", "double.npy", *past[2:], *to)),
                (BAD_INPUT, "--past-key", ("--past-key", "cut.npy", *past[2:],
                                           *to)),
                (BAD_INPUT, "--past-key: no.npy",
                 ("--past-key", "no.npy", *past[2:], *to)),
                (USAGE, "--past-key and --d-output cannot be used together",
                 (*past, *to, "--d-output", "d.npy", "--grad-dir", "g")),
                (USAGE, "--past-key and --offsets cannot be used together",
                 (*past, *to, "--offsets", "off.npy")),
                (USAGE, "--present-dir and --params cannot be used together",
                 (*to, "--params", "x", "--num-heads", "2")),
                (USAGE, "--past-key", ("--past-key", "p/key.npy", *past[2:],
                                       *to))):
            with self.subTest(words):
                self.refuse(code, message, *self.call, "--out", "o.npy", *words)

    def test_onnx(self):
        """The node tests of ONNX's Attention with a past or a valid length."""
        folder = pathlib.Path(os.environ.get("HEADWISE_FIXTURES") or
                              cli_case.FIXTURES or "none") / "onnx"
        if not folder.is_dir():
            self.skipTest("no fixtures (script/golden makes them)")
        seen = 0
        for path in sorted(folder.iterdir()):
            case = json.loads((path / "case.json").read_text())
            tensors = case["tensors"].keys()
            if "past_key" in tensors or ("nonpad_kv_seqlen" in tensors and
                                         "attn_mask" not in tensors):
                with self.subTest(path.name):
                    self.onnx(path, case)
                seen += 1
        self.assertGreater(seen, 15)

    def onnx(self, path, case):
        tensors, attributes = case["tensors"], case["attributes"]
        run = ["run", "--out", "o.npy", *(("--causal",) * attributes.get(
            "is_causal", 0))]
        if "left_window_size" in attributes:
            run += ["--window", f"{attributes['left_window_size']},inf"]
        if "softcap" in attributes:
            run += ["--softcap", str(attributes["softcap"])]
        three = len(tensors["Q"]["shape"]) == 3

        def put(option, name, heads=None):
            shape, values = self.onnx_tensor(path, tensors[name])
            if heads:  # (B, L, H * D)
                b, l, e = shape
                h = attributes[heads]
                shape = (b, h, l, e // h)
                values = [values[(n * l + t) * e + m * (e // h) + d]
                          for n in range(b) for m in range(h)
                          for t in range(l) for d in range(e // h)]
            self.put(f"{name}.npy", *shape, values=values,
                     descr=self.descr(tensors[name]))
            run.extend((option, f"{name}.npy"))
            return shape, values

        (_, _, lq, _), _ = put("--query", "Q", three and "q_num_heads")
        put("--key", "K", three and "kv_num_heads")
        put("--value", "V", three and "kv_num_heads")
        if "attn_mask" in tensors:
            shape, _ = put("--bias", "attn_mask")
            run += ["--bias-axes", "Lq,Lkv" if len(shape) == 2 else
                    f"B,{'1' if shape[1] == 1 else 'H'},Lq,Lkv"]
        if "past_key" in tensors:
            put("--past-key", "past_key")
            put("--past-value", "past_value")
            run += ["--present-dir", "p"]
        else:
            _, lengths = put("--key-lengths", "nonpad_kv_seqlen")
            self.put("start.npy", len(lengths), descr="<i8",
                     values=[n - lq for n in lengths])
            run += ["--query-start", "start.npy"]
        half = tensors["Q"]["dtype"] == "float16"
        self.succeed(*run, *(("--dtype", "float16") if half else ()))
        shape, expected = self.onnx_tensor(path, tensors["Y"])
        got_shape, got = read_npy(self.folder / "o.npy")
        if three:
            b, h, l, d = got_shape
            got = [got[((n * h + m) * l + t) * d + x] for n in range(b)
                   for t in range(l) for m in range(h) for x in range(d)]
        for one, other in zip(got, expected, strict=True):
            self.assertAlmostEqual(one, other, delta=2e-3 if half else 2e-6)
        for name in ("key", "value") if "past_key" in tensors else ():
            self.assertEqual(
                read_npy(self.folder / f"p/{name}.npy"),
                self.onnx_tensor(path, tensors[f"present_{name}"]))

    @staticmethod
    def descr(tensor):
        return {"int64": "<i8", "bool": "|b1"}.get(tensor["dtype"], "<f4")

    def onnx_tensor(self, path, tensor):
        if tensor["dtype"] == "float16":  # float32 holds it exactly
            return self.half(path / tensor["file"])
        return read_npy(path / tensor["file"])

    @staticmethod
    def half(path):
        data = path.read_bytes()
        length = int.from_bytes(data[8:10], "little")
        header = eval(data[10:10 + length], {"__builtins__": {}})
        return header["shape"], [
            x for x, in struct.iter_unpack("<e", data[10 + length:])]


class ExplainTest(cli_case.CliTest):
    small = ("explain", "--embed-dim", "16", "--num-heads", "2",
             "--rotary-base", "100")

    def test_the_step_has_the_numbers_of_a_whole_pass(self):
        self.put_text("[[5, 9, 3, 7]]", "one.json")
        whole = (*self.small, "--tokens", "one.json")
        tensors = {}
        for name, arguments in (("output", whole),
                                ("k_rotated", (*whole, "--step", "k_rotated")),
                                ("decoded", (*whole, "--decode")),
                                ("cached", (*whole, "--decode", "--step",
                                            "cached_keys")),
                                ("keys", (*whole, "--decode", "--step",
                                          "keys"))):
            self.succeed(*arguments, "--out", "x.npy")
            tensors[name] = read_npy(self.folder / "x.npy")
        self.assertEqual(tensors["keys"], tensors["k_rotated"])
        self.assertEqual(tensors["cached"][0], (1, 2, 3, 8))
        self.assertEqual(tensors["cached"][1][:24], tensors["keys"][1][:24])
        self.assertEqual(tensors["decoded"][0], (1, 1, 16))
        self.assertEqual(tensors["decoded"][1], tensors["output"][1][-16:])

    def test_what_it_says(self):
        shown = self.succeed(*self.small, "--decode", "--sequence", "1")
        for text in ("One decode step: the cache has 4 tokens",
                     ". cached_keys: the keys of the tokens before",
                     "shape (B=1, H=2, P=4, D=8)",
                     "keys[b,h,:,:] = concat(cached_keys[b,h,:,:], "
                     "k_rotated[b,h,:,:])",
                     "sum_d q_rotated[b,h,i,d] * keys[b,h,j,d]",
                     "shape (B=1, H=2, Lq=1, Lkv=5)", "Lkv = P + Lq"):
            self.assertIn(text, shown)
        self.assertIn("디코딩 한 스텝", self.succeed(
            *self.small, "--decode", "--lang", "ko"))
        printed = json.loads(self.succeed(*self.small, "--decode", "--json"))
        self.assertEqual(printed["cached_tokens"], 15)
        self.assertEqual(
            [step["name"] for step in printed["steps"]],
            ["new_token", "embedded", "q", "k", "v", "q_split", "k_split", "v_split", "q_heads", "k_heads",
             "v_heads", "q_rotated", "k_rotated", "cached_keys", "keys",
             "cached_values", "values", "scores", "attn_weights", "context",
             "merged", "output"])
        self.succeed(*self.small, "--decode", "--picture", "h.svg", "--sequence",
                     "2")
        self.succeed(*self.small, "--decode", "--sequence", "6")  # one token

    def test_what_is_wrong_is_named(self):
        self.put_text("[[1, 2], []]", "empty.json")
        for code, message, words in (
                (USAGE, "--decode needs token ids that attend to themselves",
                 ("--example", "unbatched")),
                (USAGE, "--decode needs token ids that attend to themselves",
                 ("--example", "encoder-decoder")),
                (USAGE, "--sequence is 10, expected 0 to 9",
                 ("--sequence", "10")),
                (BAD_INPUT, "--sequence is 1, expected a sequence with a token",
                 ("--tokens", "empty.json", "--sequence", "1")),
                (USAGE, "--decode cannot be used with --model",
                 ("--model", "m", "a"))):
            with self.subTest(words):
                self.fail_with(code, message, "explain", "--decode", *words)


if __name__ == "__main__":
    cli_case.main()
