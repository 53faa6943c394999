"""Opens pages whose heads were pruned in a real browser and uses them.

    pruned_test.py PROGRAM [unittest arguments]

PROGRAM is pruned_page.cc's. Needs what page_case.py needs.
"""
import json
import pathlib
import subprocess
import sys

import page_case

PROGRAM = ""


class Page:
    def __init__(self, path, which):
        self.path = path
        subprocess.run([PROGRAM, which, path], check=True)


def setUpModule():
    for which in ("some", "all"):
        name = "pruned_" + which
        page_case.cases[name] = Page(page_case.cases.path / f"{name}.html", which)


class Pruned(page_case.PageCase):
    """Of five layers of four heads the first and the last are gone whole, head 1 of
    layer 1, and all but the last of layer 3."""

    GONE = ["0.0", "0.1", "0.2", "0.3", "1.1", "3.0", "3.1", "3.2",
            "4.0", "4.1", "4.2", "4.3"]
    KEPT = ["1.0", "1.2", "1.3", "2.0", "2.1", "2.2", "2.3", "3.3"]

    def cards(self, page, kind):
        return page.eval_on_selector_all(
            kind, "cards => cards.map(card => card.dataset.head)")

    def test_they_are_hatched_at_their_places_and_say_so_in_both_languages(self):
        page = self.open("pruned_some")
        for language, name in (("en", "Layer 1, head 1. This head was pruned"),
                               ("ko", "레이어 1 헤드 1. 가지치기된 헤드입니다")):
            page.select_option("#lang", language)
            self.assertEqual(self.cards(page, ".card-pruned"), self.GONE)
            self.assertEqual(self.cards(page, "button.card"), self.KEPT)
            card = page.locator("#head-1-1")
            self.assertIn(name, card.get_attribute("aria-label"))
            self.assertIn(name, card.get_attribute("title"))
            self.assertIn("repeating-linear-gradient", card.locator(".pruned").evaluate(
                "node => getComputedStyle(node).backgroundImage"))
        left = lambda name: page.locator(name).bounding_box()["x"]  # noqa: E731
        for head in range(4):  # a column for each number
            self.assertEqual(len({left(f"#head-{layer}-{head}")
                                  for layer in range(5)}), 1)

    def test_the_header_names_a_head_size_if_there_is_one(self):
        for name, named in (("pruned_some", True), ("pruned_all", False)):
            page = self.open(name)
            for language, words in (("en", "head size"), ("ko", "헤드 차원")):
                page.select_option("#lang", language)
                self.assertEqual(words in page.text_content(".heading"), named)

    def test_they_cannot_be_opened(self):
        page = self.open("pruned_some")
        page.click("#head-1-1")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")
        self.assertIn("was pruned", page.text_content("#live"))
        page = self.open("pruned_some", "#view=head&layer=1&head=1&compare=0.0")
        state = page.evaluate("() => headwise.state.get()")
        self.assertEqual((state["view"], state["compare"]), ("grid", ""))
        self.go(page, "#view=head&layer=1&head=0")
        choices = lambda name: page.eval_on_selector_all(  # noqa: E731
            name + " option", "all => all.map(one => one.value).filter(Boolean)")
        for prefix in ("which", "compare"):
            found = {"1.0"}  # the head that is looked at
            for layer in choices(f"#{prefix}-layer"):
                page.select_option(f"#{prefix}-layer", layer)
                found |= {f"{layer}.{head}" for head in choices(f"#{prefix}-head")}
            self.assertEqual(sorted(found), self.KEPT)
            page.evaluate("() => headwise.state.set({layer: 1, head: 0, compare: ''})")

    def test_arrow_keys_and_letters_pass_them_by(self):
        page = self.open("pruned_some")
        focused = lambda: page.evaluate("() => document.activeElement.id")  # noqa: E731
        page.focus("#head-1-0")
        for key, head in (("ArrowRight", "1-2"), ("ArrowLeft", "1-0"), ("ArrowUp", "1-0"),
                          ("End", "3-3"), ("ArrowDown", "3-3"), ("Home", "1-0"),
                          ("ArrowDown", "2-0"), ("ArrowDown", "3-3")):
            self.keys(page, key)
            self.assertEqual(focused(), f"head-{head}", key)
        state = lambda: page.evaluate(  # noqa: E731
            "() => `${headwise.state.get().layer}.${headwise.state.get().head}`")
        self.go(page, "#view=head&layer=1&head=2")
        for key, head in (("h", "1.0"), ("l", "1.2"), ("]", "2.2"), ("]", "3.3"),
                          ("l", "3.3"), ("]", "1.3"), ("[", "3.3"), ("[", "2.3")):
            self.keys(page, key)
            self.assertEqual(state(), head, key)

    def test_they_come_last_in_every_order_and_count_for_nothing(self):
        page = self.open("pruned_some")
        self.assertIn("Pruned heads (hatched): 12.", page.inner_text("#grid-note"))
        for link in ("#sort=previous", "#sort=entropy&descending=0"):
            self.go(page, link)
            cards = self.cards(page, ".card[data-head]")
            self.assertEqual(cards[8:], self.GONE)
            self.assertEqual(sorted(cards[:8]), self.KEPT)
        # After a head that has no such number, too.
        page.evaluate("() => { headwise.heads.find(1, 0).pooled.previous = null; }")
        self.go(page, "#sort=previous")
        self.assertEqual(self.cards(page, ".card[data-head]")[7:], ["1.0"] + self.GONE)
        self.go(page, "#filter=entropy+%3E+0")
        self.assertEqual(self.cards(page, ".card[data-head]"), self.KEPT)
        self.go(page, "#filter=layer+%3D+1")
        self.assertIn("3 of 8 heads", page.inner_text("#grid-note"))

    def test_files_and_tables_have_their_numbers(self):
        page = self.open("pruned_some")
        header, *rows = self.csv(page)
        separator = header.index("separator")  # without separators it has no number
        self.assertEqual({row.pop(separator) for row in rows}, {""})
        self.assertEqual(sorted(f"{row[0]}.{row[1]}" for row in rows),
                         sorted(self.GONE + self.KEPT))
        for row in rows:
            gone = f"{row[0]}.{row[1]}" in self.GONE
            self.assertEqual(row[3], "yes" if gone else "no")
            self.assertEqual(row[2], "" if gone else row[1])  # each has its own keys
            self.assertEqual(all(row[5:]), not gone)
            self.assertEqual(any(row[4:]), not gone)
        data = json.loads(self.exported(page, "json"))
        self.assertEqual([row[:5] for row in data["rows"] if row[:2] == [1, 1]],
                         [[1, 1, None, "yes", None]])
        svg = self.exported(page, "svg").decode()
        self.assertEqual(svg.count("pruned</text>"), 12)
        self.go(page, "#table=1")
        self.assertEqual(page.locator("#main tbody button").count(), 8)
        self.assertEqual(page.locator("#main tbody tr").count(), 20)

    def test_axe_finds_nothing_serious_light_and_dark(self):
        for scheme in ("light", "dark"):
            for name in ("pruned_some", "pruned_all"):
                page = self.open(name, scheme=scheme)
                for link in ("", "#sort=previous", "#table=1"):
                    self.go(page, link)
                    self.assertEqual(page_case.serious(page), [])

    def test_a_page_without_any_head_can_be_used(self):
        page = self.open("pruned_all", "#view=head&layer=0&head=0")
        self.assertEqual(page.evaluate("() => headwise.state.get().view"), "grid")
        self.assertEqual(page.locator(".card-pruned").count(), 8)
        self.assertEqual(page.locator("#view-head").count(), 0)
        self.keys(page, "l", "]", "t", "t")
        self.assertEqual(len(self.csv(page)), 9)
        self.exported(page, "png")


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    page_case.run_tests()
