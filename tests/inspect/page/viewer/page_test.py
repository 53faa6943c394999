"""Opens the viewer's pages in a real browser and uses them.

    page_test.py [HEADWISE] [unittest arguments]

HEADWISE is the command, whose own pages are opened as well. Needs numpy, playwright, axe_playwright_python (tests/requirements.txt) and the
distribution's chromium (or HEADWISE_CHROMIUM); without them it is skipped, and
under CI=true it fails.
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "support"))
sys.path.insert(0, str(HERE))
import peers  # noqa: E402

peers.need("numpy", "playwright", "axe_playwright_python")
import numpy as np  # noqa: E402
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

import make_page  # noqa: E402
import page_cases  # noqa: E402
import written_pages  # noqa: E402

CHROMIUM = os.environ.get("HEADWISE_CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    print("skipped: there is no chromium")
    sys.exit(1 if os.environ.get("CI") == "true" else peers.SKIPPED)

COMMAND = ""
SVG = "{http://www.w3.org/2000/svg}"
VIEWER = make_page.VIEWER
ROUNDED = 1e-6  # numbers in files have six digits
CODING = (255 + 0.25) / 255 ** 2 + 1e-9  # what a byte is off by, at most


class Cases(dict):
    """Pages by the names of page_cases' and written_pages' functions, made when they
    are asked for."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def __missing__(self, name):
        if name.startswith("written_"):
            self[name] = getattr(written_pages, name)(
                self.path, written_pages.Writer(COMMAND))
        else:
            self[name] = getattr(page_cases, name)(self.path)
        return self[name]


def setUpModule():
    global folder, cases, playwright, browser
    folder = tempfile.TemporaryDirectory()
    path = pathlib.Path(folder.name)
    cases = Cases(path)
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, headless=True,
        args=["--no-sandbox"] if os.geteuid() == 0 else [])


def tearDownModule():
    browser.close()
    playwright.stop()
    folder.cleanup()


def serious(page):
    """What axe finds."""
    found = Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"][:200], len(v["nodes"])) for v in found
            if v["impact"] in ("serious", "critical")]


class Window:
    """A page of the browser, used by one test after the other: a new one costs more
    than all that most tests do. Keeps what was asked for and what was said."""

    idle = {}  # (width, height) -> those that no test uses

    def __init__(self, width, height):
        self.size = width, height
        self.requests, self.said = [], []
        self.page = browser.new_context(
            viewport={"width": width, "height": height}, accept_downloads=True).new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("console", lambda message: self.said.append(
            f"console: {message.type} {message.text}"))

    @classmethod
    def take(cls, width, height):
        idle = cls.idle.get((width, height))
        return idle.pop() if idle else cls(width, height)

    def give_back(self):
        self.page.goto("about:blank")
        self.requests.clear()
        self.said.clear()
        self.idle.setdefault(self.size, []).append(self)


