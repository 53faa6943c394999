"""A page of two sentences: attention from one to the other. Run by page_test.py."""
import numpy as np

from page_case import PageCase, cases, serious


class Pair(PageCase):
    A, B = list(range(5)), list(range(5, 12))

    def test_only_attention_from_one_sentence_to_the_other_is_shown(self):
        page = self.open("pair", "#view=head&layer=0&head=1")
        for way, queries, keys in (("AB", self.A, self.B), ("BA", self.B, self.A),
                                   ("AA", self.A, self.A), ("BB", self.B, self.B)):
            page.select_option("#part", way)
            self.settle(page)
            self.assertEqual(self.check_matrix(page, cases["pair"], 0, 1), (queries, keys))
            texts = page.eval_on_selector_all(
                ".line-token", "all => all.map(one => Number(one.dataset.index))")
            self.assertEqual(texts, queries + keys)
        page.select_option("#part", "AB")
        page.click("#hide")
        self.settle(page)
        self.assertEqual(self.matrix(page)[:2], ([1, 2, 3], [5, 6, 7, 8, 9, 10]))
        page.wait_for_function("() => location.hash.includes('part=AB')")
        again = self.open("pair", page.evaluate("() => location.hash"))
        self.assertEqual(again.input_value("#part"), "AB")

    def test_thumbnails_follow(self):
        page = self.open("pair", "#part=AB")
        made = page.evaluate(
            "() => headwise.weights.thumbnail(headwise.heads.kept[1], 'max')"
            ".then(({rows, columns, values}) => [rows, columns, [...values]])")
        w, _ = cases["pair"].weights(0, 1)
        self.assertEqual(made[:2], [5, 7])
        self.assertLess(np.abs(np.array(made[2]).reshape(5, 7) - w[:5, 5:]).max(), 0.0041)

    def test_the_numbers_stay_those_of_both_sentences_and_say_so(self):
        said = "still cover all tokens of both sentences"
        page = self.open("pair", "#part=AB")
        self.assertIn(said, page.inner_text("#grid-note"))
        self.go(page, "#view=head&layer=0&head=1&part=AB")
        self.assertIn(said, page.inner_text(".about-head"))
        page.select_option("#part", "")
        self.assertNotIn(said, page.inner_text("main"))

    def test_another_page_has_no_such_choice(self):
        page = self.open("small", "#view=head&layer=0&head=1&part=AB")
        self.assertEqual(page.locator("#part").count(), 0)
        self.assertEqual(page.evaluate("() => headwise.state.get().part"), "")

    def test_axe_finds_nothing_serious(self):
        for link in ("#part=AB", "#view=head&layer=0&head=1&part=BA"):
            with self.subTest(link=link):
                self.assertEqual(serious(self.open("pair", link)), [])
