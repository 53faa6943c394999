"""`headwise convert`."""
import json
import os
import resource

import cli_case
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE
from params_case import (ParamsCase, bert, npy_bytes, npz_bytes, others, read_npz,
                         read_safetensors, read_tensors, tensor)

LAYOUTS = ("headwise", "headwise-causal", "torch-mha", "torch-mha-split", "bert",
           "distilbert", "d2l", "d2l-dense", "keras", "flax")
NUMBERED = ("headwise-causal", "bert", "distilbert")


def layouts_from(layout, turn):
    """Where a layer of this layout goes: into all. Under a sanitizer into its
    own, headwise and one more, by turns: test_every_pair_of_layouts has them all,
    and shapes and element types choose no other code."""
    if cli_case.SANITIZED:
        return sorted({layout, "headwise", LAYOUTS[turn % len(LAYOUTS)]},
                      key=LAYOUTS.index)
    return LAYOUTS


FIXTURES = (
    # folder, file, layout, what gives the file its own names back
    ("torch_mha_self", "state_dict.safetensors", "torch-mha", ()),
    ("torch_mha_no_bias", "state_dict.safetensors", "torch-mha", ()),
    ("torch_mha_kdim_vdim", "state_dict.safetensors", "torch-mha-split", ()),
    ("keras_mha_plain", "keras.npz", "keras", ()),
    ("keras_mha_no_bias", "keras.npz", "keras", ()),
    ("keras_mha_value_dim", "keras.npz", "keras", ()),
    ("keras_gqa", "keras.npz", "keras", ()),
    ("flax_linen_self", "flax.npz", "flax", ()),
    ("flax_linen_cross", "flax.npz", "flax", ()),
    ("flax_nnx_self", "flax.npz", "flax", ("--to-prefix", "")),
    ("d2l_h100", "torch.safetensors", "d2l", ()),
    ("d2l_h100", "jax_flax.npz", "d2l-dense", ()),
    ("d2l_sizes", "keras.npz", "d2l-dense", ("--to-prefix", "")),
    ("d2l_sizes_bias", "mxnet.npz", "d2l", ()),
    ("minilm", "layer0.safetensors", "bert", ("--as-layer", "0")),
    ("minilm", "layer5.safetensors", "bert", ("--as-layer", "5")))