class PageCase(unittest.TestCase):
    """Whatever a test does: nothing but the page is asked for, and nothing is said
    on the console."""

    def setUp(self):
        self.opened = set()
        self.windows = []

    def tearDown(self):
        foreign = [url for window in self.windows for url in window.requests
                   if url.split("#")[0] not in self.opened
                   and not url.startswith(("blob:", "data:"))]
        said = [text for window in self.windows for text in window.said]
        for window in self.windows:
            window.give_back()
        self.assertEqual((foreign, said), ([], []))

    def open(self, name, link="", scheme="light", width=1280, height=900):
        window = Window.take(width, height)
        self.windows.append(window)
        page = window.page
        page.emulate_media(color_scheme=scheme, media="screen",
                           reduced_motion="no-preference")
        self.opened.add(cases[name].path.as_uri())
        page.goto(cases[name].path.as_uri() + link)
        page.wait_for_selector("#view-title")
        self.settle(page)
        return page

    def go(self, page, link):
        """To another view of the page that is open."""
        # The page's own listener comes before this one; then it draws.
        page.evaluate("""link => new Promise(done => {
            const before = location.hash;
            const drawn = () => requestAnimationFrame(
                () => requestAnimationFrame(() => done()));
            addEventListener('hashchange', drawn, {once: true});
            location.hash = link;
            if (location.hash === before) {
                drawn();
            }
        })""", link or "#")
        page.wait_for_function("link => location.hash === link.replace(/^#$/, '')",
                               arg=link or "#")
        page.wait_for_timeout(50)
        self.settle(page)

    def settle(self, page):
        """Until nothing is drawn any more: tiles are there, labels stand."""
        page.wait_for_function(
            "() => headwise.current.matrices.every(matrix => matrix.grid && "
            "(!matrix.raw || !matrix.raw.includes(headwise.mask.PENDING)))")
        page.wait_for_function(
            "() => headwise.state.get().view !== 'head' || "
            "!headwise.state.get().table || headwise.state.head().pruned || "
            "document.querySelector('.twins table')")

    def keys(self, page, *names):
        for name in names:
            page.keyboard.press(name)

    def close(self, page):
        """The dialog."""
        self.keys(page, "Escape")
        page.wait_for_selector("dialog", state="detached")

    def exported(self, page, kind):
        """-> bytes of the file that the export gives."""
        self.keys(page, "e")
        with page.expect_download() as download:
            page.click(f"#export-{kind}")
        path = download.value.path()
        self.close(page)
        return pathlib.Path(path).read_bytes()

    def csv(self, page):
        return list(csv.reader(io.StringIO(self.exported(page, "csv").decode(), newline="")))

    def matrix(self, page):
        """The CSV of one head -> query indices, key indices, weights (NaN: masked)."""
        header, *rows = self.csv(page)
        keys = [int(name.lstrip("'").split(" ")[0]) for name in header[2:]]
        values = np.array([[float(field) if field else np.nan for field in row[2:]]
                           for row in rows])
        return [int(row[0]) for row in rows], keys, values

    def known(self, page, queries, keys, head="headwise.state.head()"):
        """-> the numbers that the page knows of these pairs, and their errors."""
        found = page.evaluate(
            "([queries, keys]) => headwise.weights.known(%s, Int32Array.from(queries), "
            "Int32Array.from(keys)).then(({values, errors}) => [[...values], [...errors]])"
            % head, [list(map(int, queries)), list(map(int, keys))])
        return (np.array(part).reshape(len(queries), len(keys)) for part in found)

    def check_matrix(self, page, case, layer, head):
        queries, keys, shown = self.matrix(page)
        w, may = case.weights(layer, head, np.array(queries))
        w, may = w[:, keys], may[:, keys]
        self.assertTrue(np.array_equal(np.isnan(shown), ~may))
        entry = case.entry(layer, head)
        worst = np.abs(np.where(may, shown - w, 0)).max()
        self.assertLessEqual(worst, 1.5 * entry["error"] + ROUNDED)
        # What the page says of each number holds, and its digits end there.
        values, errors = self.known(page, queries, keys)
        self.assertTrue((np.abs(np.where(may, values - w, 0)) <= errors + 1e-7).all())
        self.assertTrue((np.abs(np.where(may, shown - values, 0)) <=
                         errors / 2 + ROUNDED).all())
        if entry["map"] is not None:
            self.assertLessEqual(errors[may].max(), CODING)
        return queries, keys


