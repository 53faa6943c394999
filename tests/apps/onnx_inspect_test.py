"""`headwise inspect MODEL.onnx`: the attention that it finds."""
import json

import cli_case
import onnx_file as onnx
from cli_case import BAD_INPUT, USAGE, CliTest


def port(name, *shape):
    return onnx.port(name, shape)


class OnnxInspectTest(CliTest):
    def put(self, nodes, inputs, outputs=("Y",), held=(), opset=23):
        (self.folder / "m.onnx").write_bytes(onnx.model(
            nodes, inputs, [onnx.port(name) for name in outputs], held, opset))

    def inspect(self):
        return json.loads(self.succeed("inspect", "m.onnx", "--json"))

    def test_attention_with_an_axis_of_heads(self):
        self.put([onnx.node("Attention", ["Q", "K", "V"], ["Y"], "attn",
                            is_causal=1)],
                 [port("Q", 1, 6, 4, 16), port("K", 1, 2, 5, 16),
                  port("V", 1, 2, 5, 8)])
        told = self.inspect()
        self.assertEqual(told["schema"], "headwise.inspect_onnx")
        self.assertEqual(told["attention"], [
            {"name": "attn", "pattern": "Attention", "num_heads": 6,
             "num_kv_heads": 2, "head_size": 16, "value_size": 8,
             "scale": 0.25, "causal": True, "mask": False}])

    def test_sizes_through_the_operators_of_a_layer(self):
        """Rank 3, behind projections; the batch and the length are open."""
        held = [onnx.tensor("W", (8, 12), [0.0] * 96)]
        self.put([onnx.node("MatMul", ["x", "W"], ["q"]),
                  onnx.node("Attention", ["q", "q", "q", "m"], ["Y"],
                            q_num_heads=3, kv_num_heads=3, scale=0.5)],
                 [port("x", "B", "L", 8), port("m", "L", "L")], held=held)
        self.assertEqual(self.inspect()["attention"], [
            {"name": "#1", "pattern": "Attention", "num_heads": 3,
             "num_kv_heads": 3, "head_size": 4, "value_size": 4,
             "scale": 0.5, "causal": False, "mask": True}])

    def spelled_out(self, before, inputs, query="q", held=()):
        """One attention of MatMul, Softmax, MatMul."""
        self.put([*before, onnx.node("MatMul", [query, "kt"], ["s"]),
                  onnx.node("Softmax", ["s"], ["w"]),
                  onnx.node("MatMul", ["w", "v"], ["Y"])], inputs, held=held)
        told, = self.inspect()["attention"]
        return told

    def test_a_factor_is_the_first_or_the_second_input(self):
        inputs = [port("q", 1, 2, 4, 8), port("kt", 1, 2, 8, 4),
                  port("v", 1, 2, 4, 8)]
        held = [onnx.tensor("c", (), [0.5])]
        for factors in (["q", "c"], ["c", "q"]):
            told = self.spelled_out([onnx.node("Mul", factors, ["qs"])],
                                    inputs, "qs", held)
            self.assertEqual(told["scale"], 0.5)
        # A number that is an input, and the cosines of a rotation.
        for shape, scale in (((), None), ((1, 1), None), ((4, 8), 1)):
            for factors in (["q", "c"], ["c", "q"]):
                told = self.spelled_out([onnx.node("Mul", factors, ["qs"])],
                                        [*inputs, port("c", *shape)], "qs")
                self.assertEqual(told["scale"], scale, (shape, factors))

    def test_factors_behind_other_operators(self):
        inputs = [port("q", 1, 2, 4, 8), port("kt", 1, 2, 8, 4),
                  port("v", 1, 2, 4, 8)]
        held = [onnx.tensor("c", (), [0.5]),
                onnx.tensor("shape", (4,), [1, 2, 4, 8], onnx.INT64)]
        for name, made, scale in (
                ("Identity", onnx.node("Identity", ["half"], ["qs"]), 0.5),
                ("Reshape", onnx.node("Reshape", ["half", "shape"], ["qs"]),
                 0.5),
                ("Neg", onnx.node("Neg", ["half"], ["qs"]), -0.5),
                ("Div", onnx.node("Div", ["c", "half"], ["qs"]), None),
                ("Tanh", onnx.node("Tanh", ["half"], ["qs"]), None)):
            with self.subTest(name):
                told = self.spelled_out(
                    [onnx.node("Mul", ["q", "c"], ["half"]), made], inputs,
                    "qs", held)
                self.assertEqual(told["scale"], scale)

    def test_without_an_axis_of_heads_there_is_one_head(self):
        for batch in ((), (5,)):
            told = self.spelled_out([], [
                port("q", *batch, 4, 8), port("kt", *batch, 8, 4),
                port("v", *batch, 4, 8)])
            self.assertEqual((told["num_heads"], told["num_kv_heads"]), (1, 1))

    def test_counts_that_no_tensor_has(self):
        """The sum of the heads would be 0 beyond 64 bits."""
        self.put([onnx.node("GroupQueryAttention",
                            ["q", "", "", "", "", "n", "t"], ["Y"], "g",
                            "com.microsoft", num_heads=2,
                            kv_num_heads=2 ** 63 - 1)],
                 [port("q", 1, 4, 24), port("n", 1), port("t", 1)])
        told, = self.inspect()["attention"]
        self.assertEqual((told["num_kv_heads"], told["head_size"]),
                         (2 ** 63 - 1, None))
        self.assertIn(str(2 ** 63 - 1), self.succeed("inspect", "m.onnx"))

    def test_the_table(self):
        self.put([onnx.node("Attention", ["Q", "K", "V"], ["Y"], "attn")],
                 [onnx.port(name) for name in "QKV"])
        self.assertEqual(
            self.succeed("inspect", "m.onnx").splitlines()[1:],
            ["Attention: 1 node",
             "  node  pattern    heads  key heads  head size  scale  mask",
             "  attn  Attention  ?      ?          ?          ?      none"])
        self.put([onnx.node("Identity", ["x"], ["Y"])], [port("x", 2)])
        self.assertEqual(self.succeed("inspect", "m.onnx"),
                         "File: m.onnx\nAttention: 0 nodes\n")

    def test_attention_next_to_operators_that_are_not_run(self):
        """And to attributes that are not known, and subgraphs."""
        subgraph = [onnx.field(1, "then_branch") + onnx.field(6, b"") +
                    onnx.field(20, 5)]
        qkv = [port(name, 1, 2, 4, 8) for name in "QKV"]
        self.put([onnx.node("LSTM", ["Q"], ["q", "", "c"]),
                  onnx.node("Mul", ["Q"], ["m"], domain="com.x"),
                  onnx.node("Attention", ["m"], ["a"], domain="com.x"),
                  onnx.node("QAttention", ["m"], ["b"], domain="com.microsoft"),
                  onnx.node("If", ["c"], ["d"], raw_attributes=subgraph),
                  onnx.node("Gather", ["Q", "c"], ["e"], mode="fast"),
                  onnx.node("Attention", ["Q", "K", "V"], ["Y"], "attn"),
                  onnx.node("LSTM", ["Y"], ["z"])], qkv)
        told = self.inspect()
        self.assertEqual([each["name"] for each in told["attention"]], ["attn"])
        self.assertEqual(told["operators_not_run"], [
            "Gather", "If", "LSTM", "com.microsoft QAttention",
            "com.x Attention", "com.x Mul"])
        self.assertEqual(self.succeed("inspect", "m.onnx").splitlines()[-1],
                         "Operators that headwise does not run: Gather, If, "
                         "LSTM, com.microsoft QAttention, com.x Attention, "
                         "com.x Mul")

    def test_a_node_is_shown_if_all_before_it_run(self):
        names = [f"input_{n}.pb" for n in range(3)]
        (self.folder / "data").mkdir()
        for name in names:
            (self.folder / "data" / name).write_bytes(
                onnx.tensor("x", (1, 1, 2, 2), [1, 2, 3, 4]))
        run = onnx.node("Attention", ["Q", "K", "V"], ["Y"], "attn")
        qkv = [port(name, 1, 1, 2, 2) for name in "QKV"]
        self.put([run, onnx.node("LSTM", ["Y"], ["z"], "n")], qkv)
        self.succeed("stats", "--onnx", "m.onnx", "--data", "data")
        self.fail_with(BAD_INPUT, "n (LSTM) is an operator that headwise does "
                       "not run", "onnx-run", "m.onnx", "--data", "data")
        self.put([onnx.node("LSTM", ["Q"], ["z"], "n"), run], qkv)
        self.fail_with(BAD_INPUT, "n (LSTM) is an operator that headwise does "
                       "not run", "stats", "--onnx", "m.onnx", "--data", "data")

    def test_names_cannot_steer_the_terminal(self):
        self.put([onnx.node("Attention", ["Q", "Q", "Q"], ["Y"], "a\x1b[2J\u202e")],
                 [port("Q", 1, 2, 4, 8)])
        self.assertIn("a\\x1b[2J\\u{202e}", self.succeed("inspect", "m.onnx"))

    def test_invalid_inputs_are_errors(self):
        (self.folder / "m.onnx").write_bytes(b"no model")
        self.fail_with(BAD_INPUT, "m.onnx is damaged", "inspect", "m.onnx")
        for more in (("--tensors",), ("--layout-of", "bert")):
            self.fail_with(USAGE, "cannot be used with an ONNX model", "inspect",
                           "m.onnx", *more)


if __name__ == "__main__":
    cli_case.main()
