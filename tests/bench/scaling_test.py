"""What bench/scaling_model.py makes of measurements, with the real model.

    scaling_test.py HEADWISE
"""
import argparse
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import scaling_model  # noqa: E402
import scaling_report  # noqa: E402

LENGTH, HEADS, SIZE = 8192, 8, 64
PAIRS = LENGTH * (LENGTH + 1) / 2
# Of the forward pass; a pass with gradients has nine products in place of two.
GFLOP = 2 * 2 * PAIRS * HEADS * SIZE / 1e9


def measured(which, ranks, each, together):
    return {"ranks": ranks, "length": LENGTH, "heads": HEADS, "head_dim": SIZE,
            "pass": which, "pieces": 0, "chunk_keys": 3072,
            "bytes_per_second": 1e12, "latency_seconds": 1e-9, "speedup": 1,
            "alone": [each] * 3, "together": [together] * 3, "each": [each] * 3}


class ScalingTest(unittest.TestCase):
    def check(self, which, ranks, each, together):
        return scaling_model.compared(
            HEADWISE, measured(which, ranks, each, together), 0.15)

    def test_the_rate_is_that_of_the_products_in_chunks(self):
        forward = self.check("forward", 2, 1.0, 0.5)
        self.assertAlmostEqual(forward["gflops"], GFLOP, delta=1e-3 * GFLOP)
        both = self.check("backward", 2, 4.5, 2.25)
        self.assertAlmostEqual(both["gflops"], GFLOP, delta=1e-3 * GFLOP)

    def test_two_ranks_on_fast_links_take_half_and_a_little(self):
        done = self.check("forward", 2, 1.0, 0.5)
        self.assertGreater(done["predicted_seconds"], 0.5)
        self.assertLess(done["predicted_seconds"], 0.65)
        self.assertAlmostEqual(done["error"], done["predicted_seconds"] / 0.5 - 1)

    def test_the_tables_have_every_number_of_ranks(self):
        options = argparse.Namespace(headwise=HEADWISE, cores=64, bandwidth=12.5,
                                     latency=10.0)
        prediction = scaling_model.predict(options, 50.0, 8, 65536, "forward")
        checks = [self.check(which, 2, 1.0, 0.5) for which in ("forward", "backward")]
        data = {
            "conditions": {"cpu": "a CPU", "date": "2026-01-02", "headwise": "abc",
                           "rounds": 3, "load_average": [0.1, 0.2]},
            "call": scaling_model.CALL,
            "machine": {"cores": 64, "gb_s": 12.5, "latency_us": 10},
            "checks": checks,
            "strong": [prediction, {**prediction, "pass": "backward"}],
            "weak": [prediction]}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scaling.json"
            scaling_report.write(data, file)
            self.assertEqual(json.loads(file.read_text(encoding="utf-8")), data)
            text = file.with_suffix(".md").read_text(encoding="utf-8")
        self.assertIn("| 2 | 8,192 | forward | 1 s | 500 ms |", text)
        self.assertEqual(text.count("| 8 | 65,536 |"), 3)
        self.assertIn("| zig-zag, published | 85.0% | 90.0% |", text)


if __name__ == "__main__":
    HEADWISE = sys.argv.pop(1)
    unittest.main()
