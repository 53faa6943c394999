"""`headwise run`: what it refuses, and how it says so."""
import cli_case
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, USAGE, npy_bytes
from run_case import RunCase


class RunRefusesTest(RunCase):
    def test_shapes_that_fit_the_other_layout_alone(self):
        # (B, L, H, D), as Python's functions take them.
        files = self.inputs(q=(2, 3, 4, 5), k=(2, 6, 4, 5), v=(2, 6, 4, 7))
        for command in (files, ("stats", *files[1:5])):
            self.refuse(BAD_INPUT, "; the shapes fit with --layout blhd",
                        *command)
        self.assertIn("query: B=2 L=3 H=4 D=5, layout blhd\n",
                      self.succeed(*files, "--layout", "blhd"))
        files = self.inputs()
        self.refuse(BAD_INPUT, "; the shapes fit with --layout bhld", *files,
                    "--layout", "blhd")

    def test_integers_are_a_mask_only_if_all_are_0_or_1(self):
        for low, high, looks in ((-10000, 0, "added to the scores"),
                                 (-1, 0, "added to the scores"),
                                 (0, 255, "255 for true"),
                                 (1, 2, "look like ids")):
            self.put("m.npy", 3, 6, descr="<i8", values=[low, high] * 9)
            self.put("p.npy", 2, 6, descr="<i8", values=[low, high] * 6)
            for options in (("--mask", "m.npy", "--mask-axes", "Lq,Lkv"),
                            ("--key-padding", "p.npy")):
                self.refuse(BAD_INPUT, looks, *self.inputs(*options))
                self.refuse(BAD_INPUT, looks, "stats", "--query", "q.npy",
                            "--key", "k.npy", *options)
            self.refuse(BAD_INPUT, looks, *self.inputs(
                "--mask", "m.npy", "--dialect", "flax", "--layout", "bhld"))

    def test_softcap_biases_and_alibi_that_do_not_fit(self):
        self.put("t5.npy", 32, 4)
        self.put("odd.npy", 33, 4)
        self.put("nan.npy", 4, 4, values=[float("nan")] * 16)
        self.put("m.npy", 2, 3, 6)
        self.put("i.npy", 2, 3, 6, descr="|b1")
        self.put("s.npy", 3)
        self.put("bk.npy", 2, 5)
        self.put("bv.npy", 2, 7)
        for code, message, *opts in (
                (BAD_INPUT, "--bias has shape (2, 3, 6), expected 4 axes "
                 "(B, H, Lq, Lkv), or --bias-axes", "--bias", "m.npy"),
                (BAD_INPUT, "--bias has shape (2, 3, 6), expected (B, H, Lkv) = "
                 "(2, 4, 6)", "--bias", "m.npy", "--bias-axes", "B,H,Lkv"),
                (BAD_INPUT, "expected one axis for each name in --bias-axes",
                 "--bias", "m.npy", "--bias-axes", "B,Lkv"),
                (USAGE, "--bias-axes is B,X, expected names from B,", "--bias",
                 "m.npy", "--bias-axes", "B,X"),
                (USAGE, "--bias-axes is B,B,Lkv, expected each name once",
                 "--bias", "m.npy", "--bias-axes", "B,B,Lkv"),
                (USAGE, "--bias-axes needs --bias", "--bias-axes", "B"),
                (BAD_INPUT, "--bias: i.npy holds bool elements", "--bias", "i.npy",
                 "--bias-axes", "B,Lq,Lkv"),
                (USAGE, "--softcap is 0, expected a number from 1e-37 to "
                 "2e38", "--softcap", "0"),
                (USAGE, "--softcap is -1, expected a number from 1e-37 to "
                 "2e38", "--softcap", "-1"),
                (USAGE, "--softcap is inf, expected a number from 1e-37 to "
                 "2e38", "--softcap", "inf"),
                (USAGE, "--scale is nan, expected a number from -2e38 to "
                 "2e38", "--scale", "nan"),
                (USAGE, "--softcap is much, expected a number from 1e-37",
                 "--softcap", "much"),
                (BAD_INPUT, "--t5-bias has shape (3), expected (buckets, H)",
                 "--t5-bias", "s.npy"),
                (BAD_INPUT, "--t5-bias has shape (33, 4), expected an even "
                 "number of buckets, at least 4, for both directions",
                 "--t5-bias", "odd.npy", "--t5-bidirectional"),
                (BAD_INPUT, "--t5-bias[0,0] is nan, expected a number from "
                 "-2e38 to 2e38", "--t5-bias", "nan.npy"),
                (BAD_INPUT, "--t5-max-distance is 16, expected more than 16, "
                 "the distances with a bucket of their own", "--t5-bias",
                 "t5.npy", "--t5-max-distance", "16"),
                (USAGE, "--t5-max-distance is 0, expected a whole number, 1 or "
                 "greater", "--t5-bias", "t5.npy", "--t5-max-distance", "0"),
                (USAGE, "--t5-max-distance needs --t5-bias",
                 "--t5-max-distance", "16"),
                (USAGE, "--t5-bidirectional needs --t5-bias",
                 "--t5-bidirectional"),
                (BAD_INPUT, "--alibi has shape (3), expected (Hq) = (4)",
                 "--alibi", "s.npy"),
                (BAD_INPUT, "--alibi has shape (2, 3, 6), expected (H)",
                 "--alibi", "m.npy"),
                (BAD_INPUT, "--sinks has shape (3), expected (Hq) = (4)",
                 "--sinks", "s.npy"),
                (BAD_INPUT, "--bias-k has shape (2, 7), expected (Hkv, D) = "
                 "(2, 5)", "--bias-k", "bv.npy", "--bias-v", "bv.npy"),
                (BAD_INPUT, "--bias-v has shape (2, 5), expected (Hkv, Dv) = "
                 "(2, 7)", "--bias-k", "bk.npy", "--bias-v", "bk.npy"),
                (BAD_INPUT, "--bias-k has shape (2, 3, 6), expected (Hkv, D)",
                 "--bias-k", "m.npy", "--bias-v", "bv.npy"),
                (USAGE, "--bias-k needs --bias-v", "--bias-k", "m.npy"),
                (USAGE, "--bias-v needs --bias-k", "--bias-v", "m.npy"),
                (USAGE, "--alibi is manual, expected auto or a .npy file",
                 "--alibi", "manual")):
            with self.subTest(message):
                self.refuse(code, message, *self.inputs(*opts))

    def test_shapes_that_do_not_fit(self):
        for sizes, message in (
                ({"k": (2, 2, 6, 4)}, "--key has shape (2, 2, 6, 4), expected "
                 "(B, Hkv, Lkv, D) = (2, 2, 6, 5)"),
                ({"k": (3, 2, 6, 5)}, "--key has shape (3, 2, 6, 5), expected "
                 "(B, Hkv, Lkv, D) = (2, 2, 6, 5)"),
                ({"v": (2, 2, 5, 7)}, "--value has shape (2, 2, 5, 7), "
                 "expected (B, Hkv, Lkv, Dv) = (2, 2, 6, 7)"),
                ({"v": (2, 4, 6, 7)}, "--value has shape (2, 4, 6, 7), "
                 "expected (B, Hkv, Lkv, Dv) = (2, 2, 6, 7)"),
                ({"k": (2, 3, 6, 5), "v": (2, 3, 6, 7)},
                 "--query has 4 heads, expected a multiple of the 3 of --key"),
                ({"q": (4, 3, 5)}, "--key has shape (2, 2, 6, 5), expected "
                 "(B, H, L, D) or (H, L, D), the same for --query"),
                ({"q": (5,), "k": (5,), "v": (5,)},
                 "--query has shape (5), expected (B, H, L, D) or (H, L, D)"),
                ({"q": (2, 4, 3, 0), "k": (2, 2, 6, 0)},
                 "--query has shape (2, 4, 3, 0), expected D of at least 1")):
            with self.subTest(message):
                self.refuse(BAD_INPUT, message, *self.inputs(**sizes))
        self.fail_with(
            BAD_INPUT, "--value has shape (2, 6, 4, 7), expected "
            "(B, Lkv, Hkv, Dv) = (2, 6, 2, 7)",
            *self.inputs("--layout", "blhd", q=(2, 3, 4, 5), k=(2, 6, 2, 5),
                         v=(2, 6, 4, 7)))

    def test_masks_that_do_not_fit(self):
        self.put("m.npy", 2, 3, 6, descr="|b1")
        self.put("f.npy", 2, 3, 6)
        self.put("l.npy", 2, descr="<i8", values=(7, 1))
        self.put("n.npy", 2, descr="<i8", values=(1, -1))
        self.put("l3.npy", 3, descr="<i8")
        self.put("k.npy", 2, 3, 3, 6, descr="|b1")
        self.put("d.npy", 2, 6, descr="<i8", values=(1,) * 12)
        self.put("dq.npy", 2, 3, descr="<i8", values=(1, 1, 1, 2, 1, 3))
        for code, message, *opts in (
                (BAD_INPUT, "--mask has shape (2, 3, 6), expected 4 axes "
                 "(B, H, Lq, Lkv), or --mask-axes", "--mask", "m.npy"),
                (BAD_INPUT, "--mask has shape (2, 3, 6), expected (B, H, Lkv) = "
                 "(2, 4, 6)", "--mask", "m.npy", "--mask-axes", "B,H,Lkv"),
                (BAD_INPUT, "expected one axis for each name in --mask-axes",
                 "--mask", "m.npy", "--mask-axes", "B,Lkv"),
                (USAGE, "--mask-axes is B,X, expected names from B,", "--mask",
                 "m.npy", "--mask-axes", "B,X"),
                (USAGE, "--mask-axes is B,B,Lkv, expected each name once",
                 "--mask", "m.npy", "--mask-axes", "B,B,Lkv"),
                (USAGE, "--mask-axes needs --mask", "--mask-axes", "B"),
                (BAD_INPUT, "--mask: f.npy holds float32 elements, expected bool or "
                 "integers", "--mask", "f.npy", "--mask-axes", "B,Lq,Lkv"),
                (BAD_INPUT, "--key-lengths[0] is 7, expected 0 to Lkv = 6",
                 "--key-lengths", "l.npy"),
                (BAD_INPUT, "--key-lengths[1] is -1, expected 0 to Lkv = 6",
                 "--key-lengths", "n.npy"),
                (BAD_INPUT, "--key-lengths has shape (3), expected (B) = (2)",
                 "--key-lengths", "l3.npy"),
                (BAD_INPUT, "--key-lengths: b.npy holds bool elements, expected "
                 "integers", "--key-lengths", "b.npy"),
                (BAD_INPUT, "--key-padding has shape (2, 3, 6), expected "
                 "(B, Lkv)", "--key-padding", "m.npy"),
                *((USAGE, f"--window is {window}, expected LEFT,RIGHT or "
                   "LEFT,RIGHT,KEEP_FIRST, whole numbers of 0 or greater; a "
                   "side may be inf, such as 128,0 or 128,inf",
                   "--window", window)
                  for window in ("4", "-1,0", "0,-1", "1,2,", "1,2,inf", "1,2,-1", "1,2,3,4", "1,", ",1",
                                 "1.5,2", "1, 2", "inf", "none,0",
                                 "9223372036854775808,0")),
                (BAD_INPUT, "--key-starts has shape (2, 3, 6), expected (B)",
                 "--key-starts", "m.npy"),
                (BAD_INPUT, "--key-starts: b.npy holds bool elements, expected "
                 "integers", "--key-starts", "b.npy"),
                (BAD_INPUT, "--key-starts[0] is 7, expected 0 to Lkv = 6",
                 "--key-starts", "l.npy"),
                (BAD_INPUT, "--documents has shape (2), expected (B, Lkv)",
                 "--documents", "l.npy"),
                (BAD_INPUT, "--query-documents has shape (2), expected "
                 "(B, Lq)", "--documents", "d.npy", "--query-documents",
                 "l.npy"),
                (BAD_INPUT, "--documents has shape (2, 6), expected "
                 "(B, Lq) = (2, 3); --query-documents gives the queries "
                 "other ids", "--documents", "d.npy"),
                (BAD_INPUT, "--query-documents[1, 1] is 1, expected at "
                 "least the 2 before it", "--documents", "d.npy",
                 "--query-documents", "dq.npy"),
                (USAGE, "--query-documents needs --documents", "--query-documents", "d.npy"),
                (BAD_INPUT, "--keep-mask has shape (2, 3, 6), expected "
                 "(B, H, Lq, Lkv)", "--keep-mask", "m.npy"),
                (BAD_INPUT, "--keep-mask has shape (2, 3, 3, 6), expected "
                 "(B, Hq, Lq, Lkv) = (2, 4, 3, 6)", "--keep-mask", "keep.npy"),
                (BAD_INPUT, "--sequence-ids has shape (2, 3, 6), expected (B)",
                 "--sequence-ids", "m.npy"),
                (USAGE, "--query-start is 1.5, expected a whole number, "
                 "bottom-right or a .npy file", "--query-start", "1.5")):
            with self.subTest(message):
                arguments = self.inputs(*opts)
                self.put("b.npy", 2, descr="|b1")
                self.put("keep.npy", 2, 3, 3, 6, descr="|b1")
                self.refuse(code, message, *arguments)

    def test_files_that_are_none(self):
        good = npy_bytes((2, 4, 3, 5))
        for content, message in (
                (b"", "--query: q.npy "),
                (b"PK", "--query: q.npy "),
                (good[:-1], "--query: q.npy "),
                (good[:20], "--query: q.npy "),
                (good + b"x", "--query: q.npy "),
                (npy_bytes((2, 4, 3, 5), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (2, 4, 3, 500)})), "--query: q.npy "),
                (npy_bytes((2,), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (2**62, 2**62, 1, 1)})), "--query: q.npy "),
                (npy_bytes((2,), header=str(
                    {"descr": "<f4", "fortran_order": False,
                     "shape": (-1, 4, 3, 5)})), "--query: q.npy "),
                (npy_bytes((2,), header="{'descr': '|O', 'fortran_order': "
                           "False, 'shape': (2,), }"), "object"),
                (npy_bytes((2,), header="{}"), "--query: q.npy ")):
            with self.subTest(content[:200]):
                arguments = self.inputs()
                (self.folder / "q.npy").write_bytes(content)
                self.refuse(BAD_INPUT, message, *arguments)
        arguments = self.inputs()
        (self.folder / "q.npy").unlink()
        self.fail_with(BAD_INPUT, "q.npy: No such file", *arguments)
        (self.folder / "q.npy").mkdir()
        self.fail_with(BAD_INPUT, "q.npy: Is a directory", *arguments)

    def test_options_name_themselves_beside_files_that_are_none(self):
        (self.folder / "torn.npy").write_bytes(npy_bytes((2, 6))[:-1])
        self.put("floats.npy", 2, 6)
        self.put("documents.npy", 2, 6, descr="<i8", values=(1,) * 12)
        self.put("bk.npy", 2, 5)
        self.put("bv.npy", 2, 7)
        for option, *beside in (
                ("--query",), ("--key",), ("--value",), ("--query-start",),
                ("--key-lengths",), ("--key-starts",), ("--key-padding",),
                ("--documents",),
                ("--query-documents", "--documents", "documents.npy"),
                ("--mask", "--mask-axes", "B,Lkv"),
                ("--bias", "--bias-axes", "B,Lkv"), ("--t5-bias",),
                ("--alibi",), ("--sinks",), ("--sequence-ids",),
                ("--bias-k", "--bias-v", "bv.npy"),
                ("--bias-v", "--bias-k", "bk.npy"),
                ("--keep-mask",)):
            for name, message in (("missing.npy", ": No such file"),
                                  ("torn.npy", " has ")):
                with self.subTest((option, name)):
                    arguments = list(self.inputs(*beside))
                    if option in arguments:
                        at = arguments.index(option)
                        arguments[at:at + 2] = []
                    self.refuse(
                        BAD_INPUT, f"headwise: {option}: {name}{message}",
                        *arguments, option, name)
            with self.subTest(option):
                self.refuse(USAGE, f"{option} is empty, expected a value",
                            *arguments, option, "")
                if option in ("--query", "--key", "--value", "--bias"):
                    continue  # floats are what they take
                line = self.refuse(BAD_INPUT, f"headwise: {option}",
                                   *arguments, option, "floats.npy")
                self.assertIn("expected", line)

    def test_a_keep_mask_of_no_dropout(self):
        self.put("keep.npy", 2, 4, 3, 6, descr="|b1")
        for opts in ((), ("--keep-mask", "keep.npy")):
            self.refuse(USAGE, "--keep-mask-out needs --dropout",
                        *self.inputs("--keep-mask-out", "kept.npy", *opts))
        self.refuse(USAGE, "--keep-mask-out is empty, expected a value",
                    *self.inputs("--dropout", "0.1", "--keep-mask-out", ""))

    def test_outputs_that_name_one_file(self):
        self.refuse(USAGE, "--scores-stage needs --scores-out FILE",
                    *self.inputs("--scores-stage", "raw"))
        for option in ("--attn-weights", "--lse", "--scores-out",
                       "--keep-mask-out"):
            self.refuse(USAGE, f"--out and {option} name one file, o.npy, "
                        "expected different ones", *self.inputs("--dropout", "0.1", option,
                                             "o.npy"))
        self.refuse(USAGE, "name one file",
                    *self.inputs("--dropout", "0.1", "--lse", "x.npy",
                                 "--keep-mask-out", "x.npy"))

    def test_an_option_without_its_value(self):
        for option, expected in (
                ("--window", "LEFT,RIGHT"), ("--softcap", "X"),
                ("--alibi", "F.npy|auto"), ("--offsets", "F.npy"),
                ("--bias-axes", "AXES"), ("--num-kv-heads", "N"),
                ("--keep-mask-out", "F.npy")):
            self.refuse(USAGE, f"{option} has no value, expected {expected}",
                        *self.inputs(option))
        for option, value in (("--window", "1,0"), ("--offsets", "l.npy"),
                              ("--alibi", "auto"), ("--softcap", "2")):
            self.refuse(USAGE, f"{option} was given more than once, expected "
                        "once", *self.inputs(option, value, option, value))

    def test_a_failure_to_write_leaves_the_others(self):
        self.fail_with(OUT_OF_RESOURCES, "No space left on device",
                       *self.inputs("--lse", "/dev/full"))
        self.assertEqual(self.left_over(), [])


if __name__ == "__main__":
    cli_case.main()
