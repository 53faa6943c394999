"""A text with all heads and without some, side by side: headwise view --ablate."""
import shutil

import cli_case
import tiny_causal
import tiny_model
from cli_case import USAGE
from view_texts_test import TextsTest


class Ablate(TextsTest):
    def statistics(self, document, layer):
        return [head["pooled"] for head in document["layers"][layer]["heads"]]

    def variants(self):
        return [one["variant"] for one in self.page()[0]["documents"]]

    def write_without(self, name, layer, head):
        """The model, without what one head adds to the output."""
        made = tiny_model.tensors()
        key = f"encoder.layer.{layer}.attention.output.dense.weight"
        shape, values = made[key]
        size = tiny_model.HIDDEN // tiny_model.HEADS
        made[key] = shape, tuple(
            0.0 if n % tiny_model.HIDDEN // size == head else value
            for n, value in enumerate(values))
        shutil.copytree(self.folder / "tiny", self.folder / name)
        (self.folder / name / "model.safetensors").write_bytes(
            tiny_model.safetensors(made))

    def test_the_text_is_a_document_with_all_heads_and_one_without(self):
        self.view("so heads matter !", "--ablate", "0.1")
        page, (whole, without) = self.page()
        self.assertEqual([one["text"] for one in page["documents"]],
                         ["so heads matter !"] * 2)
        self.assertEqual(self.variants(), [None, "without 0.1"])
        # What comes before the head is the same, what comes after it is not.
        before, after = self.statistics(whole, 0), self.statistics(without, 0)
        self.assertGreater(before[1]["norm"], 0)
        self.assertEqual(after[1]["norm"], 0)  # it adds nothing to the output
        after[1]["norm"] = before[1]["norm"]
        self.assertEqual(before, after)
        self.assertNotEqual(self.statistics(whole, 1),
                            self.statistics(without, 1))
        self.write_without("gone", 0, 1)
        self.run_it("view", "--model", "gone", "so heads matter !", "--out",
                    "page.html")
        self.assertEqual(self.statistics(self.page()[0], 1),
                         self.statistics(without, 1))

    def test_the_heads_that_changed_most_come_first(self):
        self.view("so heads matter !", "--ablate", "0.1")
        page, (whole, without) = self.page()
        changes = page["changes"]
        self.assertEqual({tuple(one["head"]) for one in changes},
                         {(0, 0), (0, 1), (1, 0), (1, 1)})
        similar = [round(one["similarity"][0], 6) for one in changes]
        self.assertEqual(similar, sorted(similar))
        self.assertLess(similar[1], 0.9999)
        for change in changes:
            layer, head = change["head"]
            self.assertEqual(change["other"], [layer, head])
            if layer == 0:
                self.assertAlmostEqual(change["similarity"][0], 1, places=6)
            means = [document["layers"][layer]["heads"][head]["pooled"]["entropy"]
                     for document in (whole, without)]
            self.assertAlmostEqual(change["differences"]["entropy"][0],
                                   means[0] - means[1], places=5)
        self.view("so heads matter !", "--ablate", "0.1", "--layers", "1")
        self.assertEqual({one["head"][0] for one in self.page()[0]["changes"]}, {1})
        self.view("--pair", "so", "heads", "--ablate", "0.1")
        self.assertNotIn("changes", self.page()[0])

    def test_every_text_has_both(self):
        self.put_text("heads\nso heads\n", "lines")
        said = self.view("--texts", "lines", "--ablate", "0.0,1.1")
        self.assertIn("2 texts", said)
        page, _ = self.page()
        self.assertEqual([one["text"] for one in page["documents"]],
                         ["heads", "heads", "so heads", "so heads"])
        self.assertEqual(self.variants(), [None, "without 0.0+1.1"] * 2)

    def test_heads_that_change_no_map(self):
        """A head changes only the layers after its own."""
        for layers, heads in (("0", "0.1"), ("0", "1.1,0.0")):
            head = heads[:3]
            self.fail_with(
                USAGE, f"--ablate has {head}, which changes only layers after "
                f"{head[0]}, but --layers ends at 0", "view", "--model", "tiny",
                "heads", "--ablate", heads, "--layers", layers, "--out", "p.html")
        self.assertFalse((self.folder / "p.html").exists())
        for heads, late in (("1.1", "1.1"), ("1.1,1.0", "1.1, 1.0"), ("0.1,1.0", "1.0")):
            self.assertIn(f"{late} cannot change a map on this page; headwise ablate measures "
                          "the effect on the output\n",
                          self.view("heads", "--ablate", heads))
        self.view("heads", "--ablate", "1.1", "--layers", "1")
        self.assertNotIn("cannot change", self.view("heads", "--ablate", "0.1"))

    def test_a_causal_model_is_shown_too(self):
        tiny_causal.write(self.folder / "causal")
        self.run_it("view", "--model", "causal", "w1 w2 w1", "--ablate", "0.1",
                    "--out", "page.html")
        self.assertEqual(self.variants(), [None, "without 0.1"])

    def test_what_cannot_be_asked_is_said(self):
        def refused(message, *arguments):
            self.fail_with(USAGE, message, "view", *arguments)

        text = ("--model", "tiny", "heads")
        refused("--ablate needs --out PAGE.html or --open", *text, "--ablate",
                "0.1", "--json")
        refused("--ablate makes a page", *text, "--ablate", "0.1", "--out",
                "p.html", "--svg", "p.svg")
        refused("--ablate has 2.0, expected a head from 0.0 to 1.1", *text,
                "--ablate", "0.1,2.0", "--out", "p.html")
        refused("--ablate is 0, expected LAYER.HEAD", *text, "--ablate", "0",
                "--out", "p.html")
        refused("--ablate needs --model DIR", "--query", "q.npy", "--key",
                "k.npy", "--ablate", "0.1", "--out", "p.html")
        self.assertFalse((self.folder / "p.html").exists())


if __name__ == "__main__":
    cli_case.main()
