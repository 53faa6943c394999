"""Pages used by keys and by links, and those that the command writes. Run by page_test.py."""
import numpy as np

import make_page
from page_case import PageCase, cases, serious


class Keyboard(PageCase):
    def say(self, page, part):
        page.wait_for_function(
            "part => document.getElementById('live').textContent.includes(part)", arg=part)

    def test_every_view_by_keys_alone(self):
        page = self.open("small")
        state = lambda: page.evaluate("() => headwise.state.get()")  # noqa: E731
        focused = lambda: page.evaluate("() => document.activeElement.id")  # noqa: E731
        for _ in range(30):
            self.keys(page, "Tab")
            if focused().startswith("head-"):
                break
        self.assertEqual(focused(), "head-0-0")
        self.assertNotEqual(page.evaluate(
            "() => getComputedStyle(document.activeElement).outlineStyle"), "none")
        self.keys(page, "ArrowRight", "ArrowDown")
        self.assertEqual(focused(), "head-1-1")
        self.keys(page, "Enter")
        self.assertEqual((state()["view"], state()["layer"], state()["head"]), ("head", 1, 1))
        self.assertEqual(focused(), "cells")
        self.settle(page)
        self.keys(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight")
        self.say(page, "query 2")
        self.say(page, "key 1")
        self.keys(page, "Enter")
        self.assertEqual((state()["query"], state()["key"]), (2, 1))
        self.keys(page, "l")
        self.assertEqual(state()["head"], 3)  # 2 was pruned
        self.keys(page, "h", "[")
        self.assertEqual((state()["layer"], state()["head"]), (0, 1))
        self.keys(page, "]", "t")
        self.assertTrue(state()["table"])
        self.keys(page, "t", "c")
        self.assertEqual(focused(), "compare-layer")
        page.keyboard.press("ArrowDown")
        self.assertNotEqual(state()["compare"], "")
        self.keys(page, "Escape", "Escape")
        self.assertIsNone(state()["query"])
        for key, dialog in (("e", "export"), ("?", "help"), ("/", "search")):
            self.keys(page, key)
            self.assertTrue(page.locator(f"dialog#{dialog}[open]").is_visible())
            if key != "/":
                self.close(page)
        page.keyboard.type("tired")
        self.keys(page, "Enter")
        page.wait_for_selector("dialog", state="detached")
        self.assertEqual(state()["query"], 10)
        self.keys(page, "s")
        self.assertEqual(state()["view"], "trace")
        self.assertIn("project_query", page.inner_text("#main"))
        self.assertIn("\u26a0 2", page.inner_text("#main"))
        self.keys(page, "g")
        self.assertEqual(state()["view"], "grid")

    def test_zoom_and_the_window_that_follows(self):
        page = self.open("middle", "#view=head&layer=0&head=0&query=300&key=290")
        self.keys(page, "+", "+", "+")
        self.settle(page)
        window = page.evaluate("() => headwise.zoom.current()")
        self.assertEqual(window["size"], 64)
        self.assertTrue(window["row"] <= 300 < window["row"] + 64)
        page.focus("#cells")
        self.keys(page, *["PageDown"] * 6)
        self.settle(page)
        self.say(page, "query 360")
        after = page.evaluate("() => headwise.zoom.current()")
        self.assertTrue(after["row"] <= 360 < after["row"] + 64)
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "cells")
        self.keys(page, "-")
        self.assertEqual(page.evaluate("() => headwise.zoom.current().size"), 128)

    def test_after_a_letter_the_keys_work_in_the_view(self):
        focused = lambda: page.evaluate("() => document.activeElement.id")  # noqa: E731
        for view, cell in (("g", "head-0-1"), ("x", "point-0-1")):
            page = self.open("small")
            self.keys(page, view, "t")
            self.assertEqual(focused(), "row-0-0")
            self.keys(page, "ArrowDown")
            self.assertEqual(focused(), "row-0-1")
            self.keys(page, "Enter")
            self.keys(page, view, "t")
            self.assertEqual(focused(), cell)
        page = self.open("small", "#view=head&layer=0&head=1")
        for key in "l][h":
            page.evaluate("() => document.activeElement.blur()")
            self.keys(page, key)
            self.assertEqual(focused(), "cells")
        page = self.open("small", "#view=head&layer=0&head=1")
        self.keys(page, "Escape")
        self.assertEqual(focused(), "head-0-1")
        page = self.open("texts", "#view=texts&document=2&layer=0&head=1")
        self.keys(page, "t")
        self.assertEqual(focused(), "text-row-2")
        self.keys(page, "ArrowDown", "Home", "ArrowDown")
        self.assertEqual(focused(), "text-row-1")

    def test_the_tab_key_reaches_one_row(self):
        for name, link in (("small", "#table=1&layer=1&head=1"), ("two_models", "#view=changes"),
                           ("texts", "#view=texts&layer=0&head=1&table=1"),
                           ("small", "#view=scatter&table=1")):
            page = self.open(name, link)
            self.assertGreater(page.locator("main .link").count(), 3)
            self.assertEqual(page.locator("main .link:not([tabindex='-1'])").count(), 1)

    def test_letters_can_be_switched_off_and_are_text_in_fields(self):
        page = self.open("small")
        page.focus("#filter")
        page.keyboard.type("g?e")
        self.assertEqual(page.locator("dialog").count(), 0)
        self.assertEqual(page.input_value("#filter"), "g?e")
        page.fill("#filter", "")
        self.keys(page, "Escape", "?")
        page.click("#shortcuts")
        self.close(page)
        self.keys(page, "e")
        self.assertEqual(page.locator("dialog").count(), 0)


