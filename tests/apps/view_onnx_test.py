"""`headwise view --onnx` and `stats --onnx`: the heads of an ONNX model are
those that its attention nodes compute."""
import itertools
import json
import math
import os
import pathlib
import re
import xml.etree.ElementTree

import cli_case
import onnx_contrib_cases
import onnx_fusion_test
import onnx_file as onnx
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest, npy_bytes, read_npy

# What may differ from a node that rounds each of its steps to 16 bits.
TOLERANCE = {onnx.FLOAT: 1e-6, onnx.DOUBLE: 1e-6, onnx.FLOAT16: 4e-3,
             onnx.BFLOAT16: 3e-2}
KINDS = {"float": onnx.FLOAT, "float16": onnx.FLOAT16, "double": onnx.DOUBLE,
         "bfloat16": onnx.BFLOAT16, "bool": onnx.BOOL, "int64": onnx.INT64}
MODEL_OPTIONS = ("--onnx", "model.onnx", "--data", "data")


def numbers(shape, seed=0):
    return [((n * 37 + 11 + 7 * seed) % 101) / 50 - 1
            for n in range(math.prod(shape))]


class OnnxViewTest(CliTest):
    """Models whose nodes also return their attention weights, mode 3 of
    qk_matmul_output: the last outputs of the graph."""

    kind = onnx.FLOAT

    def put_model(self, nodes, inputs, outputs, initializers=(), opset=24):
        """`inputs`: (name, shape, values, kind)."""
        (self.folder / "model.onnx").write_bytes(onnx.model(
            nodes, [onnx.port(name, None, kind) for name, _, _, kind in inputs],
            [onnx.port(name, None, kind) for name, kind in outputs],
            initializers, opset))
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        for old in data.iterdir():
            old.unlink()
        for n, (name, shape, values, kind) in enumerate(inputs):
            raw = None
            if kind == onnx.BFLOAT16:
                raw = b"".join(onnx.struct.pack("<f", x)[2:] for x in values)
            (data / f"input_{n}.pb").write_bytes(
                onnx.tensor(name, shape, values, kind, raw))

    def put_attention(self, query, key, kind=None, opset=24, name="attn", more=(),
                      **attributes):
        """One node. `more`: (place, shape, values, kind) of its other inputs."""
        kind = kind or self.kind
        names = ["Q", "K", "V", "", "", "", ""]
        inputs = [("Q", query, numbers(query), kind),
                  ("K", key, numbers(key, 1), kind),
                  ("V", key, numbers(key, 2), kind)]
        for place, shape, values, its_kind in more:
            names[place] = f"x{place}"
            inputs.append((names[place], shape, values, its_kind))
        while not names[-1]:
            names.pop()
        self.put_model(
            [onnx.node("Attention", names, ["Y", "", "", "W"], name=name,
                       qk_matmul_output_mode=3, **attributes)],
            inputs, [("Y", kind), ("W", kind)], opset=opset)

    def view(self, *arguments):
        done = self.run_it("view", *MODEL_OPTIONS, *arguments)
        self.assertEqual(done.returncode, 0, done)
        return done

    def page(self, name="page.html"):
        text = (self.folder / name).read_text("utf-8")
        return json.loads(re.search(
            r'<script type="application/json" id="page">(.*?)</script>', text,
            re.S).group(1))

    def shown_weights(self, layer, head, sequence, more=()):
        """(Lq, Lkv); null where the mask forbids the key."""
        done = self.view("--head", f"{layer}.{head}", "--sequence", str(sequence),
                         "--json", *more)
        heads = json.loads(done.stdout)["heads"]
        self.assertEqual(len(heads), 1)
        return heads[0]["attn_weights"]

    def run_weights(self, output):
        """What the model returns, to compare with what is shown."""
        self.succeed("onnx-run", "model.onnx", "--data", "data", "--out", "out")
        self.returned = read_npy(self.folder / "out" / f"output_{output}.npy")

    def check_weights(self, output=1, **options):
        self.run_weights(output)
        self.compare_weights(**options)

    def compare_weights(self, layer=0, tolerance=1e-6, more=()):
        """Of the last head of the last sequence."""
        (B, Hq, _, _), _ = self.returned
        self.compare_head(B - 1, Hq - 1, layer, tolerance, more)

    def compare_head(self, b, h, layer=0, tolerance=1e-6, more=()):
        (_, Hq, Lq, Lkv), weights = self.returned
        rows = self.shown_weights(layer, h, b, more)
        self.assertEqual((len(rows), len(rows[0])), (Lq, Lkv))
        for i, row in enumerate(rows):
            for j, shown in enumerate(row):
                want = weights[((b * Hq + h) * Lq + i) * Lkv + j]
                where = (b, h, i, j, shown, want)
                if shown is None:  # NaN in a whole row, or 0
                    self.assertTrue(
                        want == 0 or math.isnan(want) and set(row) == {None}, where)
                else:
                    self.assertLessEqual(abs(shown - want), tolerance, where)


