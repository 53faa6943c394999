"""`headwise bench`: what it lists and prints. No test asserts a time.

    bench_test.py HEADWISE [unittest arguments]
"""
import json

import cli_case
from cli_case import BAD_INPUT, USAGE

FIELDS = ["workload", "cpu", "target", "threads", "arithmetic",
          "seconds_min", "seconds_median", "gflops", "fma_peak_gflops",
          "peak_fraction", "read_gb_s"]


class BenchTest(cli_case.CliTest):
    def test_the_list_names_shapes_and_work(self):
        text = self.succeed("bench", "--list")
        listed = [json.loads(line) for line in self.succeed(
            "bench", "--list", "--json").splitlines()]
        by_name = {one["workload"]: one for one in listed}
        self.assertEqual([line.split()[0] for line in text.splitlines()],
                         list(by_name))
        for name in ("bert", "gpt_causal", "long_full", "long_causal", "vit",
                     "cross", "bias", "attn_weights", "ragged", "seed",
                     "module", "seed_module", "bert_pad", "layer_768",
                     "layer_768_half", "layer_384", "layer_384_half"):
            self.assertIn(name, by_name)
        for field, none, names in (("bias", False, {"bias": True}),
                                   ("ragged", False, {"ragged": True}),
                                   ("rotary", False,
                                    {"gpt_layer_rotary": True}),
                                   ("bfloat16", False,
                                    {"bert_bf16": True,
                                     "gpt_causal_bf16": True}),
                                   ("shuffled", False,
                                    {"decode_shuffled": True}),
                                   ("chunk", 0, {"prefill_chunks": 512}),
                                   ("window", None, {"window": 1023})):
            for name, one in by_name.items():
                self.assertEqual(one[field], names.get(name, none), name)
        self.assertIsNone(by_name["decode_plain"]["cache"])
        self.assertEqual(by_name["decode_int8"]["cache"],
                         {"dtype": "int8", "page_size": 0,
                          "value_is_key_prefix": False})
        mla = by_name["decode_mla"]
        self.assertEqual((mla["D"], mla["Dv"]), (576, 512))
        self.assertTrue(mla["cache"]["value_is_key_prefix"])
        ragged = by_name["ragged"]["lengths"]
        self.assertEqual((len(ragged), min(ragged), max(ragged)),
                         (64, 5, 512))
        pairs = 8 * 12 * 512 * 512
        layer_pairs = 8 * 12 * 256 * 256
        tokens = 8 * 256
        for name, gflop in (
                ("bert", 4 * pairs * 64e-9),
                ("bert_pad", 2 * pairs * 64e-9),
                ("bert_causal", 4 * 8 * 12 * 512 * 513 / 2 * 64e-9),
                ("cross", 4 * 4 * 8 * 128 * 1024 * 64e-9),
                ("bias", by_name["bert"]["gflop"]),
                ("ragged", 4 * 12 * sum(n * n for n in ragged) * 64e-9),
                # The first 1024 rows see one key more each.
                ("window", 4 * 8 * (1024 * 1025 / 2 + 7168 * 1024) * 64e-9),
                ("gqa_causal", by_name["gpt_causal"]["gflop"]),
                ("module", (4 * pairs * 64 + 8 * 8 * 512 * 768**2) * 1e-9),
                ("gpt_layer", by_name["gpt_causal"]["gflop"] +
                 8 * 2048 * 4096**2 * 1e-9),
                ("layer_768",
                 (4 * layer_pairs * 64 + 8 * tokens * 768 * 768) * 1e-9),
                ("layer_768_half",
                 (4 * layer_pairs // 2 * 64 + 8 * tokens * 768 * 384) * 1e-9),
                ("layer_384",
                 (4 * layer_pairs * 32 + 8 * tokens * 384 * 384) * 1e-9),
                ("layer_384_half",
                 (4 * layer_pairs // 2 * 32 + 8 * tokens * 384 * 192) * 1e-9)):
            self.assertAlmostEqual(by_name[name]["gflop"], gflop, 9, name)
        self.assertEqual(sum(by_name["bert_pad"]["lengths"]), 8 * 512 // 2)
        self.assertRegex(text, r"\nmodule .* B 8 H 12 L 512 E 768\n")
        self.assertRegex(text, r"\nlayer_768_half .* E 768, heads of 64\n")
        self.assertRegex(text, r"\ndecode_mla .* D 576 Dv 512, causal, float32, "
                               r"contiguous\n")
        self.assertRegex(text, r"\nbert_bf16 .* D 64, bfloat16\n")

    def test_a_run_is_one_object_on_one_line(self):
        sets = self.succeed("info").split("instruction sets: ")[1].split("\n")[0]
        gflop = 4 * 10 * 8 * 20 * 20 * 64e-9
        for threads in ("1", "2"):
            text = self.succeed("bench", "--workload", "seed", "--rounds", "1",
                                "--threads", threads, "--json")
            self.assertEqual(text.count("\n"), 1)
            result = json.loads(text)
            self.assertEqual(list(result), FIELDS)
            self.assertEqual(result["workload"], "seed")
            self.assertIn(result["target"], sets.split())
            self.assertLessEqual(result["threads"], int(threads))
            self.assertEqual(result["arithmetic"], "exact")
            for field in FIELDS[5:]:
                self.assertGreater(result[field], 0, field)
            # One round is its own least and its own median.
            self.assertEqual(result["seconds_min"], result["seconds_median"])
            self.assertAlmostEqual(
                result["gflops"] * result["seconds_min"] / gflop, 1, 6)
            self.assertAlmostEqual(
                result["peak_fraction"] * result["fma_peak_gflops"] /
                result["gflops"], 1, 6)

    def test_bf16_is_measured_against_its_own_peak(self):
        text = self.succeed("bench", "--workload", "seed", "seed_module",
                            "--rounds", "1", "--arithmetic", "bf16", "--json")
        for line in text.splitlines():
            result = json.loads(line)
            self.assertEqual(result["arithmetic"], "bf16")
            self.assertNotIn("fma_peak_gflops", result)
            self.assertAlmostEqual(
                result["peak_fraction"] * result["bf16_peak_gflops"] /
                result["gflops"], 1, 6)
        self.fail_with(USAGE, "--arithmetic is for --device cpu", "bench",
                       "--workload", "seed", "--arithmetic", "bf16",
                       "--device", "cuda")

    def test_a_forced_instruction_set_is_the_one_measured(self):
        sets = self.succeed("info").split("instruction sets: ")[1].split("\n")[0]
        target = sets.split()[-1]
        text = self.succeed("bench", "--workload", "seed", "--rounds", "1",
                            "--json", env={"HEADWISE_TARGET": target})
        self.assertEqual(json.loads(text)["target"], target)

    def test_the_table_has_a_row_a_workload_in_the_order_of_the_list(self):
        lines = self.succeed("bench", "--workload", "seed_module", "seed",
                             "--rounds", "2").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["workload", "seed", "seed_module"])
        self.assertEqual(len(lines[2]), len(lines[1]))

    def test_a_gpu_is_measured_or_missed_in_words(self):
        arguments = ("bench", "--workload", "seed", "--rounds", "1",
                     "--device", "cuda", "--json")
        done = self.run_it(*arguments)
        if done.returncode == 0:
            result = json.loads(done.stdout)
            self.assertEqual(list(result), ["workload", "gpu", "dtype",
                                            "seconds_min", "seconds_median",
                                            "gflops"])
        else:
            self.assertFalse(done.stdout)
            self.assertIn(b"device is cuda", done.stderr)
        self.fail_with(USAGE, "--dtype is for --device cuda", "bench",
                       "--workload", "seed", "--dtype", "float16")
        self.fail_with(USAGE, "--device is tpu, expected one of cpu, cuda",
                       "bench", "--list", "--device", "tpu")

    def test_mistakes_are_usage(self):
        for message, *arguments in (
                ("--workload is bret, expected one of bert, ", "--workload",
                 "bret"),
                ("; did you mean bert?", "--workload", "bret"),
                ("--threads is 0, expected a whole number, 1 or greater",
                 "--workload", "seed", "--threads", "0"),
                ("--rounds is -1, expected", "--list", "--rounds", "-1"),
                ("expected either --workload or --list",),
                ("expected either --workload or --list", "--list",
                 "--workload", "seed"),
                ("--workload has no value", "--workload")):
            with self.subTest(message):
                self.fail_with(USAGE, message, "bench", *arguments)
        self.fail_with(BAD_INPUT, "HEADWISE_TARGET is abacus", "bench",
                       "--workload", "seed", env={"HEADWISE_TARGET": "abacus"})


if __name__ == "__main__":
    cli_case.main()