class Numbers(PageCase):
    def test_csv_of_a_causal_head_is_its_attention_weights(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        queries, keys = self.check_matrix(page, cases["small"], 0, 1)
        self.assertEqual((len(queries), len(keys)), (12, 12))

    def test_csv_of_a_head_with_alibi_is_its_attention_weights(self):
        self.check_matrix(self.open("small", "#view=head&layer=1&head=3"),
                          cases["small"], 1, 3)

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
            "[0.5, 0], [0.5, undefined], [NaN, 1]].map(([value, error]) => "
            "headwise.numbers.known(value, error))")
        self.assertEqual(shown, ["0.1318", "0.132", "0.132", "1.000", "2e\u22125",
                                 "1.234e\u22127", "\u22120.0272", "0", "0.500", "0.500",
                                 "NaN"])
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
                    self.assertLessEqual(abs(float(text.replace("\u2212", "-")) - w[i, j]),
                                         error + 1e-3)

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
            ".then(f => ({products: [...f.products], dot: f.dot, score: f.score, "
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
        coded = make_page.decoded(make_page.coded(w))
        self.assertEqual(shown, int(((coded >= 0.02) & may).sum()))

    def test_pictures_and_json(self):
        page = self.open("small")
        for link in ("", "#view=head&layer=0&head=1", "#view=head&layer=0&head=1&compare=0.3",
                     "#view=trace"):
            with self.subTest(link=link):
                self.go(page, link)
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

    def test_a_filter_that_cannot_be_read_says_so(self):
        page = self.open("small", "#filter=previously+%3E+x")
        self.assertIn("previously > x", page.inner_text("#filter-wrong"))
        self.assertEqual(page.locator("button.card").count(), 7)

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
        self.assertIn("Queries without a key: 2", page.inner_text("#main"))
        page.wait_for_function("() => document.querySelector('.legend').textContent"
                               ".includes('query with no key')")

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
            shown = float(page.inner_text("#readout strong").replace("\u2212", "-"))
            error = float(text.split("\u00b1")[1])
            self.assertLessEqual(abs(shown - expected), 1.5 * error)
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
        self.assertIn("Brighter colour means more", page.inner_text("header"))
        page.select_option("#palette", "ink")
        self.assertIn("Darker colour means more", page.inner_text("header"))
        self.go(page, "#palette=ink&theme=dark")
        self.assertIn("Brighter colour means more", page.inner_text("header"))


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


class Failures(PageCase):
    def failure(self, page):
        page.wait_for_selector("#failure:not([hidden])")
        return page.inner_text("#failure")

    def test_a_block_that_cannot_be_read_is_said_in_both_languages(self):
        for name, damage in (("damaged", lambda text: text[:-12] + "AAAAAAAA" + text[-4:]),
                             ("cut", lambda text: text[:24])):
            text = cases["small"].path.read_text("utf-8")
            number = cases["small"].entry(0, 1)["map"]
            block = f'<script type="text/plain" id="block-{number}">'
            begin = text.index(block) + len(block)
            end = text.index("</script>", begin)
            path = cases["small"].path.with_name(f"{name}.html")
            path.write_text(text[:begin] + damage(text[begin:end]) + text[end:], "utf-8")
            cases[name] = type("Page", (), {"path": path})
            page = self.open(name)
            self.assertIn(f"block {number}", self.failure(page))
            self.assertEqual(serious(page), [])
            page.select_option("#lang", "ko")
            self.assertIn(f"\ube14\ub85d {number}", self.failure(page))
            page.click("#failure-close")
            self.assertFalse(page.is_visible("#failure"))
            self.go(page, "#view=head&layer=0&head=0")  # others are as they were
            self.assertFalse(page.is_visible("#failure"))

    def test_a_worker_that_dies_is_said_and_another_one_is_started(self):
        for dies in ("throw new Error('dead')", "self.onmessage = () => { throw 1; }"):
            page = self.open("long")
            page.evaluate("dies => { headwise.whole = headwise.tileWorkerText; "
                          "headwise.tileWorkerText = () => dies; }", dies)
            page.evaluate("() => { location.hash = '#view=head&layer=0&head=0&size=128'; }")
            self.assertIn("the worker stopped", self.failure(page))
            page.evaluate("() => { headwise.tileWorkerText = headwise.whole; }")
            page.click("#failure-close")
            self.go(page, "#view=head&layer=0&head=0&size=64")  # settles: cells are there
            self.assertFalse(page.is_visible("#failure"))

    def test_an_export_that_fails_says_so(self):
        page = self.open("long", "#view=head&layer=0&head=0&size=1024")
        page.evaluate("() => { headwise.tiles.compute = () => Promise.reject("
                      "new headwise.failure.Failure('failure.worker', 'gone')); }")
        self.keys(page, "e")
        page.click("#export-csv")
        page.wait_for_function("() => document.querySelector('#export [role=status]')"
                               ".textContent.includes('gone')")

    def test_a_page_whose_data_is_damaged_says_so(self):
        text = cases["small"].path.read_text("utf-8")
        path = cases["small"].path.with_name("no-data.html")
        path.write_text(text.replace('"format"', '"format', 1), "utf-8")
        context = browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(path.as_uri())
        self.assertIn("The file is damaged", page.inner_text("#app"))
        self.assertIn("\ud30c\uc77c\uc774 \uc190\uc0c1", page.inner_text("#app"))


