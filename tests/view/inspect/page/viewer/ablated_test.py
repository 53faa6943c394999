"""A page of texts with all heads and without some: it opens side by side. Run by
page_test.py."""
import json

import numpy as np

from page_case import PageCase, cases, serious


class Ablated(PageCase):
    def state(self, page):
        return page.evaluate("() => headwise.state.get()")

    def captions(self, page):
        return page.locator(".figures figcaption").all_inner_texts()

    def test_it_opens_side_by_side_with_what_changed_most(self):
        page = self.open("ablated")
        state = self.state(page)
        self.assertEqual((state["view"], state["document"], state["layer"], state["head"],
                          state["compare"]), ("head", 0, 1, 0, "1:1.0"))
        self.assertEqual(page.locator(".cells").count(), 3)
        self.assertEqual(self.captions(page), [
            "A: layer 1 head 0, with all heads", "B: layer 1 head 0, without <b>0.1",
            "A \u2212 B: with all heads minus without <b>0.1"])
        tops = page.eval_on_selector_all(
            ".cells", "all => all.map(one => one.getBoundingClientRect().top)")
        self.assertEqual(len(set(tops)), 1)  # in one row
        self.assertEqual(self.state(self.open("ablated_pair"))["compare"], "1:0.2")

    def test_other_views_have_their_addresses(self):
        page = self.open("ablated")
        self.keys(page, "g")
        page.wait_for_function("() => location.hash.includes('view=grid')")
        self.assertEqual(self.state(self.open("ablated", "#view=grid"))["view"], "grid")
        page.go_back()
        page.wait_for_function("() => headwise.state.get().view === 'head'")
        self.settle(page)
        self.assertEqual(self.state(page)["compare"], "1:1.0")
        self.go(page, "#view=head&layer=0&head=1&compare=")
        self.assertEqual(page.locator(".cells").count(), 1)
        # Two texts, the second of which has no other set of heads, open as they did.
        self.assertEqual(self.state(self.open("texts"))["view"], "grid")

    def test_both_stay_side_by_side_in_the_next_text(self):
        page = self.open("ablated")
        shown = lambda: [self.state(page)[name] for name in (  # noqa: E731
            "document", "layer", "head", "compare")]
        self.keys(page, "n")
        page.wait_for_function("() => headwise.state.get().document === 2")
        self.assertEqual(shown(), [2, 1, 0, "3:1.0"])
        self.keys(page, "n")
        page.wait_for_function("() => headwise.state.get().document === 0")
        self.assertEqual(shown(), [0, 1, 0, "1:1.0"])
        page.select_option("#document", "3")
        page.wait_for_function("() => headwise.state.get().document === 3")
        self.assertEqual(shown(), [3, 1, 0, "2:1.0"])
        self.go(page, "#view=grid")  # one at a time, where one is seen
        self.keys(page, "n")
        page.wait_for_function("() => headwise.state.get().document === 1")
        page = self.open("ablated_pair")
        page.click("#next-document")
        page.wait_for_function("() => headwise.state.get().document === 1")
        self.settle(page)
        self.assertEqual(self.captions(page)[:2], [
            "A: layer 0 head 2, without 0.1", "B: layer 0 head 2, with all heads"])
        # Heads of different numbers change places with their documents.
        page = self.open("ablated", "#view=head&layer=0&head=1&compare=1:0.2")
        for number, heads in ((1, [0, 2, "0:0.1"]), (3, [0, 2, "2:0.1"]), (2, [0, 1, "3:0.2"])):
            page.select_option("#document", str(number))
            page.wait_for_function(f"() => headwise.state.get().document === {number}")
            self.assertEqual(shown(), [number, *heads])
        # Texts that are compared with another one do not change together.
        page = self.open("ablated", "#document=0&layer=0&head=1&compare=2:0.1")
        self.keys(page, "n")
        page.wait_for_function("() => headwise.state.get().document === 1")
        self.assertEqual(shown(), [1, 0, 1, "2:0.1"])
        page = self.open("texts", "#view=head&document=2&layer=0&head=1&compare=3:0.1")
        self.keys(page, "n")
        page.wait_for_function("() => headwise.state.get().document === 3")
        self.assertEqual(shown(), [3, 0, 1, ""])

    def test_both_show_the_next_head(self):
        page = self.open("ablated")
        shown = lambda: [self.state(page)[name] for name in (  # noqa: E731
            "layer", "head", "compare")]
        self.keys(page, "l")
        self.assertEqual(shown(), [1, 1, "1:1.1"])
        page.select_option("#which-head", "3")
        self.assertEqual(shown(), [1, 3, "1:1.3"])
        self.keys(page, "g")
        page.click("#head-0-2")
        page.wait_for_function("() => headwise.state.get().view === 'head'")
        self.assertEqual(shown(), [0, 2, "1:0.2"])
        # Another head that was chosen to compare with stays.
        page.select_option("#compare-head", "1")
        self.assertEqual(shown(), [0, 2, "1:0.1"])
        self.keys(page, "l")
        self.assertEqual(shown(), [0, 3, "1:0.1"])
        page = self.open("ablated", "#view=head&layer=0&head=1&compare=2:0.1")
        self.keys(page, "l")
        self.assertEqual(shown(), [0, 2, "2:0.1"])  # of another text

    def test_means_are_of_one_side(self):
        page = self.open("ablated", "#view=texts&layer=0&head=1&sort=entropy")
        means = [np.mean([document.entry(0, 1)["pooled"]["entropy"] for document in
                          cases["ablated"].documents[side::2]]) for side in range(2)]
        said = page.inner_text("#texts-note")
        self.assertIn("2 texts. ", said)
        self.assertIn(f"{means[0]:.2f} (with all heads), {means[1]:.2f} (without <b>0.1).", said)
        self.keys(page, "t")
        self.assertEqual(page.locator("tfoot th").all_inner_texts(), [
            "mean over the texts, with all heads", "mean over the texts, without <b>0.1"])
        for side in range(2):
            self.go(page, f"#view=scatter&document={side}&x=entropy&average=1")
            row = next(row for row in self.csv(page)[1:] if row[:2] == ["0", "1"])
            self.assertAlmostEqual(float(row[2]), means[side], places=4)
        page = self.open("two_tokenizers", "#view=texts&layer=0&head=1")
        self.assertIn("3 texts. Only a/model has this head. ", page.inner_text("#texts-note"))
        self.go(page, "#view=texts&document=1&layer=1&head=2")
        self.assertIn("3 texts. Only b/model/ has this head. ", page.inner_text("#texts-note"))

    def test_files_name_both(self):
        page = self.open("ablated_pair", "#layer=0&head=1&compare=1:0.1")
        self.assertEqual(self.name_of_file(page),
                         "headwise-with-all-heads-layer-0-head-1-and-without-0.1.csv")
        self.assertEqual(self.csv(page)[0], [
            "query", "query_token", "key", "key_token", "a: with all heads", "b: without 0.1",
            "a_minus_b"])
        self.go(page, "#layer=0&head=1&compare=0.2")
        self.assertEqual(self.csv(page)[0][4:], ["a", "b", "a_minus_b"])
        self.assertEqual(self.name_of_file(page),
                         "headwise-with-all-heads-layer-0-head-1-and-layer-0-head-2.csv")
        page = self.open("ablated", "#view=texts&layer=0&head=1")
        svg = self.exported(page, "svg").decode()
        self.assertIn(">0: with all heads<", svg)
        self.assertIn(">1: without &lt;b&gt;0", svg)
        self.go(page, "#view=changes")
        self.assertEqual(self.name_of_file(page),
                         "headwise-changes-with-all-heads-minus-without-b-0.1.csv")
        self.assertEqual(json.loads(self.exported(page, "json"))["names"],
                         ["with all heads", "without <b>0.1"])
        self.go(page, "#view=grid&document=3")
        self.assertEqual(self.name_of_file(page), "headwise-text-1-without-b-0.1-grid.csv")
        self.go(page, "#view=texts&layer=0&head=1")
        self.assertEqual([row[:2] for row in self.csv(page)[1::3]], [
            ["0", "with all heads \u00b7 the cat sat"], ["1", "without <b>0.1 \u00b7 a dog ran"]])
        self.assertEqual(page.locator(".caption-name").all_inner_texts(), ["0", "0", "1", "1"])
        self.assertEqual(page.locator("#document option").all_inner_texts()[2],
                         "1: with all heads \u00b7 a dog ran")

    def test_lists_and_files_name_the_heads(self):
        page = self.open("ablated_pair", "#view=head&layer=0&head=1&compare=1:0.1")
        self.assertEqual(page.inner_text("label[for=document]"), "Heads")
        self.assertEqual(page.locator("#document option").all_inner_texts(),
                         ["with all heads", "without 0.1"])
        svg = self.exported(page, "svg").decode()
        self.assertIn("Layer 0, head 1, with all heads \u00b7 Layer 0, head 1, without 0.1", svg)
        self.assertEqual(json.loads(self.exported(page, "json"))["names"],
                         ["with all heads", "without 0.1"])
        self.go(page, "#view=grid&document=1")
        self.assertIn("\u00b7 without 0.1", self.exported(page, "svg").decode())
        self.go(page, "#view=grid&lang=ko")
        self.assertIn("\ubaa8\ub4e0 \ud5e4\ub4dc",
                      page.locator("#document option").all_inner_texts()[0])

    def test_the_changes_are_those_of_the_two(self):
        page = self.open("ablated", "#view=changes")
        self.assertIn("Differences: with all heads minus without <b>0.1, means",
                      page.inner_text("#changes-note"))
        page.click("#change-1-1")
        page.wait_for_function("() => headwise.state.get().compare === '1:1.1'")

    def test_it_fits_narrow_windows_and_is_accessible(self):
        for width in (1280, 390):
            page = self.open("ablated", width=width)
            self.assertEqual(serious(page), [])
            self.assertLessEqual(page.evaluate(
                "() => document.documentElement.scrollWidth"), width)
            self.assertEqual(page.locator("#main b").count(), 0)