class Links(PageCase):
    def test_the_link_of_a_view_opens_it(self):
        page = self.open("small", "#view=head&layer=1&head=0")
        page.click("#hide")
        page.select_option("#compare-layer", "0")
        page.select_option("#compare-head", "2")
        page.select_option("#palette", "cividis")
        page.click("#fit")
        page.evaluate("() => headwise.pick.fix({query: 5, key: 3})")
        page.wait_for_function("() => location.hash.includes('key=3')")
        before = page.evaluate("() => headwise.state.get()")
        link = page.evaluate("() => location.hash")
        again = self.open("small", link)
        self.assertEqual(again.evaluate("() => headwise.state.get()"), before)
        self.assertEqual(again.inner_text("#main"), page.inner_text("#main"))
        self.assertEqual(before["compare"], "0.2")
        self.assertTrue(before["hide"])

    def test_zoom_sort_and_filter_stand_in_the_link(self):
        page = self.open("middle", "#view=head&layer=0&head=1&size=64&row=100&column=90")
        self.assertIn("Queries 100\u2013163 of 512, keys 90\u2013153", page.inner_text("#main"))
        self.keys(page, "g")
        page.select_option("#sort", "largest")
        page.fill("#filter", "entropy > 0")
        self.keys(page, "Enter")
        page.wait_for_function("() => location.hash.includes('filter=entropy')")
        again = self.open("middle", page.evaluate("() => location.hash"))
        self.assertEqual(again.input_value("#filter"), "entropy > 0")
        self.assertEqual(again.input_value("#sort"), "largest")

    def test_back_returns_to_the_overview(self):
        page = self.open("small")
        page.click("#head-0-1")
        self.assertIn("view=head", page.url)
        page.go_back()
        page.wait_for_selector("#grid-note")

    def test_a_frame_in_a_notebook_has_views_but_no_links(self):
        page = self.open("small")
        text = cases["small"].path.read_text(encoding="utf-8")
        page.goto("about:blank")
        page.set_content("<iframe width=1200 height=800></iframe>")
        page.evaluate("text => { document.querySelector('iframe').srcdoc = text; }", text)
        frame = page.frame_locator("iframe")
        frame.locator("#head-0-1").click()
        frame.locator("#cells").wait_for()
        frame.locator("#palette").select_option("cividis")
        page.wait_for_timeout(300)  # the address is written after 200 ms

    def test_a_link_that_names_nothing_here_is_harmless(self):
        page = self.open("small", "#view=head&layer=99&head=-1&query=1e9&key=7&compare=7.7"
                         "&size=999999999&row=88888&filter=%00%3Cb%3E&theme=pink&lang=xx"
                         "&__proto__=1&constructor=2")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")


