"""Several texts in one page, and pairs of sentences: headwise view --texts, --pair. How
the page shows them is tested in tests/view/inspect/page/viewer."""
import base64
import json
import re
import unittest
import zlib

import cli_case
import tiny_model
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, CliTest


class TextsTest(CliTest):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "tiny")

    def view(self, *arguments, **options):
        done = self.run_it("view", "--model", "tiny", *arguments, "--out", "page.html",
                           **options)
        self.assertEqual(done.returncode, 0, done)
        return done.stderr.decode()

    def page(self):
        """-> the page's JSON, and that of each document."""
        text = (self.folder / "page.html").read_text("utf-8")
        page = json.loads(re.search(
            r'<script type="application/json" id="page">(.*?)</script>', text, re.S)[1])
        if page["version"] == 1:
            return page, [page]
        return page, [json.loads(zlib.decompress(base64.b64decode(re.search(
            f'id="block-{one["block"]}">([^<]*)', text)[1]))) for one in page["documents"]]


class Texts(TextsTest):
    LINES = "heads matter\nso heads matter !\n\nheads </script><b>\n"

    def test_each_line_is_a_document(self):
        self.put_text(self.LINES, "lines")
        said = self.view("--texts", "lines")
        self.assertIn("page.html: 3 texts, 2 layers, ", said)
        self.assertIn("empty lines left out: 1\n", said)
        page, documents = self.page()
        self.assertEqual(page["title"], "tiny")
        self.assertEqual(page["command"],
                         "headwise view --model tiny --texts lines --out page.html")
        self.assertEqual([one["text"] for one in page["documents"]],
                         [line for line in self.LINES.split("\n") if line])
        self.assertEqual([one["num_keys"] for one in page["documents"]],
                         [len(one["key_tokens"]) for one in documents])

    def test_a_document_is_what_the_page_of_its_text_alone_shows(self):
        self.put_text(self.LINES, "lines")
        self.view("--texts", "lines")
        page, documents = self.page()
        for number, line in enumerate(self.LINES.split("\n")[:2]):
            self.view(line)
            alone = self.page()[0]
            self.assertEqual(documents[number]["layers"][1]["heads"][0]["pooled"],
                             alone["layers"][1]["heads"][0]["pooled"])
            self.assertEqual(page["documents"][number]["pooled"]["entropy"],
                             [head["pooled"]["entropy"] for layer in alone["layers"]
                              for head in layer["heads"]])
            self.assertEqual(page["documents"][number]["heads"],
                             [[0, 0], [0, 1], [1, 0], [1, 1]])

    def test_from_standard_input_and_with_chosen_layers(self):
        self.view("--texts", "-", "--layers", "1", stdin=b"heads\nmatter")
        page, documents = self.page()
        self.assertEqual(len(documents), 2)
        self.assertEqual(page["documents"][0]["heads"], [[1, 0], [1, 1]])

    def test_one_line_is_a_page_of_one_text(self):
        self.put_text("heads matter\n", "lines")
        self.view("--texts", "lines")
        self.assertEqual(self.page()[0]["version"], 1)

    def test_texts_that_are_cut_are_counted(self):
        self.put_text("heads " * 20 + "\nheads\n" + "so " * 30, "lines")
        self.assertIn("\n2 of 3 texts cut at the limit of 12 tokens "
                      "(max_position_embeddings of tiny)\n", self.view("--texts", "lines"))

    def test_bad_texts(self):
        for data, message in ((b"", "is empty"), (b"\n \n", "has empty lines only"),
                              (b"heads\n\xff\n", "line 2")):
            (self.folder / "bad").write_bytes(data)
            done = self.run_it("view", "--model", "tiny", "--texts", "bad", "--out", "p.html")
            self.assertEqual(done.returncode, BAD_INPUT, done)
            self.assertIn("--texts: bad", done.stderr.decode())
            self.assertIn(message, done.stderr.decode())
        self.fail_with(BAD_INPUT, "nowhere: No such file", "view", "--model", "tiny",
                       "--texts", "nowhere", "--out", "p.html")
        self.assertFalse((self.folder / "p.html").exists())

    def test_the_head_of_a_picture_is_one_of_those_shown(self):
        tiny_model.write(self.folder / "three", num_hidden_layers=3)
        made = tiny_model.tensors()
        made.update({name.replace("layer.1", "layer.2"): tensor
                     for name, tensor in made.items() if "layer.1" in name})
        (self.folder / "three/model.safetensors").write_bytes(tiny_model.safetensors(made))
        for model, head, expected, *layers in (
                ("tiny", "2.0", "from 0.0 to 1.1"),
                ("tiny", "0.2", "from 0.0 to 0.1"),
                ("tiny", "0.0", "from 1.0 to 1.1", "--layers", "1"),
                ("three", "1.0", "of layers 0, 2", "--layers", "0,2"),
                ("three", "2.2", "from 2.0 to 2.1", "--layers", "0,2")):
            with self.subTest(head=head, layers=layers):
                self.fail_with(USAGE, f"--head is {head}, expected a head {expected}", "view",
                               "--model", model, "heads", "--svg", "p.svg", "--head", head,
                               *layers)

    def test_options_that_do_not_go_together(self):
        self.put_text("heads\n", "lines")
        model = ("view", "--model", "tiny", "--texts", "lines")
        for message, arguments in (
                ("--texts needs --out PAGE.html or --open", (*model, "--json")),
                ("--svg, --png and --json show one text", (*model, "--out", "p", "--json")),
                ("TEXT and --texts cannot be used together", (*model, "a", "--out", "p")),
                ("--pair and --texts cannot be used together",
                 (*model, "--pair", "a", "b", "--out", "p")),
                ("--texts needs --model DIR", ("view", "--texts", "lines", "--out", "p"))):
            with self.subTest(message):
                self.fail_with(USAGE, message, *arguments)
        done = self.run_it(*model, "--out", "nowhere/p.html")
        self.assertEqual(done.returncode, OUT_OF_RESOURCES)