class RoundTripTest(ParamsCase):
    def convert(self, *arguments):
        return self.succeed("convert", *arguments)

    def there_and_back(self, path, layout, heads, extra=(), through=LAYOUTS):
        """Through each of these layouts that can hold the layer, by turns in
        both formats; returns those that can."""
        before = read_tensors(path)
        held = []
        for n, to in enumerate(through):
            middle = ("m.safetensors", "m.npz")[n % 2]
            there = self.run_it("convert", path, middle, "--to", to,
                                "--num-heads", str(heads))
            if there.returncode != 0:
                self.assertEqual(there.returncode, BAD_INPUT, there)
                self.assertRegex(there.stderr.decode(), "which the layout .* has|does "
                                 "not go into one tensor|is not in the layout")
                self.assertFalse((self.folder / middle).exists())
                continue
            back = "back" + os.path.splitext(path)[1]
            # Names without a number lose it on the way.
            more = () if layout in NUMBERED and to in NUMBERED else extra
            self.convert(middle, back, "--to", layout, "--num-heads", str(heads),
                         *more)
            self.assert_same(read_tensors(self.folder / back), before,
                             (path, to))
            (self.folder / middle).unlink()
            held.append(to)
        return held

    def test_the_fixtures_of_every_layout(self):
        for turn, (folder, file, layout, extra) in enumerate(FIXTURES):
            with self.subTest((folder, file)):
                told = json.loads(
                    self.fixture(folder, "case.json").read_text())
                held = self.there_and_back(
                    self.fixture(folder, file), layout,
                    told["options"]["num_heads"], extra,
                    layouts_from(layout, turn))
                self.assertIn(layout, held)
                self.assertIn("headwise", held)

    def test_every_pair_of_layouts(self):
        self.put_safetensors("bert.safetensors", bert((0,)))
        for layout in LAYOUTS:
            file = self.folder / f"{layout}.safetensors"
            if layout != "bert":
                self.convert("bert.safetensors", file, "--to", layout,
                             "--num-heads", "3")
            self.assertEqual(self.there_and_back(file, layout, 3),
                             list(LAYOUTS))

    def test_every_element_type(self):
        for turn, dtype in enumerate(("float16", "float64", "int8", "int64")):
            file = self.put_safetensors(f"{dtype}.safetensors",
                                        bert((0,), dtype=dtype))
            layouts = layouts_from("bert", turn)
            self.assertEqual(
                self.there_and_back(file, "bert", 3, through=layouts),
                list(layouts))
            self.convert(file, "k.npz", "--to", "keras", "--num-heads", "3")
            self.assertEqual(
                {t[0] for t in read_npz(self.folder / "k.npz").values()},
                {dtype})

    def test_bfloat16_stays_and_is_refused_where_it_cannot(self):
        self.put_safetensors("b.safetensors", bert((0,), dtype="bfloat16"))
        before = read_tensors(self.folder / "b.safetensors")
        for to in LAYOUTS:
            self.convert("b.safetensors", "m.safetensors", "--to", to,
                         "--num-heads", "2")
            middle = read_tensors(self.folder / "m.safetensors")
            self.assertEqual({t[0] for t in middle.values()}, {"bfloat16"})
            self.convert("m.safetensors", "back.safetensors", "--to", "bert")
            self.assert_same(read_tensors(self.folder / "back.safetensors"),
                             before)
        self.fail_with(BAD_INPUT, "cannot hold bfloat16", "convert",
                       "b.safetensors", "o.npz", "--to", "d2l")
        self.assertFalse((self.folder / "o.npz").exists())

    def test_a_real_model(self):
        file = self.minilm() / "model.safetensors"
        before, metadata = read_safetensors(file)
        self.assertEqual(
            self.convert(self.minilm(), "d.safetensors", "--to",
                         "distilbert"),
            "d.safetensors: layers 0-5, bert to distilbert; 56 other tensors "
            "copied unchanged\n")
        self.convert("d.safetensors", "back.safetensors", "--to", "bert")
        after, kept = read_safetensors(self.folder / "back.safetensors")
        self.assert_same(after, before)
        self.assertEqual(kept, metadata)
        for n, to in enumerate(LAYOUTS):
            number = str(n % 6)
            self.convert(file, "m.npz", "--to", to, "--layer", number,
                         "--num-heads", "12", "--attention-only")
            more = () if to in NUMBERED else ("--as-layer", number)
            self.convert("m.npz", "back.npz", "--to", "bert", *more)
            layer = f"encoder.layer.{number}.attention."
            self.assert_same(
                read_npz(self.folder / "back.npz"),
                {name: t for name, t in before.items()
                 if name.startswith(layer) and "LayerNorm" not in name})


