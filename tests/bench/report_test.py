"""The table and the plot of a comparison, from numbers that are known."""
import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402


def peer(library, seconds, **more):
    return {"library": library, "state": "ok", "version": library + " 1",
            "rms_error": 2e-7, "max_abs_error": 1e-6, "runs": 3,
            "seconds": seconds, **more}


def result(name, threads=1, scale=1.0):
    """headwise takes 1, 2 and 4 s for 8 GFLOP while the peak around it is 10,
    10 and 20 GFLOP/s; torch's faster form takes 2, 8 and 4 s."""
    return {"workload": name, "threads": threads, "gflop": 8.0,
            "timed": ["headwise", "torch_sdpa", "torch_matmul"],
            "fma_peak_gflops": [[10, 10, 10, 10], [8, 12, 12, 12],
                                [20, 20, 20, 20]],
            "read_gb_s": [[5, 5, 5, 7]] * 3,
            "peers": {"headwise": peer("headwise",
                                       [scale, 2 * scale, 4 * scale]),
                      "torch_sdpa": peer("torch", [2.0, 8.0, 4.0]),
                      "torch_matmul": peer("torch", [9.0, 9.0, 9.0]),
                      "jax": {"library": "jax", "state": "wrong",
                              "why": "relative RMS error 1.0e+00"},
                      "numpy": {"library": "numpy", "state": "unsupported",
                                "why": "no such form"}}}


DATA = {"conditions": {"cpu": "A <CPU> & more", "date": "2026-01-02",
                       "headwise": "abc", "rounds": 3, "cpus": 2,
                       "load_average": [0.1, 0.2]},
        "results": [result("bert"), result("bert_pad", scale=0.5)]}


class ReportTest(unittest.TestCase):
    def test_a_share_is_of_the_peak_around_the_run_of_the_same_round(self):
        # 8/1/10, 8/2/10, 8/4/20
        self.assertAlmostEqual(report.share(result("x"), "headwise"), 0.4)
        # 8/2/10, 8/8/12, 8/4/20
        self.assertAlmostEqual(report.share(result("x"), "torch_sdpa"), 0.1)

    def test_the_peak_around_a_run_is_found_in_the_order_of_its_round(self):
        shuffled = result("x")
        shuffled["fma_peak_gflops"] = [[10, 20, 30, 40]] * 3
        shuffled["order"] = [["torch_sdpa", "torch_matmul", "headwise"],
                             ["headwise", "torch_sdpa", "torch_matmul"],
                             ["torch_matmul", "headwise", "torch_sdpa"]]
        # 8/1/35, 8/2/15, 8/4/25
        self.assertAlmostEqual(report.share(shuffled, "headwise"), 8 / 35)

    def test_the_fastest_form_stands_for_a_library(self):
        self.assertEqual(report.best_of(result("x"), "torch"), "torch_sdpa")
        self.assertIsNone(report.best_of(result("x"), "jax"))
        self.assertEqual(report.best_peer(result("x")), "torch_sdpa")

    def test_a_speedup_is_the_median_of_the_ratios_of_the_rounds(self):
        self.assertEqual(report.speedup(result("x"), "torch_sdpa"), 2.0)

    def test_forms_stand_beside_the_read_bandwidth_and_one_another(self):
        cached = result("decode")
        cached["peers"]["headwise"]["bytes"] = 10e9
        cached["peers"]["headwise_bf16"] = peer(
            "headwise", [0.5, 0.5, 2.0], dtype="bf16", bytes=5e9)
        cached["peers"]["torch_sdpa_bf16"] = peer("torch", [0.1] * 3,
                                                  dtype="bf16")
        cached["timed"] += ["headwise_bf16", "torch_sdpa_bf16"]
        cached["read_gb_s"] = [[5, 5, 5, 5, 5, 5]] * 3
        cached["fma_peak_gflops"] = [[10] * 6] * 3
        # 10/1/5, 10/2/5, 10/4/5
        self.assertAlmostEqual(report.read_share(cached, "headwise"), 1.0)
        self.assertIsNone(report.read_share(cached, "torch_sdpa"))
        # Neither other numbers nor another form of headwise stand for them.
        self.assertEqual(report.best_peer(cached), "torch_sdpa")
        self.assertEqual(report.best_of(cached, "headwise"), "headwise")
        self.assertEqual(report.own_forms([cached])[2:-1], [
            "| `decode` | headwise | 2 s | 1.000 | 0.400 | 1.00x | 2.00x |",
            "| `decode` | headwise_bf16 | 500 ms | 2.000 | 1.600 | 2.00x "
            "| 4.00x |"])
        self.assertEqual(report.own_forms([result("bert")]), [])

    def test_the_table_says_all_of_it(self):
        text = report.markdown(DATA)
        self.assertIn("| `bert` | 2 s | 0.400 | torch_sdpa, 4 s "
                      "| 0.100 | 2.00x | 12.0 | 5.0 |", text)
        self.assertIn("`bert_pad` takes 0.50 of the time of `bert`.", text)
        self.assertIn("Not timed: jax (wrong: relative RMS error 1.0e+00).",
                      text)
        self.assertIn("| torch_sdpa (torch 1) | 4 s | 2 s | 0.100 "
                      "| 2.00e-07 | 1.00e-06 |", text)

    def test_what_is_written_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "r.json"
            report.write(DATA, file)
            self.assertEqual(json.loads(file.read_text()), DATA)
            drawn = xml.etree.ElementTree.parse(file.with_suffix(".svg"))
            bars = [e for e in drawn.iter("{http://www.w3.org/2000/svg}rect")
                    if e.get("width") != "100%"]
            # Two libraries a workload; 0.4 of 500, and 0.8 of it.
            self.assertEqual([b.get("width") for b in bars],
                             ["200.0", "50.0", "400.0", "50.0"])
            self.assertEqual(file.with_suffix(".md").read_text(),
                             report.markdown(DATA))


if __name__ == "__main__":
    unittest.main()
