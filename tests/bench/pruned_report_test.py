"""The table of layers with half of their heads, from numbers that are known."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import pruned_report  # noqa: E402


def layer(gflop, seconds):
    return {"library": "headwise", "gflop": gflop, "state": "ok",
            "version": "headwise avx2", "rms_error": 2e-7,
            "max_abs_error": 1e-6, "runs": 3, "seconds": seconds}


RESULT = {
    "threads": 2, "timed": ["layer_8", "layer_8_half"],
    "order": [["layer_8", "layer_8_half"], ["layer_8_half", "layer_8"]] * 2 +
             [["layer_8", "layer_8_half"]],
    # 10 around the whole layer, 20 around its half.
    "fma_peak_gflops": [[5, 15, 25], [25, 15, 5]] * 2 + [[5, 15, 25]],
    "read_gb_s": [[5, 5, 5]] * 5,
    "peers": {"layer_8": layer(8.0, [1.0, 2.0, 4.0, 8.0, 16.0]),
              # 0.5, 0.6, 0.9, 0.4 and 0.55 of them
              "layer_8_half": layer(4.0, [0.5, 1.2, 3.6, 3.2, 8.8])}}
DATA = {"conditions": {"cpu": "A CPU", "date": "2026-01-02", "headwise": "abc",
                       "rounds": 5, "cpus": 2, "load_average": [0.1, 0.2]},
        "results": [RESULT]}


class PrunedReportTest(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_between_its_quartiles(self):
        # The ratio of the medians would be 3.2 / 4; shares are 8 / 4 / 10 and
        # 4 / 3.2 / 20.
        self.assertEqual(
            pruned_report.table([RESULT])[2:],
            ["| `layer_8` | 2 | 4 s | 3.2 s | 0.550 | 0.500 to 0.600 | 0.500 "
             "| 0.200 | 0.062 | 15.0 |"])

    def test_a_layer_without_its_half_has_no_row(self):
        alone = {**RESULT, "timed": ["layer_8"]}
        self.assertEqual(len(pruned_report.table([alone])), 2)

    def test_what_is_written_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "r.json"
            pruned_report.write(DATA, file)
            self.assertEqual(json.loads(file.read_text()), DATA)
            text = file.with_suffix(".md").read_text()
            self.assertEqual(text, pruned_report.markdown(DATA))
            self.assertIn("headwise abc, 5 rounds, 2 processors, load average "
                          "0.1 before and 0.2 after.", text)


if __name__ == "__main__":
    unittest.main()
