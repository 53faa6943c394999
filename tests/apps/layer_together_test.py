"""`headwise run --params --parallel`: several processes write the files of one.

    layer_together_test.py HEADWISE [FIXTURES] [TEST...]

Needs mpirun and a command that was built with MPI, as HEADWISE_MPIRUN says.
"""
import os
import sys
import unittest

import cli_case
from cli_case import BAD_INPUT, USAGE
from run_together_test import CallCase
from together_case import MPIRUN, said_in

EMBED, HEADS, KV_HEADS, D = 24, 6, 3, 8

# Runs a command, then says the largest memory that it had, in KiB.
PEAK = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


class LayerTogetherCase(CallCase):
    def layer(self, *options, length=9):
        """A call of a layer whose files are random."""
        for name, rows, columns in (("w_q", HEADS * D, EMBED),
                                    ("w_k", KV_HEADS * D, EMBED),
                                    ("w_v", KV_HEADS * D, EMBED),
                                    ("w_o", EMBED, HEADS * D)):
            self.put_random(f"layer/{name}.weight.npy", rows, columns)
            self.put_random(f"layer/{name}.bias.npy", rows)
        self.put_random("x.npy", 2, length, EMBED)
        self.put_random("do.npy", 2, length, EMBED)
        return ("run", "--query", "x.npy", "--key", "x.npy", "--value", "x.npy",
                "--params", "layer", "--num-heads", str(HEADS), "--num-kv-heads",
                str(KV_HEADS), "--threads", "1", *options)


class LayerAloneTest(LayerTogetherCase):
    def test_one_process_is_a_job_of_one(self):
        call = self.layer("--causal")
        self.succeed(*call, "--out", "alone.npy")
        self.succeed(*call, "--out", "o.npy", "--parallel", "heads")
        self.assertEqual((self.folder / "o.npy").read_bytes(),
                         (self.folder / "alone.npy").read_bytes())

    def test_what_does_not_go_together(self):
        call = self.layer("--out", "o.npy")
        self.refuse(USAGE, "--attn-weights cannot be used with --parallel context",
                    *call, "--parallel", "context", "--attn-weights", "w.npy")
        self.refuse(USAGE, "--lse cannot be used with --cache and --parallel", *call,
                    "--parallel", "auto", "--cache", "paged", "--lse", "l.npy")
        self.put_random("bias.npy", 9, 9)
        self.refuse(BAD_INPUT, "--bias is shared by the heads", *call, "--parallel",
                    "heads", "--bias", "bias.npy", "--bias-axes", "Lq,Lkv",
                    "--d-output", "do.npy", "--grad-dir", "gradients")


