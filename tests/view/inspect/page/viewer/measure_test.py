"""Attention weights or value-weighted norms. Run by page_test.py."""
import json
import re
import xml.etree.ElementTree

import numpy as np

from page_case import PageCase, ROUNDED, cases, serious

HEAD = "#view=head&layer=0&head=1"
NORMS = HEAD + "&measure=norm"


def truth(case, layer, head):
    """-> weight x norm in binary64, the weights, may attend."""
    w, may = case.weights(layer, head)
    return w * case.heads[layer, head]["norms"].astype(np.float64), w, may


class Measure(PageCase):
    def numbers(self, page, expression):
        return np.array(page.evaluate(f"async () => {{ {expression} }}"))

    def test_cells_are_weights_times_norms(self):
        page = self.open("norms", NORMS)
        for layer, head in ((0, 1), (1, 3)):
            self.go(page, f"#view=head&layer={layer}&head={head}&measure=norm")
            queries, keys, shown = self.matrix(page)
            expected, _, may = truth(cases["norms"], layer, head)
            self.assertTrue(np.array_equal(np.isnan(shown), ~may))
            values, errors = self.known(page, queries, keys)
            tiny = 1e-6 * np.abs(expected)
            self.assertTrue((np.abs(np.where(may, values - expected, 0)) <= errors + tiny).all())
            self.assertTrue((np.abs(np.where(may, shown - values, 0)) <=
                             errors / 2 + 5 * ROUNDED).all())
            self.assertLess(errors[may].max(), 0.02)
            drawn = self.numbers(page, "return [...headwise.current.matrices[0].raw]")
            drawn = drawn.reshape(21, 21)
            self.assertLess(np.abs(np.where(may, drawn - expected, 0)).max(), 0.04)
            self.assertTrue((drawn[~may] < 0).all())

    def test_pooled_maps_and_means(self):
        page = self.open("norms_of_some", "#document=2&layer=1&head=2&view=head&measure=norm")
        expected, _, _ = truth(cases["norms_of_some"].documents[2], 1, 2)
        cell = np.arange(150) * 64 // 150
        largest = np.zeros((64, 64))
        np.maximum.at(largest, (cell[:, None], cell[None, :]), expected)
        found = self.numbers(
            page, "return [...(await headwise.weights.small(headwise.state.head(), 'max')).values]")
        bound = 0.0041 * cases["norms_of_some"].documents[2].heads[1, 2]["norms"].max()
        self.assertLess(np.abs(found.reshape(64, 64) - largest).max(), bound)
        means = self.numbers(
            page, "return [...await headwise.statistics.ofKeys(headwise.state.head())]")
        self.assertLess(np.abs(means - expected.mean(axis=0)).max(), 0.005)

    def test_top_keys_and_lines(self):
        page = self.open("norms", NORMS + "&query=20&key=3")
        expected, w, _ = truth(cases["norms"], 0, 1)
        order = np.argsort(-expected[20], kind="stable")[:8]
        self.assertNotEqual(list(order), list(np.argsort(-w[20], kind="stable")[:8]))
        page.wait_for_selector(".top li")
        found = [int(text.split(" ")[0]) for text in page.locator(".top-key").all_inner_texts()]
        self.assertEqual(found, list(order))
        rows, least = page.evaluate(
            "() => headwise.lines.data(headwise.state.head()).then(({rows, least}) => "
            "[rows.map(row => [...row]), least])")
        self.assertAlmostEqual(least, expected.max() / 5, delta=0.02)
        self.assertLess(np.abs(np.where(expected > 0, np.array(rows) - expected, 0)).max(), 0.04)
        page.wait_for_function(  # the pair, with its error
            "() => document.querySelector('#readout strong')")
        shown = float(page.inner_text("#readout strong"))
        self.assertAlmostEqual(shown, expected[20, 3], delta=0.01)

    def test_tables_and_files(self):
        page = self.open("norms", NORMS + "&table=1")
        expected, _, _ = truth(cases["norms"], 0, 1)
        cells = page.locator(".twins table").nth(0).locator("tbody tr").nth(10).locator("td")
        self.assertAlmostEqual(float(cells.nth(4).inner_text()), expected[10, 4], delta=0.01)
        mean = page.locator("tfoot td").nth(4).inner_text()
        self.assertAlmostEqual(float(mean), expected[:, 4].mean(), delta=0.01)
        captions = page.locator("caption").all_inner_texts()
        self.assertEqual(captions[0], "Value-weighted norms, layer 0, head 1")
        saved = json.loads(self.exported(page, "json"))
        self.assertEqual((saved["measure"], saved["renormalised"]), ("norm", False))
        self.go(page, NORMS)
        for link in (NORMS, "#measure=norm"):
            self.go(page, link)
            words = "".join(xml.etree.ElementTree.fromstring(
                self.exported(page, "svg")).itertext())
            self.assertIn("weight \u00d7 |f|", words)
            self.assertIn("largest norm", words)
            self.assertNotIn("attention weight", words)

    def shades(self, page, pictures, expected):
        """-> the shade, 0 to 255, of the largest number of each of these tiles."""
        places = [np.unravel_index(one.argmax(), one.shape) for one in expected]
        return page.evaluate("""([pictures, places, size]) => Promise.all(pictures.map(
            async (source, n) => {
                const image = new Image();
                image.src = source;
                await image.decode();
                const canvas = headwise.dom.make('canvas', {width: image.width, height: image.height});
                const context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                const [y, x] = places[n].map(at => (at + 0.5) / size * image.width);
                const {data} = context.getImageData(x, y, 1, 1);
                return headwise.palette.get(false).pixels.indexOf(new Uint32Array(data.buffer)[0]);
            }))""", [pictures, [[int(at) for at in place] for place in places],
                      len(expected[0])])

    def drawn(self, page):
        page.wait_for_function(
            "() => [...document.querySelectorAll('.card canvas')].every(one => one.width !== 300)")
        return page.eval_on_selector_all(".card canvas", "all => all.map(one => one.toDataURL())")

    def in_file(self, page):
        svg = xml.etree.ElementTree.fromstring(self.exported(page, "svg"))
        ticks = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")
                 if one.get("font-size") == "9"]
        return [one.get("href") for one in svg.iter("{http://www.w3.org/2000/svg}image")], ticks

    def check_tiles(self, page, expected):
        """They share a scale, in the page and in a file, and its legend is above them."""
        limit = max(one.max() for one in expected)
        shades = [255 * np.sqrt(one.max() / limit) for one in expected]
        self.assertLess(min(shades), 230)
        np.testing.assert_allclose(self.shades(page, self.drawn(page), expected), shades, atol=3)
        ticks = page.locator(".legend .tick").all_inner_texts()
        self.assertAlmostEqual(float(ticks[-1]), limit, delta=0.006 * limit)
        self.assertLess(page.locator(".legend").bounding_box()["y"],
                        page.locator(".card").nth(0).bounding_box()["y"])
        pictures, in_file = self.in_file(page)
        np.testing.assert_allclose(self.shades(page, pictures, expected), shades, atol=3)
        self.assertEqual(in_file, ticks)
        page.click("#own")
        page.wait_for_function("() => location.hash.includes('own=1')")
        np.testing.assert_allclose(self.shades(page, self.drawn(page), expected), 255, atol=3)
        self.assertIn("Each map ends at its largest", page.inner_text(".legend"))
        pictures, in_file = self.in_file(page)
        np.testing.assert_allclose(self.shades(page, pictures, expected), 255, atol=3)
        self.assertEqual(in_file[-1], "largest")

    def test_tiles_share_a_scale_or_each_has_its_own(self):
        case = cases["norms"]
        heads = [one for one in sorted(case.heads) if not case.heads[one].get("pruned")]
        # Where colours end depends on heads that are below the window, too.
        page = self.open("norms", "#measure=norm", height=120)
        self.check_tiles(page, [truth(case, *one)[0] for one in heads])

    def test_tiles_of_texts_share_a_scale(self):
        page = self.open("normed_texts", "#view=texts&layer=0&head=1&measure=norm")
        self.check_tiles(page, [truth(one, 0, 1)[0] for one in cases["normed_texts"].documents])

    def test_tiles_are_painted_once_where_their_scale_ends(self):
        page = self.open("normed_texts")
        page.evaluate("""() => {
            const {paint} = headwise.paint;
            window.painted = new Map();
            headwise.paint.paint = (canvas, ...others) => {
                painted.set(canvas, (painted.get(canvas) || 0) + 1);
                return paint(canvas, ...others);
            }; }""")
        counts = lambda: page.evaluate(  # noqa: E731
            "() => { const of = name => [...painted].filter(([one]) => one.className === name)"
            ".map(([, times]) => times); const [tiles, legends] = [of(''), of('scale')];"
            " painted.clear(); return [Math.max(...tiles), tiles.length, legends.length]; }")
        self.go(page, "#measure=norm")
        self.drawn(page)
        times, tiles, legends = counts()
        self.assertEqual((times, tiles), (1, 8))
        self.assertLess(legends, 4)
        self.exported(page, "svg")
        self.assertEqual(counts()[:2], [1, 8])
        self.go(page, "#view=texts&layer=0&head=1&measure=norm")
        self.drawn(page)
        counts()
        self.exported(page, "svg")
        self.assertEqual(counts()[:2], [1, 3])

    def test_the_scale_of_many_texts_is_of_those_that_were_drawn(self):
        page = self.open("many_normed_texts", "#view=texts&layer=0&head=1&measure=norm",
                         height=400)
        drawn = lambda: page.eval_on_selector_all(  # noqa: E731
            ".card canvas", "all => all.filter(one => one.width !== 300).length")
        end = lambda: float(page.locator(".legend .tick").last.inner_text())  # noqa: E731
        page.wait_for_function("() => document.querySelector('.card canvas').width !== 300")
        self.assertLess(drawn(), 60)
        before = end()
        self.assertIn("norm of the texts drawn so far", page.inner_text(".legend"))
        _, ticks = self.in_file(page)
        largest = max(truth(one, 0, 1)[0].max() for one in cases["many_normed_texts"].documents)
        self.assertAlmostEqual(float(ticks[-1]), largest, delta=0.006 * largest)
        page.locator(".card").last.scroll_into_view_if_needed()
        page.wait_for_function("() => [...document.querySelectorAll('.card canvas')].pop()"
                               ".width !== 300")
        self.assertGreater(end(), before)
        self.assertAlmostEqual(end(), largest, delta=0.006 * largest)

    def test_attention_weights_have_each_their_own_scale_or_that_from_0_to_1(self):
        page = self.open("norms")
        for link, last in (("#", "largest"), ("#fit=0", "1"), ("#own=1", "largest")):
            self.go(page, link)
            self.assertEqual(page.locator(".legend .tick").last.inner_text(), last)
            self.assertEqual(page.locator("#own").count(), 0)

    def test_chosen_by_select_key_and_link(self):
        page = self.open("norms")
        measure = lambda: page.evaluate("() => headwise.state.get().measure")  # noqa: E731
        self.assertEqual(page.inner_text("label[for=measure]"), "Show")
        plain = page.inner_text(".legend")
        self.assertIn("attention weight", plain)
        page.select_option("#measure", "norm")
        self.assertEqual(measure(), "norm")
        page.wait_for_function("() => location.hash.includes('measure=norm')")
        self.assertIn("weight \u00d7 |f|", page.inner_text(".legend"))
        self.assertIn("Colours end at the largest norm", page.inner_text(".legend"))
        self.assertIn("statistics are those of the attention weights, except the norm",
                      page.inner_text("#measure-note"))
        self.assertEqual(page.locator("#fit").count(), 0)
        page.focus("#view-title")
        self.keys(page, "v")
        self.assertEqual((measure(), page.inner_text(".legend")), ("attention", plain))
        self.keys(page, "v")
        self.assertEqual(measure(), "norm")
        self.keys(page, "?")
        self.assertIn("value-weighted norms", page.inner_text("#help"))

    def test_hidden_tokens_leave_norms_as_they_are(self):
        page = self.open("norms", NORMS + "&hide=1")
        self.assertEqual(page.locator("#renormalise").count(), 0)
        expected, _, may = truth(cases["norms"], 0, 1)
        queries, keys, shown = self.matrix(page)
        self.assertNotIn(0, keys)
        self.assertLess(np.nanmax(np.abs(shown - expected[np.ix_(queries, keys)])), 0.02)

    def test_two_heads(self):
        page = self.open("norms", NORMS + "&compare=1.3")
        found = self.csv(page)[1:]
        a, b = (truth(cases["norms"], *head)[0] for head in ((0, 1), (1, 3)))
        for query, _, key, _, one, two, less in found[100:160]:
            if one == "":
                continue
            at = int(query), int(key)
            self.assertAlmostEqual(float(one), a[at], delta=0.02)
            self.assertAlmostEqual(float(less), a[at] - b[at], delta=0.04)

    def test_a_large_negative_number_is_no_mask(self):
        page = self.open("norms", NORMS + "&compare=1.3")
        found = self.numbers(page, "const {MASKED, isPattern} = headwise.mask; const shown = "
                             "headwise.weights.difference(Float32Array.of(1, MASKED), "
                             "Float32Array.of(7, 0)); return [...shown, ...shown.map(isPattern)]")
        self.assertEqual([found[0], *found[2:]], [-6, 0, 1])

    def test_only_where_all_documents_in_view_have_them(self):
        page = self.open("norms_of_some", "#measure=norm")
        measure = lambda: page.evaluate("() => headwise.state.get().measure")  # noqa: E731
        for link, expected in (
                ("#measure=norm&document=0", "norm"), ("#measure=norm&document=1", "attention"),
                (NORMS + "&compare=1:0.1", "attention"), (NORMS + "&compare=2:0.1", "norm"),
                ("#measure=norm&view=texts&layer=0&head=1", "attention"),
                ("#measure=gradient", "attention")):
            with self.subTest(link=link):
                self.go(page, link)
                page.wait_for_function(
                    f"() => headwise.state.get().measure === '{expected}'", timeout=5000)
                self.assertEqual(page.locator("#measure").count(),
                                 int(expected == "norm" or "gradient" in link))
        self.assertEqual(measure(), "attention")
        page = self.open("small", "#measure=norm")
        self.keys(page, "v")
        self.assertEqual(page.evaluate("() => headwise.state.get().measure"), "attention")
        self.keys(page, "?")
        self.assertNotIn("norms", page.inner_text("#help"))

    def test_heads_by_their_mean_norm(self):
        page = self.open("norms", "#sort=norm&filter=norm+%3E+0.5")
        case = cases["norms"]
        means = {f"{layer}.{head}": truth(case, layer, head)[0].sum(axis=1).mean()
                 for layer, head in case.heads if not case.heads[layer, head].get("pruned")}
        self.assertEqual(
            page.eval_on_selector_all("button.card", "all => all.map(one => one.dataset.head)"),
            sorted((head for head in means if means[head] > 0.5), key=lambda head: -means[head]))
        self.go(page, "#view=scatter&x=norm&y=entropy")
        rows = {f"{layer}.{head}": float(norm) for layer, head, norm, _ in self.csv(page)[1:]}
        self.assertEqual(rows.keys(), means.keys())
        for head, norm in rows.items():
            self.assertAlmostEqual(norm, means[head], delta=1e-4 * norm)
        self.go(page, HEAD + "&query=20&key=3")
        expected = truth(case, 0, 1)[0][20].sum()
        found = page.evaluate("() => headwise.statistics.ofQuery(headwise.state.head(), 20)")
        _, value, error = next(one for one in found if one[0] == "norm")
        self.assertLessEqual(abs(value - expected), error + 1e-5)

    def test_cells_have_no_number_that_would_be_0(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        written = page.evaluate("""() => {
            const said = [];
            const context = new Proxy({}, {get: (_, name) => name === 'fillText' ?
                words => said.push(words) : () => {}, set: () => true});
            const values = Float32Array.of(0.2, -0.1, 0.0045, -0.0045, 0.001, 0);
            headwise.state.get().measure = 'gradient';
            headwise.paint.annotate(context, {rows: 1, columns: 6, values}, 240, 40,
                {diverging: true, limit: 0.2}, '');
            headwise.state.get().measure = 'norm';
            headwise.paint.annotate(context, {rows: 1, columns: 6, values: values.map(Math.abs)}, 240, 40,
                {diverging: false, limit: 0.2}, '');
            headwise.state.get().measure = 'attention';
            return said; }""")
        self.assertEqual(written, [".20", "\u2212.10", "+", "\u2212", ".20", ".10"])

    def test_axe_finds_nothing_serious(self):
        for width in (1280, 390):
            page = self.open("norms", "#measure=norm", width=width, height=844)
            for link in ("#measure=norm", NORMS + "&query=20&key=3", NORMS + "&table=1",
                         NORMS + "&theme=dark&lang=ko", NORMS + "&compare=1.3"):
                with self.subTest(width=width, link=link):
                    self.go(page, link)
                    self.assertEqual(serious(page), [])
                    self.assertLessEqual(page.evaluate(
                        "() => document.documentElement.scrollWidth"), width)
                    self.assertIsNone(re.search("_norm|undefined|NaN", page.inner_text("body")))
