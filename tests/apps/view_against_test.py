"""Two models in one page: headwise view --against. How the page shows them is tested in
tests/view/inspect/page/viewer."""
import json
import math
import shutil

import cli_case
import tiny_model
from cli_case import BAD_INPUT, USAGE
from stats_against_test import with_smaller_queries
from view_texts_test import TextsTest


class AgainstTest(TextsTest):
    LINES = "heads matter\nso heads matter !\n\n"

    def setUp(self):
        super().setUp()
        tiny_model.write(self.folder / "other")
        (self.folder / "other/model.safetensors").write_bytes(
            tiny_model.safetensors(with_smaller_queries(tiny_model.tensors())))
        self.put_text(self.LINES, "lines")

    def test_each_text_is_there_in_both_models(self):
        said = self.view("--against", "other", "--texts", "lines")
        self.assertIn("page.html: 2 texts in two models, 2 layers, ", said)
        self.assertIn("empty lines left out: 1\n", said)
        page, documents = self.page()
        self.assertEqual([one["model"] for one in page["documents"]],
                         ["tiny", "other"] * 2)
        self.assertEqual([one["text"] for one in documents[::2]],
                         self.LINES.split("\n")[:2])
        self.assertEqual([one["same_tokens"] for one in page["documents"]],
                         [0, 0, 2, 2])

    def test_changes_are_those_of_stats(self):
        self.view("--against", "other", "--texts", "lines", "--matched")
        stats = json.loads(self.succeed("stats", "--model", "tiny", "--against", "other",
                                        "--texts", "lines", "--matched", "--json"))
        changes = self.page()[0]["changes"]
        for change, head in zip(changes, stats["heads"], strict=True):
            self.assertEqual(change["head"], [head["layer"], head["head"]])
            self.assertEqual(change["other"], list(head["against"].values()))
            self.assertEqual(change["match"], [head["match"]["layer"],
                                               head["match"]["head"]])
            for name in ("mean", "low", "high"):
                n = ["mean", "low", "high"].index(name)
                self.assertAlmostEqual(change["similarity"][n],
                                       head["similarity"][name], places=6)
                self.assertAlmostEqual(change["differences"]["first"][n],
                                       head["first"]["difference"][name], places=6)

    def test_one_text_has_no_intervals(self):
        said = self.view("--against", "other", "heads matter")
        self.assertIn("page.html: 1 text in two models", said)
        self.assertEqual(self.page()[0]["changes"][0]["similarity"][1:], [None, None])

    def test_different_tokens_are_said(self):
        vocabulary = tiny_model.VOCABULARY[:]
        vocabulary[vocabulary.index("matter")] = "mat"
        self.assertNotIn("different tokens",
                         self.view("--against", "other", "--texts", "lines"))
        (self.folder / "other/vocab.txt").write_text("\n".join(vocabulary) + "\n",
                                                     encoding="utf-8")
        self.put_text("so heads\n" + self.LINES, "lines")
        said = self.view("--against", "other", "--texts", "lines")
        self.assertIn("The models divide 2 texts into different tokens. Only the "
                      "statistics count such texts, not the similarity.\n", said)
        self.assertEqual([one["same_tokens"] for one in self.page()[0]["documents"]],
                         [0, 0, 2, 3, 4, 5])

    def test_heads_that_one_model_lacks_are_named(self):
        for gone in ("0.1", "0.0,0.1,1.0,1.1"):
            with self.subTest(gone):
                shutil.rmtree(self.folder / "other")
                self.succeed("prune", "--model", "tiny", "--heads", gone, "--out", "other")
                said = f"heads only in tiny: {gone.replace(',', ', ')}\n"
                self.assertIn(said, self.view("--against", "other", "so heads"))
                self.assertIn(said, self.succeed("stats", "--model", "other", "--against",
                                                 "tiny", "so heads"))

    def test_models_that_overflow(self):
        made = tiny_model.tensors()
        name = "encoder.layer.1.attention.self.query.weight"
        made[name] = made[name][0], (3e38,) * len(made[name][1])
        (self.folder / "other/model.safetensors").write_bytes(tiny_model.safetensors(made))
        for option, model, against in (("--model", "other", "tiny"),
                                       ("--against", "tiny", "other")):
            said = self.fail_with(BAD_INPUT, f"headwise: {option}: layers[1].query[0, 0, ",
                                  "view", "--model", model, "--against", against,
                                  "heads matter", "--out", "no.html")
            self.assertIn("expected a finite number", said)
            self.assertFalse((self.folder / "no.html").exists())
        self.fail_with(BAD_INPUT, "headwise: --model: layers[1].query[0, 0, ", "view",
                       "--model", "other", "heads matter", "--json")

    def test_a_model_that_is_nan_is_named_by_its_option(self):
        made = tiny_model.tensors()
        name = "encoder.layer.1.attention.self.query.weight"
        made[name] = made[name][0], (math.nan,) * len(made[name][1])
        (self.folder / "other/model.safetensors").write_bytes(tiny_model.safetensors(made))
        for option, model, against in (("--model", "other", "tiny"),
                                       ("--against", "tiny", "other")):
            self.fail_with(BAD_INPUT, f"headwise: {option}: other/model.safetensors: {name} is "
                           "nan at (0, 0)", "view", "--model", model, "--against", against,
                           "heads matter", "--out", "no.html")

    def test_options_that_do_not_go_together(self):
        for message, *arguments in (
                ("--against needs --out PAGE.html or --open", "--json"),
                ("--against makes a page; --svg, --png and --json show one model",
                 "--out", "page.html", "--json"),
                ("--layers cannot be used with --against", "--out", "page.html",
                 "--layers", "0"),
                ("--pair cannot be used with --against", "--out", "page.html",
                 "--pair", "so", "heads")):
            with self.subTest(message):
                text = [] if "--pair" in arguments else ["so"]
                self.fail_with(USAGE, message, "view", "--model", "tiny", "--against",
                               "other", *text, *arguments)
        self.fail_with(USAGE, "--matched needs --against DIR", "view", "--model",
                       "tiny", "so", "--out", "page.html", "--matched")


if __name__ == "__main__":
    cli_case.main()
