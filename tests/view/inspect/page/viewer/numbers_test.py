"""What the page shows and exports is the attention weights. Run by page_test.py."""
import json
import xml.etree.ElementTree

import numpy as np

import make_page
from page_case import CODING, PageCase, ROUNDED, SVG, cases, number


class Numbers(PageCase):
    def test_csv_of_a_causal_head_is_its_attention_weights(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        queries, keys = self.check_matrix(page, cases["small"], 0, 1)
        self.assertEqual((len(queries), len(keys)), (12, 12))

    def test_csv_of_a_head_with_alibi_is_its_attention_weights(self):
        self.check_matrix(self.open("small", "#view=head&layer=1&head=3"),
                          cases["small"], 1, 3)

    def test_csv_of_a_head_with_the_bias_of_t5_is_its_attention_weights(self):
        page = self.open("small", "#view=head&layer=1&head=0&query=9&key=2")
        self.check_matrix(page, cases["small"], 1, 0)
        found = page.evaluate(
            "() => headwise.elements.compute(headwise.state.head(), headwise.pick.pin())"
            ".then(f => f.scores)")
        (_, capped, _), (name, biased, how) = found[-2:]
        self.assertEqual(name, "T5 bias")
        self.assertIn("-7", how.replace("\u2212", "-"))  # beyond the largest distance
        self.assertAlmostEqual(biased - capped, 3, places=10)
        self.assertIn("T5", page.inner_text("#elements"))

    def test_csv_of_a_head_with_a_sink_is_its_attention_weights(self):
        page = self.open("small", "#view=head&layer=1&head=1")
        self.check_matrix(page, cases["small"], 1, 1)
        self.assertIn("Sink 1.5", page.inner_text(".about-head"))
        # The row sums that bound the numbers are less than 1.
        w, may = cases["small"].weights(1, 1)
        queries, keys, shown = self.matrix(page)
        _, errors = self.known(page, queries, keys)
        self.assertTrue((np.abs(shown - w)[may] <= 1.5 * errors[may] + 1e-6).all())

    def test_csv_under_a_bitmap_mask_with_empty_rows_and_padding(self):
        self.check_matrix(self.open("ragged", "#view=head&layer=0&head=0"),
                          cases["ragged"], 0, 0)

    def test_csv_of_cross_attention_and_of_a_cache(self):
        for name in ("cross", "cached"):
            queries, keys = self.check_matrix(
                self.open(name, "#view=head&layer=0&head=1"), cases[name], 0, 1)
            self.assertEqual((len(queries), len(keys)), (7, 40))

    def test_numbers_end_with_the_first_digit_that_their_error_reaches(self):
        page = self.open("small")
        shown = page.evaluate(
            "() => [[0.13184, 0.0004], [0.13184, 0.0014], [0.13184, 0.001], [1, 0.0033], "
            "[0.00002, 0.00004], [1.234e-7, 5e-10], [-0.02718, 0.0006], [0, 3.8e-6], "
            "[-1.6e-5, 0], [0.5, 0], [0.5, undefined], [NaN, 1]].map(([value, error]) => "
            "headwise.numbers.known(value, error))")
        self.assertEqual(shown, ["0.1318", "0.132", "0.132", "1.000", "2e\u22125",
                                 "1.234e\u22127", "\u22120.0272", "0",
                                 "\u22121.6e\u22125", "0.500", "0.500",
                                 "NaN"])
        self.assertEqual(page.evaluate(
            "() => [[2.54e-18, 0], [-4e-4, 1e-6], [0.000684403, 0], [0, 0], [0.00049, 0.001]].map("
            "([value, error]) => headwise.detail.stateText(value, error))"),
            ["<0.001", ">\u22120.001", "0.000684403", "0", "<0.001"])
        self.assertEqual(page.evaluate(
            "() => [['entropy', 2e-7], ['norm', 2e-7], ['self', null]].map("
            "([name, value]) => headwise.numbers.statistic(name, value))"),
            ["<0.001", "2.0e\u22127", "\u2013"])
        self.assertEqual(page.evaluate(
            "() => [0.0004, 0.00041, 0.0014, 0.001, 3.8e-6].map(headwise.numbers.bound)"),
            ["0.0004", "0.0005", "0.002", "0.001", "0.000004"])

    def test_rows_of_a_page_with_q_and_k_are_computed_from_them(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        queries, keys, shown = self.matrix(page)
        _, errors = self.known(page, queries, keys)
        off = np.abs(np.nansum(shown, axis=1) - 1)
        self.assertTrue((off <= 1.5 * errors.sum(axis=1)).all())
        w, may = cases["small"].weights(0, 1)
        bytes_off = np.abs(make_page.decoded(make_page.coded(w)) - w)[may]
        self.assertLess(np.abs(shown - w)[may].mean(), bytes_off.mean() / 3)
        # Rows sum to 1: the rest bounds a large weight more closely than q and k do.
        large = may & (w > 0.8) & (w < 0.999)
        self.assertTrue(large.any())
        self.assertLess(errors[large].max(), CODING / 3)

    def test_without_q_and_k_no_digit_is_beyond_what_a_byte_knows(self):
        page = self.open("ragged", "#view=head&layer=0&head=0")
        w, may = cases["ragged"].weights(0, 0)
        codes = make_page.coded(w)
        for query, _, *fields in self.csv(page)[1:]:
            for key, field in enumerate(fields):
                if field == "":
                    continue
                byte = int(codes[int(query), key])
                error = (byte + 0.25) / 255 ** 2
                unit = 10.0 ** np.floor(np.log10(error))
                self.assertLessEqual(abs(float(field) - (byte / 255) ** 2), unit / 2 + 1e-9)
                self.assertAlmostEqual(float(field) / unit, round(float(field) / unit),
                                       places=6)

    def test_a_pinned_cell_and_its_query_are_computed_from_q_k_and_lse(self):
        case = cases["small"]
        for layer, head in ((0, 1), (1, 3)):
            page = self.open("small", f"#view=head&layer={layer}&head={head}&query=6&key=2")
            page.wait_for_function(
                "() => headwise.weights.known(headwise.state.head(), [6], [2]).then("
                "({errors}) => document.querySelector('#readout .quiet').textContent.includes("
                "headwise.numbers.bound(errors[0])))")
            w, _ = case.weights(layer, head)
            value, error = float(page.inner_text("#readout strong")), float(
                page.inner_text("#readout .quiet").split("\u00b1")[1])
            self.assertLessEqual(abs(value - w[6, 2]), 1.5 * error)
            self.assertLess(error, np.sqrt(w[6, 2]) / 255)
            page.wait_for_selector(".top li")
            top = page.eval_on_selector_all(".top li", "rows => rows.map(row => [parseInt("
                                            "row.textContent), row.lastChild.textContent])")
            order = np.argsort(-w[6], kind="stable")[:len(top)]
            self.assertEqual([key for key, _ in top], order.tolist())
            for key, text in top:
                self.assertAlmostEqual(float(text), w[6, key], delta=0.004 * w[6, key] + 1e-4)
            numbers = page.evaluate(
                "() => headwise.statistics.ofQuery(headwise.state.head(), 6)"
                ".then(all => Object.fromEntries(all.map(([name, value]) => [name, value])))")
            for name, key in (("previous", 5), ("self", 6), ("first", 0)):
                self.assertAlmostEqual(numbers[name], w[6, key], delta=0.004 * w[6, key] + 1e-6)
            self.assertAlmostEqual(numbers["largest"], w[6].max(), delta=0.004)

    def test_the_largest_of_given_weights_are_exact(self):
        page = self.open("weights", "#view=head&layer=0&head=1&query=20&key=20")
        case = cases["weights"]
        self.check_matrix(page, case, 0, 1)
        w, may = case.weights(0, 1)
        values, errors = self.known(page, range(21), range(21))
        for query in np.flatnonzero(may.any(axis=1)):
            order = np.argsort(-w[query], kind="stable")
            order = order[may[query, order]]
            top, rest = order[:make_page.TOP], order[make_page.TOP:]
            np.testing.assert_array_equal(values[query, top], w[query, top])
            self.assertEqual(errors[query, top].max(), 0)
            self.assertLessEqual((values + errors)[query, rest].max(initial=0),
                                 w[query, top].min() + 1e-7)
        page.wait_for_function("() => !document.querySelector('#readout .quiet')")
        self.assertAlmostEqual(float(page.inner_text("#readout strong")), w[20, 20], delta=1e-6)
        page.wait_for_selector(".top li")
        self.assertAlmostEqual(float(page.inner_text(".top li .number >> nth=0")), w[20].max(),
                               delta=1e-6)
        found = dict(page.evaluate("() => headwise.statistics.ofQuery(headwise.state.head(), 20)"
                                   ".then(all => all.map(([name, value]) => [name, value]))"))
        for name, of in (("previous", w[20, 19]), ("largest", w[20].max())):
            self.assertAlmostEqual(found[name], of, places=6)
        self.assertIsNone(found["next"])  # no query may attend to it

    def test_rows_of_given_weights_that_do_not_sum_to_1_are_said(self):
        page = self.open("weights")
        self.assertIn("Rows that do not sum to 1: 2.", page.inner_text("#grid-note"))
        self.assertNotIn("byte", page.inner_text("footer"))
        self.keys(page, "?")
        self.assertIn("8 largest weights of each query are exact", page.inner_text("#help"))
        self.close(page)
        self.go(page, "#view=head&layer=0&head=1&query=4&key=0")
        sums = cases["weights"].weights(0, 1)[0].sum(axis=1)
        self.assertIn(f"Rows that do not sum to 1: 2 (farthest sum: {sums[9]:.2f}).",
                      page.inner_text(".about-head"))
        self.assertEqual(page.locator(".label-uneven:not(.label-active)").all_inner_texts(),
                         ["on \u2260 1", "was \u2260 1"])
        self.assertEqual(page.locator(".label-uneven").nth(1).get_attribute("title"),
                         f"9 was (weights sum to {sums[9]:.2f})")
        page.wait_for_selector(".panel .top")
        self.assertIn("The weights of this query sum to 0.750, not to 1.",
                      page.inner_text("main"))
        self.go(page, "#view=head&layer=0&head=1&query=5&key=0")
        page.wait_for_function("() => document.querySelector('.panel + .panel h3').textContent"
                               ".startsWith('Query 5')")
        self.assertNotIn("weights of this query sum", page.inner_text("main"))
        self.go(page, "#view=head&layer=0&head=1&table=1")
        rows = page.locator(".twins table").nth(1).locator("tbody th").all_inner_texts()
        self.assertEqual([row for row in rows if "(" in row],
                         ["4 on (weights sum to 0.750)", f"9 was (weights sum to {sums[9]:.2f})"])
        self.go(page, "#view=head&layer=0&head=1&query=4&key=0")
        self.assertIn("Mask: pairs without weight in any head.", page.inner_text(".about-head"))
        self.assertIn("made from attention weights", page.inner_text("#elements"))
        self.go(page, "#view=head&layer=0&head=0")
        self.assertNotIn("sum to 1", page.inner_text(".about-head"))
        self.assertEqual(page.locator(".label-uneven").count(), 0)

    def test_a_weight_above_1_is_shown_as_it_is(self):
        page = self.open("weights", "#view=head&layer=0&head=1&query=9&key=2")
        weight = cases["weights"].weights(0, 1)[0][9, 2]
        drawn = page.evaluate("() => headwise.current.matrices[0].raw[9 * 21 + 2]")
        self.assertAlmostEqual(drawn, weight, delta=1e-6)
        self.assertIn("Colours are accurate to within 0.00", page.inner_text(".picture"))
        page.wait_for_selector(".top li")
        bar, box = (page.locator(one).nth(0).bounding_box() for one in (".bar", ".bar-box"))
        self.assertAlmostEqual(bar["width"], box["width"], delta=1)

    def test_long_numbers_of_the_top_keys_stay_in_their_panel(self):
        for width in (1400, 390):
            page = self.open("weights", width=width)
            page.evaluate("() => { const {list} = headwise.top; headwise.top.list ="
                          " async (...all) => (await list(...all)).map(([key], n) =>"
                          " [key, n === 0 ? 1 : 0.000684403, 0]); }")
            self.go(page, "#view=head&layer=0&head=1&query=9&key=2")
            page.wait_for_selector(".top li")
            box = lambda one: page.locator(one).last.bounding_box()  # noqa: E731
            number, bar, top = box(".top .number"), box(".top .bar-box"), box(".top")
            self.assertEqual(page.locator(".top .number").last.inner_text(), "0.000684403")
            self.assertLessEqual(number["x"] + number["width"], top["x"] + top["width"] + 0.5)
            self.assertLessEqual(bar["x"] + bar["width"], number["x"])
            self.assertTrue(page.evaluate(
                "() => [...document.querySelectorAll('.top .number')].every(one =>"
                " one.scrollWidth <= one.clientWidth)"))

    def test_the_sequence_of_a_batch_is_said(self):
        page = self.open("weights")
        self.assertNotIn("sequence", page.inner_text(".heading"))
        page.evaluate("() => { headwise.page.batch = {sequence: 1, sequences: 3};"
                      " headwise.state.set({sort: 'entropy'}); }")
        self.assertIn("sequence 2 of 3", page.inner_text(".heading"))

    def test_the_kind_is_not_said_twice(self):
        page = self.open("weights")
        for title, kind, said in (("Weights", "self", "self-attention"),
                                  ("Self-attention", "self", ""),
                                  ("Cross-attention", "cross", "")):
            page.evaluate("([title, kind]) => { headwise.file.title = title;"
                          " headwise.page.kind = kind;"
                          " headwise.state.set({sort: 'self'});"
                          " headwise.state.set({sort: 'entropy'}); }", [title, kind])
            self.assertEqual(page.inner_text(".heading h1"), title)
            note = page.inner_text(".heading .note")
            self.assertIn("21 \u00d7 21", note)
            self.assertEqual("attention" in note, bool(said))

    def test_csv_of_512_tokens(self):
        queries, _ = self.check_matrix(
            self.open("middle", "#view=head&layer=0&head=0"), cases["middle"], 0, 0)
        self.assertEqual(len(queries), 512)

    def test_computed_tiles_are_the_attention_weights(self):
        link = "#view=head&layer=0&head={}&size=128&row=1970&column=1950"
        for head in (0, 1):  # both sides of tile edges, and of the causal edge
            with self.subTest(head=head):
                page = self.open("long", link.format(head))
                queries, keys = self.check_matrix(page, cases["long"], 0, head)
                self.assertEqual((queries[0], keys[0], len(keys)), (1970, 1950, 128))

    def test_hidden_special_tokens_and_rows_that_sum_to_one_again(self):
        case = cases["small"]
        page = self.open("small", "#view=head&layer=0&head=1&hide=1&query=3&key=2")
        queries, keys, shown = self.matrix(page)
        self.assertEqual(queries, list(range(1, 11)))
        w, may = case.weights(0, 1)
        w, may = w[1:11], may[1:11, 1:11]
        rest = w[:, 1:11].sum(axis=1, keepdims=True)
        expected = np.where(may, w[:, 1:11] / rest, np.nan)
        slack = 4 * case.entry(0, 1)["error"] / rest
        self.assertTrue(np.array_equal(np.isnan(shown), np.isnan(expected)))
        self.assertTrue((np.nan_to_num(np.abs(shown - expected)) <= slack).all())
        sums = np.nansum(shown, axis=1)
        self.assertTrue((np.abs(sums - 1) < 10 * slack[:, 0]).all(), sums)

    def test_rows_with_other_sums_are_divided_by_what_is_left_of_those(self):
        page = self.open("weights", "#view=head&layer=0&head=1&hide=1")
        queries, keys, shown = self.matrix(page)
        drawn = np.array(page.evaluate("() => [...headwise.current.matrices[0].raw]"))
        drawn = np.clip(drawn.reshape(shown.shape), 0, None)  # marks are negative
        weights = cases["weights"].weights(0, 1)[0][np.ix_(queries, keys)]
        for query in (4, 9):
            row = queries.index(query)
            expected = weights[row] / weights[row].sum()
            for found in (shown[row], drawn[row]):
                np.testing.assert_allclose(np.nan_to_num(found), expected, atol=0.01)

    def test_hidden_special_tokens_without_renormalising(self):
        page = self.open("small", "#view=head&layer=0&head=1&hide=1&renormalise=0")
        self.check_matrix(page, cases["small"], 0, 1)

    def test_difference_of_two_heads(self):
        case = cases["small"]
        page = self.open("small", "#view=head&layer=0&head=1&compare=1.0")
        _, *rows = self.csv(page)
        a, may = case.weights(0, 1)
        b, _ = case.weights(1, 0)
        slack = case.entry(0, 1)["error"] + case.entry(1, 0)["error"] + ROUNDED
        self.assertEqual(len(rows), 144)
        for query, _, key, _, one, two, less in rows:
            i, j = int(query), int(key)
            self.assertEqual(less != "", may[i, j])
            if less:
                self.assertLessEqual(abs(float(less) - (a[i, j] - b[i, j])), slack)
                self.assertLessEqual(abs(float(one) - float(two) - float(less)), 1e-5)
        drawn = page.evaluate("() => [...headwise.current.matrices[2].raw]")
        drawn = np.array(drawn).reshape(12, 12)
        self.assertLessEqual(np.abs(np.where(may, drawn - (a - b), 0)).max(), slack)
        self.assertTrue((drawn[~may] == page.evaluate("() => headwise.mask.MASKED")).all())

    def test_table_twin_holds_the_window(self):
        page = self.open("small", "#view=head&layer=0&head=1&table=1")
        shown = page.eval_on_selector_all(
            ".twins .scrolled:first-child tbody tr",
            "rows => rows.map(row => [...row.cells].slice(1).map(c => c.textContent))")
        w, may = cases["small"].weights(0, 1)
        error = cases["small"].entry(0, 1)["error"]
        for i, row in enumerate(shown):
            for j, text in enumerate(row):
                if not may[i, j]:
                    self.assertEqual(text, "masked")
                else:
                    self.assertLessEqual(abs(number(text) - w[i, j]), error + 1e-3)

    def test_table_of_a_long_input_says_its_part(self):
        page = self.open("long", "#view=head&layer=0&head=0&table=1&row=100&column=50")
        self.assertIn("Queries 100\u2013123 of 4096, keys 50\u201365 of 4096",
                      page.inner_text("#main"))
        page.click("#rows-after")
        self.settle(page)
        self.assertIn("Queries 124\u2013147", page.inner_text("#main"))

    def test_elements_of_the_pinned_pair(self):
        case = cases["small"]
        page = self.open("small", "#view=head&layer=1&head=3&query=6&key=2")
        found = page.evaluate(
            "() => headwise.elements.compute(headwise.state.head(), headwise.pick.pin())"
            ".then(f => ({products: [...f.products], score: f.score, "
            "weight: f.weight}))")
        one = case.heads[1, 3]
        q, k = one["query"][6].astype(np.float16), one["key"][2].astype(np.float16)
        products = q.astype(float) * k.astype(float)
        self.assertTrue(np.allclose(found["products"], products, rtol=1e-12))
        capped = 20 * np.tanh(products.sum() * case.spec["scale"] / 20)
        self.assertAlmostEqual(found["score"], capped - 0.25 * 4, places=10)
        w, _ = case.weights(1, 3)
        self.assertLess(abs(found["weight"] - w[6, 2]), 0.01)
        text = page.inner_text("#elements")
        self.assertIn("softcap", text)
        self.assertIn("ALiBi", text)
        self.assertEqual(page.locator("#elements .bars rect").count(), 3 * 16)

    def test_every_binary16_is_widened_exactly(self):
        page = self.open("small")
        wide = page.evaluate(
            "() => { const all = headwise.half.widen(Uint16Array.from({length: 65536}, "
            "(_, n) => n)); return [...all].map(v => Number.isNaN(v) ? 'nan' : "
            "Number.isFinite(v) ? v : String(v)); }")
        expected = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
        got = np.array([float(v) if v != "nan" else np.nan
                        for v in (str(v).replace("Infinity", "inf") for v in wide)])
        self.assertTrue(np.array_equal(got, expected, equal_nan=True))

    def test_lines_are_the_weights_worth_seeing(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        page.wait_for_selector("#lines path", state="attached")
        shown = page.locator("#lines path").count()
        w, may = cases["small"].weights(0, 1)
        error = cases["small"].entry(0, 1)["error"]
        self.assertGreaterEqual(shown, int(((w >= 0.02 + error) & may).sum()))
        self.assertLessEqual(shown, int(((w >= 0.02 - error) & may).sum()))

    def test_pictures_and_json(self):
        page = self.open("small")
        for link in ("", "#view=head&layer=0&head=1", "#view=head&layer=0&head=1&compare=0.3",
                     "#view=trace"):
            with self.subTest(link=link):
                self.go(page, link + "&fit=0" if link else "#fit=0")
                svg = self.exported(page, "svg").decode()
                root = xml.etree.ElementTree.fromstring(svg)
                tags = {element.tag.split("}")[1] for element in root.iter()}
                self.assertFalse(tags & {"script", "foreignObject", "a"})
                scales = [element for element in root.iter()
                          if element.get("class") == "legend"]
                self.assertEqual(len(scales), 0 if "trace" in link else
                                 2 if "compare" in link else 1)
                for one in scales:
                    self.assertGreaterEqual({text.text for text in one.iter(SVG + "text")},
                                            {"0", "0.25", "1"})
                self.assertEqual(">masked</text>" in svg, "trace" not in link)
                png = self.exported(page, "png")
                self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
                self.assertGreater(len(png), 2000)
                data = json.loads(self.exported(page, "json"))
                self.assertEqual(data["title"], "Small")
                if "compare" in link:
                    self.assertLessEqual(data["error"], 2 * CODING)
                    self.assertGreater(data["error"], 0)
                self.assertTrue(all(len(row) == len(data["columns"])
                                    for row in data["rows"]))
