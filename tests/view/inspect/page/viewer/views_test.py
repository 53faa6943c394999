"""The views of a page: all heads, one head, its legend. Run by page_test.py."""
import numpy as np

from page_case import PageCase, cases, number


class Overview(PageCase):
    def order(self, page):
        return page.eval_on_selector_all(
            ".card[data-head]", "cards => cards.map(card => card.dataset.head)")

    def test_sorts_by_a_statistic_with_pruned_heads_last(self):
        case = cases["small"]
        page = self.open("small")
        for name in ("previous", "entropy"):
            for descending in (True, False):
                self.go(page, f"#sort={name}" + ("" if descending else "&descending=0"))
                heads = [(f"{layer['number']}.{head['number']}", head["pooled"][name])
                         for layer in case.page["layers"] for head in layer["heads"]
                         if not head["pruned"]]
                heads.sort(key=lambda pair: -pair[1] if descending else pair[1])
                self.assertEqual(self.order(page), [name for name, _ in heads] + ["1.2"])

    def test_filters_by_an_expression(self):
        page = self.open("small")
        page.fill("#filter", "self > 0.5 and layer = 0")
        self.keys(page, "Enter")
        expected = [f"0.{head['number']}" for head in cases["small"].page["layers"][0]["heads"]
                    if head["pooled"]["self"] > 0.5]
        self.assertTrue(0 < len(expected) < 4)
        self.assertEqual(self.order(page), expected)
        self.assertIn(f"{len(expected)} of 7 heads", page.inner_text("#grid-note"))

    def test_an_expression_takes_names_with_spaces(self):
        page = self.open("small", "#lang=ko")
        self.assertEqual(page.get_attribute("#filter", "placeholder"), "이전 토큰 > 0.5")
        page.fill("#filter", "자기 자신 > 0.5")
        self.keys(page, "Enter")
        expected = [f"{layer['number']}.{head['number']}"
                    for layer in cases["small"].page["layers"] for head in layer["heads"]
                    if not head["pruned"] and head["pooled"]["self"] > 0.5]
        self.assertGreater(len(expected), 0)
        self.assertEqual(self.order(page), expected)

    def test_a_filter_that_cannot_be_read_says_so(self):
        page = self.open("small", "#filter=previously+%3E+x")
        self.assertIn("previously > x", page.inner_text("#filter-wrong"))
        self.assertEqual(page.locator("button.card").count(), 7)

    def test_below_a_head_is_its_most_telling_pattern(self):
        page = self.open("middle")
        for head in cases["middle"].page["layers"][0]["heads"]:
            shares = {name: head["pooled"][name] or 0 for name in (
                "first", "previous", "self", "next", "separator")}
            best = max(shares, key=shares.get)
            if shares[best] <= 0.3:
                best = "entropy"
            self.assertEqual(page.inner_text(f"#head-0-{head['number']} .caption-value"),
                             f"{best} {head['pooled'][best]:.2f}")
        page.evaluate("() => { const [head] = headwise.heads.kept; head.pooled.self = 0.754;"
                      " headwise.page.statistics.push({name: 'norm', unit: ''});"
                      " head.pooled.norm = 3.5; headwise.state.set({hide: true}); }")
        self.assertEqual(page.inner_text("#head-0-0 .caption-value"), "self 0.75")
        self.assertIn("2 heads. ", page.inner_text("#grid-note"))

    def test_groups_of_heads_are_shown(self):
        page = self.open("small")
        self.assertIn("kv 0", page.inner_text("#head-0-1"))
        self.assertIn("kv 1", page.inner_text("#head-0-2"))
        page = self.open("small", "#view=head&layer=0&head=3")
        self.assertIn("key and value head 1, shared by query heads 2, 3",
                      page.inner_text("#main"))

    def test_thumbnails_are_drawn(self):
        page = self.open("long")
        page.wait_for_function(
            "() => { const canvas = document.querySelector('#head-0-0 canvas');"
            " return new Set(new Uint32Array(canvas.getContext('2d').getImageData("
            "0, 0, canvas.width, canvas.height).data.buffer)).size > 5; }")


