"""What the tests of the viewer's pages share: the pages, a browser and a test case that
uses them.

Needs numpy, playwright, axe_playwright_python (tests/requirements.txt) and the
distribution's chromium (or HEADWISE_CHROMIUM); without them it is skipped, and
under CI=true it fails.
"""
import contextlib
import csv
import io
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "support"))
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

SVG = "{http://www.w3.org/2000/svg}"
VIEWER = make_page.VIEWER
ROUNDED = 1e-6  # numbers in files have six digits


def number(text):
    """A number of the page; 0 for one that it shows as less than 0.001."""
    return 0.0 if text.startswith(("<", ">")) else float(text.replace("\u2212", "-"))

CODING = (255 + 0.25) / 255 ** 2 + 1e-9  # what a byte is off by, at most


class Cases(dict):
    """Pages by the names of page_cases' and written_pages' functions, made when they
    are asked for."""

    path = None  # of the folder that they are in
    command = ""  # headwise; empty: it was not given

    def __missing__(self, name):
        if name.startswith("written_"):
            self[name] = getattr(written_pages, name)(
                self.path, written_pages.Writer(self.command))
        else:
            self[name] = getattr(page_cases, name)(self.path)
        return self[name]


cases = Cases()


@contextlib.contextmanager
def chromium():
    """A browser for the tests, and a folder for the pages."""
    global browser
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        cases.path = pathlib.Path(folder)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True,
            args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield
        browser.close()


def new_context(**options):
    return browser.new_context(**options)


def run_tests():
    """Runs those of the main module in one browser."""
    with chromium():
        program = unittest.main(exit=False)
    sys.exit(not program.result.wasSuccessful())


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
        self.page = new_context(
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
        page.wait_for_function(
            "() => headwise.state.get().view !== 'through' || "
            "document.querySelector('.through .token-line, .through table')")

    def keys(self, page, *names):
        for name in names:
            page.keyboard.press(name)

    def close(self, page):
        """The dialog."""
        self.keys(page, "Escape")
        page.wait_for_selector("dialog", state="detached")

    def download(self, page, kind):
        """-> the file that the export gives."""
        self.keys(page, "e")
        with page.expect_download() as download:
            page.click(f"#export-{kind}")
        self.close(page)
        return download.value

    def exported(self, page, kind):
        """-> its bytes."""
        return pathlib.Path(self.download(page, kind).path()).read_bytes()

    def name_of_file(self, page):
        return self.download(page, "csv").suggested_filename

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
                         errors / 2 + ROUNDED * np.where(values > 1, 5, 1)).all())
        if entry["map"] is not None:
            self.assertLessEqual(errors[may].max(), CODING)
        return queries, keys
