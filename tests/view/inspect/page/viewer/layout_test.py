"""Pages in windows of every size, in both languages and for everyone. Run by page_test.py."""
import re

from page_case import PageCase, VIEWER, serious


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

    def test_lines_are_next_to_the_matrix(self):
        for name, width in (("small", 1400), ("small", 1024), ("middle", 1400), ("small", 390)):
            page = self.open(name, "#view=head&layer=0&head=1", width=width)
            page.wait_for_selector("#lines svg")
            cells, lines, figure = (self.box(page, one) for one in (
                "#cells", "#lines", ".figure-lines"))
            self.assertLess(figure["y"] + figure["height"] - lines["y"] - lines["height"], 4)
            if width == 390:
                self.assertGreater(lines["y"], cells["y"] + cells["height"])
            else:
                self.assertGreater(lines["x"], cells["x"] + cells["width"])
                self.assertLess(lines["y"] + lines["height"], 900)  # none is below the fold

    def test_the_first_map_is_near_the_top(self):
        for name in ("small", "middle", "cross", "texts", "norms", "weights", "pair"):
            page = self.open(name, "#view=grid&lang=en", width=1400)
            self.assertLessEqual(self.box(page, ".card canvas >> nth=0")["y"], 200, name)
            self.assertEqual(page.evaluate("() => [...document.querySelectorAll('h2')].filter("
                                           "one => one.offsetWidth > 4).length"), 0)
            self.assertIn("Click or tap one to open it", page.inner_text("#grid-note"))

    def test_controls_fold_on_a_phone(self):
        page = self.open("small", width=375, height=812)
        self.assertLess(self.box(page, "#head-0-0")["y"], 400)
        self.assertLess(self.box(page, ".legend")["y"], self.box(page, "#head-0-0")["y"])
        self.assertFalse(page.is_visible("#sort"))
        self.assertFalse(page.is_visible("#palette"))
        self.go(page, "#view=head&layer=0&head=1")
        self.assertLess(self.box(page, "#cells")["y"], 480)
        self.assertLess(self.box(page, ".legend")["y"], self.box(page, "#cells")["y"])
        self.assertIn(" tap ", page.inner_text("#readout"))
        self.assertGreater(self.box(page, "#cells")["width"], 200)
        self.assertEqual(self.box(page, "#previous-head")["y"],
                         self.box(page, "#next-head")["y"])
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

    def test_controls_stay_open_when_drawn_before_their_event(self):
        page = self.open("small", "#view=head&layer=0&head=1", width=375, height=812)
        page.evaluate("() => { document.querySelector('#fold-head summary').click();"
                      " headwise.state.set({compare: '1.0'}); }")
        page.wait_for_selector("#compare-head", state="visible")
        page.evaluate("() => { document.querySelector('#fold-head summary').click();"
                      " headwise.state.set({compare: ''}); }")
        page.wait_for_selector("#compare-layer", state="hidden")

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

    def test_below_heads_of_cross_attention_no_positions_are_compared(self):
        page = self.open("cross")
        page.select_option("#lang", "en")
        names = set(page.inner_text("#app").split())
        self.assertIn("entropy", names)
        self.assertEqual(names & {"self", "previous", "next"}, set())

    def test_the_page_speaks_both_languages(self):
        page = self.open("cross")
        self.assertEqual(page.get_attribute("html", "lang"), "ko")
        self.assertIn("\ucffc\ub9ac", page.inner_text(".legend"))
        page.focus("#lang")
        page.select_option("#lang", "en")
        self.assertEqual(page.get_attribute("html", "lang"), "en")
        self.assertIn("Row = query", page.inner_text(".legend"))
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "lang")

    def test_every_word_stands_in_both_languages(self):
        page = self.open("small")
        tables = page.evaluate("() => headwise.words.tables")
        self.assertEqual(sorted(tables), ["en", "ko"])
        table = page.evaluate("() => headwise.names")
        for key, english in table.items():
            self.assertIn(english, tables["ko"], key)
        text = "".join(path.read_text("utf-8") for path in VIEWER.glob("*.js")
                       if path.name != "names.js")
        used = set(re.findall(r"\bt\('([a-z_]+\.[a-z_]+)'[,)]", text)) | set(
            re.findall(r"'((?:keys|trace)\.[a-z_]+)'", text))
        # Each of these has two more texts, for norms and gradients.
        twice = re.findall(r"\bword\('([a-z_.]+)'[,)]", text)
        used |= {key + end for key in twice for end in ("", "_norm", "_gradient")}
        self.assertEqual(sorted(used - set(table)), [])
        prefixes = set(re.findall(r"t\('([a-z_]+\.[a-z_]*)' \+", text))
        unused = [key for key in table if key not in used and f"'{key}'" not in text
                  and not any(key.startswith(prefix) for prefix in prefixes)]
        self.assertEqual(unused, [])

    def test_every_string_of_both_languages_takes_its_arguments(self):
        page = self.open("small")
        for language in ("en", "ko"):
            self.go(page, f"#lang={language}")
            wrong = page.evaluate('''() => Object.entries({...headwise.names,
                ...Object.fromEntries(Object.keys(headwise.words.tables.ko).map(
                    english => [english, english]))}).filter(([key, english]) => {
                const holes = english.match(/\\{(\\d)\\}/g) || [];
                const given = [...new Set(holes)].sort().map((_, n) => 'argument' + n);
                const text = headwise.t(key, ...given);
                return /[{}]|undefined/.test(text) || text === '' ||
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
            table = table or page.evaluate("() => Object.keys(headwise.names)")
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