class Pairs(TextsTest):
    def test_the_second_sentence_has_type_one(self):
        self.view("--pair", "heads matter", "so heads")
        page, _ = self.page()
        self.assertEqual(page["key_tokens"], ["[CLS]", "heads", "matter", "[SEP]", "so",
                                              "heads", "[SEP]"])
        self.assertEqual(page["token_types"], [0, 0, 0, 0, 1, 1, 1])
        self.assertEqual(page["text"], "A: heads matter B: so heads")
        self.assertEqual(page["separators"], [3, 6])
        self.assertEqual(page["command"], "headwise view --model tiny --pair "
                         "'heads matter' 'so heads' --out page.html")

    def test_the_type_changes_what_the_heads_do(self):
        def entropy(*arguments):
            done = json.loads(self.succeed("view", "--model", "tiny", *arguments, "--json"))
            self.assertEqual(len(done["query_tokens"]), 5)
            return done["heads"][0]["entropy"]

        self.assertNotAlmostEqual(entropy("--pair", "heads", "so"),
                                  entropy("heads [SEP] so"), places=3)

    def test_statistics_take_a_pair(self):
        done = json.loads(self.succeed("stats", "--model", "tiny", "--pair", "heads", "so",
                                       "--json"))
        self.assertEqual(done["tokens"], ["[CLS]", "heads", "[SEP]", "so", "[SEP]"])

    def test_the_longer_sentence_is_cut(self):
        said = self.view("--pair", "heads " * 20, "so")
        self.assertIn("12 tokens were cut off at the limit of 12", said)
        self.assertEqual(self.page()[0]["token_types"], [0] * 10 + [1] * 2)

    def test_bad_pairs(self):
        for message, arguments in (
                ("--pair has room for 2 tokens, expected at least 3",
                 ("--pair", "a", "b", "--max-tokens", "2")),
                ("TEXT and --pair cannot be used together", ("text", "--pair", "a", "b")),
                ("--pair is empty, expected a value", ("--pair", "", "")),
                ("--pair is empty, expected a value", ("--pair", "a", ""))):
            with self.subTest(message):
                self.fail_with(USAGE, message, "view", "--model", "tiny", *arguments,
                               "--out", "p.html")
        for given, values in ((("a",), "1 value"), (("a", "b", "--pair", "c", "d"), "4 values")):
            self.fail_with(USAGE, f"--pair has {values}, expected 2 values: A B", "view",
                           "--model", "tiny", "--pair", *given, "--out", "p.html")
        done = self.run_it("view", "--model", "tiny", "--pair", "a", b"\xff", "--out", "p.html")
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("--pair", done.stderr.decode())
        self.fail_with(USAGE, "--pair needs --model DIR", "view", "--pair", "a", "b", "--out",
                       "p.html")

    def test_attributions_by_gradients_take_no_pair(self):
        pair = ("stats", "--model", "tiny", "--pair", "heads", "so", "--json")
        self.succeed(*pair, "--attribution", "norms")
        self.fail_with(USAGE, "--pair cannot be used with --attribution gradient", *pair,
                       "--attribution", "gradient")

    def test_a_model_without_token_types(self):
        tiny_model.write(self.folder / "untyped", type_vocab_size=1)
        made = tiny_model.tensors()
        name = "embeddings.token_type_embeddings.weight"
        made[name] = (1, tiny_model.HIDDEN), made[name][1][:tiny_model.HIDDEN]
        (self.folder / "untyped/model.safetensors").write_bytes(tiny_model.safetensors(made))
        self.fail_with(BAD_INPUT, "--pair needs token types; untyped has none", "view",
                       "--model", "untyped", "--pair", "a", "b", "--out", "p.html")


if __name__ == "__main__":
    cli_case.main()
