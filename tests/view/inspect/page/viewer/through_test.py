"""Rollout and flow: what goes through all layers. Run by page_test.py."""
import re
import xml.etree.ElementTree

import numpy as np

import page_cases
from page_case import PageCase, ROUNDED, cases, number, serious

THROUGH = "#view=through"


class Through(PageCase):
    def shown(self, page):
        return [number(text) for text in page.locator(".token-number").all_inner_texts()]

    def test_numbers_of_each_output_token(self):
        page = self.open("through", THROUGH)
        shares = cases["through"].shares
        for link, name, output in (
                (THROUGH, "rollout", 2), (THROUGH + "&output=5", "rollout", 5),
                (THROUGH + "&through=flow&output=0", "flow", 0)):
            with self.subTest(link=link):
                self.go(page, link)
                expected = shares[name][output]
                self.assertLess(np.abs(np.array(self.shown(page)) - expected).max(), 6e-4)
                self.assertEqual(page.locator("[id^=output-][aria-pressed=true]").get_attribute(
                    "id"), f"output-{output}")
                header, *rows = self.csv(page)
                self.assertEqual(header, ["output", "output_token", "input", "input_token",
                                          "rollout", "flow"])
                found = np.array([[float(row[4]), float(row[5])] for row in rows])
                both = np.stack([shares["rollout"][output], shares["flow"][output]], axis=1)
                self.assertLess(np.abs(found - both).max(), ROUNDED)
                self.assertEqual({int(row[0]) for row in rows}, {output})

    def test_colours_end_at_the_largest(self):
        page = self.open("through", THROUGH)
        expected = cases["through"].shares["rollout"][2]
        last = page.evaluate("() => headwise.palette.get(false).shades[255].join(', ')")
        colour = page.locator(f"#input-{expected.argmax()}").evaluate(
            "node => getComputedStyle(node).backgroundColor")
        self.assertEqual(colour, f"rgb({last})")
        words = "".join(xml.etree.ElementTree.fromstring(
            self.exported(page, "svg")).itertext())
        for text in page.locator(".legend .tick").all_inner_texts():
            self.assertIn(text, words)
        for text in ("rollout", "largest number", "output token 2"):
            self.assertIn(text, words)
        self.assertNotIn("query", words)

    def test_the_legend_says_nothing_of_rows(self):
        for width in (1280, 390):
            with self.subTest(width=width):
                page = self.open("through", THROUGH, width=width, height=844)
                rows = page.locator(".legend", has_text="Row = query")
                self.assertEqual(rows.count(), 0)
                self.go(page, "#view=grid")
                self.assertEqual(rows.count(), 1)

    def test_pin_and_table(self):
        page = self.open("through", THROUGH)
        expected = cases["through"].shares["rollout"][2]
        page.click("#input-3")
        page.wait_for_function("() => location.hash.includes('input=3')")
        self.settle(page)
        page.hover("#view-title")
        number = float(page.inner_text("#readout").rsplit(": ", 1)[1])
        self.assertAlmostEqual(number, float(expected[3]), delta=ROUNDED)
        self.keys(page, "Escape")
        self.assertIsNone(page.evaluate("() => headwise.state.get().input"))
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "through")
        self.go(page, THROUGH + "&table=1")
        cells = page.locator(".through tbody tr").nth(3).locator("td")
        self.assertAlmostEqual(float(cells.nth(0).inner_text()), float(expected[3]),
                               delta=ROUNDED)
        self.assertEqual(page.locator(".through tbody tr").count(), len(page_cases.HOSTILE))

    def test_by_keyboard_alone(self):
        page = self.open("through")
        self.keys(page, "r")
        self.settle(page)
        self.assertEqual(page.inner_text("#view-title"), "Through all layers")
        page.focus("#output-2")
        self.keys(page, "ArrowRight", "Enter")
        page.wait_for_function("() => headwise.state.get().output === 3")
        page.wait_for_function("() => document.activeElement.id === 'output-3'")
        page.focus("#input-0")
        self.keys(page, "End", " ")
        page.wait_for_function("() => headwise.state.get().input === "
                               f"{len(page_cases.HOSTILE) - 1}")
        page.select_option("#through", "flow")
        self.assertEqual(page.evaluate("() => headwise.state.get().through"), "flow")
        self.keys(page, "?")
        self.assertIn("through all layers", page.inner_text("#help"))

    def test_its_letter_leads_to_the_tokens(self):
        page = self.open("through")
        self.keys(page, "r")
        page.wait_for_function("() => document.activeElement.id === 'output-2'")
        self.keys(page, "ArrowRight")
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "output-3")

    def test_only_where_the_page_has_them(self):
        page = self.open("small", THROUGH)
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")
        self.assertEqual(page.locator("#view-through").count(), 0)
        self.keys(page, "r")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")
        self.keys(page, "?")
        self.assertNotIn("through", page.inner_text("#help"))

    def test_hostile_tokens_are_text(self):
        page = self.open("through", THROUGH)
        self.assertEqual(page.evaluate("() => window.hacked"), None)
        self.assertEqual(page.locator(".through script, .through img").count(), 0)
        self.assertEqual(page.locator(".token-card").count(), 2 * len(page_cases.HOSTILE))

    def test_axe_finds_nothing_serious(self):
        for width in (1280, 390):
            page = self.open("through", THROUGH, width=width, height=844)
            for link in (THROUGH + "&input=3", THROUGH + "&table=1",
                         THROUGH + "&through=flow&theme=dark&lang=ko&palette=ink"):
                with self.subTest(width=width, link=link):
                    self.go(page, link)
                    self.assertEqual(serious(page), [])
                    self.assertLessEqual(page.evaluate(
                        "() => document.documentElement.scrollWidth"), width)
                    self.assertIsNone(re.search(
                        r"through\.|undefined|NaN", page.inner_text("body")))
