"""A file of several texts: choosing one, one head in all of them, comparing two. Run by
page_test.py."""
import json

import numpy as np

from page_case import PageCase, cases, serious


class Texts(PageCase):
    def state(self, page):
        return page.evaluate("() => headwise.state.get()")

    def number(self, page, number):
        page.wait_for_function("number => headwise.state.get().document === number", arg=number)
        self.settle(page)

    def test_a_text_is_chosen_from_the_list_and_by_keys(self):
        page = self.open("texts")
        self.assertEqual(page.locator("#document option").count(), 4)
        page.select_option("#document", "2")
        self.number(page, 2)
        self.assertIn("because it was tired", page.inner_text("header .text"))
        self.assertIn("20 \u00d7 20", page.inner_text("header"))
        self.keys(page, "n")
        self.number(page, 3)
        self.assertEqual(page.locator(".card-pruned").count(), 1)
        self.keys(page, "n")
        self.number(page, 0)
        self.keys(page, "p", "p")
        self.number(page, 2)
        page.wait_for_function("() => location.hash.includes('document=2')")
        again = self.open("texts", page.evaluate("() => location.hash"))
        self.assertEqual(self.state(again), self.state(page))
        again.go_back()

    def test_the_last_choice_wins(self):
        page = self.open("texts")
        page.evaluate(
            "() => { const {documents, state} = headwise; const {open} = documents;"
            " documents.open = numbers => open(numbers).then(() => new Promise(done =>"
            " setTimeout(done, numbers.includes(1) ? 300 : 0)));"
            " state.set({document: 1}); state.set({document: 2, sort: 'self'}); }")
        self.number(page, 2)
        page.wait_for_timeout(500)
        self.assertEqual(self.state(page)["document"], 2)
        self.assertEqual(self.state(page)["sort"], "self")

    def test_only_the_texts_in_view_are_held(self):
        page = self.open("texts")
        held = lambda: page.evaluate("() => headwise.documents.held()")  # noqa: E731
        self.assertEqual(held(), [0])
        self.keys(page, "n")
        self.number(page, 1)
        self.assertEqual(held(), [1])
        self.go(page, "#document=2&view=head&layer=0&head=1&compare=3:1.0")
        self.assertEqual(sorted(held()), [2, 3])
        self.go(page, "#document=2&view=texts")
        page.wait_for_function(
            "() => [...document.querySelectorAll('.card canvas')].every(c => c.width !== 300)")
        self.assertEqual(held(), [2])

    def test_each_text_has_its_own_numbers(self):
        page = self.open("texts")
        for number, document in enumerate(cases["texts"].documents):
            self.go(page, f"#document={number}&view=head&layer=1&head=1")
            self.check_matrix(page, document, 1, 1)
            pooled = document.entry(1, 1)["pooled"]["entropy"]
            self.assertIn(f"{pooled:.2f}", page.inner_text(".statistics"))

    def test_one_head_in_all_texts(self):
        page = self.open("texts", "#view=texts&layer=1&head=2")
        order = lambda: page.eval_on_selector_all(  # noqa: E731
            "[data-text]", "cards => cards.map(card => Number(card.dataset.text))")
        self.assertEqual(order(), [0, 1, 2])  # it was pruned in the last
        self.assertIn("pruned in 1 of them", page.inner_text("#texts-note"))
        pooled = [document.entry(1, 2)["pooled"] for document in cases["texts"].documents[:3]]
        page.select_option("#sort", "largest")
        self.assertEqual(order(), sorted(range(3), key=lambda n: -pooled[n]["largest"]))
        header, *rows = self.csv(page)
        self.assertEqual(header[:3], ["text", "about", "tokens"])
        at = header.index("entropy")
        for row in rows:
            self.assertAlmostEqual(float(row[at]), pooled[int(row[0])]["entropy"], places=4)
        self.keys(page, "t")
        mean = np.mean([one["largest"] for one in pooled])
        self.assertIn(f"{mean:.3f}", page.inner_text("tfoot"))
        self.keys(page, "t")
        page.focus("#text-0")
        self.keys(page, "ArrowRight", "Enter")
        page.wait_for_selector("#cells")
        state = self.state(page)
        self.assertEqual((state["view"], state["layer"], state["head"]), ("head", 1, 2))

    def test_thumbnails_of_all_texts_are_drawn_and_saved(self):
        page = self.open("texts", "#view=texts&layer=0&head=1")
        for number, document in enumerate(cases["texts"].documents):
            drawn = page.evaluate(
                "number => headwise.documents.visit(number).then(({heads}) =>"
                " headwise.weights.small(heads.find(0, 1), 'max')).then("
                "({values}) => [...values])", number)
            w, _ = document.weights(0, 1)
            self.assertLess(np.abs(np.array(drawn) - w.ravel()).max(), 0.0041)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.card canvas')].every(canvas => "
            "new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, "
            "canvas.height).data.buffer)).size > 5)")
        svg = self.exported(page, "svg").decode()
        self.assertEqual(svg.count("<image"), 4)
        self.assertIn("attention weight", svg)

    def test_two_texts_are_compared(self):
        first, hostile, other, pruned = cases["texts"].documents
        page = self.open("texts", "#view=head&layer=0&head=1")
        page.select_option("#compare-document", "3")
        page.wait_for_function("() => headwise.state.get().compare === '3:0.1'")
        self.settle(page)
        self.assertEqual(page.locator(".cells").count(), 3)
        page.select_option("#compare-layer", "1")
        page.select_option("#compare-head", "1")
        self.settle(page)
        rows = self.csv(page)[1:]
        (a, _), (b, _) = first.weights(0, 1), pruned.weights(1, 1)
        for row in rows:
            query, key = int(row[0]), int(row[2])
            self.assertLess(abs(float(row[6]) - (a[query, key] - b[query, key])), 0.01)
        self.assertEqual(json.loads(self.exported(page, "json"))["compare"], "3:1.1")
        # Texts of two lengths have no difference, but both are there.
        self.go(page, "#view=head&layer=0&head=1&compare=2:0.1&query=11&key=10")
        self.assertEqual(page.locator(".cells").count(), 2)
        self.assertIn("different numbers of tokens", page.inner_text("#main"))
        ranges = ("A: Queries 0\u201311 of 12, keys 0\u201311 of 12. "
                  "B: Queries 0\u201319 of 20, keys 0\u2013{} of 20.")
        self.assertIn(ranges.format(19), page.inner_text("#main"))
        rows = self.csv(page)[1:]
        self.assertEqual(len(rows), 12 * 12 + 20 * 20)
        (b, _) = other.weights(0, 1)
        for row in rows[144:]:
            self.assertEqual(row[0], "b: text 2")
            self.assertLess(abs(float(row[5]) - b[int(row[1]), int(row[3])]), 0.01)
        page.hover("#cells-b", position={"x": 5, "y": page.locator(
            "#cells-b").bounding_box()["height"] - 5})  # a query that the first has not
        self.assertIn("query 11", page.inner_text("#readout"))
        self.keys(page, "t")
        page.wait_for_selector(".twins table")
        self.assertEqual(page.eval_on_selector_all(
            ".twins table", "all => all.map(one => one.tBodies[0].rows.length)"), [12, 20])
        self.assertIn(ranges.format(15), page.inner_text("#main"))
        self.go(page, "#view=head&layer=0&head=1&compare=3:0.1&table=1")
        self.assertNotIn("A: Queries", page.inner_text("#main"))

    def test_hostile_texts_are_text(self):
        page = self.open("texts", "#document=1&view=texts&layer=0&head=0")
        for link in ("#document=1", "#document=1&view=texts&table=1",
                     "#view=head&layer=0&head=0&compare=1:0.0&query=3&key=4"):
            self.go(page, link)
            self.assertFalse(page.evaluate("() => 'hacked' in window"))
            self.assertEqual(page.locator("#app script, #app img, #app b").count(), 0)

    def test_a_text_that_cannot_be_read_is_said_and_the_others_stay(self):
        text = cases["texts"].path.read_text("utf-8")
        number = json.loads(text.split('id="page">')[1].split("</script>")[0])[
            "documents"][2]["block"]
        begin = text.index(f'id="block-{number}">') + len(f'id="block-{number}">')
        path = cases["texts"].path.with_name("damaged-text.html")
        path.write_text(text[:begin] + text[begin + 40:], "utf-8")
        cases["damaged-text"] = type("Page", (), {"path": path})
        page = self.open("damaged-text")
        page.select_option("#document", "2")
        page.wait_for_selector("#failure:not([hidden])")
        self.assertIn(f"block {number}", page.inner_text("#failure"))
        self.assertEqual(self.state(page)["document"], 0)
        page.select_option("#document", "1")
        self.number(page, 1)

    def test_on_a_phone_words_and_buttons_stay_in_their_places(self):
        page = self.open("texts", "#view=texts&layer=0&head=1", width=390, height=844)
        page.evaluate("() => { document.querySelector('.caption-text').textContent ="
                      " 'Donaudampfschifffahrtsgesellschaft'.repeat(2); }")
        self.assertEqual(page.eval_on_selector_all(
            ".caption-text", "all => all.filter(one => one.scrollWidth > one.clientWidth).length"),
            0)
        self.assertEqual(*(page.locator(one).bounding_box()["y"]
                           for one in ("#previous-head", "#next-head")))

    def test_axe_finds_nothing_serious(self):
        for width in (1280, 390):
            for link in ("", "#view=texts&layer=0&head=1", "#view=texts&table=1",
                         "#view=head&layer=0&head=1&compare=2:0.1"):
                with self.subTest(width=width, link=link):
                    page = self.open("texts", link, width=width, height=844)
                    self.assertEqual(serious(page), [])
                    self.assertLessEqual(page.evaluate(
                        "() => document.documentElement.scrollWidth"), width)