class Matrix(PageCase):
    def test_masked_cells_are_a_pattern_and_never_the_colour_of_zero(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        colours = page.evaluate(
            "() => { const m = headwise.current.matrices[0], c = m.canvas, n = c.width / 12;"
            " const d = c.getContext('2d').getImageData(n * 8 + 3, n * 2 + 3, n - 6, n - 6);"
            " return [...new Set(new Uint32Array(d.data.buffer))]; }")
        self.assertEqual(len(colours), 2)
        zero = page.evaluate("() => headwise.palette.get(false).pixels[0]")
        self.assertNotIn(zero, colours)

    def test_queries_with_no_key_and_padding_are_marked(self):
        page = self.open("ragged", "#view=head&layer=0&head=0")
        page.wait_for_selector(".labels-query .label-empty")
        empty = page.eval_on_selector_all(
            ".label-empty", "nodes => nodes.map(node => node.dataset.index)")
        self.assertEqual(empty, ["4", "7"])
        padding = page.eval_on_selector_all(
            ".label-padding", "nodes => nodes.map(node => node.dataset.index)")
        self.assertEqual(padding, ["19", "20"])
        self.assertEqual(page.evaluate(
            "() => [4, 7].map(i => headwise.current.matrices[0].raw[i * 21 + 3] === "
            "headwise.mask.EMPTY)"), [True, True])
        self.assertIn("Fully masked rows: 2", page.inner_text("#main"))
        page.wait_for_function("() => document.querySelector('.legend').textContent"
                               ".includes('fully masked row')")

    def test_hover_is_linked_and_click_pins(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        page.wait_for_selector("#lines path", state="attached")
        box = page.locator("#cells").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 2.5 / 12, box["y"] + box["height"] * 6.5 / 12)
        self.assertIn("query 6", page.inner_text("#readout"))
        self.assertIn("key 2", page.inner_text("#readout"))
        active = page.eval_on_selector_all(
            ".line-token.active", "nodes => nodes.map(node => node.dataset.index)")
        self.assertEqual(active, ["6", "2"])
        page.mouse.down()
        page.mouse.up()
        self.assertEqual(page.evaluate("() => headwise.pick.pin()"), {"query": 6, "key": 2})
        page.mouse.move(5, 5)
        self.assertIn("query 6", page.inner_text("#readout"))
        self.assertIn("dot product", page.inner_text("#elements"))

    def shares(self, page):
        """How strongly each token of the sentence is coloured: 1 is the most."""
        return page.evaluate("""() => {
            const {shades} = headwise.palette.get(false, 'ink');
            return [...document.querySelectorAll('#sentence .words:last-child .word')].map(one => {
                const {background} = one.style;
                return background === '' ? 0 : shades.findIndex(
                    shade => background === `rgb(${shade.join(', ')})`) / 255;
            });
        }""")

    def test_a_token_of_the_sentence_colours_those_that_it_attends_to(self):
        for name, query, same in (("small", 6, True), ("middle", 300, True), ("cross", 2, False)):
            for scheme in ("light", "dark"):
                page = self.open(name, "#view=head&layer=0&head=1", scheme=scheme, width=1400)
                self.assertEqual(max(self.shares(page)), 0)
                page.hover(f"#sentence .word[data-query='{query}']")
                page.wait_for_selector(".word-query")
                w, may = cases[name].weights(0, 1)
                row = np.where(may[query], w[query], 0)
                page.wait_for_function("() => document.querySelector('.word[style*=background]')")
                np.testing.assert_allclose(self.shares(page), np.sqrt(row / row.max()), atol=0.02)
                self.assertEqual(page.locator(".word-query").get_attribute("data-query"), str(query))
                self.assertEqual(page.locator("#sentence .words").count(), 1 if same else 2)
                active = page.evaluate("() => headwise.pick.active()")
                self.assertEqual(active["query"], query)
                self.assertGreater(row[active["key"]], 0.97 * row.max())
                page.mouse.click(*self.middle(page, f".word[data-query='{query}']"))
                page.wait_for_function(f"() => headwise.state.get().query === {query}")

    def middle(self, page, selector):
        box = page.locator(selector).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def test_a_tap_on_a_token_pins_its_strongest_pair(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        page.wait_for_selector("#lines path", state="attached")
        w, _ = cases["small"].weights(0, 1)
        for query, token in ((5, "#sentence .word[data-query='5']"),
                             (7, "#lines .line-token >> nth=7")):
            page.locator(token).dispatch_event("click")
            page.wait_for_function(f"() => headwise.state.get().query === {query}")
            key = page.evaluate("() => headwise.state.get().key")
            self.assertGreater(w[query, key], 0.97 * w[query].max())

    def test_a_window_beyond_2048_squared_is_pooled_and_says_so(self):
        page = self.open("long", "#view=head&layer=0&head=0")
        self.assertIn("One cell pools 64 \u00d7 64", page.inner_text("#main"))
        box = page.locator("#cells").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
        self.settle(page)
        window = page.evaluate("() => headwise.zoom.current()")
        self.assertFalse(window["pooled"])
        self.assertEqual(window["size"], 128)
        pin = page.evaluate("() => headwise.pick.pin()")
        self.assertLess(abs(pin["query"] - 2048), 16)
        self.assertLess(abs(pin["key"] - 1024), 16)
        self.assertEqual(page.locator(".minimap").count(), 1)

    def test_pooled_cells_say_what_they_pool_in_the_mean_too(self):
        for pool in ("max", "mean"):
            page = self.open("long", f"#view=head&layer=0&head=0&pool={pool}")
            box = page.locator("#cells").bounding_box()
            page.hover("#cells", position={"x": box["width"] * 0.2, "y": box["height"] * 0.8})
            text = page.inner_text("#readout")
            rows, columns = slice(51 * 64, 52 * 64), slice(12 * 64, 13 * 64)
            self.assertIn("queries 3264\u20133327, keys 768\u2013831", text)
            w, _ = cases["long"].weights(0, 0, rows)
            cell = w[:, columns]
            expected = cell.max() if pool == "max" else cell.mean()
            shown = page.inner_text("#readout strong")
            if shown == "<0.001":
                self.assertLess(expected, 0.0005)
                self.assertNotIn("\u00b1", text)
                continue
            error = 1.5 * number(text.split("\u00b1")[1])
            self.assertLessEqual(abs(number(shown) - expected), error)
            self.assertLessEqual(error, 2 * np.sqrt(expected) / 255 + 1e-4)

    def test_colours_end_at_the_largest_shown_where_asked(self):
        for fit, wanted in (("1", True), ("0", False)):
            page = self.open(
                "middle", f"#view=head&layer=0&head=0&size=64&row=200&column=150&fit={fit}")
            last = page.evaluate(
                "() => { const {raw, grid, canvas} = headwise.current.matrices[0];"
                " const at = raw.indexOf(raw.reduce((a, b) => Math.max(a, b), 0));"
                " const x = (at % 64 + 0.2) / 64 * canvas.width;"
                " const y = (Math.floor(at / 64) + 0.2) / 64 * canvas.height;"
                " const d = canvas.getContext('2d').getImageData(x, y, 1, 1).data;"
                " return new Uint32Array(d.buffer)[0] === headwise.palette.get(false).pixels[255];"
                " }")
            self.assertEqual(last, wanted)
            self.assertEqual("Colours end at the largest" in page.inner_text("#main"), wanted)

    def test_a_pinned_token_that_is_hidden_stands_nowhere(self):
        page = self.open("small", "#view=head&layer=0&head=1&query=0&key=0&hide=1")
        self.assertFalse(page.is_visible(".pin-box"))
        self.assertEqual(page.locator(".label-active").count(), 0)
        self.assertEqual(page.inner_text("#readout strong"), "\u2013")

    def test_a_page_without_elements_says_so(self):
        page = self.open("ragged", "#view=head&layer=0&head=0&query=1&key=1")
        self.assertIn("--no-elements", page.inner_text("#elements"))

    def test_two_heads_have_the_numbers_of_both(self):
        page = self.open("small", "#view=head&layer=0&head=1&compare=1.3&query=6&key=2")
        case = cases["small"]
        lists = page.locator(".of-both .statistics")
        self.assertEqual(lists.count(), 2)
        for n, (layer, head) in enumerate(((0, 1), (1, 3))):
            shown = dict(zip(lists.nth(n).locator("dt").all_inner_texts(),
                             lists.nth(n).locator("dd").all_inner_texts()))
            self.assertAlmostEqual(float(shown["entropy"]),
                                   case.entry(layer, head)["pooled"]["entropy"], delta=0.006)
            panel = page.locator(".panels-both .panel").nth(n + 1)
            panel.locator(".top li").nth(0).wait_for()
            self.assertIn(f"{'AB'[n]}: layer {layer} head {head}", panel.inner_text())
            w, _ = case.weights(layer, head)
            self.assertTrue(panel.locator(".top-key").nth(0).inner_text().startswith(
                f"{w[6].argmax()} "))

    def test_axes_of_long_inputs_hold_few_labels(self):
        page = self.open("long", "#view=head&layer=0&head=0&size=1024")
        self.assertLess(page.locator(".label").count(), 150)


class Legend(PageCase):
    def words(self, page):
        page.wait_for_timeout(100)  # masks are read after the view is drawn
        return page.inner_text(".legend")

    def test_masked_is_said_where_something_is(self):
        for name, masked in (("small", True), ("hostile", False), ("cross", False),
                             ("cached", True), ("long", True)):
            for link in ("", "#view=head&layer=0&head=0&lang=en"):
                with self.subTest(name=name, link=link):
                    page = self.open(name, link or "#lang=en")
                    self.assertEqual("masked" in self.words(page), masked)
                    svg = self.exported(page, "svg").decode()
                    self.assertEqual(">masked</text>" in svg, masked)

    def test_the_colours_are_those_of_the_pictures_until_others_are_chosen(self):
        page = self.open("small")
        self.assertEqual(page.input_value("#palette"), "viridis")
        self.assertIn("Brighter colour means more", page.inner_text(".legend"))
        page.select_option("#palette", "ink")
        self.assertIn("Darker colour means more", page.inner_text(".legend"))
        self.go(page, "#palette=ink&theme=dark")
        self.assertIn("Brighter colour means more", page.inner_text(".legend"))


class CrossAttention(PageCase):
    def test_statistics_that_compare_positions_are_nowhere(self):
        page = self.open("cross", "#lang=en")
        for link in ("#lang=en", "#lang=en&table=1", "#lang=en&view=head&layer=0&head=1&query=3"
                     "&key=9", "#lang=en&view=head&layer=0&head=1&query=3&key=9&table=1"):
            self.go(page, link)
            text = page.inner_text("#main")
            for word in ("previous", "distance", "self", "next token"):
                self.assertNotIn(word, text.lower().replace("previous head", "")
                                 .replace("previous keys", ""), link)
            self.assertIn("entropy", text.lower(), link)
        self.go(page, "#lang=en&sort=previous")
        self.assertEqual(page.evaluate("() => headwise.state.get().sort"), "")
        self.assertEqual(self.csv(page)[0], ["layer", "head", "kv_head", "pruned",
                                             "empty_rows", "entropy", "largest", "first",
                                             "separator"])
        page = self.open("cached")
        self.assertIn("previous", page.inner_text("#sort"))
