"""`headwise plan`: who has what, and what it costs.

    plan_test.py HEADWISE [unittest arguments]
"""
import json
import re

import cli_case
from cli_case import USAGE

MILLION = ("--ranks", "8", "--length", "1000000", "--num-heads", "32", "--causal")


class PlanTest(cli_case.CliTest):
    def plan(self, *arguments):
        text = self.succeed("plan", "--json", *arguments)
        self.assertEqual(text.count("\n"), 1)
        return json.loads(text)

    def check_pieces(self, plan, batch, length):
        """Each token of each sequence once, cut at shards."""
        pieces = sorted((piece["sequence"], piece["first"], piece["tokens"])
                        for rank in plan["ranks"] for piece in rank["pieces"])
        at = (0, 0)
        for sequence, first, tokens in pieces:
            self.assertEqual((sequence, first), at)
            end = first + tokens
            self.assertTrue(end == length or end % 384 == 0)
            at = (sequence + 1, 0) if end == length else (sequence, end)
        self.assertEqual(at, (batch, 0))

    def test_zig_zag_balances_a_causal_mask(self):
        plan = self.plan(*MILLION, "--parallel", "context")
        self.assertEqual(list(plan), [
            "call", "rates", "parallel", "chunk_tokens", "ranks", "imbalance",
            "one_rank", "forecasts"])
        self.check_pieces(plan, 1, 10**6)
        self.assertLess(plan["imbalance"], 0.05)
        self.assertEqual([rank["rank"] for rank in plan["ranks"]],
                         list(range(8)))
        work = 32 * 2 * 128 * 10**6 * (10**6 + 1) // 2
        self.assertEqual(sum(rank["multiply_adds"] for rank in plan["ranks"]),
                         work)
        self.assertAlmostEqual(plan["one_rank"]["seconds"], work / 5e11, 6)
        names = [one["transfer"] for one in plan["forecasts"]]
        self.assertEqual(names, ["pipelined", "gathered"])
        more = self.plan(*MILLION, "--parallel", "context",
                         "--pieces-per-rank", "8")
        self.check_pieces(more, 1, 10**6)
        self.assertGreater(more["forecasts"][0]["efficiency"],
                           plan["forecasts"][0]["efficiency"] + 0.1)

    def test_heads_are_divided_by_groups(self):
        plan = self.plan("--ranks", "3", "--length", "10000", "--num-heads", "32",
                         "--kv-heads", "8", "--parallel", "heads")
        self.assertEqual([rank["kv_heads"]["count"] for rank in plan["ranks"]],
                         [3, 3, 2])
        self.assertEqual([rank["heads"] for rank in plan["ranks"]],
                         [{"first": 0, "count": 12}, {"first": 12, "count": 12},
                          {"first": 24, "count": 8}])
        self.assertEqual(plan["forecasts"][0]["transfer"], "by heads")

    def test_auto_takes_heads_where_they_suffice(self):
        for ranks, parallel in (("8", "heads"), ("64", "context")):
            plan = self.plan("--ranks", ranks, "--length", "100000")
            self.assertEqual(plan["parallel"], parallel)

    def test_masks_types_and_rates_count(self):
        call = ("--ranks", "4", "--length", "50000", "--parallel", "context")
        full = self.plan(*call)
        window = self.plan(*call, "--window", "1023,0")
        pairs = 1024 * 1025 // 2 + (50000 - 1024) * 1024
        self.assertEqual(sum(rank["multiply_adds"] for rank in
                             window["ranks"]), pairs * 32 * 256)
        self.assertLess(window["forecasts"][0]["most_received_bytes"],
                        full["forecasts"][0]["most_received_bytes"] / 4)
        half = self.plan(*call, "--dtype", "bfloat16")
        self.assertEqual(half["forecasts"][0]["most_received_bytes"] * 2,
                         full["forecasts"][0]["most_received_bytes"])
        fast = self.plan(*call, "--rate", "2000")
        self.assertAlmostEqual(fast["one_rank"]["seconds"] * 2,
                               full["one_rank"]["seconds"], 9)
        slow = self.plan(*call, "--bandwidth", "0.001")
        self.assertLess(slow["forecasts"][0]["efficiency"], 0.5)
        late = self.plan(*call, "--latency", "1e7")
        self.assertLess(late["forecasts"][0]["efficiency"], 0.5)
        both = self.plan(*call, "--backward")
        self.assertAlmostEqual(both["one_rank"]["seconds"] * 2,
                               full["one_rank"]["seconds"] * 7, 9)
        causal = self.plan(*call, "--window", "inf,5", "--causal")
        self.assertEqual(causal["call"]["right"], 0)

    def test_whole_sequences_of_a_batch_stay_on_one_rank(self):
        plan = self.plan("--ranks", "4", "--length", "512", "--batch", "64",
                         "--parallel", "context")
        self.check_pieces(plan, 64, 512)
        self.assertEqual(plan["forecasts"][0]["most_received_bytes"], 0)

    def test_the_table_is_for_people(self):
        text = self.succeed("plan", *MILLION, "--kv-heads", "4")
        self.assertIn("Call: 1 sequence of 1,000,000 tokens, 32 query heads "
                      "and 4 key heads of 128 features, causal, float32, "
                      "forward\n", text)
        self.assertIn("Division: 8 ranks, by context (chosen by auto)\n", text)
        self.assertIn("Rates: 1000 GFLOP/s per rank, 12.5 GB/s per link, 10 µs "
                      "per message\n", text)
        rows = re.findall(r"^(\d+) +([\d,]+) +([\d.]+)% +([\d.]+) GiB +"
                          r"([\d.]+) GiB  0?[\d,]+-[\d,]+(?:; [\d,]+-[\d,]+)*$",
                          text, re.MULTILINE)
        self.assertEqual([row[0] for row in rows], [str(r) for r in range(8)])
        self.assertEqual(sum(int(row[1].replace(",", "")) for row in rows),
                         10**6)
        self.assertRegex(text, r"Imbalance: \d\.\d% ")
        self.assertRegex(text, r"(?m)^pipelined +[\d,.]+ s +[\d.]+% ")
        self.assertNotIn("Warning", text)
        for line in text.splitlines():
            self.assertEqual(line, line.rstrip())

    def test_ranks_without_work_are_a_warning(self):
        self.assertIn("Warning: ranks without work: 6 of 8 (sequences are cut "
                      "at multiples of 384 tokens)\n",
                      self.succeed("plan", "--ranks", "8", "--length", "700",
                                   "--parallel", "context"))
        self.assertIn("Warning: ranks without work: 4 of 8 (key heads: 4)\n",
                      self.succeed("plan", "--ranks", "8", "--length", "700",
                                   "--kv-heads", "4", "--parallel", "heads"))

    def test_korean(self):
        for arguments in (MILLION, (*MILLION, "--parallel", "heads"),
                          ("--ranks", "9", "--length", "700", "--window",
                           "8,inf", "--batch", "2", "--backward")):
            text = self.succeed("plan", *arguments, "--lang", "ko")
            for line in text.splitlines():
                if line and not re.match(r"\d+ +[\d,]+ ", line):
                    self.assertRegex(line, "[가-힣]")
        self.assertIn("불균형: ", text)

    def test_mistakes(self):
        one = ("--ranks", "2", "--length", "1000")
        huge = "99999999999999999999"
        for message, korean, *arguments in (
                ("--ranks is required", "--ranks", "--length", "7"),
                ("--ranks is 0, expected a whole number, 1 or greater",
                 "--ranks 값이 0입니다", "--ranks", "0", "--length", "7"),
                ("--ranks is 1025, expected a number from 1 to 1024",
                 "1에서 1024 사이의 수", "--ranks", "1025", "--length", "7"),
                ("--length is 0, expected", "--length", "--ranks", "2",
                 "--length", "0"),
                (f"--length is {huge}, expected a number that fits 64 bits",
                 "64비트", "--ranks", "2", "--length", huge),
                ("--length is 2147483649, expected at most 2147483648 with "
                 "--batch 1", "--batch 1에서는 2147483648 이하", "--ranks", "2",
                 "--length", "2147483649"),
                ("--length is 2147483648, expected at most 1073741824 with "
                 "--batch 4", "--batch 4에서는", "--ranks", "2", "--length",
                 "2147483648", "--batch", "4"),
                ("--batch is 65537, expected a number from 1 to 65536",
                 "--batch", *one, "--batch", "65537"),
                ("--num-heads is 7, expected a multiple of --kv-heads = 2",
                 "--kv-heads = 2의 배수", *one, "--num-heads", "7", "--kv-heads",
                 "2"),
                ("--num-heads is 1048577, expected a number from 1 to 1048576",
                 "--num-heads", *one, "--num-heads", "1048577"),
                ("--head-dim is 1048577, expected", "--head-dim", *one,
                 "--head-dim", "1048577"),
                ("--pieces-per-rank is 17, expected a number from 0 to 16",
                 "--pieces-per-rank", *one, "--pieces-per-rank", "17"),
                ("--window is 5, expected LEFT,RIGHT", "--window", *one,
                 "--window", "5"),
                ("--window is 281474976710657, expected a number from 0 "
                 "to 281474976710656", "--window", *one, "--window",
                 "281474976710657,0"),
                ("--parallel is ring, expected one of auto, context, heads",
                 "--parallel", *one, "--parallel", "ring"),
                ("--dtype is int8, expected one of float32, ", "--dtype", *one,
                 "--dtype", "int8"),
                ("--rate is 0, expected a number from 1e-9 to 1e12",
                 "1e-9에서 1e12 사이의 수", *one, "--rate", "0"),
                ("--bandwidth is nan, expected", "--bandwidth", *one,
                 "--bandwidth", "nan"),
                ("--latency is -1, expected a number from 0 to 1e12",
                 "--latency", *one, "--latency", "-1")):
            with self.subTest(message):
                self.fail_with(USAGE, message, "plan", *arguments)
                done = self.run_it("plan", *arguments, "--lang", "ko")
                self.assertEqual(done.returncode, USAGE)
                self.assertIn(korean, done.stderr.decode())


if __name__ == "__main__":
    cli_case.main()
