"""Heads as points, by two statistics. Run by page_test.py."""
import numpy as np

from page_case import PageCase, SVG, cases, serious
import xml.etree.ElementTree


class Scatter(PageCase):
    def points(self, page):
        """-> {head: (x, y)} in pixels."""
        return {head: (x, y) for head, x, y in page.eval_on_selector_all(
            ".point", "all => all.map(one => { const c = one.querySelector('circle');"
            " return [one.dataset.head, Number(c.getAttribute('cx')),"
            " Number(c.getAttribute('cy'))]; })")}

    def pooled(self, document, name):
        return {f"{layer['number']}.{head['number']}": head["pooled"][name]
                for layer in document.page["layers"] for head in layer["heads"]
                if not head["pruned"]}

    def check_places(self, page, across, up):
        """Pixels follow the statistics linearly."""
        points = self.points(page)
        self.assertEqual(set(points), set(across))
        self.assertTrue(page.evaluate(
            "() => { const outer = document.querySelector('.scatter').getBoundingClientRect();"
            " return [...document.querySelectorAll('.point circle')].every(one => {"
            " const box = one.getBoundingClientRect(); return box.left >= outer.left + 40 &&"
            " box.right <= outer.right && box.top >= outer.top &&"
            " box.bottom <= outer.bottom - 30; }); }"))
        for axis, values in ((0, across), (1, up)):
            at = np.array([points[head][axis] for head in values])
            slope, rest = np.polyfit(list(values.values()), at, 1)
            self.assertLess(np.abs(
                slope * np.array(list(values.values())) + rest - at).max(), 0.01)
            self.assertGreater(slope * (1 if axis == 0 else -1), 0)

    def test_points_are_at_their_statistics(self):
        page = self.open("small")
        self.keys(page, "x")
        case = cases["small"]
        self.check_places(page, self.pooled(case, "entropy"), self.pooled(case, "distance"))
        page.select_option("#scatter-x", "previous")
        page.select_option("#scatter-y", "largest")
        self.check_places(page, self.pooled(case, "previous"), self.pooled(case, "largest"))
        page.fill("#filter", "layer = 1")
        self.keys(page, "Enter")
        self.assertEqual(set(self.points(page)), {"1.0", "1.1", "1.3"})  # 2 was pruned

    def test_means_over_all_texts(self):
        page = self.open("texts", "#view=scatter&x=entropy&y=self")
        documents = cases["texts"].documents
        self.check_places(page, *(self.pooled(documents[0], name)
                                  for name in ("entropy", "self")))
        page.click("#average")
        means = [{head: np.mean([one[head] for one in
                                 (self.pooled(document, name) for document in documents)
                                 if head in one])
                  for head in self.pooled(documents[0], name)} for name in ("entropy", "self")]
        self.check_places(page, *means)
        self.assertIn("Means over all texts", page.inner_text("#scatter-note"))
        header, *rows = self.csv(page)
        self.assertEqual(header, ["layer", "head", "entropy", "self"])
        for layer, head, entropy, _ in rows:
            self.assertAlmostEqual(float(entropy), means[0][f"{layer}.{head}"], places=4)

    def test_files_of_means_are_named_so(self):
        page = self.open("texts", "#view=scatter&average=1")
        self.assertEqual(self.name_of_file(page), "headwise-means-scatter.csv")
        page = self.open("ablated", "#view=scatter&average=1&document=3")
        self.assertEqual(self.name_of_file(page), "headwise-without-b-0.1-means-scatter.csv")
        self.go(page, "#view=scatter&document=3")
        self.assertEqual(self.name_of_file(page), "headwise-text-1-without-b-0.1-scatter.csv")
        self.go(page, "#view=grid&average=1&document=3")
        self.assertEqual(self.name_of_file(page), "headwise-text-1-without-b-0.1-grid.csv")

    def test_by_keys_and_as_a_table(self):
        page = self.open("small", "#view=scatter")
        points = self.points(page)
        page.focus(".point[tabindex='0']")
        focused = lambda: page.evaluate("() => document.activeElement.dataset.head")  # noqa: E731
        for key, axis, sign in (("ArrowRight", 0, 1), ("ArrowLeft", 0, -1), ("ArrowUp", 1, -1),
                                ("ArrowDown", 1, 1)):
            before = points[focused()]
            self.keys(page, key)
            after = points[focused()]
            if after != before:
                self.assertGreater(sign * (after[axis] - before[axis]), 0)
        head = focused()
        self.keys(page, "Enter")
        page.wait_for_selector("#cells")
        self.assertEqual(page.evaluate("() => headwise.state.head().id"), head)
        self.go(page, "#view=scatter&table=1")
        self.assertEqual(page.locator("tbody tr").count(), 7)

    def test_the_head_of_a_point_is_written_next_to_it(self):
        page = self.open("small", "#view=scatter")
        name = lambda: page.text_content(".point-name")  # noqa: E731
        self.assertEqual(name(), "")
        page.focus("#point-1-3")
        self.assertEqual(name(), "layer 1 head 3")
        self.assertEqual(*(page.get_attribute(one, "cx") for one in (
            ".point-ring", "#point-1-3 circle")))
        page.dispatch_event("#point-0-2 circle", "pointerover")
        self.assertEqual(name(), "layer 0 head 2")
        page.dispatch_event(".scatter", "pointerleave")
        self.assertEqual(name(), "layer 1 head 3")
        self.assertTrue(page.evaluate(
            "() => { const [outer, inner] = ['.scatter', '.point-name'].map(one =>"
            " document.querySelector(one).getBoundingClientRect());"
            " return inner.left >= outer.left && inner.right <= outer.right; }"))
        page.evaluate("() => document.activeElement.blur()")
        self.assertEqual(name(), "")

    def test_the_plot_is_as_wide_as_the_window(self):
        for window, least in ((1400, 1340), (390, 340)):
            page = self.open("small", "#view=scatter", width=window)
            self.assertGreater(page.locator(".scatter").bounding_box()["width"], least)

    def test_the_shortcut_leads_to_the_points(self):
        page = self.open("small")
        self.keys(page, "x", "ArrowRight")
        self.assertTrue(page.evaluate(
            "() => document.activeElement.classList.contains('point')"))
        self.keys(page, "g")
        self.assertEqual(page.evaluate("() => document.activeElement.id"), "head-0-0")
        self.keys(page, "x", "Enter")
        page.wait_for_selector("#cells")

    def test_a_statistic_that_no_head_has_is_no_axis_and_no_order(self):
        page = self.open("norms", "#view=scatter&x=next&y=first")
        self.assertEqual(page.evaluate("() => headwise.state.get().x"), "")
        self.assertEqual(page.locator(".point").count(), 7)
        values = lambda one: page.eval_on_selector_all(  # noqa: E731
            one + " option", "all => all.map(one => one.value)")
        for menu in ("#scatter-x", "#scatter-y"):
            self.assertNotIn("next", values(menu))
            self.assertIn("previous", values(menu))
        self.go(page, "#")
        self.assertNotIn("next", values("#sort"))
        self.assertIn("previous", values("#sort"))

    def test_cross_attention_has_no_axes_of_positions(self):
        page = self.open("cross", "#view=scatter&lang=en&x=previous")
        self.assertEqual(page.evaluate("() => headwise.state.get().x"), "")
        self.assertEqual(page.eval_on_selector_all(
            "#scatter-x option", "all => all.map(one => one.value)"),
            ["entropy", "largest", "first", "separator"])

    def test_saved_as_a_picture_with_its_legend(self):
        page = self.open("small", "#view=scatter")
        root = xml.etree.ElementTree.fromstring(self.exported(page, "svg"))
        self.assertEqual(len(root.findall(f".//{SVG}circle")), 7)
        words = "".join(root.itertext())
        self.assertIn("entropy", words)
        self.assertIn("colour and number are its layer", words)

    def test_axe_finds_nothing_serious(self):
        for width in (1280, 390):
            for link in ("#view=scatter", "#view=scatter&table=1", "#view=scatter&theme=dark"):
                with self.subTest(width=width, link=link):
                    page = self.open("texts", link, width=width, height=844)
                    self.assertEqual(serious(page), [])
                    self.assertLessEqual(page.evaluate(
                        "() => document.documentElement.scrollWidth"), width)