class Fixtures(OnnxViewTest):
    def cases(self):
        folder = pathlib.Path(
            os.environ.get("HEADWISE_FIXTURES", cli_case.FIXTURES)) / "onnx"
        cases = sorted(path.parent for path in folder.glob("*/case.json"))
        if not cases:
            self.skipTest(f"no cases in {folder} (script/golden makes them)")
        return cases

    def put_case(self, case):
        """The node with its attention weights as its last output."""
        told = json.loads((case / "case.json").read_text())
        kinds = {name: KINDS[each["elem_type"]]
                 for name, each in told["tensors"].items()}
        inputs = told["node_inputs"]
        (self.folder / "model.onnx").write_bytes(onnx.model(
            [onnx.node("Attention", inputs, ["Y", "", "", "W"],
                       **{**told["attributes"], "qk_matmul_output_mode": 3})],
            [onnx.port(name, None, kinds[name]) for name in inputs if name],
            [onnx.port("W", None, kinds["Q"])], opset=told["opset"]))
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        for old in data.iterdir():
            old.unlink()
        for n, name in enumerate(name for name in inputs if name):
            (data / f"input_{n}.pb").write_bytes(
                (case / told["tensors"][name]["pb"]).read_bytes())
        return kinds["Q"]

    def test_the_weights_are_those_of_the_node(self):
        for case in self.cases():
            with self.subTest(case.name):
                kind = self.put_case(case)
                self.check_weights(output=0, tolerance=TOLERANCE[kind])


class Weights(OnnxViewTest):
    def test_three_axes_and_grouped_heads(self):
        self.put_attention((2, 3, 16), (2, 5, 8), q_num_heads=4, kv_num_heads=2)
        self.run_weights(1)
        for b, h in itertools.product(range(2), range(4)):
            self.compare_head(b, h)
        done = json.loads(self.view("--json").stdout)
        self.assertEqual([head["kv_head"] for head in done["heads"]], [0, 0, 1, 1])

    def test_causal_behind_past_keys(self):
        past = (1, 2, 4, 4)
        self.put_attention(
            (1, 2, 3, 4), (1, 2, 3, 4), is_causal=1,
            more=[(n, past, numbers(past, n), self.kind) for n in (4, 5)])
        self.check_weights()
        page = json.loads(self.view("--json", "--head", "0.1").stdout)
        self.assertEqual(page["key_tokens"], list("0123456"))
        self.assertEqual([row.count(None) for row in
                          page["heads"][0]["attn_weights"]], [2, 1, 0])

    def test_a_softcap_and_a_window(self):
        self.put_attention((1, 2, 6, 4), (1, 2, 6, 4), opset=25, softcap=0.5,
                           scale=2.0, left_window_size=2, right_window_size=1)
        self.check_weights()

    def test_numbers_of_keys_and_rows_without_one(self):
        self.put_attention((2, 1, 3, 4), (2, 1, 5, 4), is_causal=1,
                           more=[(6, (2,), [4, 1], onnx.INT64)])
        self.check_weights()
        head, = json.loads(self.view("--json", "--sequence", "1").stdout)["heads"]
        self.assertEqual(head["queries_without_key"], 2)

    def test_masks_of_every_rank(self):
        for shape, kind in (((5,), onnx.BOOL), ((3, 5), onnx.FLOAT),
                            ((2, 3, 5), onnx.BOOL), ((2, 1, 3, 5), onnx.FLOAT),
                            ((1, 2, 1, 4), onnx.BOOL)):
            count = math.prod(shape)
            values = [n % 3 != 1 for n in range(count)] if kind == onnx.BOOL \
                else [-math.inf if n % 4 == 3 else n % 7 - 3.0 for n in range(count)]
            with self.subTest(shape):
                self.put_attention((2, 2, 3, 4), (2, 2, 5, 4),
                                   more=[(3, shape, values, kind)])
                self.check_weights()

    def test_key_lengths_only(self):
        self.put_attention((2, 1, 3, 4), (2, 1, 5, 4),
                           more=[(6, (2,), [4, 0], onnx.INT64)])
        self.check_weights()

    def test_fills_of_the_lowest_number(self):
        values = [-3.4e38 if n % 5 > 2 or n > 9 else 0.0 for n in range(15)]
        self.put_attention((1, 2, 3, 4), (1, 2, 5, 4),
                           more=[(3, (3, 5), values, onnx.FLOAT)])
        self.check_weights()


