"""A page of texts with all heads and without some: it opens side by side. Run by
page_test.py."""
import json

from page_case import PageCase, serious


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

    def test_lists_and_files_name_the_heads(self):
        page = self.open("ablated_pair", "#view=head&layer=0&head=1&compare=1:0.1")
        self.assertEqual(page.inner_text("label[for=document]"), "Heads")
        self.assertEqual(page.locator("#document option").all_inner_texts(),
                         ["0: with all heads", "1: without 0.1"])
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
        self.assertIn("with all heads minus without <b>0.1: means",
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
