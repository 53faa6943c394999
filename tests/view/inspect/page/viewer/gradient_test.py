"""Gradient times attention, integrated gates, and norms of long texts. Run by page_test.py."""
import json
import re
import xml.etree.ElementTree

import numpy as np

import page_cases
from make_page import gradient_products, norm_products
from page_case import PageCase, ROUNDED, cases, serious

HEAD = "#view=head&layer=0&head=1"
GRADIENT = HEAD + "&measure=gradient"


def truth(case, layer, head, rows=slice(None), of=gradient_products):
    """-> the products in binary64, may attend."""
    w, may = case.weights(layer, head, rows)
    return of(case.heads[layer, head])(w, rows), may


class Gradient(PageCase):
    def numbers(self, page, expression):
        return np.array(page.evaluate(f"async () => {{ {expression} }}"))

    def check_known(self, page, expected, may, queries, keys):
        values, errors = self.known(page, queries, keys)
        tiny = 1e-6 * np.abs(expected)
        self.assertTrue((np.abs(np.where(may, values - expected, 0)) <= errors + tiny).all())
        return values, errors

    def test_cells_are_weights_times_gradients(self):
        page = self.open("gradients", GRADIENT)
        for layer, head in ((0, 1), (1, 3)):
            self.go(page, f"#view=head&layer={layer}&head={head}&measure=gradient")
            queries, keys, shown = self.matrix(page)
            expected, may = truth(cases["gradients"], layer, head)
            self.assertTrue(np.array_equal(np.isnan(shown), ~may))
            values, errors = self.check_known(page, expected, may, queries, keys)
            self.assertTrue((np.abs(np.where(may, shown - values, 0)) <=
                             errors / 2 + 5 * ROUNDED * np.abs(values)).all())
            most = np.abs(expected).max()
            self.assertLess(errors[may].max(), 0.01 * most)
            drawn = self.numbers(page, "return [...headwise.current.matrices[0].raw]")
            drawn = drawn.reshape(21, 21)
            self.assertLess(np.abs(np.where(may, drawn - expected, 0)).max(), 0.02 * most)
            self.assertGreater((drawn[may] < 0).sum(), 20)

    def test_sums_of_keys_queries_and_heads(self):
        page = self.open("gradients", GRADIENT + "&table=1")
        case = cases["gradients"]
        expected, _ = truth(case, 0, 1)
        found = self.numbers(
            page, "return [...await headwise.statistics.ofKeys(headwise.state.head())]")
        self.assertLess(np.abs(found - expected.sum(axis=0)).max(), 1e-6)
        self.assertEqual(page.inner_text("tfoot th"), "sum over all queries")
        self.assertAlmostEqual(
            float(page.locator("tfoot td").nth(4).inner_text().replace("\u2212", "-")),
            expected[:, 4].sum(), delta=6e-5)
        statistics = page.evaluate(
            "() => headwise.statistics.ofQuery(headwise.state.head(), 20)")
        self.assertNotIn("integrated", [name for name, *_ in statistics])
        _, value, error = next(one for one in statistics if one[0] == "gradient")
        self.assertLessEqual(abs(value - expected[20].sum()), error + 1e-9)
        for name in ("gradient", "integrated", "integrated-by-layer"):
            self.go(page, f"#sort={name}&filter={name}+%3E+-0.5")
            rows = self.csv(page)
            at = rows[0].index(name)
            listed = [float(row[at]) for row in rows[1:] if row[at]]
            self.assertEqual(listed, sorted(listed, reverse=True))
            for row in rows[1:]:
                layer, head = int(row[0]), int(row[1])
                if row[3] == "yes":
                    continue
                number = (truth(case, layer, head)[0].sum() if name == "gradient" else
                          case.heads[layer, head][name])
                self.assertAlmostEqual(float(row[at]), number, delta=1e-5)
        self.go(page, "#view=scatter&x=integrated&y=gradient")
        self.assertEqual(page.locator(".point").count(), 7)

    def test_top_keys_and_lines_by_size(self):
        page = self.open("gradients", GRADIENT + "&query=20&key=3")
        expected, _ = truth(cases["gradients"], 0, 1)
        order = np.argsort(-np.abs(expected[20]), kind="stable")[:8]
        page.wait_for_selector(".top li")
        found = [int(text.split(" ")[0]) for text in page.locator(".top-key").all_inner_texts()]
        self.assertEqual(found, list(order))
        self.assertEqual(page.locator(".bar-minus").count(), (expected[20, order] < 0).sum())
        least = np.abs(expected).max() / 5
        self.assertAlmostEqual(page.locator(".line-minus").count(),
                               (expected < -least).sum(), delta=2)
        self.assertIn("product of size", page.inner_text("main"))
        page.wait_for_function("() => document.querySelector('#readout strong')")
        shown = float(page.inner_text("#readout strong").replace("\u2212", "-"))
        self.assertAlmostEqual(shown, expected[20, 3], delta=1e-4)

    def test_one_diverging_scale_in_page_and_files(self):
        page = self.open("gradients", GRADIENT)
        for link in (GRADIENT, "#measure=gradient"):
            self.go(page, link)
            ticks = page.locator(".legend .tick").all_inner_texts()
            self.assertEqual(len(ticks), 5)
            self.assertTrue(ticks[0].startswith("\u2212"), ticks)
            words = "".join(xml.etree.ElementTree.fromstring(
                self.exported(page, "svg")).itertext())
            for text in ("weight \u00d7 dF/dw", ticks[0], ticks[4], "largest product"):
                self.assertIn(text, words)
        palette = page.evaluate("() => headwise.palette.get(true).shades")
        self.go(page, GRADIENT)
        expected, may = truth(cases["gradients"], 0, 1)
        svg = xml.etree.ElementTree.fromstring(self.exported(page, "svg"))
        fills = [one.get("fill") for one in svg.iter("{http://www.w3.org/2000/svg}rect")]
        cells = fills[2:] if fills[0].startswith("#") else fills
        most = np.abs(expected).max()
        at = np.unravel_index(np.abs(expected).argmax(), expected.shape)
        end = palette[255 if expected[at] > 0 else 0]
        self.assertIn("rgb(%d,%d,%d)" % tuple(end), cells)
        self.assertGreater(most, 0)
        saved = json.loads(self.exported(page, "json"))
        self.assertEqual(saved["measure"], "gradient")

    def test_what_the_gradients_are_of(self):
        page = self.open("gradients", GRADIENT)
        note = page.inner_text("#measure-note")
        self.assertIn("F is the logit of the label", note)
        self.assertIn("</script><b>\u27e8U+202E\u27e9label", note)
        self.assertIn("= 1.50", note)
        page = self.open("long_attribution", "#measure=gradient")
        self.assertIn("F is the length of the embedding, 5.25.",
                      page.inner_text("#measure-note"))

    def test_chosen_by_select_and_key(self):
        page = self.open("gradients")
        measure = lambda: page.evaluate("() => headwise.state.get().measure")  # noqa: E731
        page.select_option("#measure", "gradient")
        self.assertEqual(measure(), "gradient")
        self.assertEqual(page.locator("#fit, #pool").count(), 0)
        page.focus("#view-title")
        self.keys(page, "v", "v", "v")
        self.assertEqual(measure(), "gradient")

    def test_long_texts(self):
        case = cases["long_attribution"]
        for measure, of in (("gradient", gradient_products), ("norm", norm_products)):
            page = self.open("long_attribution",
                             f"#view=head&layer=0&head=1&measure={measure}")
            expected, _ = truth(case, 0, 1, of=of)
            cell = np.arange(2304) // 36
            means = np.zeros((64, 64))
            np.add.at(means, (cell[:, None], cell[None, :]), expected / 36 ** 2)
            rows = self.csv(page)[1:]
            found = np.array([[float(field or 0) for field in row[2:]] for row in rows])
            self.assertLess(np.abs(found - means).max(), 1e-5 * np.abs(means).max())
            self.assertEqual(page.locator("#pool").count(), 0)
            self.go(page, f"#view=head&layer=0&head=1&measure={measure}&size=64&row=900"
                          "&column=850&query=930&key=880")
            queries, keys = np.arange(900, 964), np.arange(850, 914)
            part, may = truth(case, 0, 1, queries, of)
            self.check_known(page, part[:, keys], may[:, keys], queries, keys)
            page.wait_for_selector(".top li")
            order = np.argsort(-np.abs(truth(case, 0, 1, np.array([930]), of)[0][0]),
                               kind="stable")[:8]
            top = page.locator(".top-key").all_inner_texts()
            self.assertEqual([int(text.split(" ")[0]) for text in top], list(order))
            sums = self.numbers(
                page, "return [...await headwise.statistics.ofKeys(headwise.state.head())]")
            whole = expected.sum(axis=0) if measure == "gradient" else expected.mean(axis=0)
            self.assertLess(np.abs(sums - whole).max(), 1e-5 * np.abs(whole).max())

    def test_the_letter_changes_no_measure_that_is_not_shown(self):
        page = self.open("gradients")
        measure = lambda: page.evaluate("() => headwise.state.get().measure")  # noqa: E731
        self.keys(page, "x", "v")
        self.assertEqual(measure(), "attention")
        self.keys(page, "g", "v")
        self.assertEqual(measure(), "norm")

    def test_numbers_below_tiles_fit_narrow_windows(self):
        page = self.open("gradients", width=390, height=844)
        page.evaluate("() => { for (const head of headwise.heads.kept)"
                      " head.pooled.integrated = -0.012345; }")
        self.go(page, "#sort=integrated&measure=gradient")
        self.assertGreater(page.locator(".caption").count(), 6)
        self.assertTrue(page.evaluate(
            "() => [...document.querySelectorAll('.caption')].every(one =>"
            " one.scrollWidth <= one.clientWidth)"))

    def test_axe_finds_nothing_serious(self):
        for width in (1280, 390):
            page = self.open("gradients", "#measure=gradient", width=width, height=844)
            for link in ("#measure=gradient", GRADIENT + "&query=20&key=3",
                         GRADIENT + "&table=1", GRADIENT + "&theme=dark&lang=ko",
                         GRADIENT + "&compare=1.3"):
                with self.subTest(width=width, link=link):
                    self.go(page, link)
                    self.assertEqual(serious(page), [])
                    self.assertLessEqual(page.evaluate(
                        "() => document.documentElement.scrollWidth"), width)
                    self.assertIsNone(
                        re.search("_gradient|undefined|NaN", page.inner_text("body")))
        self.assertEqual(page_cases.HOSTILE_LABEL[:9], "</script>")