class InFloat32(OnnxViewTest):
    def test_every_type(self):
        for kind, tolerance in TOLERANCE.items():
            with self.subTest(kind):
                self.put_attention((1, 2, 3, 4), (1, 1, 5, 4), kind, scale=0.75)
                self.check_weights(tolerance=tolerance)

    def test_positions_make_it_attention_within_a_sequence(self):
        past = [(n, (1, 1, 2, 4), numbers((1, 1, 2, 4)), self.kind) for n in (4, 5)]
        lengths = [(6, (1,), [4], onnx.INT64)]
        for kind, more, attributes in (
                ("cross", (), {}), ("self", (), {"is_causal": 1}),
                ("self", (), {"left_window_size": 2}),
                ("self", (), {"right_window_size": 0}),
                ("self", past, {}), ("self", lengths, {})):
            with self.subTest((kind, more, attributes)):
                self.put_attention((1, 1, 3, 4), (1, 1, 5, 4), opset=25, more=more,
                                   **attributes)
                self.view("--out", "page.html")
                self.assertEqual(self.page()["kind"], kind)

    def test_fills_mask_where_each_query_has_another_key(self):
        fills = [-3.4e38 if n % 5 > 2 or n == 0 else 0.0 for n in range(15)]
        for values, more, masked in (
                (fills, {}, True), (fills, {"is_causal": 1}, False),
                (fills[:10] + [-3.4e38] * 5, {}, False),
                (fills[:14] + [1.0], {}, False)):
            with self.subTest((values, more)):
                self.put_attention((1, 2, 3, 4), (1, 2, 5, 4),
                                   more=[(3, (3, 5), values, onnx.FLOAT)], **more)
                self.check_weights()
                self.view("--out", "page.html")
                head = self.page()["layers"][0]["heads"][0]
                self.assertEqual(head["query"] is not None, masked)

    def test_a_mask_of_0_and_minus_infinity_only_forbids(self):
        shape = (3, 5)
        values = [-math.inf if n in (1, 8) or n >= 10 else 0.0 for n in range(15)]
        self.put_attention((1, 2, 3, 4), (1, 2, 5, 4),
                           more=[(3, shape, values, onnx.FLOAT)])
        self.check_weights()
        self.view("--out", "page.html")
        page = self.page()
        self.assertIsNotNone(page["layers"][0]["heads"][0]["query"])
        self.assertNotIn("bias", {step["step"] for step in page["trace"]})


class WeightsOfSteps(Weights):
    """The node computes them step by step, the page as float32."""

    kind = onnx.DOUBLE


