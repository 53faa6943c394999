"""Pages that are damaged, and text that would do harm. Run by page_test.py."""
import re
import xml.etree.ElementTree

from page_case import PageCase, VIEWER, cases, new_context, serious


class Failures(PageCase):
    def failure(self, page):
        page.wait_for_selector("#failure:not([hidden])")
        return page.inner_text("#failure")

    def test_a_block_that_cannot_be_read_is_said_in_both_languages(self):
        for name, damage in (("damaged", lambda text: text[:-12] + "AAAAAAAA" + text[-4:]),
                             ("cut", lambda text: text[:24])):
            text = cases["small"].path.read_text("utf-8")
            number = cases["small"].entry(0, 1)["small"]["block"]
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
        context = new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(path.as_uri())
        self.assertIn("The file is damaged", page.inner_text("#app"))
        self.assertIn("\ud30c\uc77c\uc774 \uc190\uc0c1", page.inner_text("#app"))


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

    def left_of(self, page, selector, words):
        """Where the words begin on the screen."""
        return page.evaluate(
            """([selector, words]) => {
                const walker = document.createTreeWalker(
                    document.querySelector(selector), NodeFilter.SHOW_TEXT);
                while (!walker.nextNode().data.includes(words));
                const {currentNode: node} = walker;
                const range = document.createRange();
                range.setStart(node, node.data.indexOf(words));
                range.setEnd(node, range.startOffset + words.length);
                return range.getBoundingClientRect().left;
            }""", [selector, words])

    def test_right_to_left_names_reorder_nothing(self):
        a, b = "\u05e9\u05dc\u05d5\u05dd", "\u05d0\u05d1\u05d2"
        page = self.open("from_right_to_left", "#view=changes&lang=ko")
        for selector, link in (
                ("#changes-note", "#view=changes&lang=ko"),
                (".figures figure:last-child figcaption",
                 "#view=head&layer=0&head=1&compare=1:0.1&lang=ko")):
            with self.subTest(link=link):
                self.go(page, link)
                self.assertLess(self.left_of(page, selector, a), self.left_of(page, selector, b))
        self.go(page, "#view=head&layer=0&head=1&compare=1:0.2&lang=ko")
        self.assertIn(f"\u2066{a}\u2069 \u2212", page.inner_text(".figures"))
        self.go(page, "#view=texts&layer=0&head=1")
        self.assertRegex(page.inner_text("#texts-note"),
                         f"[0-9] \\(\u2066{a}\u2069\\), [0-9.]+ \\(\u2066{b}\u2069\\)")

    def test_names_of_files_keep_marks_and_fit(self):
        page = self.open("two_models", "#view=changes")
        named = lambda *names: [page.evaluate(  # noqa: E731
            "names => headwise.documents.list.forEach((one, n) => {"
            " one.model = names[n % 2]; })", names), self.name_of_file(page)][1]
        hindi, decomposed = "\u0939\u093f\u0928\u094d\u0926\u0940", "e\u0301te\u0301"
        self.assertEqual(named(hindi, decomposed),
                         f"headwise-changes-{hindi}-minus-{decomposed}.csv")
        for letter in ("\uac00", "\U00010330", "a"):
            name = named(80 * letter + "a", 80 * letter + "b")
            self.assertLessEqual(len(name.encode()), 255)
            self.assertIn(20 * letter + "-minus-" + 20 * letter, name)
            self.assertNotIn("\ufffd", name)

    def test_the_policy_lets_no_other_script_and_no_request_through(self):
        context = new_context()
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