class Written(PageCase):
    """The pages of the command. What is in them is held against a second writer in
    written_test.py; here they are used."""

    def setUp(self):
        super().setUp()
        if not cases.command:
            self.skipTest("the command was not given")

    def test_csv_is_the_attention_weights(self):
        for name, layer, head in (
                ("small", 0, 0), ("small", 1, 3), ("ragged", 0, 0), ("ragged", 0, 1),
                ("cached", 0, 1), ("cross", 0, 1), ("middle", 0, 1)):
            with self.subTest(page=name, layer=layer, head=head):
                case = cases["written_" + name]
                page = self.open("written_" + name, f"#view=head&layer={layer}&head={head}")
                queries, keys = self.check_matrix(page, case, layer, head)
                self.assertEqual((len(queries), len(keys)),
                                 (case.page["num_queries"], case.page["num_keys"]))

    def test_computed_tiles_are_the_attention_weights(self):
        link = "#view=head&layer=0&head={}&size=128&row={}&column={}"
        for name, head, row, column in (
                ("long", 0, 1970, 1950), ("long", 1, 4000, 3968), ("long", 1, 2000, 60),
                ("wide", 3, 0, 900)):
            with self.subTest(page=name, head=head, row=row):
                page = self.open("written_" + name, link.format(head, row, column))
                self.check_matrix(page, cases["written_" + name], 0, head)

    def test_by_keys_alone(self):
        page = self.open("written_small")
        state = lambda: page.evaluate("() => headwise.state.get()")  # noqa: E731
        page.focus("#head-0-0")
        self.keys(page, "ArrowRight", "ArrowDown", "Enter")
        self.assertEqual((state()["view"], state()["layer"], state()["head"]), ("head", 1, 1))
        self.settle(page)
        self.keys(page, "ArrowDown", "ArrowDown", "Enter")
        self.assertEqual((state()["query"], state()["key"]), (1, 0))
        self.keys(page, "t", "s")
        self.assertIn("softmax", page.inner_text("#main"))
        self.keys(page, "g")
        self.assertEqual(state()["view"], "grid")

    def test_elements_of_the_pinned_pair(self):
        case = cases["written_small"]
        page = self.open("written_small", "#view=head&layer=1&head=3&query=6&key=2")
        found = page.evaluate(
            "() => headwise.elements.compute(headwise.state.head(), headwise.pick.pin())"
            ".then(f => ({score: f.score, weight: f.weight}))")
        one = case.heads[1, 3]
        q, k = one["query"][6].astype(np.float16), one["key"][2].astype(np.float16)
        capped = 20 * np.tanh(q.astype(float) @ k.astype(float) * case.spec["scale"] / 20)
        t5 = one["t5"][make_page.t5_buckets(np.array(2 - 6), case.spec["t5"])]
        self.assertAlmostEqual(found["score"], capped + t5 - 1 * 4, places=6)
        self.assertLess(abs(found["weight"] - case.weights(1, 3)[0][6, 2]), 0.01)

    def test_hostile_tokens_are_text(self):
        page = self.open("written_hostile", "#view=head&layer=0&head=0&query=3&key=4&table=1")
        self.assertFalse(page.evaluate("() => 'hacked' in window"))
        self.assertEqual(page.locator("#app script, #app img, #app b").count(), 0)
        self.assertIn("\u27e8U+202E\u27e9right", page.inner_text("#app"))
        self.assertEqual(page.title(), "</title><script>window.hacked = 1</script>")

    def test_axe_finds_nothing_serious(self):
        for name, link in (("small", ""), ("small", "#view=head&layer=0&head=1&query=5&key=3"),
                           ("small", "#view=trace"), ("cross", "#view=head&layer=0&head=0"),
                           ("long", "#view=head&layer=0&head=0&size=64")):
            with self.subTest(page=name, link=link):
                self.assertEqual(serious(self.open("written_" + name, link)), [])