def two_layers(scale=None, names=("enc", "dec")):
    """Two attention nodes; the second reads what the first makes."""
    more = {} if scale is None else {"scale": scale}
    return [onnx.node("Attention", ["Q", "K", "V"], ["A", "", "", "W0"],
                      name=names[0], qk_matmul_output_mode=3),
            onnx.node("Neg", ["A"], ["N"], name="neg"),
            onnx.node("Attention", ["N", "K", "V"], ["Y", "", "", "W1"],
                      name=names[1], qk_matmul_output_mode=3, **more)]


class Nodes(OnnxViewTest):
    def put_two(self, **options):
        shape = (1, 2, 4, 4)
        self.put_model(two_layers(**options),
                       [(name, shape, numbers(shape, n), onnx.FLOAT)
                        for n, name in enumerate("QKV")],
                       [("Y", onnx.FLOAT), ("W0", onnx.FLOAT), ("W1", onnx.FLOAT)])

    def test_matching_nodes_share_a_page(self):
        self.put_two()
        self.check_weights(output=1, layer=0)
        self.check_weights(output=2, layer=1)
        done = self.view("--out", "page.html", "--svg", "all.svg", "--json")
        page = self.page()
        self.assertEqual([layer["number"] for layer in page["layers"]], [0, 1])
        self.assertEqual((page["title"], page["model"], page["text"], page["kind"]),
                         ("model.onnx", "model.onnx",
                          "layer 0: enc (Attention), layer 1: dec (Attention)",
                          "self"))
        self.assertEqual(json.loads(done.stdout)["nodes"],
                         [{"layer": 0, "name": "enc (Attention)"},
                          {"layer": 1, "name": "dec (Attention)"}])
        svg = (self.folder / "all.svg").read_text("utf-8")
        self.assertIn("layer 0: enc (Attention), layer 1: dec (Attention)", svg)

    def test_one_node_by_its_name_or_its_number(self):
        self.put_two(scale=0.25)
        for node in ("dec", "1"):
            self.view("--node", node, "--out", "page.html")
            self.assertEqual(self.page()["text"], "layer 1: dec (Attention)")
        self.check_weights(output=2, layer=1, more=["--node", "dec"])
        self.view("--layers", "0", "--out", "page.html")
        self.assertEqual(self.page()["text"], "layer 0: enc (Attention)")

    def test_a_name_that_is_a_number_comes_before_the_number(self):
        self.put_two(names=("1", "0"))
        self.view("--node", "1", "--out", "page.html")
        self.assertEqual(self.page()["text"], "layer 0: 1 (Attention)")

    def test_nodes_that_differ_do_not_share_a_page(self):
        self.put_two(scale=0.25)
        self.fail_with(
            BAD_INPUT, "--onnx: model.onnx: dec (Attention) has a different mask "
            "or scale from enc (Attention), expected one node with --node, or "
            "matching nodes with --layers: 0: enc (Attention), 1: dec "
            "(Attention)", "view", *MODEL_OPTIONS, "--json")

    def test_masks_are_compared_by_their_elements(self):
        shape = (1, 2, 4, 4)
        for kind, same, other in (
                (onnx.BOOL, [True, True, False, True], [True] * 4),
                (onnx.FLOAT, [0.0, 1.5, 0.0, 0.0], [0.0, 1.5, 0.0, 2.0])):
            for second in (same, other):
                with self.subTest((kind, second)):
                    self.put_model(
                        [onnx.node("Attention", ["Q", "Q", "Q", "M"], ["A"], name="a"),
                         onnx.node("Attention", ["A", "Q", "Q", "N"], ["Y"], name="b")],
                        [("Q", shape, numbers(shape), onnx.FLOAT),
                         ("M", (4,), same, kind), ("N", (1, 4), second, kind)],
                        [("Y", onnx.FLOAT)])
                    done = self.run_it("view", *MODEL_OPTIONS, "--json")
                    self.assertEqual(done.returncode,
                                     0 if second == same else BAD_INPUT, done)

    def test_nodes_of_other_sizes(self):
        shape = (1, 2, 4, 4)
        short = (1, 2, 3, 4)
        self.put_model(
            [onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="enc"),
             onnx.node("Attention", ["Y", "P", "P"], ["Z"], name="cross")],
            [(name, shape, numbers(shape), onnx.FLOAT) for name in "QKV"] +
            [("P", short, numbers(short), onnx.FLOAT)], [("Z", onnx.FLOAT)])
        self.fail_with(BAD_INPUT, "cross (Attention) has different sizes from enc",
                       "view", *MODEL_OPTIONS, "--json")
        self.view("--node", "cross", "--out", "page.html")
        self.assertEqual(self.page()["kind"], "cross")

    def test_a_name_that_is_unknown_or_not_unique(self):
        self.put_two()
        self.fail_with(USAGE, "--node is foo, expected one of 0: enc (Attention), "
                       "1: dec (Attention)", "view", *MODEL_OPTIONS, "--json",
                       "--node", "foo")
        self.fail_with(USAGE, "--layers is 0,2, expected numbers from 0 to 1",
                       "view", *MODEL_OPTIONS, "--json", "--layers", "0,2")
        self.put_two(names=("same", "same"))
        self.fail_with(USAGE, "--node is same, expected a node number, because "
                       "nodes 0 and 1 share this name", "view", *MODEL_OPTIONS,
                       "--json", "--node", "same")

    def test_hostile_names(self):
        evil = "</script><script>alert(1)</script>\x1b[2J\u202e" + "x" * 5000
        self.put_attention((1, 1, 2, 4), (1, 1, 2, 4), name=evil)
        done = self.view("--out", "page.html", "--svg", "all.svg", "--json")
        text = (self.folder / "page.html").read_text("utf-8")
        self.assertNotIn("<script>alert", text)
        self.assertEqual(self.page()["text"][:38], "layer 0: </script><script>alert(1)</sc")
        for shown in (self.page()["text"], done.stdout.decode(),
                      (self.folder / "all.svg").read_text("utf-8")):
            self.assertNotRegex(shown, "[\x1b\u202e]")
        self.assertLess(len(self.page()["text"]), 100)
        self.assertTrue(xml.etree.ElementTree.parse(self.folder / "all.svg"))
        table = self.succeed("stats", *MODEL_OPTIONS)
        self.assertIn(r"alert(1)</script>\x1b[2J", table)
        self.assertNotIn("\x1b", table)


