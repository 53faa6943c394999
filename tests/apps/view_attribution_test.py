"""headwise view --attribution: what the page holds, against headwise stats."""
import base64
import json
import re
import struct
import zlib

import cli_case
import tiny_causal
import tiny_model
from cli_case import BAD_INPUT, USAGE, CliTest

SENTENCE = "heads matter so"
TOKENS = 5
SIZE = tiny_model.HIDDEN // tiny_model.HEADS


class ViewAttribution(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def view(self, names, *arguments):
        self.run_it("view", "--model", "tiny", SENTENCE, "--attribution", names, "--out",
                    "page.html", *arguments)
        text = (self.folder / "page.html").read_text("utf-8")
        self.blocks = {int(n): zlib.decompress(base64.b64decode(block)) for n, block in
                       re.findall(r'id="block-(\d+)">([^<]*)<', text)}
        return json.loads(re.search(r'id="page">(.*?)</script>', text, re.S).group(1))

    def stats(self, name, *arguments):
        return json.loads(self.succeed("stats", "--json", "--model", "tiny", SENTENCE,
                                       "--attribution", name, *arguments))

    def numbers(self, block, kind="f"):
        data = self.blocks[block]
        return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)

    def close(self, found, expected, delta=1e-5):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=delta)

    def test_gradients_are_those_of_stats(self):
        page = self.view("gradient")
        stats = self.stats("gradient")
        self.assertEqual(page["measures"], ["norm", "gradient"])
        self.assertIsNone(page["target"]["label"])
        self.assertAlmostEqual(page["target"]["value"], stats["target"]["value"], delta=1e-6)
        expected = {(one["layer"], one["head"]): one for one in stats["heads"]}
        weights = [heads for _, heads, _ in
                   tiny_model.Encoder().layers([2, 5, 6, 12, 3])]
        for layer in page["layers"]:
            for head in layer["heads"]:
                truth = expected[layer["number"], head["number"]]
                gradient = head["gradient"]
                self.assertAlmostEqual(head["pooled"]["gradient"], truth["gradient"],
                                       delta=1e-6)
                self.close(self.numbers(gradient["columns"]), truth["key_gradients"])
                self.assertIsNone(gradient["small"])
                # The products of the pairs add up to those sums.
                d_context, value = (self.numbers(gradient[name], "e")
                                    for name in ("query", "key"))
                dot = [[gradient["scale"] * sum(
                    d_context[i * SIZE + d] * value[j * SIZE + d] for d in range(SIZE))
                    for j in range(TOKENS)] for i in range(TOKENS)]
                w = weights[layer["number"]][head["number"]]
                self.close([sum(w[i][j] * dot[i][j] for i in range(TOKENS))
                            for j in range(TOKENS)], truth["key_gradients"], 2e-3)

    def test_integrated_gates_are_statistics(self):
        names = ["integrated", "integrated-by-layer"]
        page = self.view(",".join(names))
        self.assertEqual([one["name"] for one in page["statistics"][-2:]], names)
        self.assertEqual(page["measures"], ["norm"])
        for name in names:
            expected = {(one["layer"], one["head"]): one[name]
                        for one in self.stats(name)["heads"]}
            for layer in page["layers"]:
                for head in layer["heads"]:
                    self.assertAlmostEqual(
                        head["pooled"][name], expected[layer["number"], head["number"]],
                        delta=1e-6)

    def test_rollout_and_flow_of_every_output_token(self):
        self.assertNotIn("target", self.view("rollout"))
        page = self.view("gradient,rollout,flow", "--output-token", "3")
        self.assertEqual(page["through"]["token"], 3)
        for name in ("rollout", "flow"):
            found = self.numbers(page["through"][name])
            for token in range(TOKENS):
                expected = self.stats(name, "--output-token", str(token))[name]
                self.close(found[token * TOKENS:(token + 1) * TOKENS], expected, 1e-6)

    def test_of_a_causal_model(self):
        tiny_causal.write(self.folder / "causal")
        arguments = "--model", "causal", "w0 w1 w0", "--target", "w1", "--attribution"
        stats = json.loads(self.succeed("stats", "--json", *arguments, "gradient"))
        self.run_it("view", *arguments, "gradient,rollout", "--out", "page.html")
        text = (self.folder / "page.html").read_text("utf-8")
        page = json.loads(re.search(r'id="page">(.*?)</script>', text, re.S).group(1))
        through = page["through"]
        self.assertEqual((through["token"], through["flow"]), (2, None))
        self.assertEqual((page["target"]["token"], page["target"]["output_token"]), ("w1", 2))
        self.close([head["pooled"]["gradient"] for layer in page["layers"]
                    for head in layer["heads"]],
                   [head["gradient"] for head in stats["heads"]], 1e-6)

    def test_threads_change_no_byte(self):
        pages = []
        for threads in ("1", "3"):
            self.view("gradient,integrated,rollout,flow", "--threads", threads)
            page = (self.folder / "page.html").read_text("utf-8")
            pages.append(page.replace(f"--threads {threads}", "--threads"))
        self.assertEqual(*pages)

    def test_norms_of_a_long_text(self):
        long = self.folder / "long"
        old = tiny_model.POSITIONS, tiny_model.CONFIG["max_position_embeddings"]
        try:
            tiny_model.POSITIONS = tiny_model.CONFIG["max_position_embeddings"] = 1100
            tiny_model.write(long)
        finally:
            tiny_model.POSITIONS, tiny_model.CONFIG["max_position_embeddings"] = old
        words = " ".join(["heads", "so", "matter"] * 350)
        self.run_it("view", "--model", "long", words, "--max-tokens", "1052",
                    "--layers", "0", "--out", "page.html")
        text = (self.folder / "page.html").read_text("utf-8")
        self.blocks = {int(n): zlib.decompress(base64.b64decode(block)) for n, block in
                       re.findall(r'id="block-(\d+)">([^<]*)<', text)}
        page = json.loads(re.search(r'id="page">(.*?)</script>', text, re.S).group(1))
        self.assertEqual((page["coding"]["kind"], page["measures"]), ("tiles", ["norm"]))
        length = page["num_keys"]
        for head in page["layers"][0]["heads"]:
            norms, columns, small = (self.numbers(head[name]) for name in
                                     ("norms", "columns", "norm_small"))
            self.assertAlmostEqual(
                head["pooled"]["norm"], sum(n * c for n, c in zip(norms, columns)),
                delta=1e-3)
            # Cells times their pairs add up to what the keys get.
            cells = [-(-(n + 1) * length // 64) - -(-n * length // 64) for n in range(64)]
            whole = sum(small[r * 64 + c] * cells[r] * cells[c]
                        for r in range(64) for c in range(64))
            self.assertAlmostEqual(whole / length / head["pooled"]["norm"], 1, delta=1e-4)
            for c in (0, 63):
                keys = range(-(-c * length // 64), -(-(c + 1) * length // 64))
                self.assertAlmostEqual(
                    sum(small[r * 64 + c] * cells[r] for r in range(64)) * cells[c] / length,
                    sum(norms[j] * columns[j] for j in keys), delta=1e-4)

    def test_what_does_not_go_together(self):
        view = ("view", "--model", "tiny", SENTENCE)
        for arguments, message in (
                (("--attribution", "gradient", "--json"),
                 "--attribution needs --out PAGE.html or --open"),
                (("--attribution", "norms"),
                 "--attribution norms is for stats: every page of a model has"),
                (("--attribution", "norm"), "one or more of gradient, integrated"),
                (("--attribution", "rollout,rollout"),
                 "--attribution has rollout twice, expected each name once"),
                (("--attribution", "rollout,"), "one or more of gradient"),
                (("--attribution", "rollout", "--layers", "0"), "leave out --layers"),
                (("--attribution", "rollout", "--target", "a"), "--target needs"),
                (("--output-token", "1"), "--output-token needs --attribution NAMES"),
                (("--attribution", "gradient", "--output-token", "1"),
                 "gradients of this model are of its whole text"),
                (("--attribution", "rollout", "--ablate", "0.1"),
                 "--ablate and --attribution cannot be used together"),
                (("--attribution", "rollout", "--against", "tiny"),
                 "--attribution cannot be used with --against"),
                (("--attribution", "rollout", "--output-token", "5"), "less than 5"),
                (("--target", "a"), "--target needs")):
            with self.subTest(arguments=arguments):
                out = () if "--json" in arguments else ("--out", "no.html")
                self.fail_with(USAGE, message, *view, *arguments, *out)
                self.assertFalse((self.folder / "no.html").exists())
        (self.folder / "texts").write_text("heads\nso\n")
        self.fail_with(USAGE, "--attribution needs --model and a single text", "view",
                       "--model", "tiny", "--texts", "texts", "--attribution", "rollout",
                       "--out", "no.html")

    def test_models_that_overflow(self):
        tiny_causal.write(self.folder / "huge", scale=1e30)
        for name, message in (("rollout", "--model computes NaN, expected attention weights"),
                              ("flow", "--model computes NaN, expected attention weights"),
                              ("gradient", "--model gives outputs that are NaN or infinite")):
            with self.subTest(name):
                self.fail_with(BAD_INPUT, message, "view", "--model", "huge", "w1 w2",
                               "--attribution", name, "--out", "no.html")
                self.assertFalse((self.folder / "no.html").exists())


if __name__ == "__main__":
    cli_case.main()
