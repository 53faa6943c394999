"""A page of two models: their heads by how much they changed. Run by page_test.py."""

from page_case import PageCase, serious


class Changes(PageCase):
    def heads(self, page):
        return [row.removeprefix("change-") for row in page.eval_on_selector_all(
            "main tbody button", "all => all.map(one => one.id)")]

    def row(self, page, head):
        return page.locator(f"#change-{head}").locator("xpath=ancestor::tr").inner_text()

    def test_heads_are_listed_by_how_much_they_changed(self):
        page = self.open("two_models")
        self.keys(page, "m")
        self.assertEqual(self.heads(page), ["1-0", "1-1", "1-3", "1-2", "0-3", "0-1", "0-0",
                                            "0-2"])  # the last one has no similarity
        self.assertIn("1.0\t1.1\t0.300 [0.280, 0.320]\t", self.row(page, "1-0"))
        page.select_option("#sort", "first")
        self.assertEqual(self.heads(page)[:2], ["1-3", "0-0"])
        page.click("#descending")
        self.assertEqual(self.heads(page)[0], "0-3")

    def test_the_page_opens_with_what_changed(self):
        page = self.open("two_models")
        view = lambda: page.evaluate("() => headwise.state.get().view")  # noqa: E731
        self.assertEqual(view(), "changes")
        self.keys(page, "g")
        page.wait_for_function("() => location.hash.includes('view=grid')")
        page = self.open("two_models", "#view=grid")
        self.assertEqual(view(), "grid")

    def test_heads_that_changed_as_much_as_each_other_are_in_order(self):
        page = self.open("two_models", "#view=changes")
        page.evaluate("() => { headwise.file.changes.reverse().forEach((one, n) => {"
                      " one.similarity = [1 - ((n * 5) % 8) * 1e-8, null, null]; one.differences.first ="
                      " [n % 2 ? 0.1 : -0.1, null, null]; });"
                      " headwise.state.set({descending: false}); }")
        heads = [f"{layer}-{head}" for layer in range(2) for head in range(4)]
        self.assertEqual(self.heads(page), heads)
        page.click("#descending")
        self.assertEqual(self.heads(page), heads)
        page.select_option("#sort", "first")
        self.assertEqual(self.heads(page), heads)

    def test_its_letter_leads_to_the_rows(self):
        page = self.open("two_models")
        focused = lambda: page.evaluate("() => document.activeElement.id")  # noqa: E731
        self.keys(page, "m")
        self.assertEqual(focused(), "change-1-0")
        self.keys(page, "ArrowDown")
        self.assertEqual(focused(), "change-1-1")
        self.keys(page, "Enter")
        page.wait_for_function("() => headwise.state.get().compare === '1:1.1'")
        self.settle(page)
        self.keys(page, "m")
        self.assertEqual(focused(), "change-1-1")

    def test_axe_finds_nothing_serious_and_no_landmark_twice(self):
        for name, link in (("two_models", "#view=changes"), ("texts", "#view=scatter&table=1")):
            for width in (1280, 390):
                page = self.open(name, link, width=width)
                self.assertEqual(serious(page), [])
                self.assertEqual(page.locator("main [role=region]").count(), 0)

    def test_a_star_marks_an_interval_without_zero(self):
        page = self.open("two_models", "#view=changes")
        self.assertIn("*", self.row(page, "0-0"))
        self.assertNotIn("*", self.row(page, "0-3"))
        self.assertIn("+", self.row(page, "1-3"))

    def test_a_head_opens_next_to_its_counterpart(self):
        page = self.open("two_models", "#view=changes&document=3")
        page.click("#change-1-0")
        page.wait_for_function("() => headwise.state.get().view === 'head'")
        self.settle(page)
        state = page.evaluate("() => headwise.state.get()")
        self.assertEqual((state["document"], state["layer"], state["head"], state["compare"]),
                         (2, 1, 0, "3:1.0"))

    def test_similarities_have_equal_digits_and_end_at_1(self):
        page = self.open("two_models", "#view=changes")
        page.evaluate("() => { const [a, b] = headwise.file.changes;"
                      " a.similarity = [1 + 1e-9, 0.99999, 1.01]; b.similarity = [0.955, 0.904, 1.01];"
                      " headwise.state.set({descending: false}); }")
        self.assertIn("\t1.000 [1.000, 1.000]\t", self.row(page, "-".join(map(str, page.evaluate(
            "() => headwise.file.changes[0].head")))))
        self.assertIn("\t0.955 [0.904, 1.000]\t", page.inner_text("main"))

    def test_a_statistic_that_no_head_has_is_left_out(self):
        page = self.open("two_models", "#view=changes")
        names = lambda: [page.evaluate("() => headwise.changes.data().header"),  # noqa: E731
                         page.locator("thead abbr").all_inner_texts()]
        self.assertTrue(all("next" in one for one in names()))
        page.evaluate("() => { for (const {pooled} of headwise.documents.list)"
                      " pooled.next = pooled.next.map(() => null);"
                      " headwise.state.set({descending: false}); }")
        self.assertFalse(any("next" in one for one in names()))
        self.assertTrue(all("previous" in one for one in names()))

    def test_files_hold_the_same(self):
        page = self.open("two_models", "#view=changes")
        found = page.evaluate("() => headwise.changes.data()")
        self.assertEqual(found["header"][:9], [
            "layer", "head", "other_layer", "other_head", "match_layer", "match_head",
            "similarity", "similarity_low", "similarity_high"])
        self.assertEqual(found["rows"][0][:7], [1, 0, 1, 0, 1, 1, 0.3])
        self.assertEqual(len(found["rows"]), 8)
        self.assertTrue(all(len(row) == len(found["header"]) for row in found["rows"]))

    def test_different_tokens_and_heads_without_a_counterpart_are_said(self):
        page = self.open("two_tokenizers", "#view=changes")
        self.assertIn("divide into different tokens: 1 of 3 (first: text 1)",
                      page.inner_text("#changes-note"))
        said = page.inner_text("#main")
        self.assertIn("Heads only in a/model: 0.1\n", said + "\n")
        self.assertIn("Heads only in b/model/: 1.2, 1.3\n", said + "\n")
        found = page.evaluate("() => headwise.changes.data()")
        self.assertEqual([row[:6] for row in found["rows"][-3:]], [
            [0, 1, None, None, None, None], [None, None, 1, 2, None, None],
            [None, None, 1, 3, None, None]])
        self.assertTrue(all(len(row) == len(found["header"]) for row in found["rows"]))
        page = self.open("two_models", "#view=changes")
        self.assertNotIn("different tokens", page.inner_text("#main"))
        self.assertNotIn("Heads only", page.inner_text("#main"))

    def test_heads_are_named_by_their_models(self):
        page = self.open("two_models", "#view=head&layer=0&head=1&compare=1:0.1")
        captions = page.locator(".figures figcaption").all_inner_texts()
        self.assertEqual(captions[0], "A: layer 0 head 1, tuned")
        self.assertIn("<b>base", captions[1])
        self.go(page, "#view=head&layer=0&head=1&compare=3:0.1")
        self.assertEqual(page.locator(".figures figcaption").all_inner_texts()[0],
                         "A: layer 0 head 1, tuned, text 0")
        self.assertRegex(page.locator(".figures figcaption").all_inner_texts()[1], ", text 1$")
        # Two folders of one name are named by their paths.
        page = self.open("two_tokenizers", "#view=head&layer=0&head=0&compare=1:0.0")
        self.assertEqual(page.locator(".figures figcaption").all_inner_texts()[:2], [
            "A: layer 0 head 0, a/model", "B: layer 0 head 0, b/model/"])
        self.go(page, "#document=2&view=head&layer=0&head=0&compare=3:0.0")
        self.assertEqual({row[0] for row in self.csv(page)[1:]}, {"a: a/model", "b: b/model/"})
        self.go(page, "#view=changes")
        self.assertEqual(self.name_of_file(page),
                         "headwise-changes-a-model-minus-b-model.csv")

    def test_names_of_files_have_no_markup(self):
        page = self.open("two_models", "#view=head&document=1&layer=0&head=1&compare=0:0.1")
        self.assertEqual(self.name_of_file(page),
                         "headwise-text-0-b-base-layer-0-head-1-and-tuned.csv")

    def test_names_are_only_text(self):
        page = self.open("two_models", "#view=changes")
        self.assertIn("m/<b>base", page.inner_text("#changes-note"))
        self.assertEqual(page.locator("#changes-note b").count(), 0)

    def test_other_pages_have_no_such_view(self):
        page = self.open("texts", "#view=changes")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")
        self.keys(page, "m")
        self.assertEqual(page.locator("#view-changes").count(), 0)

    def test_it_fits_narrow_windows_and_is_accessible(self):
        for width in (1280, 390):
            page = self.open("two_models", "#view=changes", width=width)
            self.assertEqual(serious(page), [])
            self.assertLessEqual(page.evaluate(
                "() => document.documentElement.scrollWidth"), width)
        page = self.open("two_models", "#view=changes&lang=ko")
        self.assertIn("\ubcc0\ud654", page.inner_text("#view-title"))