class NodesOfOnnxRuntime(OnnxViewTest):
    """Of com.microsoft. Their inputs are in the model."""

    def put_case(self, name):
        (self.folder / "data").mkdir(exist_ok=True)
        (self.folder / "model.onnx").write_bytes(onnx_contrib_cases.model_of(name))

    def test_weights_that_the_node_returns(self):
        self.put_case("gqa weights")
        self.check_weights(output=3)
        self.view("--out", "page.html")
        self.assertEqual(self.page()["text"],
                         "layer 0: n (com.microsoft GroupQueryAttention)")

    def test_weights_times_values_are_the_output(self):
        value = onnx_contrib_cases.numbers((2, 4, 6), seed=2)  # of 2 heads
        for name in ("mha", "mha lengths", "mha padding by query",
                     "mha causal, padding on the left"):
            with self.subTest(name):
                self.put_case(name)
                self.succeed("onnx-run", "model.onnx", "--data", "data", "--out",
                             "out")
                (_, rows, _), output = read_npy(self.folder / "out/output_0.npy")
                for b, h in itertools.product(range(2), range(2)):
                    for i, row in enumerate(self.shown_weights(0, h, b)):
                        for d in range(3 * h, 3 * h + 3):
                            want = output[(b * rows + i) * 6 + d]
                            got = sum((w or 0) * value[(b * 4 + j) * 6 + d]
                                      for j, w in enumerate(row))
                            self.assertAlmostEqual(got, want, delta=1e-6)

    def test_nodes_with_other_sinks_do_not_share_a_page(self):
        op, inputs, _, attributes = onnx_contrib_cases.CASES["gqa prompt"]
        names = [given and f"x{n}" or "" for n, given in enumerate(inputs)]
        for smooth in (0, 1):
            second = onnx.node(op, names, ["y"], "smooth", "com.microsoft",
                               smooth_softmax=smooth, **attributes)
            (self.folder / "data").mkdir(exist_ok=True)
            (self.folder / "model.onnx").write_bytes(
                onnx_contrib_cases.model(op, inputs, 1, [second], **attributes))
            done = self.run_it("view", *MODEL_OPTIONS, "--json")
            self.assertEqual(done.returncode, BAD_INPUT if smooth else 0, done)

    def test_other_features_have_a_page(self):
        for name in ("mha a row of -inf", "attention past, padding",
                     "gqa sink, bias", "gqa part of a prompt, positions"):
            with self.subTest(name):
                self.put_case(name)
                self.view("--out", "page.html")