class Layout(PageCase):
    def box(self, page, selector):
        return page.locator(selector).bounding_box()

    def test_panels_are_at_the_side_of_the_matrix(self):
        for name, layer in (("small", 0), ("middle", 0)):
            page = self.open(name, f"#view=head&layer={layer}&head=1&query=6&key=2",
                             width=1400, height=900)
            page.wait_for_selector(".top li")
            cells, elements = self.box(page, "#cells"), self.box(page, "#elements")
            detail = self.box(page, ".panels .panel:last-child")
            for panel in (elements, detail):
                self.assertGreater(panel["x"], cells["x"] + cells["width"])
                self.assertLess(panel["y"], 900 - 100)  # none is below the fold
            self.assertLess(cells["y"] + cells["height"], 900)
            self.assertLess(elements["y"], cells["y"])

    def test_controls_fold_on_a_phone(self):
        page = self.open("small", width=375, height=812)
        self.assertLess(self.box(page, "#head-0-0")["y"], 400)
        self.assertFalse(page.is_visible("#sort"))
        self.assertFalse(page.is_visible("#palette"))
        self.go(page, "#view=head&layer=0&head=1")
        self.assertLess(self.box(page, "#cells")["y"], 560)
        self.assertFalse(page.is_visible("#zoom"))
        page.click("#fold-head summary")
        page.select_option("#compare-layer", "1")
        page.wait_for_selector("#compare-head", state="visible")  # it stays open
        page.click("#fold-settings summary")
        page.select_option("#theme", "dark")
        page.wait_for_selector("#theme", state="visible")
        self.assertEqual(serious(page), [])
        self.keys(page, "Escape", "g", "]")
        self.go(page, "#view=head&layer=0&head=0")
        page.click("#fold-head summary")
        self.keys(page, "c")
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "compare-layer")

    def test_heads_are_picked_by_layer_and_number(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        options = lambda name: page.eval_on_selector_all(  # noqa: E731
            f"#{name} option", "all => all.map(one => one.value)")
        self.assertEqual(options("which-layer"), ["0", "1"])
        self.assertEqual(options("which-head"), ["0", "1", "2", "3"])
        page.select_option("#which-layer", "1")
        self.assertEqual(options("which-head"), ["0", "1", "3"])  # 2 was pruned
        page.select_option("#which-head", "3")
        state = page.evaluate("() => headwise.state.get()")
        self.assertEqual((state["layer"], state["head"]), (1, 3))
        self.assertEqual(page.locator("#compare-head").count(), 0)
        page.select_option("#compare-layer", "1")
        self.assertEqual(options("compare-head"), ["0", "1"])  # not the head itself
        page.select_option("#compare-layer", "")
        self.assertEqual(page.evaluate("() => headwise.state.get().compare"), "")

    def test_steps_are_a_list_as_long_as_they_are(self):
        page = self.open("steps", "#view=trace", width=1400, height=900)
        self.assertEqual(page.locator("#main tbody tr").count(), 72)
        inner, outer = page.evaluate(
            "() => { const {scrollHeight, clientHeight} = document.querySelector('.scrolled');"
            " return [scrollHeight, clientHeight]; }")
        self.assertLessEqual(inner, outer)


class Labels(PageCase):
    # Of every visible control: the text that a reader sees of it or beside it.
    UNNAMED = '''() => {
        const seen = node => {
          const box = node.getBoundingClientRect();
          return box.width > 4 && box.height > 4;
        };
        const words = node => (node.innerText || '').replace(/[^\\p{L}\\p{N}]/gu, '');
        return [...document.querySelectorAll('button, select, input, summary')]
          .filter(seen).filter(node => {
            if (node.matches('button, summary')) return words(node) === '';
            const label = document.querySelector(`label[for="${node.id}"]`);
            return !label || !seen(label) || words(label) === '';
          }).map(node => node.outerHTML.slice(0, 120));
    }'''

    def test_every_control_has_a_visible_label(self):
        for width in (1400, 375):
            page = self.open("small", width=width)
            for link in ("", "#sort=previous", "#view=head&layer=0&head=1&compare=0.3&hide=1",
                         "#view=head&layer=0&head=1&table=1", "#view=trace"):
                for language in ("en", "ko"):
                    self.go(page, (link or "#view=grid") + f"&lang={language}")
                    for fold in page.locator("details.fold").all():
                        fold.evaluate("node => { node.open = true; }")
                    self.assertEqual(page.evaluate(self.UNNAMED), [], link)
            for key in ("e", "?", "/"):
                self.keys(page, key)
                self.assertEqual(page.evaluate(self.UNNAMED), [], key)
                self.close(page)
        page = self.open("long", "#view=head&layer=0&head=0&size=64&table=1", width=1400)
        self.assertEqual(page.evaluate(self.UNNAMED), [])


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


class Written(PageCase):
    """The pages of the command. What is in them is held against a second writer in
    written_test.py; here they are used."""

    def setUp(self):
        super().setUp()
        if not COMMAND:
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
        self.assertAlmostEqual(found["score"], capped - 1 * 4, places=6)
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

    def test_a_link_that_names_nothing_here_is_harmless(self):
        page = self.open("small", "#view=head&layer=99&head=-1&query=1e9&key=7&compare=7.7"
                         "&size=999999999&row=88888&filter=%00%3Cb%3E&theme=pink&lang=xx"
                         "&__proto__=1&constructor=2")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")


class Safety(PageCase):
    def test_hostile_tokens_are_text_with_nothing_hidden(self):
        page = self.open("hostile")
        for link in ("", "#view=head&layer=0&head=0&query=3&key=4",
                     "#view=head&layer=0&head=0&query=3&key=4&table=1"):
            self.go(page, link)
            self.assertFalse(page.evaluate("() => 'hacked' in window"))
            self.assertEqual(page.locator("#app script, #app img, #app b").count(), 0)
            text = page.evaluate("() => document.getElementById('app').textContent")
            self.assertIsNone(re.search("[\u202a-\u202e\u200b-\u200f\u2028\u2029\ufeff\0]", text))
            self.assertIn("<script>window.hacked", text)
        self.assertIn("\u27e8U+202E\u27e9right", text)
        self.assertIn("zero\u27e8U+200B\u27e9width", text)
        self.assertIn("\u2409", text)  # tab
        self.assertIn("\u2423", text)  # a space alone
        self.assertEqual(page.title(), "</title><script>window.hacked = 1</script>")

    def test_hostile_tokens_in_files(self):
        page = self.open("hostile", "#view=head&layer=0&head=0")
        rows = self.csv(page)
        self.assertEqual(rows[9][1], "'=1+1")
        self.assertEqual(rows[10][1], "a,\"b\"\nc")
        svg = self.exported(page, "svg").decode()
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertFalse([e for e in root.iter() if e.tag.endswith(("script", "img"))])

    def test_the_policy_lets_no_other_script_and_no_request_through(self):
        context = browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(cases["small"].path.as_uri())
        page.evaluate("() => { const s = document.createElement('script'); "
                      "s.textContent = 'window.hacked = 1'; document.body.append(s); }")
        self.assertFalse(page.evaluate("() => 'hacked' in window"))
        self.assertTrue(page.evaluate(
            "() => fetch('data:text/plain,x').then(() => false, () => true)"))
        for part in ("default-src 'none'", "base-uri 'none'", "form-action 'none'"):
            self.assertIn(part, page.get_attribute("meta[http-equiv]", "content"))

    def test_one_global_and_no_way_to_run_text(self):
        page = self.open("small")
        self.assertEqual(page.evaluate(
            "() => { const blank = document.createElement('iframe'); "
            "document.body.append(blank); const known = new Set("
            "Object.getOwnPropertyNames(blank.contentWindow)); blank.remove(); "
            "return Object.getOwnPropertyNames(window).filter(name => !known.has(name) "
            "&& !/^(\\d+|__playwright|__pw)/.test(name)); }"), [])
        for path in VIEWER.glob("*.js"):
            text = path.read_text("utf-8")
            self.assertIsNone(re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|"
                r"setAttribute\('style|https?://(?!www\.w3\.org/)", text), path.name)

    def test_every_file_stands_in_the_order_once(self):
        names = (VIEWER / "ORDER").read_text("utf-8").split()
        self.assertEqual(sorted(names), sorted(path.name for path in VIEWER.glob("*.js")))

    def test_blocks_are_inflated_when_needed(self):
        page = self.open("middle")
        kept = page.evaluate("() => headwise.blocks.bytesKept()")
        self.assertLess(kept, 40_000)  # two heads' pooled maps and the mask


