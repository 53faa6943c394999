"""The table of a comparison of `headwise encode`, from numbers that are known, and
what the comparison asks of embeddings and sentences."""
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import encode_report  # noqa: E402
import sentences  # noqa: E402


def peer(library, seconds):
    return {"library": library, "state": "ok", "version": library + " 1",
            "cosine_gap": 3e-13, "max_abs_error": 2e-7, "runs": 3,
            "seconds": seconds}


def result(name, count, scale):
    """headwise takes 1, 2 and 4 times `scale`; the faster of ONNX Runtime's forms
    2, 3 and 20 times, sentence-transformers ten times as long."""
    return {"workload": name, "threads": 2, "sentences": count,
            "tokens": {"total": 24, "least": 6, "median": 12.0,
                       "ninth_decile": 15, "most": 18},
            "timed": ["headwise", "sentence_transformers", "ort_export",
                      "ort_fused"],
            "order": [["ort_fused", "headwise", "ort_export",
                       "sentence_transformers"]] * 3,
            "fma_peak_gflops": [[10, 10, 10, 10, 10], [8, 12, 12, 12, 12],
                                [20, 20, 20, 20, 20]],
            "read_gb_s": [[5, 5, 5, 5, 7]] * 3,
            "peers": {
                "headwise": peer("headwise",
                                 [scale, 2 * scale, 4 * scale]),
                "sentence_transformers": peer(
                    "sentence_transformers",
                    [10 * scale, 20 * scale, 40 * scale]),
                "ort_export": peer("onnxruntime", [9 * scale] * 3),
                "ort_fused": peer("onnxruntime",
                                  [2 * scale, 3 * scale, 20 * scale]),
                "ort_other": {"library": "onnxruntime", "state": "wrong",
                              "why": "a cosine is less than 1 by 2.0e-06"}}}


DATA = {"conditions": {"cpu": "A CPU", "date": "2026-01-02", "headwise": "abc",
                       "rounds": 3, "cpus": 2, "load_average": [0.1, 0.2],
                       "model": {"name": "a/model",
                                 "safetensors_bytes": 80 * 2**20}},
        "memory": [{"workload": "many", "threads": 2, "VmHWM": 120 * 2**20,
                    "RssAnon": 36 * 2**20, "RssFile": 84 * 2**20,
                    "RssShmem": 0}],
        "results": [result("many", 1000, 1.0), result("one", 1, 1e-3)]}


class EncodeReportTest(unittest.TestCase):
    def setUp(self):
        self.text = encode_report.markdown(DATA)

    def test_many_sentences_are_told_as_a_rate(self):
        # Of ONNX Runtime the median of 2/1, 3/2 and 20/4.
        self.assertIn("| `many` | 2 | 500/s | 50/s | 10.00x | 333.3/s | 2.00x "
                      "| 12.0 |", self.text)

    def test_one_sentence_is_told_as_a_time(self):
        self.assertIn("| `one` | 2 | 2 ms | 20 ms | 10.00x | 3 ms | 2.00x "
                      "| 12.0 |", self.text)

    def test_a_library_without_a_result_leaves_its_cells_empty(self):
        alone = result("many", 1000, 1.0)
        alone["timed"].remove("sentence_transformers")
        self.assertIn("| `many` | 2 | 500/s | - | - | 333.3/s | 2.00x | 12.0 |",
                      "\n".join(encode_report.summary([alone])))

    def test_memory_stands_beside_the_size_of_the_file(self):
        self.assertIn("| `many` | 2 | 36.0 MiB | 0.450 | 84.0 MiB "
                      "| 120.0 MiB |", self.text)
        self.assertIn("`model.safetensors` has 80.0 MiB", self.text)

    def test_every_peer_is_told_and_who_was_not_timed(self):
        self.assertIn("| ort_fused (onnxruntime 1) | 3 s | 2 s | 333.3 "
                      "| 3.0e-13 | 2.00e-07 |", self.text)
        self.assertIn("Not timed: ort_other (wrong: a cosine is less than 1 by "
                      "2.0e-06).", self.text)
        self.assertIn("1000 sentence(s), 24 tokens: from 6 to 18 a sentence, "
                      "median 12, nine in ten at most 15.", self.text)

    def test_what_is_written_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "r.json"
            encode_report.write(DATA, file)
            self.assertEqual(json.loads(file.read_text()), DATA)
            self.assertEqual(file.with_suffix(".md").read_text(), self.text)


class SentencesTest(unittest.TestCase):
    def test_their_lengths_are_mixed_around_the_median(self):
        words = sorted(len(line.split())
                       for line in sentences.WORKLOADS["encode_1000"])
        self.assertEqual(len(words), 1000)
        self.assertEqual((words[0], words[500], words[-1]), (3, 18, 120))

    def test_they_are_the_same_each_time(self):
        self.assertEqual(sentences.mixed(1000),
                         sentences.WORKLOADS["encode_1000"])
        self.assertEqual(
            sentences.WORKLOADS["encode_1000"][1],
            "Station rain lamp small garden might if represents.")


if __name__ == "__main__":
    unittest.main()