class NodesThatAGraphSpellsOut(OnnxViewTest):
    def put_graph(self, name, outputs):
        nodes, held, _ = onnx_fusion_test.GRAPHS[name]
        shape = (2, onnx_fusion_test.L, onnx_fusion_test.F)
        self.put_model(nodes, [("x", shape, numbers(shape), onnx.FLOAT)],
                       [(name, onnx.FLOAT) for name in outputs],
                       [*onnx_fusion_test.HELD, *held], 17)

    def test_the_weights_are_those_of_softmax(self):
        for name in onnx_fusion_test.GRAPHS:
            with self.subTest(name):
                # A graph that returns them runs node by node.
                self.put_graph(name, ["y", "w"])
                self.run_weights(1)
                # Some have the heads in the axis of the batch, or in rows.
                L = onnx_fusion_test.L
                self.returned = (2, onnx_fusion_test.H, L, L), self.returned[1]
                self.put_graph(name, ["y"])
                self.compare_weights()
                self.view("--out", "page.html")
                self.assertEqual(self.page()["text"],
                                 "layer 0: y4 (MatMul-Softmax-MatMul)")

    def test_nodes_that_are_not_one_attention(self):
        nodes, held = onnx_fusion_test.UNLIKE["a mask far from 0"]
        shape = (2, onnx_fusion_test.L, onnx_fusion_test.F)
        self.put_model(nodes, [("x", shape, numbers(shape), onnx.FLOAT)],
                       [("y", onnx.FLOAT)], [*onnx_fusion_test.HELD, *held], 17)
        self.fail_with(BAD_INPUT, "model.onnx: y4 (MatMul) cannot run as a "
                       "single attention operation on these inputs", "view", *MODEL_OPTIONS, "--json")

    def test_the_memory_limit(self):
        node = onnx_fusion_test.node
        shape = (1, 1, 300, 300)  # 0.36 MB each, and the copies that are shown
        self.put_model([node("MatMul", "q k", "s"), node("Softmax", "s", "w", axis=-1),
                        node("MatMul", "w v", "y4")],
                       [(name, shape, numbers(shape), onnx.FLOAT) for name in "qkv"],
                       [("y4", onnx.FLOAT)], opset=17)
        self.view("--json")
        self.fail_with(OUT_OF_RESOURCES, "y4 (MatMul) needs", "view", *MODEL_OPTIONS,
                       "--json", "--memory-limit", "1")


