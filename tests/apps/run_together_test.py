"""`headwise run --parallel`: several processes write the files of one.

    run_together_test.py HEADWISE [FIXTURES] [TEST...]

Needs mpirun and a command that was built with MPI, as HEADWISE_MPIRUN says.
"""
import math
import os
import random
import subprocess
import unittest

import cli_case
import params_case
from cli_case import BAD_INPUT, OUT_OF_RESOURCES, SECONDS, USAGE
from run_case import RunCase
from together_case import ENVIRONMENT, MPIRUN, said_in

H, HKV, D, DV = 4, 2, 5, 7


class CallCase(RunCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1)

    def put_random(self, name, *shape):
        count = 1
        for extent in shape:
            count *= extent
        self.put(name, *shape,
                 values=[self.random.uniform(-1, 1) for _ in range(count)])

    def call(self, *options, query=(1, H, 900, D), keys=900):
        """A call whose tokens are cut into three shards."""
        batch = query[0]
        self.put_random("q.npy", *query)
        self.put_random("k.npy", batch, HKV, keys, D)
        self.put_random("v.npy", batch, HKV, keys, DV)
        return ("run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
                "--threads", "1", *options)

    def mpirun(self, ranks, *arguments):
        return self.mpirun_words("-n", str(ranks), cli_case.HEADWISE, *arguments)

    def refuse_two(self, call, of_rank_1, message, scheme="context"):
        """Two processes with different commands, of which one says why they end."""
        (self.folder / "o.npy").unlink(missing_ok=True)
        words = ("--parallel", scheme, "--deadline", "60", "--out", "o.npy")
        one = ("-n", "1", cli_case.HEADWISE)
        done = self.mpirun_words(*one, *call, *words, ":", *one, *of_rank_1, *words)
        self.assertEqual(len(said_in(done)), 1, done)
        self.assertIn(message, said_in(done)[0])
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.folder / "o.npy").exists())

    def mpirun_words(self, *words):
        return subprocess.run(
            [MPIRUN, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=SECONDS,
            env={**os.environ, **ENVIRONMENT})


class AloneTest(CallCase):
    def test_one_process_is_a_job_of_one(self):
        call = self.call("--causal")
        self.succeed(*call, "--out", "alone.npy")
        self.succeed(*call, "--out", "o.npy", "--parallel", "auto")
        self.assertEqual((self.folder / "o.npy").read_bytes(),
                         (self.folder / "alone.npy").read_bytes())

    def test_options_that_do_not_go_together(self):
        call = self.inputs()
        self.refuse(USAGE, "--deadline needs --parallel", *call, "--deadline", "5")
        self.refuse(USAGE, "--attn-weights cannot be used with --parallel context", *call,
                    "--parallel", "context", "--attn-weights", "a.npy")
        cached = (*call, "--cache", "paged", "--parallel")
        self.refuse(USAGE, "--cache cannot be used with --parallel heads", *cached, "heads")
        self.refuse(USAGE, "--cache contiguous cannot be used with --parallel", *call,
                    "--cache", "contiguous", "--parallel", "auto")
        self.refuse(USAGE, "--lse cannot be used with --cache and --parallel", *cached,
                    "auto", "--lse", "l.npy")


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class TogetherTest(CallCase):
    def assert_same_files(self, ranks, *call, scheme="context", layout=()):
        said = self.succeed(*call, *layout, "--out", "alone.npy", "--lse",
                            "alone_lse.npy")
        done = self.mpirun(ranks, *call, *layout, "--parallel", scheme,
                           "--out", "o.npy", "--lse", "lse.npy")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))
        for name, alone in (("o.npy", "alone.npy"), ("lse.npy", "alone_lse.npy")):
            self.assertEqual((self.folder / name).read_bytes(),
                             (self.folder / alone).read_bytes(), name)
        self.assertEqual(self.left_over(), [])

    def test_two_to_four_processes(self):
        call = self.call("--causal")
        for ranks in (2, 3, 4):
            with self.subTest(ranks=ranks):
                self.assert_same_files(ranks, *call)

    def test_numbers_that_are_beyond_any_sequence(self):
        call = self.call("--window", "300000000000000,0")
        self.assert_same_files(2, *call, layout=("--query-start", "5"))
        done = self.mpirun(2, *call, "--parallel", "auto", "--deadline",
                           "18446744073709551615", "--out", "o.npy")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_by_heads(self):
        self.assert_same_files(2, *self.call("--window", "300,20"), scheme="heads")

    def test_a_batch_in_bfloat16_with_padding(self):
        call = self.call("--key-lengths", "lengths.npy", "--dtype", "bfloat16",
                         query=(2, H, 500, D), keys=420)
        self.put("lengths.npy", 2, descr="<i8", values=(400, 17))
        self.assert_same_files(3, *call, scheme="auto")

    def test_a_ragged_batch(self):
        self.put("offsets.npy", 4, descr="<i8", values=(0, 20, 20, 900))
        for name, heads, size in (("q", H, D), ("k", HKV, D), ("v", HKV, DV)):
            self.put_random(f"{name}.npy", 900, heads, size)
        self.assert_same_files(
            2, "run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
            "--offsets", "offsets.npy", "--causal", "--threads", "1")

    def test_rows_of_files_of_every_layout(self):
        """Each process reads its rows: one after another, or of each head."""
        files = ("run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
                 "--threads", "1", "--causal")
        sizes = (("q", H, D), ("k", HKV, D), ("v", HKV, DV))
        for name, heads, size in sizes:
            self.put_random(f"{name}.npy", 2, 500, heads, size)
        self.assert_same_files(3, *files, layout=("--layout", "blhd"))
        for name, heads, size in sizes:
            self.put_random(f"{name}.npy", heads, 900, size)
        self.assert_same_files(2, *files)
        for name, heads, size in sizes:
            self.put_random_tensor(f"{name}.safetensors", heads, 900, size)
        self.assert_same_files(2, *(file.replace(".npy", ".safetensors")
                                    for file in files))

    def put_random_tensor(self, name, *shape):
        self.put_random(name, *shape)
        path = self.folder / name
        values = path.read_bytes()[-4 * math.prod(shape):]
        path.write_bytes(params_case.safetensors_bytes(
            {"x": ("float32", shape, values)}))

    def test_gradients(self):
        call = self.call("--causal", "--d-output", "do.npy", query=(1, H, 820, D),
                         keys=820)
        self.put_random("do.npy", 1, H, 820, DV)
        self.succeed(*call, "--out", "alone.npy", "--grad-dir", "alone")
        for scheme in ("context", "heads"):
            with self.subTest(scheme=scheme):
                done = self.mpirun(2, *call, "--parallel", scheme, "--out", "o.npy",
                                   "--grad-dir", scheme)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assert_same_gradients(scheme, ["d_key.npy", "d_query.npy",
                                                    "d_value.npy"])

    def assert_same_gradients(self, folder, names):
        self.assertEqual(sorted(os.listdir(self.folder / "alone")), names)
        self.assertEqual(sorted(os.listdir(self.folder / folder)), names)
        for name in names:
            self.assertEqual((self.folder / folder / name).read_bytes(),
                             (self.folder / "alone" / name).read_bytes(), name)

    def test_gradients_of_options_and_dropout(self):
        call = self.call(
            "--causal", "--bias", "bias.npy", "--bias-axes", "Lq,Lkv", "--alibi",
            "slopes.npy", "--sinks", "sinks.npy", "--bias-k", "bk.npy", "--bias-v",
            "bv.npy", "--zero-attn", "--dropout", "0.2", "--dropout-seed", "7", "--d-output",
            "do.npy", query=(2, H, 400, D), keys=400)
        for name, shape in {"do": (2, H, 400, DV), "bias": (400, 400), "slopes": (H,),
                            "sinks": (H,), "bk": (HKV, D), "bv": (HKV, DV)}.items():
            self.put_random(f"{name}.npy", *shape)
        self.succeed(*call, "--out", "alone.npy", "--grad-dir", "alone",
                     "--keep-mask-out", "kept_alone.npy")
        for scheme in ("context", "heads"):
            with self.subTest(scheme=scheme):
                done = self.mpirun(2, *call, "--parallel", scheme, "--out", "o.npy",
                                   "--grad-dir", scheme, "--keep-mask-out", "kept.npy")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for name, alone in (("o.npy", "alone.npy"),
                                    ("kept.npy", "kept_alone.npy")):
                    self.assertEqual((self.folder / name).read_bytes(),
                                     (self.folder / alone).read_bytes(), name)
                self.assert_same_gradients(scheme, [
                    "d_alibi.npy", "d_bias.npy", "d_bias_k.npy", "d_bias_v.npy",
                    "d_key.npy", "d_query.npy", "d_sinks.npy", "d_value.npy"])

    def test_weights_scores_and_their_gradients(self):
        call = self.call(
            "--causal", "--zero-attn", "--scores-stage", "bias", "--d-output", "do.npy",
            "--d-attn-weights", "da.npy", query=(2, H, 100, D), keys=100)
        self.put_random("do.npy", 2, H, 100, DV)
        self.put_random("da.npy", 2, H, 100, 101)
        self.succeed(*call, "--out", "alone.npy", "--attn-weights", "a_alone.npy",
                     "--scores-out", "s_alone.npy", "--grad-dir", "alone")
        done = self.mpirun(3, *call, "--parallel", "auto", "--out", "o.npy",
                           "--attn-weights", "a.npy", "--scores-out", "s.npy",
                           "--grad-dir", "auto")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name, alone in (("o.npy", "alone.npy"), ("a.npy", "a_alone.npy"),
                            ("s.npy", "s_alone.npy")):
            self.assertEqual((self.folder / name).read_bytes(),
                             (self.folder / alone).read_bytes(), name)
        self.assert_same_gradients("auto", ["d_key.npy", "d_query.npy", "d_value.npy"])

    def test_the_mean_of_weights_and_its_gradients(self):
        call = self.call(
            "--causal", "--zero-attn", "--dropout", "0.1", "--attn-weights-form", "mean",
            "--d-output", "do.npy", "--d-attn-weights", "da.npy", query=(2, H, 40, D),
            keys=40)
        self.put_random("do.npy", 2, H, 40, DV)
        self.put_random("da.npy", 2, 40, 41)
        self.succeed(*call, "--out", "alone.npy", "--attn-weights", "a_alone.npy",
                     "--grad-dir", "alone")
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                done = self.mpirun(ranks, *call, "--parallel", "auto", "--out", "o.npy",
                                   "--attn-weights", "a.npy", "--grad-dir", "auto")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual((self.folder / "a.npy").read_bytes(),
                                 (self.folder / "a_alone.npy").read_bytes())
                self.assert_same_gradients("auto", ["d_key.npy", "d_query.npy",
                                                    "d_value.npy"])

    def test_keys_and_values_of_earlier_tokens(self):
        call = self.call("--causal", "--past-key", "pk.npy", "--past-value", "pv.npy",
                         "--rotary-dim", "4", query=(2, H, 150, D), keys=150)
        self.put_random("pk.npy", 2, HKV, 300, D)
        self.put_random("pv.npy", 2, HKV, 300, DV)
        for scheme in ("context", "heads"):
            with self.subTest(scheme=scheme):
                self.succeed(*call, "--out", "o.npy", "--present-dir", "alone")
                self.assert_same_files(2, *call, "--present-dir", "present", scheme=scheme)
                for name in ("key.npy", "value.npy"):
                    self.assertEqual((self.folder / "present" / name).read_bytes(),
                                     (self.folder / "alone" / name).read_bytes(), name)

    def test_a_cache(self):
        for ranks, query, options in (
                (2, (1, H, 500, D), ("--causal", "--chunk", "70", "--page-size", "16")),
                (3, (1, H, 1, D), ("--softcap", "2", "--cache-dtype", "int8")),
                (4, (2, H, 30, D), ("--window", "200,0", "--chunk", "1", "--alibi",
                                    "slopes.npy", "--dtype", "bfloat16")),
                (2, (5, H, 3, D), ("--key-lengths", "lengths.npy", "--cache-dtype",
                                   "bfloat16"))):
            with self.subTest(ranks=ranks, options=options):
                call = self.call("--cache", "paged", *options, query=query, keys=530)
                self.put_random("slopes.npy", H)
                self.put("lengths.npy", 5, descr="<i8", values=(530, 3, 0, 200, 129))
                said = self.succeed(*call, "--out", "alone.npy")
                done = self.mpirun(ranks, *call, "--parallel", "auto", "--out", "o.npy")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))
                self.assertEqual((self.folder / "o.npy").read_bytes(),
                                 (self.folder / "alone.npy").read_bytes())

    def test_a_ragged_batch_through_a_cache(self):
        self.put("offsets.npy", 4, descr="<i8", values=(0, 20, 20, 400))
        for name, heads, size in (("q", H, D), ("k", HKV, D), ("v", HKV, DV)):
            self.put_random(f"{name}.npy", 400, heads, size)
        call = ("run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
                "--offsets", "offsets.npy", "--causal", "--cache", "paged", "--chunk",
                "150", "--threads", "1")
        self.succeed(*call, "--out", "alone.npy")
        done = self.mpirun(2, *call, "--parallel", "context", "--out", "o.npy")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "o.npy").read_bytes(),
                         (self.folder / "alone.npy").read_bytes())

    def test_pages_that_no_machine_has_memory_for(self):
        call = self.call("--cache", "paged", query=(1, H, 4, D), keys=4)
        for size in ("9223372036854775808", "18446744073709551552"):
            done = self.mpirun(2, *call, "--page-size", size, "--parallel", "auto",
                               "--out", "o.npy")
            self.assertEqual(done.returncode, OUT_OF_RESOURCES, done)
            self.assertIn("out of memory", said_in(done)[0])

    def test_a_mistake_with_a_cache_is_said_once(self):
        call = self.call("--cache", "paged", "--causal", query=(1, H, 40, D), keys=30)
        done = self.mpirun(3, *call, "--parallel", "context", "--out", "o.npy")
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertEqual(len(said_in(done)), 1, done)
        self.assertIn("--query has 40 queries", said_in(done)[0])
        self.assertFalse((self.folder / "o.npy").exists())

    def test_files_that_differ_with_a_cache(self):
        call = self.call("--cache", "paged", query=(1, H, 5, D), keys=5)
        chunks = (*call, "--causal", "--chunk", "1")
        self.put_random("q6.npy", 1, H, 6, D)
        self.put_random("k6.npy", 1, HKV, 6, D)
        self.put_random("v6.npy", 1, HKV, 6, DV)

        def other(words, **files):
            return [files.get(word.removesuffix(".npy"), word) for word in words]

        self.refuse_two(call, other(call, q="q6.npy"),
                        "--query has 6 queries, expected at most 5 with --cache, one "
                        "for each key; on rank 1")
        self.refuse_two(chunks, other(chunks, q="q6.npy", k="k6.npy", v="v6.npy"),
                        "headwise: the call is B = 1, Hq = 4, Hkv = 2, Lq = 6, "
                        "Lkv = 6, D = 5, Dv = 7, chunk = 1 on rank 1")
        self.refuse_two(chunks, (*chunks[:-1], "2"), "chunk = 2 on rank 1")

    def test_what_needs_all_keys_in_one_place(self):
        for options in (("--empty-rows", "uniform", "--causal", "--query-start", "-30"),
                        ("--key-starts", "starts.npy")):
            call = self.call(*options)
            self.put("starts.npy", 1, descr="<i8", values=(77,))
            self.assert_same_files(2, *call)

    def test_a_mistake_is_said_once_and_nothing_is_written(self):
        call = self.call("--key-lengths", "lengths.npy")
        self.put("lengths.npy", 1, descr="<i8", values=(901,))
        done = self.mpirun(3, *call, "--parallel", "context", "--out", "o.npy")
        self.assertEqual(len(said_in(done)), 1, done)
        self.assertIn("--key-lengths[0] is 901", said_in(done)[0])
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertFalse((self.folder / "o.npy").exists())

    def test_a_file_that_cannot_be_written(self):
        (self.folder / "o.npy").mkdir()
        done = self.mpirun(2, *self.call(), "--parallel", "context", "--out", "o.npy")
        self.assertEqual(done.returncode, OUT_OF_RESOURCES, done)
        self.assertEqual(said_in(done), ["headwise: --out o.npy: Is a directory"])
        self.assertEqual(self.left_over(), [])

    def test_bf16_has_the_bits_of_one_process(self):
        for scheme in ("context", "heads"):
            self.assert_same_files(2, *self.call("--arithmetic", "bf16"), scheme=scheme)

    def test_what_the_ranks_cannot_do_is_said_once(self):
        call = self.call("--empty-rows", "uniform", "--d-output", "do.npy", "--grad-dir",
                         "gradients")
        self.put_random("do.npy", 1, H, 900, DV)
        done = self.mpirun(2, *call, "--parallel", "context", "--out", "o.npy")
        self.assertEqual(done.returncode, BAD_INPUT, done)
        self.assertEqual(len(said_in(done)), 1, done)
        self.assertIn("--empty-rows is uniform", said_in(done)[0])


if __name__ == "__main__":
    cli_case.main()
