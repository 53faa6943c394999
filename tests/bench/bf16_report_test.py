"""The tables of comparisons in bfloat16, from numbers that are known."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import bf16_report  # noqa: E402
import encode_bf16_report  # noqa: E402
import rankings  # noqa: E402

SWAPS = {"of": 1000, "swapped": 20, "largest_swap": 3e-5,
         "largest_difference": 4e-5}


def peer(library, seconds, arithmetic="bf16", **more):
    return {"library": library, "state": "ok", "version": library + " 1",
            "arithmetic": arithmetic, "rms_error": 2e-3, "max_abs_error": 1e-2,
            "cosine_gap": 5e-5, "swaps": SWAPS, "runs": 3, "seconds": seconds,
            **more}


def result(name, threads=1):
    """headwise takes 2 s in float32 and 1 s in bf16; OpenVINO 1.5 s."""
    peers = {"headwise": peer("headwise", [2.0] * 3, "exact", rms_error=1e-7),
             "headwise_in_bf16": peer("headwise", [1.0] * 3, rms_error=3e-3,
                                      max_abs_error=6e-3),
             "torch_sdpa_bf16": peer("torch", [4.0] * 3, rms_error=4e-3),
             "torch_matmul_bf16": peer("torch", [9.0] * 3, rms_error=2.5e-3,
                                       max_abs_error=8e-3),
             "openvino_bf16": peer("openvino", [1.5] * 3, rms_error=1e-3)}
    return {"workload": name, "threads": threads, "gflop": 80.0,
            "sentences": 10, "tokens": {"total": 24, "least": 6, "median": 12.0,
                                        "ninth_decile": 15, "most": 18},
            "timed": list(peers), "order": [list(peers)] * 3,
            "fma_peak_gflops": [[100] * 6] * 3,
            "bf16_peak_gflops": [[200] * 6] * 3,
            "read_gb_s": [[5] * 6] * 3, "peers": peers}


CONDITIONS = {"cpu": "A CPU", "date": "2026-01-02", "headwise": "abc",
              "rounds": 3, "cpus": 2, "load_average": [0.1, 0.2],
              "model": {"name": "a/model", "safetensors_bytes": 2**20}}
DATA = {"conditions": CONDITIONS, "results": [result("bert"),
                                              result("bert", threads=2)]}


class Bf16ReportTest(unittest.TestCase):
    def test_a_share_is_of_the_peak_of_the_form_s_arithmetic(self):
        self.assertAlmostEqual(bf16_report.share(result("x"), "headwise"), 0.4)
        self.assertAlmostEqual(
            bf16_report.share(result("x"), "headwise_in_bf16"), 0.4)
        self.assertAlmostEqual(
            bf16_report.share(result("x"), "torch_sdpa_bf16"), 0.1)

    def test_errors_are_compared_with_the_most_exact_form_of_pytorch(self):
        self.assertEqual(bf16_report.most_exact(result("x")),
                         "torch_matmul_bf16")
        self.assertAlmostEqual(
            bf16_report.error_ratio(result("x"), "rms_error"), 1.2)
        self.assertAlmostEqual(
            bf16_report.error_ratio(result("x"), "max_abs_error"), 0.75)

    def test_the_table_says_all_of_it(self):
        text = bf16_report.markdown(DATA)
        self.assertIn("| `bert` | 2 s | 1 s | 2.00x | 0.400 "
                      "| openvino_bf16, 1.5 s | 0.267 | 1.50x | 100, 200 |",
                      text)
        # Once for all numbers of threads.
        self.assertEqual(text.count(
            "| `bert` | 3.00e-03 | 2.50e-03 | 1.20 | 6.00e-03 | 8.00e-03 "
            "| 0.75 | torch_matmul_bf16 |"), 1)
        self.assertEqual(text.count("\n| headwise_in_bf16 (headwise 1) | 1 s "
                                    "| 1 s | 0.400 |"), 2)

    def test_what_is_written_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "r.json"
            bf16_report.write(DATA, file)
            self.assertEqual(json.loads(file.read_text()), DATA)
            self.assertEqual(file.with_suffix(".md").read_text(),
                             bf16_report.markdown(DATA))


class EncodeBf16ReportTest(unittest.TestCase):
    def test_the_table_says_all_of_it(self):
        text = encode_bf16_report.markdown(
            {"conditions": CONDITIONS, "memory": [],
             "results": [result("encode_1000")]})
        self.assertIn("| `encode_1000` | 1 | openvino_bf16 | 6.667/s | 1.50x |",
                      text)
        self.assertIn("| `encode_1000` | 1 | 100.0 | 200.0 |", text)
        self.assertIn("| headwise_in_bf16 | 5.0e-05 | 4.0e-05 | 20 | 2.00% "
                      "| 3.0e-05 |", text)
        self.assertIn("has 1000 pairs of pairs of sentences", text)


class RankingsTest(unittest.TestCase):
    def test_pairs_of_another_order_are_counted(self):
        # 0.4 falls behind 0.1 and both 0.3; these two have no order.
        self.assertEqual(rankings.swaps([0.1, 0.4, 0.3, 0.3, 0.9],
                                        [0.2, 0.15, 0.3, 0.25, 0.9]),
                         {"of": 10, "swapped": 3, "largest_swap": 0.4 - 0.1,
                          "largest_difference": 0.25})

    def test_the_pairs_are_of_two_sentences_and_the_same_each_time(self):
        pairs = list(rankings.drawn_pairs(5))
        self.assertEqual(len(pairs), 1000)
        self.assertTrue(all(one != other and 0 <= one < 5 and 0 <= other < 5
                            for one, other in pairs))
        self.assertEqual(pairs, list(rankings.drawn_pairs(5)))


if __name__ == "__main__":
    unittest.main()
