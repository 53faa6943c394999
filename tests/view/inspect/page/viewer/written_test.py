"""Holds the pages that the command writes against a second writer in binary64.

    written_test.py HEADWISE [unittest arguments]

Needs numpy (tests/requirements.txt); without it it is skipped.
"""
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "support"))
sys.path.insert(0, str(HERE))
import peers  # noqa: E402

peers.need("numpy")
import numpy as np  # noqa: E402

import make_page  # noqa: E402
import written_pages  # noqa: E402

COMMAND = ""
# What may differ: float32 beside binary64.
ROUNDED = 2e-5


class Pair:
    """The page that the command wrote and the one that it should have."""

    def __init__(self, made, folder):
        case = made(folder, written_pages.Writer(COMMAND))
        self.case = case
        self.page, self.blocks = written_pages.read(case.path)
        layers = {}
        for (layer, _), head in case.heads.items():
            layers.setdefault(layer, []).append(head)
        collected = make_page.Blocks()
        want = make_page.describe(
            case.spec, [{"number": n, "heads": heads} for n, heads in layers.items()],
            case.masks, collected)
        path = folder / (case.path.stem + "-wanted.html")
        path.write_text(make_page.assemble(want, collected), "utf-8")
        self.want, self.want_blocks = written_pages.read(path)

    def heads(self):
        for mine, theirs in zip(self.page["layers"], self.want["layers"], strict=True):
            assert mine["number"] == theirs["number"]
            yield from zip(mine["heads"], theirs["heads"], strict=True)

    def block(self, entry, wanted, kind):
        """-> that block of both."""
        return (np.frombuffer(self.blocks[entry], kind),
                np.frombuffer(self.want_blocks[wanted], kind))


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.pairs = [Pair(made, folder) for made in written_pages.ALL]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        for pair in self.pairs:
            for head, want in pair.heads():
                yield pair, head, want

    def test_the_page_says_the_same_of_itself(self):
        for pair in self.pairs:
            for name in ("format", "version", "lang", "title", "kind", "query_tokens",
                         "key_tokens", "query_special", "key_special", "generated_from",
                         "num_queries", "num_keys", "head_dim", "query_start", "scale", "softcap",
                         "t5_steps", "statistics", "row_statistics", "first_key", "separators"):
                self.assertEqual(pair.page[name], pair.want[name], name)
            self.assertEqual(pair.page["coding"]["kind"], pair.want["coding"]["kind"])
            self.assertEqual(set(pair.page), set(pair.want))
            self.assertEqual(set(pair.page["layers"][0]["heads"][0]),
                             set(pair.want["layers"][0]["heads"][0]))

    def test_heads_read_the_same_keys(self):
        for _, head, want in self.each():
            self.assertEqual(head["kv_head"], want["kv_head"])
            self.assertAlmostEqual(head["alibi"] or 0, want["alibi"] or 0, places=7)
            np.testing.assert_allclose(head["t5"] or [], want["t5"] or [], atol=1e-7)
            self.assertEqual(head["sink"], want["sink"])

    def test_rows_that_do_not_sum_to_1(self):
        found = [head for _, head, want in self.each() if "uneven_rows" in want]
        self.assertEqual([head["uneven_rows"] for head in found], [0, 2])
        for pair, head, want in self.each():
            self.assertEqual(head.get("uneven_rows"), want.get("uneven_rows"))
            self.assertEqual("uneven_sums" in head, "uneven_sums" in want)
            if "uneven_sums" in want:
                np.testing.assert_allclose(
                    *pair.block(head["uneven_sums"], want["uneven_sums"], "<f4"), rtol=ROUNDED)
            self.assertAlmostEqual(head.get("farthest_sum", 0), want.get("farthest_sum", 0),
                                   places=6)

    def test_pooled_numbers(self):
        for _, head, want in self.each():
            self.assertEqual(head["empty_rows"], want["empty_rows"])
            for name, number in want["pooled"].items():
                if number is None:
                    self.assertIsNone(head["pooled"][name], name)
                    continue
                self.assertAlmostEqual(head["pooled"][name], number,
                                       delta=ROUNDED * max(1, abs(number)))

    def test_numbers_of_each_query_and_key(self):
        for pair, head, want in self.each():
            rows, wanted = pair.block(head["rows"], want["rows"], "<f4")
            np.testing.assert_allclose(rows, wanted, rtol=ROUNDED, atol=ROUNDED)
            self.assertEqual(head["columns"] is None, want["columns"] is None)
            if head["columns"] is None:
                continue
            columns, wanted = pair.block(head["columns"], want["columns"], "<f4")
            np.testing.assert_allclose(columns, wanted, rtol=ROUNDED, atol=ROUNDED)

    def test_largest_keys(self):
        for pair, head, want in self.each():
            self.assertEqual({**head["top"], "block": 0}, {**want["top"], "block": 0})
            self.assertEqual(head["top"]["block"] is None, want["top"]["block"] is None)
            if head["top"]["block"] is None:
                continue
            keys, wanted = pair.block(head["top"]["block"], want["top"]["block"], "<i4")
            half = len(keys) // 2
            weights, wanted_weights = (a[half:].view("<f4") for a in (keys, wanted))
            np.testing.assert_allclose(weights, wanted_weights, atol=ROUNDED)
            # Where neighbours are as good as alike, either may come first.
            apart = np.abs(np.diff(wanted_weights, prepend=2, append=-1)) > ROUNDED
            clear = apart[:-1] & apart[1:]
            np.testing.assert_array_equal(keys[:half][clear], wanted[:half][clear])

    def test_maps(self):
        for pair, head, want in self.each():
            self.assertEqual({**head["small"], "block": 0}, {**want["small"], "block": 0})
            self.assertEqual(head["small"]["block"] is None,
                             want["small"]["block"] is None)
            if head["small"]["block"] is not None:
                small, wanted = pair.block(head["small"]["block"], want["small"]["block"],
                                           "u1")
                self.assertLessEqual(np.abs(small.astype(int) - wanted).max(), 1)
            self.assertEqual(head["map"] is None, want["map"] is None)
            if head["map"] is not None:
                codes, wanted = pair.block(head["map"], want["map"], "u1")
                self.assertLessEqual(np.abs(codes.astype(int) - wanted).max(), 1)

    def test_query_key_and_lse(self):
        for pair, head, want in self.each():
            for name in ("query", "key"):
                self.assertEqual(head[name] is None, want[name] is None)
                if head[name] is not None:
                    mine, wanted = pair.block(head[name], want[name], "<u2")
                    np.testing.assert_array_equal(mine, wanted)
            if head["lse"] is not None:
                lse, wanted = pair.block(head["lse"], want["lse"], "<f4")
                np.testing.assert_allclose(lse, wanted, rtol=ROUNDED, atol=ROUNDED)

    def test_heads_of_a_group_name_one_block_of_keys(self):
        heads = self.pairs[0].page["layers"][0]["heads"]
        self.assertEqual(heads[0]["key"], heads[1]["key"])
        self.assertNotEqual(heads[1]["key"], heads[2]["key"])

    def test_masks(self):
        for pair, head, want in self.each():
            lq, lk = pair.page["num_queries"], pair.page["num_keys"]

            def visible(page, blocks, entry):
                mask = page["masks"][entry["mask"]]
                ranges = np.frombuffer(blocks[mask["ranges"]], "<i4").reshape(lq, 2)
                j = np.arange(lk)
                may = (j >= ranges[:, :1]) & (j < ranges[:, 1:])
                if mask["bits"] is not None:
                    bits = np.frombuffer(blocks[mask["bits"]], "u1").reshape(lq, -1)
                    may &= np.unpackbits(bits, axis=1, bitorder="little")[:, :lk] == 1
                return may

            if "uneven_rows" in want:
                self.assertEqual(pair.page["masks"][head["mask"]]["name"], "no_weight")
            np.testing.assert_array_equal(visible(pair.page, pair.blocks, head),
                                          visible(pair.want, pair.want_blocks, want))

    def test_the_error_shown_is_the_largest_there_is(self):
        for pair, head, want in self.each():
            tiles = head["map"] is None
            # Of the page's own numbers against the truth, which `want` measured on
            # its own; a bound for tiles, which the page computes.
            self.assertGreaterEqual(head["error"], want["error"] * (1 if tiles else .98))
            self.assertLessEqual(head["error"],
                                 want["error"] * (4 if tiles else 1.02) + 1e-6)
            self.assertLessEqual(head["error"], pair.page["coding"]["error"])


if __name__ == "__main__":
    COMMAND = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