class ConvertTest(ParamsCase):
    def setUp(self):
        super().setUp()
        self.tensors = {**bert(), **others()}
        self.put_safetensors("m.safetensors", self.tensors,
                             {"format": "pt", "note": "é"})

    def convert(self, *arguments):
        return self.succeed("convert", *arguments)

    def test_names_change_and_other_tensors_are_carried_over(self):
        text = self.convert("m.safetensors", "o.safetensors", "--to",
                            "distilbert")
        self.assertEqual(text, "o.safetensors: layers 0-1, bert to distilbert; "
                         "4 other tensors copied unchanged\n")
        got, metadata = read_safetensors(self.folder / "o.safetensors")
        self.assertEqual(metadata, {"format": "pt", "note": "é"})
        want = dict(others())
        for number in (0, 1):
            for theirs, name in (("self.query", "q_lin"), ("self.key", "k_lin"),
                                 ("self.value", "v_lin"),
                                 ("output.dense", "out_lin")):
                for kind in ("weight", "bias"):
                    want[f"transformer.layer.{number}.attention.{name}.{kind}"
                         ] = self.tensors[f"encoder.layer.{number}.attention."
                                          f"{theirs}.{kind}"]
        self.assert_same(got, want)

    def test_attention_only_leaves_the_others_out(self):
        text = self.convert("m.safetensors", "o.npz", "--to", "distilbert",
                            "--attention-only")
        self.assertEqual(text, "o.npz: layers 0-1, bert to distilbert; 4 other "
                         "tensors left out; metadata left out, .npz has none\n")
        self.assertEqual(len(read_npz(self.folder / "o.npz")), 16)

    def test_one_layer_alone(self):
        self.fail_with(USAGE, "--layer is required, because the layout "
                       "headwise holds one layer; m.safetensors has layers "
                       "0 1", "convert", "m.safetensors",
                       "o.safetensors", "--to", "headwise")
        text = self.convert("m.safetensors", "o.safetensors", "--to",
                            "headwise", "--layer", "1")
        self.assertEqual(text, "o.safetensors: layer 1, bert to headwise; 4 "
                         "other tensors copied unchanged; 1 other layer left out\n")
        got = read_tensors(self.folder / "o.safetensors")
        self.assertEqual(got["w_q.weight"], self.tensors[
            "encoder.layer.1.attention.self.query.weight"])
        self.assertEqual(set(got) - set(others()), {
            f"w_{x}.{kind}" for x in "qkvo" for kind in ("weight", "bias")})
        self.convert("o.safetensors", "p.safetensors", "--to", "bert",
                     "--as-layer", "7")
        self.assert_same(
            read_tensors(self.folder / "p.safetensors"),
            {**others(), **{name.replace(".1.", ".7."): t
                            for name, t in bert((1,)).items()}})
        # A number stays where both layouts have one.
        self.convert("m.safetensors", "o.safetensors", "--to", "bert",
                     "--layer", "1", "--attention-only")
        self.assert_same(read_tensors(self.folder / "o.safetensors"),
                         bert((1,)))

    def test_prefixes(self):
        tensors = {**bert(prefix="bert."), **others("bert.")}
        self.put_safetensors("p.safetensors", tensors)
        self.convert("p.safetensors", "d.safetensors", "--to", "distilbert")
        self.assertIn("transformer.layer.0.attention.q_lin.weight",
                      read_tensors(self.folder / "d.safetensors"))
        # The same layout keeps it; another finds it by the tensors beside.
        for path in ("d.safetensors", "p.safetensors"):
            self.convert(path, "o.safetensors", "--to", "bert")
            self.assert_same(read_tensors(self.folder / "o.safetensors"),
                             tensors)
        self.convert("p.safetensors", "o.safetensors", "--to", "bert",
                     "--attention-only")
        self.assert_same(read_tensors(self.folder / "o.safetensors"),
                         bert(prefix="bert."))
        for prefix in ("", "bert."):
            self.convert("p.safetensors", "o.safetensors", "--to", "bert",
                         "--attention-only", "--to-prefix", prefix)
            self.assert_same(read_tensors(self.folder / "o.safetensors"),
                             bert(prefix=prefix))
        self.fail_with(USAGE, '--to-prefix is "x.", expected a prefix of the '
                       'layout bert: "" or "bert."', "convert", "p.safetensors",
                       "o.safetensors", "--to", "bert", "--to-prefix", "x.")

    def test_layers_behind_any_prefix(self):
        def torch(prefix, size=6):
            return {prefix + "in_proj_weight": tensor(3 * size, size, seed=len(prefix)),
                    prefix + "out_proj.weight": tensor(size, size)}

        encoder = {**torch("encoder.layers.0.self_attn."),
                   **torch("encoder.layers.1.self_attn.")}
        self.put_safetensors("e.safetensors", {**encoder, "head.weight": tensor(2)})
        self.assertIn('Layout: torch-mha with the prefix "encoder.layers.{N}.self_attn."'
                      ", 2 attention layers", self.succeed("inspect", "e.safetensors"))
        self.convert("e.safetensors", "o.safetensors", "--to", "torch-mha", "--attention-only")
        self.assert_same(read_tensors(self.folder / "o.safetensors"), encoder)
        self.put_safetensors("t.safetensors", {
            **encoder, **torch("decoder.layers.0.multihead_attn.", 4)})
        arguments = ("convert", "t.safetensors", "l.safetensors", "--to", "headwise",
                     "--layer", "0")
        self.fail_with(BAD_INPUT, "behind several prefixes: "
                       "decoder.layers.{N}.multihead_attn., "
                       "encoder.layers.{N}.self_attn.", *arguments)
        self.fail_with(BAD_INPUT, "no layer behind the prefix x, expected one of "
                       "decoder.layers.{N}.multihead_attn., ", *arguments,
                       "--prefix", "x")
        self.succeed(*arguments, "--prefix", "decoder.")
        self.assertEqual(read_tensors(self.folder / "l.safetensors")["w_q.weight"][1],
                         (4, 4))
        self.fail_with(BAD_INPUT, 'one of ""', "convert", "l.safetensors", "o.npz", "--to",
                       "headwise", "--prefix", "x")
        self.assertIn("embed_dim 4", self.succeed("inspect", "t.safetensors", "--prefix",
                                                  "decoder"))

    def test_one_layer_of_a_model_is_read(self):
        def finite(tensors):
            return {name: (dtype, shape, bytes(len(values)))
                    for name, (dtype, shape, values) in tensors.items()}

        self.put_safetensors("m.safetensors", finite({
            **bert(), **others(), "classifier.weight": tensor(2, 6)}))
        self.put_bytes("x.npy", npy_bytes(*finite({"x": tensor(1, 3, 6)})["x"]))
        for to in LAYOUTS:
            with self.subTest(to):
                self.convert("m.safetensors", "l.safetensors", "--to", to, "--layer",
                             "1", "--num-heads", "3")
                run = ("run", "--params", "l.safetensors", "--num-heads", "3", "--query",
                       "x.npy", "--key", "x.npy", "--value", "x.npy", "--out", "o.npy")
                self.succeed(*run)
        self.put_safetensors("l.safetensors", {
            **others(), "w_q.weight": tensor(6, 6), "w_q.scale": tensor(6)})
        self.fail_with(BAD_INPUT, "w_q.scale is not a parameter known here", *run)


    def test_heads(self):
        for to in ("keras", "flax"):
            arguments = ("convert", "m.safetensors", "o.npz", "--to", to,
                         "--layer", "0", "--attention-only")
            self.fail_with(USAGE, "--num-heads is not given, expected the "
                           f"number of heads: the layout {to} needs it, and "
                           "the shapes of m.safetensors do not say it",
                           *arguments)
            self.fail_with(BAD_INPUT, "--num-heads is 4, expected a divisor of the "
                           "6 features of queries", *arguments, "--num-heads", "4")
            self.fail_with(BAD_INPUT, "--num-heads is 4, expected a divisor",
                           "convert", "m.safetensors", "o.safetensors", "--to",
                           "distilbert", "--num-heads", "4")
            self.succeed(*arguments, "--num-heads", "3")
        self.assertEqual(
            read_npz(self.folder / "o.npz")["params/query/kernel"][1],
            (6, 3, 2))
        self.fail_with(BAD_INPUT, "--num-heads is 2, expected 3 as in o.npz",
                       "convert", "o.npz", "p.npz", "--to", "d2l", "--num-heads",
                       "2")

    def test_heads_of_a_pruned_file_are_its_own(self):
        tensors = bert()
        for name in ("query", "key", "value"):
            start = f"encoder.layer.1.attention.self.{name}"
            tensors[start + ".weight"] = tensor(4, 6)
            tensors[start + ".bias"] = tensor(4)
        tensors["encoder.layer.1.attention.output.dense.weight"] = tensor(6, 4)
        self.put_safetensors("model/model.safetensors", tensors, {
            "format": "pt", "num_heads": "[3, 2]",
            "kept_heads": "[[0, 1, 2], [0, 2]]"})
        self.put_bytes("model/config.json", b'{"num_attention_heads": 3}')
        arguments = ("convert", "model", "o.npz", "--to", "keras", "--layer",
                     "1", "--attention-only")
        self.succeed(*arguments)
        self.assertEqual(read_npz(self.folder / "o.npz")["query/kernel"][1],
                         (6, 2, 2))
        self.fail_with(BAD_INPUT, "--num-heads is 3, expected 2 as in model",
                       *arguments, "--num-heads", "3")
        # A layer by itself may get another number.
        self.convert("model", "one.safetensors", "--to", "bert", "--layer", "1",
                     "--as-layer", "0", "--attention-only")
        _, metadata = read_safetensors(self.folder / "one.safetensors")
        self.assertEqual(metadata, {"format": "pt", "num_heads": "2"})

    def test_heads_of_a_pruned_model_have_their_size(self):
        tensors = bert(size=8)
        for name in ("query", "key", "value"):
            start = f"encoder.layer.0.attention.self.{name}"
            tensors[start + ".weight"] = tensor(6, 8)
            tensors[start + ".bias"] = tensor(6)
        tensors["encoder.layer.0.attention.output.dense.weight"] = tensor(8, 6)
        self.put_safetensors("model/model.safetensors", tensors)
        arguments = ("convert", "model", "o.npz", "--to", "keras", "--layer", "0",
                     "--attention-only")

        def config(**more):
            self.put_bytes("model/config.json", json.dumps({
                "num_attention_heads": 4, "hidden_size": 8, **more}).encode())

        for record in ({}, {"pruned_heads": {"0": [1]}},
                       {"headwise_pruned_heads": {"layers": 2, "heads": {"0": [1]}}}):
            config(**record)
            self.succeed(*arguments)
            self.assertEqual(read_npz(self.folder / "o.npz")["query/kernel"][1],
                             (8, 3, 2))
            self.assertIn("Layer 0: embed_dim 8, 3 heads of 2 features (from config.json)",
                          self.succeed("inspect", "model"))
        why = ("config.json says that layer 0 has 2 heads of 2 features, expected 6 "
               "features of queries")
        config(pruned_heads={"0": [1, 2]})
        self.fail_with(BAD_INPUT, why, *arguments)
        self.assertIn(why, self.succeed("inspect", "model"))
        config(pruned_heads={"0": [4]})
        self.assertIn("config.json: pruned_heads.0.0 is not a head of a layer",
                      self.succeed("inspect", "model"))

    def test_config_json_says_heads_that_the_file_does_not(self):
        self.put_safetensors("model/model.safetensors", bert())
        self.put_bytes("model/config.json", b'{"num_attention_heads": 3}')
        arguments = ("convert", "model", "o.npz", "--to", "keras", "--layer",
                     "0", "--attention-only")
        self.succeed(*arguments)
        self.assertEqual(read_npz(self.folder / "o.npz")["query/kernel"][1],
                         (6, 3, 2))
        self.succeed(*arguments, "--num-heads", "2")
        self.put_bytes("model/config.json", b'{"num_attention_heads": 4}')
        self.fail_with(BAD_INPUT, "the head count of config.json is 4, expected "
                       "a divisor of the 6 features of queries in model",
                       *arguments)

    def test_a_damaged_config_json_is_named(self):
        self.put_safetensors("model/model.safetensors", bert())
        for text in (b"{", b"[1]", b""):
            self.put_bytes("model/config.json", text)
            for to in ("distilbert", "keras"):
                self.fail_with(BAD_INPUT, "config.json is not a JSON object", "convert",
                               "model", "out.safetensors", "--to", to)
        self.succeed("convert", "model", "out.safetensors", "--to", "distilbert",
                     "--heads", "3")

    def test_grouped_heads_are_found(self):
        # 4 heads of queries of 2 features, 2 of keys, values of 3.
        self.put_bytes("g.npz", npz_bytes({
            "query/kernel": tensor(5, 4, 2), "key/kernel": tensor(5, 2, 2),
            "value/kernel": tensor(5, 2, 3),
            "attention_output/kernel": tensor(4, 3, 7)}))
        self.convert("g.npz", "h.safetensors", "--to", "headwise")
        self.convert("h.safetensors", "back.npz", "--to", "keras", "--num-heads",
                     "4")
        self.assert_same(read_npz(self.folder / "back.npz"),
                         read_npz(self.folder / "g.npz"))
        self.fail_with(BAD_INPUT, "--num-heads is 1, which makes a head 8 features "
                       "long, expected a divisor of the 4 of keys", "convert",
                       "h.safetensors", "o.npz", "--to", "keras", "--num-heads",
                       "1")

    def test_shards_and_folders(self):
        want = self.put_sharded()
        self.convert("model", "o.safetensors", "--to", "bert")
        got, metadata = read_safetensors(self.folder / "o.safetensors")
        self.assert_same(got, want)
        self.assertEqual(metadata, {"format": "pt", "shard": "00001"})
        self.convert("model", "d.safetensors", "--to", "distilbert")
        self.convert("d.safetensors", "o.safetensors", "--to", "bert")
        self.assert_same(read_tensors(self.folder / "o.safetensors"), want)
        for name in ("w_q", "w_k", "w_v"):
            self.put(f"layer/{name}.weight.npy", 6, 6)
        text = self.convert("layer", "o.npz", "--to", "headwise")
        self.assertEqual(text, "o.npz: layer 0, headwise to headwise; 0 other "
                         "tensors copied unchanged\n")
        for name, (_, _, data) in read_npz(self.folder / "o.npz").items():
            self.assertTrue((self.folder / "layer" / f"{name}.npy"
                             ).read_bytes().endswith(data))

    def test_two_tensors_of_one_name(self):
        self.put_safetensors("m.safetensors", {
            **bert((0,)), "w_q.weight": tensor(6, 6, seed=9)})
        arguments = ("convert", "m.safetensors", "o.safetensors", "--to",
                     "headwise")
        self.fail_with(BAD_INPUT, "--attention-only is not given, but the "
                       "layout headwise has a tensor of the same name as "
                       "w_q.weight in m.safetensors", *arguments)
        self.assertFalse((self.folder / "o.safetensors").exists())
        self.succeed(*arguments, "--attention-only")

    def test_additive_scoring_has_no_counterpart(self):
        self.put_safetensors("a.safetensors", {
            "w_score.weight": tensor(2, 3),
            **{f"w_{x}.weight": tensor(6, 6) for x in "qkv"}})
        self.convert("a.safetensors", "b.npz", "--to", "headwise")
        self.assert_same(read_npz(self.folder / "b.npz"),
                         read_tensors(self.folder / "a.safetensors"))
        self.fail_with(BAD_INPUT, "a.safetensors: w_score.weight is not in the "
                       "layout keras", "convert", "a.safetensors", "o.npz",
                       "--to", "keras", "--num-heads", "2")

    def test_in_may_be_out(self):
        self.convert("m.safetensors", "m.safetensors", "--to", "distilbert")
        self.assertIn("transformer.layer.0.attention.q_lin.weight",
                      read_tensors(self.folder / "m.safetensors"))
        self.convert("m.safetensors", "m.safetensors", "--to", "bert")
        got, metadata = read_safetensors(self.folder / "m.safetensors")
        self.assert_same(got, self.tensors)
        self.assertEqual(metadata, {"format": "pt", "note": "é"})
        want = self.put_sharded()
        shard = "model/model-00001-of-00002.safetensors"
        self.convert("model", shard, "--to", "bert")
        self.assert_same(read_tensors(self.folder / shard), want)

    def test_the_same_input_gives_the_same_bytes(self):
        for out in ("a.npz", "b.npz", "a.safetensors", "b.safetensors"):
            self.convert("m.safetensors", out, "--to", "distilbert")
        for ending in ("npz", "safetensors"):
            self.assertEqual((self.folder / f"a.{ending}").read_bytes(),
                             (self.folder / f"b.{ending}").read_bytes())

    def test_a_failure_leaves_the_old_file(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        for out in ("o.npz", "o.safetensors", "m.safetensors"):
            old = self.put_bytes(out, b"old") if out[0] == "o" else \
                self.folder / out
            before = old.read_bytes()
            self.fail_with(OUT_OF_RESOURCES, "File too large", "convert",
                           "m.safetensors", out, "--to", "distilbert",
                           preexec_fn=limit)
            self.assertEqual(old.read_bytes(), before)
            self.fail_with(BAD_INPUT, "does not fit the layout d2l", "convert",
                           "m.safetensors", out, "--to", "bert", "--layout-of",
                           "d2l")
            self.assertEqual(old.read_bytes(), before)
        self.assertEqual(self.left_over(), [])
        self.convert("m.safetensors", "o.safetensors", "--to", "bert")
        self.assert_same(read_tensors(self.folder / "o.safetensors"),
                         self.tensors)

    def test_a_place_that_cannot_be_written(self):
        (self.folder / "d.npz").mkdir()
        os.symlink("/dev/full", self.folder / "full.npz")
        for out, message in (("none/o.npz", "No such file or directory"),
                             ("m.safetensors/o.npz", "Not a directory"),
                             ("d.npz", "Is a directory"),
                             ("full.npz", "No space left on device"),
                             ("/proc/o.safetensors", "/proc/o.safetensors")):
            with self.subTest(out):
                self.fail_with(OUT_OF_RESOURCES, message, "convert",
                               "m.safetensors", out, "--to", "distilbert")
        self.assertEqual(self.left_over(), [])

    def test_mistakes(self):
        pair = ("convert", "m.safetensors", "o.npz")
        for message, *arguments in (
                ("IN is required", "convert"),
                ("OUT is required", "convert", "m.safetensors"),
                ("--to is required", *pair),
                ("--to is brt, expected one of headwise, headwise-causal", *pair,
                 "--to", "brt"),
                ("did you mean bert?", *pair, "--to", "brt"),
                ("OUT is o.pt, expected a name that ends in .safetensors or "
                 ".npz", "convert", "m.safetensors", "o.pt", "--to", "bert"),
                ("--num-heads is 0, expected a whole number, 1 or greater", *pair,
                 "--to", "bert", "--num-heads", "0"),
                ("--as-layer is given for several layers", *pair, "--to", "bert",
                 "--as-layer", "1"),
                ("--as-layer is given for several layers", *pair, "--to", "d2l",
                 "--layer", "0", "--as-layer", "1")):
            with self.subTest(message):
                self.fail_with(USAGE, message, *arguments)
        self.fail_with(BAD_INPUT, "--layer is 2, expected one of 0 1 as in "
                       "m.safetensors", *pair, "--to", "d2l", "--layer", "2")
        self.put_safetensors("x.safetensors", {"x": tensor(2)})
        self.fail_with(BAD_INPUT, "convert: x.safetensors fits no layout",
                       "convert", "x.safetensors", "o.npz", "--to", "d2l")
        self.put_safetensors("u.safetensors", {**bert((0,)),
                                               "../up": tensor(2)})
        self.fail_with(BAD_INPUT, "'..' in its name", "convert",
                       "u.safetensors", "o.npz", "--to", "bert")
        self.assertFalse((self.folder / "o.npz").exists())


if __name__ == "__main__":
    cli_case.main()