class Rows(OnnxViewTest):
    def test_tokens_are_labels(self):
        self.put_attention((1, 1, 2, 4), (1, 1, 3, 4))
        self.put_text("[CLS]\ncat\n", "q.txt")
        self.put_text("the\n[SEP]\nmat\n", "k.txt")
        self.view("--out", "page.html", "--query-tokens", "q.txt", "--key-tokens",
                  "k.txt", "--title", "Mine")
        page = self.page()
        self.assertEqual((page["query_tokens"], page["key_tokens"], page["title"]),
                         (["[CLS]", "cat"], ["the", "[SEP]", "mat"], "Mine"))
        self.assertEqual((page["query_special"], page["separators"], page["kind"]),
                         ([0], [1], "cross"))
        self.fail_with(BAD_INPUT, "k.txt has 3 lines, expected 2, one for each query",
                       "view", *MODEL_OPTIONS, "--json", "--query-tokens", "k.txt")

    def test_queries_that_are_padding_are_left_out(self):
        self.put_attention((2, 1, 3, 4), (2, 1, 3, 4))
        self.put("n.npy", 2, values=[1, 3], descr="<i8")
        done = self.view("--json", "--query-lengths", "n.npy")
        self.assertEqual(json.loads(done.stdout)["query_tokens"], ["0"])
        self.put("n.npy", 2, values=[1, 4], descr="<i8")
        self.fail_with(BAD_INPUT, "--query-lengths[1] is 4, expected a number from 0 to the 3 queries",
                       "view", *MODEL_OPTIONS, "--json", "--query-lengths", "n.npy")

    def test_statistics_as_a_table_and_as_json(self):
        self.put_attention((1, 2, 3, 4), (1, 2, 3, 4), is_causal=1)
        table = self.succeed("stats", *MODEL_OPTIONS)
        self.assertTrue(table.startswith("model.onnx: 0: attn (Attention)\n\n"), table)
        done = json.loads(self.succeed("stats", *MODEL_OPTIONS, "--json"))
        shown = json.loads(self.view("--json").stdout)
        self.assertEqual((done["model"], done["nodes"]),
                         ("model.onnx", [{"layer": 0, "name": "attn (Attention)"}]))
        for mine, theirs in zip(done["heads"], shown["heads"]):
            self.assertAlmostEqual(mine["entropy"], theirs["entropy"], places=5)