class Access(PageCase):
    VIEWS = ("", "#sort=previous", "#table=1", "#view=head&layer=0&head=1&query=5&key=3",
             "#view=head&layer=0&head=1&query=5&key=3&compare=0.3",
             "#view=head&layer=0&head=1&query=5&key=3&table=1&hide=1",
             "#view=head&layer=1&head=2", "#view=trace", "#filter=x")

    def test_axe_finds_nothing_serious_in_any_view_light_and_dark(self):
        for scheme in ("light", "dark"):
            page = self.open("small", scheme=scheme)
            for link in self.VIEWS:
                with self.subTest(scheme=scheme, link=link):
                    self.go(page, link)
                    self.assertEqual(serious(page), [])
            for key in ("e", "?", "/"):
                with self.subTest(scheme=scheme, dialog=key):
                    self.keys(page, key)
                    self.assertEqual(serious(page), [])
                    self.close(page)

    def test_axe_finds_nothing_serious_in_korean_long_and_ragged_pages(self):
        for name, link in (("cross", "#view=head&layer=0&head=0&query=2&key=2"),
                           ("long", "#view=head&layer=0&head=0&size=64"),
                           ("ragged", "#view=head&layer=0&head=0"), ("hostile", "#table=1")):
            with self.subTest(name=name):
                self.assertEqual(serious(self.open(name, link)), [])

    def test_the_page_speaks_both_languages(self):
        page = self.open("cross")
        self.assertEqual(page.get_attribute("html", "lang"), "ko")
        self.assertIn("\ucffc\ub9ac", page.inner_text("header"))
        page.focus("#lang")
        page.select_option("#lang", "en")
        self.assertEqual(page.get_attribute("html", "lang"), "en")
        self.assertIn("Each row is a query", page.inner_text("header"))
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "lang")

    def test_every_word_stands_in_both_languages(self):
        page = self.open("small")
        tables = page.evaluate("() => headwise.wordTables")
        self.assertEqual(sorted(tables), ["en", "ko"])
        table = tables["en"]
        for name, words in tables.items():
            self.assertEqual(list(words), list(table), name)
            self.assertEqual([key for key in words if not words[key]], [], name)
            values = lambda text: sorted(set(re.findall(r"\{\d\}", text)))  # noqa: E731
            self.assertEqual([key for key in words
                              if values(words[key]) != values(table[key])], [], name)
        text = "".join(path.read_text("utf-8") for path in VIEWER.glob("*.js")
                       if not path.name.startswith("words"))
        used = set(re.findall(r"\bt\('([a-z_]+\.[a-z_]+)'[,)]", text)) | set(
            re.findall(r"'((?:keys|trace)\.[a-z_]+)'", text))
        self.assertEqual(sorted(used - set(table)), [])
        prefixes = set(re.findall(r"t\('([a-z_]+\.[a-z_]*)' \+", text))
        unused = [key for key in table if key not in used and f"'{key}'" not in text
                  and not any(key.startswith(prefix) for prefix in prefixes)]
        self.assertEqual(unused, [])

    def test_every_string_of_both_languages_takes_its_arguments(self):
        page = self.open("small")
        for language in ("en", "ko"):
            self.go(page, f"#lang={language}")
            wrong = page.evaluate('''() => Object.keys(headwise.wordTables.en).filter(key => {
                const holes = headwise.wordTables.en[key].match(/\\{(\\d)\\}/g) || [];
                const given = [...new Set(holes)].sort().map((_, n) => 'argument' + n);
                const text = headwise.t(key, ...given);
                return /[{}]|undefined/.test(text) || text === key || text === '' ||
                    !given.every(one => text.includes(one));
            })''')
            self.assertEqual(wrong, [], language)

    def test_no_view_has_a_hole_or_a_key_in_place_of_words(self):
        table = None
        for name, links in (
                ("small", ("", "#sort=previous", "#filter=x", "#table=1", "#view=trace",
                           "#view=head&layer=0&head=1&query=5&key=3&hide=1",
                           "#view=head&layer=1&head=3&query=5&key=3&compare=0.3",
                           "#view=head&layer=0&head=1&query=5&key=3&table=1")),
                ("ragged", ("#view=head&layer=0&head=0&query=4&key=3",)),
                ("cross", ("", "#view=head&layer=0&head=1&query=5&key=3")),
                ("long", ("#view=head&layer=0&head=1&pool=mean", "#fit=1"))):
            page = self.open(name)
            table = table or page.evaluate("() => Object.keys(headwise.wordTables.en)")
            for link in links:
                for language in ("en", "ko"):
                    self.go(page, (link or "#view=grid") + f"&lang={language}")
                    text = page.evaluate(
                        "() => [document.body.innerText, ...[...document.querySelectorAll("
                        "'[title], [aria-label], [placeholder]')].flatMap(node => "
                        "['title', 'aria-label', 'placeholder'].map("
                        "name => node.getAttribute(name)))].join(' ')")
                    self.assertIsNone(re.search(r"\{\d\}|undefined|\[object", text), link)
                    self.assertEqual([key for key in table if key in text], [], link)

    def test_narrow_windows_scroll_only_downwards(self):
        for name, links in (
                ("small", ("", "#view=head&layer=0&head=1&query=3&key=1",
                           "#view=head&layer=0&head=1&compare=0.2", "#view=trace")),
                ("cross", ("#view=head&layer=0&head=1",)),
                ("long", ("#view=head&layer=0&head=0&table=1",))):
            for width in (400, 375):
                page = self.open(name, width=width)
                for link in links:
                    with self.subTest(name=name, link=link, width=width):
                        self.go(page, link)
                        self.assertLessEqual(page.evaluate(
                            "() => document.documentElement.scrollWidth"), width)

    def test_light_and_dark_follow_the_system_until_told_otherwise(self):
        page = self.open("small", scheme="dark")
        theme = lambda: page.get_attribute("html", "data-theme")  # noqa: E731
        self.assertEqual(theme(), "dark")
        page.select_option("#theme", "light")
        self.assertEqual(theme(), "light")
        page.select_option("#theme", "")
        page.emulate_media(color_scheme="light")
        page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")

    def test_print_leaves_the_tools_out_and_is_light(self):
        page = self.open("small", "#view=head&layer=0&head=1", scheme="dark")
        page.emulate_media(media="print")
        page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.get_attribute("html", "data-theme"), "light")
        self.assertFalse(page.is_visible(".bar-top"))
        self.assertTrue(page.is_visible("#cells"))

    def test_reduced_motion_stills_the_lines(self):
        page = self.open("small", "#view=head&layer=0&head=1")
        page.wait_for_selector("#lines path", state="attached")
        moving = "() => getComputedStyle(document.querySelector('#lines path')).transitionDuration"
        page.emulate_media(reduced_motion="no-preference")
        self.assertNotEqual(page.evaluate(moving), "0s")
        page.emulate_media(reduced_motion="reduce")
        self.assertEqual(page.evaluate(moving), "0s")


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.isfile(sys.argv[1]):
        COMMAND = os.path.abspath(sys.argv.pop(1))
    unittest.main()