@unittest.skipUnless(MPIRUN, "no mpirun, or a command without MPI")
class LayerTogetherTest(LayerTogetherCase):
    def assert_same_files(self, ranks, *call, scheme="heads"):
        self.succeed(*call, "--out", "alone/o.npy", "--lse", "alone/lse.npy",
                     "--grad-dir", "alone")
        done = self.mpirun(ranks, *call, "--parallel", scheme, "--out", "together/o.npy",
                           "--lse", "together/lse.npy", "--grad-dir", "together")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        names = sorted(os.listdir(self.folder / "alone"))
        self.assertEqual(sorted(os.listdir(self.folder / "together")), names)
        for name in names:
            self.assertEqual((self.folder / "together" / name).read_bytes(),
                             (self.folder / "alone" / name).read_bytes(), name)

    def setUp(self):
        super().setUp()
        for folder in ("alone", "together"):
            (self.folder / folder).mkdir()

    def test_output_and_all_gradients(self):
        call = self.layer("--causal", "--rotary-dim", str(D), "--d-output", "do.npy")
        self.assert_same_files(2, *call)
        self.assertEqual(len(os.listdir(self.folder / "alone")), 2 + 3 + 8)

    def test_more_processes_than_key_heads_in_bfloat16(self):
        call = self.layer("--alibi", "slopes.npy", "--dtype", "bfloat16",
                          "--d-output", "do.npy")
        self.put_random("slopes.npy", HEADS)
        self.assert_same_files(4, *call, scheme="auto")

    def test_dropout(self):
        call = self.layer("--dropout", "0.5", "--d-output", "do.npy", length=390)
        self.succeed(*call, "--out", "o.npy", "--keep-mask-out", "alone/keep.npy",
                     "--grad-dir", "alone")
        for scheme in ("heads", "context"):
            self.mpirun(2, *call, "--parallel", scheme, "--out", "o.npy",
                        "--keep-mask-out", "together/keep.npy", "--grad-dir", "together")
            for name in os.listdir(self.folder / "alone"):
                self.assertEqual((self.folder / "together" / name).read_bytes(),
                                 (self.folder / "alone" / name).read_bytes(), name)

    def test_only_rank_0_keeps_the_keep_mask(self):
        """The peak of rank 1's memory is as without --keep-mask-out."""
        length = 1800
        call = self.layer("--dropout", "0.5", "--parallel", "context", "--out", "o.npy",
                          length=length)
        measured = (sys.executable, "-c", PEAK, cli_case.HEADWISE)
        peaks = []
        for options in ((), ("--keep-mask-out", "keep.npy")):
            done = self.mpirun_words("-n", "1", cli_case.HEADWISE, *call, *options, ":",
                                     "-n", "1", *measured, *call, *options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            peaks.append(int(done.stdout))
        self.assertLess(peaks[1] - peaks[0], 2 * HEADS * length ** 2 / 1024 / 2)

    def test_a_process_reads_its_own_rows(self):
        """By context, rank 1 never holds the whole inputs."""
        length, embed = 24_000, 256
        for name in "qkv":
            self.put_random(f"layer/w_{name}.weight.npy", D, embed)
        self.put_random("layer/w_o.weight.npy", embed, D)
        peaks = []
        for tokens in (1, length):
            self.put("x.npy", tokens, embed, values=[0] * (tokens * embed))
            call = ("run", "--query", "x.npy", "--key", "x.npy", "--value", "x.npy",
                    "--params", "layer", "--num-heads", "1", "--threads", "1",
                    "--window", "10,0", "--parallel", "context", "--out", "o.npy")
            done = self.mpirun_words("-n", "1", cli_case.HEADWISE, *call, ":", "-n", "1",
                                     sys.executable, "-c", PEAK, cli_case.HEADWISE, *call)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            peaks.append(int(done.stdout))
        self.assertLess(peaks[1] - peaks[0], 4 * length * embed * 4 / 1024)

    def test_weights_scores_and_their_gradients(self):
        for form, shape in (("after-dropout", (2, HEADS, 9, 10)), ("mean", (2, 9, 10))):
            call = self.layer("--causal", "--zero-attn", "--dropout", "0.1",
                              "--attn-weights-form", form, "--scores-stage", "softmax",
                              "--d-output", "do.npy", "--d-attn-weights", "da.npy")
            self.put_random("da.npy", *shape)
            for ranks in (2, 4):
                with self.subTest(form=form, ranks=ranks):
                    self.succeed(*call, "--out", "alone/o.npy", "--attn-weights",
                                 "alone/a.npy", "--scores-out", "alone/s.npy",
                                 "--grad-dir", "alone")
                    done = self.mpirun(ranks, *call, "--parallel", "auto", "--out",
                                       "together/o.npy", "--attn-weights",
                                       "together/a.npy", "--scores-out",
                                       "together/s.npy", "--grad-dir", "together")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    for name in os.listdir(self.folder / "alone"):
                        self.assertEqual(
                            (self.folder / "together" / name).read_bytes(),
                            (self.folder / "alone" / name).read_bytes(), name)

    def test_by_context(self):
        call = self.layer("--causal", "--rotary-dim", str(D), "--d-output", "do.npy",
                          length=820)
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.assert_same_files(ranks, *call, scheme="context")

    def test_by_context_in_bfloat16_with_fewer_tokens_than_processes(self):
        call = self.layer("--sinks", "sinks.npy", "--dtype", "bfloat16", "--zero-attn",
                          "--d-output", "do.npy", length=2)
        self.put_random("sinks.npy", HEADS)
        self.assert_same_files(4, *call, scheme="context")

    def test_16_bits_without_an_output_projection(self):
        call = self.layer("--causal", "--d-output", "do.npy", "--dtype", "float16")
        for name in ("weight", "bias"):
            (self.folder / f"layer/w_o.{name}.npy").unlink()
        self.put_random("do.npy", 2, 9, HEADS * D)
        for scheme in ("heads", "context"):
            with self.subTest(scheme=scheme):
                self.assert_same_files(2, *call, scheme=scheme)

    def test_a_ragged_batch_by_context(self):
        call = self.layer("--offsets", "offsets.npy", "--causal", "--d-output", "do.npy")
        self.put("offsets.npy", 4, descr="<i8", values=(0, 20, 20, 900))
        for name in ("x.npy", "do.npy"):
            self.put_random(name, 900, EMBED)
        self.assert_same_files(2, *call, scheme="context")

    # Three processes balance better by heads, two by context.
    def test_auto_takes_what_can_do_the_call(self):
        bias = self.layer("--bias", "bias.npy", "--bias-axes", "Lq,Lkv", "--d-output",
                          "do.npy")
        self.put_random("bias.npy", 9, 9)
        self.assert_same_files(3, *bias, scheme="auto")
        norm = self.layer("--qk-norm", "rms", "--qk-norm-over", "projection",
                          "--d-output", "do.npy")
        self.put_random("layer/q_norm.weight.npy", HEADS * D)
        self.put_random("layer/k_norm.weight.npy", KV_HEADS * D)
        self.assert_same_files(3, *norm, scheme="auto")
        for name in ("q_norm", "k_norm"):
            (self.folder / f"layer/{name}.weight.npy").unlink()
        means = self.layer("--causal", "--query-start", "-4", "--empty-rows", "uniform",
                           "--d-output", "do.npy")
        self.assert_same_files(2, *means, scheme="auto")

    def test_a_cache(self):
        for ranks, options in ((2, ("--chunk", "100", "--rotary-dim", str(D))),
                               (3, ("--dtype", "bfloat16", "--cache-dtype", "int8",
                                    "--softcap", "3", "--chunk", "1"))):
            with self.subTest(ranks=ranks):
                call = self.layer("--causal", "--cache", "paged", *options,
                                  length=270 if ranks == 2 else 20)
                self.succeed(*call, "--out", "alone/o.npy")
                done = self.mpirun(ranks, *call, "--parallel", "auto", "--out",
                                   "together/o.npy")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                self.assertEqual((self.folder / "together/o.npy").read_bytes(),
                                 (self.folder / "alone/o.npy").read_bytes())

    def test_a_mistake_with_a_cache_is_said_once(self):
        call = self.layer("--cache", "paged", "--chunk", "2")
        done = self.mpirun(2, *call, "--parallel", "auto", "--out", "o.npy")
        self.assertEqual(done.returncode, USAGE, done)
        self.assertEqual(len(said_in(done)), 1, done)
        self.assertIn("--chunk needs --causal", said_in(done)[0])

    def test_a_bias_that_differs(self):
        call = self.layer("--d-output", "do.npy", "--grad-dir", "together", "--bias")
        self.put_random("bias.npy", HEADS, 9, 9)
        self.put_random("shared.npy", 9, 9)
        own = (*call, "bias.npy", "--bias-axes", "Hq,Lq,Lkv")
        shared = (*call, "shared.npy", "--bias-axes", "Lq,Lkv")
        self.refuse_two(own, shared, "--bias is shared by the heads", scheme="heads")
        # By context, a sequence of 9 tokens would leave a rank idle.
        for name in ("x.npy", "do.npy"):
            self.put_random(name, 1, 9, EMBED)
        self.refuse_two(own, shared, "headwise: --parallel is context on rank 1",
                        scheme="auto")

    def test_files_that_differ_with_a_cache(self):
        call = self.layer("--causal", "--cache", "paged", "--chunk", "1")
        self.put_random("x8.npy", 2, 8, EMBED)
        self.refuse_two(call, ("run", "--query", "x8.npy", *call[3:]),
                        "--query has 8 queries, expected 9, one for each key, with "
                        "--cache and --params; on rank 1")
        self.refuse_two(call, [word.replace("x.npy", "x8.npy") for word in call],
                        "Lq = 8, Lkv = 8, D = 8, Dv = 8, chunk = 1 on rank 1")

    def test_a_mistake_is_said_once(self):
        call = self.layer("--d-output", "wrong.npy", "--grad-dir", "together")
        self.put_random("wrong.npy", 2, 9, 3)
        for scheme in ("heads", "context"):
            done = self.mpirun(3, *call, "--parallel", scheme, "--out", "o.npy")
            self.assertEqual(done.returncode, BAD_INPUT, done)
            self.assertEqual(len(said_in(done)), 1, done)
            self.assertIn("--d-output has shape (2, 9, 3)", said_in(done)[0])
            self.assertFalse((self.folder / "o.npy").exists())


if __name__ == "__main__":
    cli_case.main()