class Refusals(OnnxViewTest):
    def refuse(self, code, message, *arguments, command="view"):
        return self.fail_with(code, message, command, *arguments)

    def test_options_that_do_not_go_together(self):
        self.put_attention((1, 1, 2, 4), (1, 1, 2, 4))
        self.put("q.npy", 1, 1, 2, 4)
        defines = ("cannot be used with --onnx: the model defines the queries, "
                   "keys, masks and scores")
        for option in (("--query", "q.npy"), ("--causal",), ("--scale", "1"),
                       ("--dtype", "float16"), ("--dialect", "keras"),
                       ("--max-tokens", "4"), ("--rotary-base", "10000"),
                       ("--layout", "blhd")):
            with self.subTest(option):
                self.refuse(USAGE, f"{option[0]} {defines}", *MODEL_OPTIONS,
                            "--json", *option)
        self.refuse(USAGE, "--onnx cannot be used with --model", "--model", "m",
                    "text", *MODEL_OPTIONS, "--json")
        self.refuse(USAGE, f"TEXT {defines}", *MODEL_OPTIONS, "--json", "a text")
        self.refuse(USAGE, "--node and --layers cannot be used together",
                    *MODEL_OPTIONS, "--json", "--node", "0", "--layers", "0")
        self.refuse(USAGE, "--onnx needs --data DIR", "--onnx", "model.onnx",
                    "--json")
        for option in ("--data", "--node", "--memory-limit"):
            self.refuse(USAGE, f"{option} needs --onnx MODEL.onnx", option, "7",
                        "--json")
        self.refuse(USAGE, "--corpus needs --model DIR", *MODEL_OPTIONS,
                    "--corpus", "q.npy", command="stats")

    def test_files_that_are_wrong(self):
        self.put_attention((1, 1, 2, 4), (1, 1, 2, 4))
        self.refuse(BAD_INPUT, "none.onnx: No such file", "--onnx", "none.onnx",
                    "--data", "data", "--json")
        self.refuse(BAD_INPUT, "--data: none: No such file or directory", "--onnx",
                    "model.onnx", "--data", "none", "--json")
        self.refuse(USAGE, "--out is model.onnx, which --onnx reads", *MODEL_OPTIONS,
                    "--out", "model.onnx")
        (self.folder / "data" / "input_1.pb").unlink()
        self.refuse(USAGE, "--data has no input 1, which is K", *MODEL_OPTIONS,
                    "--json")
        for name in ("input_1.npy", "more.npz"):
            os.mkfifo(self.folder / "data" / name)
            self.refuse(BAD_INPUT, f"--data: data/{name} is not a regular file",
                        *MODEL_OPTIONS, "--json")

    def test_sequences_that_the_batch_lacks(self):
        self.put_attention((2, 1, 2, 4), (2, 1, 2, 4))
        self.refuse(USAGE, "--sequence is 4, expected 0 to 1", *MODEL_OPTIONS,
                    "--sequence", "4", "--json")
        self.put_attention((0, 1, 2, 4), (0, 1, 2, 4))
        self.refuse(BAD_INPUT, "query is an empty batch, expected at least one "
                    "sequence", *MODEL_OPTIONS, "--json")

    def test_a_model_without_attention(self):
        self.put_model([onnx.node("Neg", ["x"], ["y"])],
                       [("x", (2,), [1, 2], onnx.FLOAT)], [("y", onnx.FLOAT)])
        self.refuse(BAD_INPUT, "--onnx: model.onnx contains no attention nodes",
                    *MODEL_OPTIONS, "--json")

    def test_inputs_that_the_node_refuses(self):
        shape = (1, 1, 2, 4)
        self.put_model(
            [onnx.node("Attention", ["Q", "K", "V"], ["Y"], name="attn")],
            [(name, shape, list(range(8)), onnx.INT64) for name in "QKV"],
            [("Y", onnx.INT64)])
        self.refuse(BAD_INPUT, "model.onnx: attn (Attention): Q holds int64 elements",
                    *MODEL_OPTIONS, "--json")

    def test_numbers_that_a_page_cannot_hold(self):
        shape = (1, 1, 2, 4)
        for bad, text in ((math.nan, "nan"), (math.inf, "inf")):
            self.put_model(
                [onnx.node("Attention", ["Q", "K", "K"], ["Y"], name="attn")],
                [("Q", shape, [0.5] * 8, onnx.FLOAT),
                 ("K", shape, [0.5] * 6 + [bad, 0], onnx.FLOAT)],
                [("Y", onnx.FLOAT)])
            self.refuse(BAD_INPUT, "model.onnx: attn (Attention): key[0, 1, 0, 2] is "
                        + text, *MODEL_OPTIONS, "--out", "page.html")
        self.assertFalse((self.folder / "page.html").exists())

    def test_nothing_to_show(self):
        for query, key in (((1, 1, 0, 4), (1, 1, 2, 4)), ((1, 1, 2, 4), (1, 1, 0, 4)),
                           ((1, 1, 2, 0), (1, 1, 2, 0)), ((0, 1, 2, 4), (0, 1, 2, 4))):
            with self.subTest((query, key)):
                self.put_attention(query, key)
                done = self.run_it("view", *MODEL_OPTIONS, "--out", "page.html")
                self.assertEqual(done.returncode, BAD_INPUT, done)
                self.assertFalse((self.folder / "page.html").exists())

    def test_the_memory_limit(self):
        shape = (1, 1, 600, 600)  # 1.44 MB each, and the copies that are shown
        self.put_attention(shape, shape)
        done = self.refuse(OUT_OF_RESOURCES, "attn (Attention) needs",
                           *MODEL_OPTIONS, "--json", "--memory-limit", "1")
        self.assertIn("the memory limit", done)
        self.view("--json", "--memory-limit", "100")

    def test_what_is_shown_counts_toward_the_memory_limit(self):
        shape = (1, 1, 300, 300)  # 0.36 MB each, 1.08 MB for a node that is shown
        self.put_model(two_layers(), [(name, shape, numbers(shape), onnx.FLOAT)
                                      for name in "QKV"], [("Y", onnx.FLOAT)])
        limit = ("--json", "--memory-limit", "3")
        self.view(*limit, "--node", "enc")
        self.refuse(OUT_OF_RESOURCES, "dec (Attention) needs", *MODEL_OPTIONS, *limit)


if __name__ == "__main__":
    cli_case.main()
