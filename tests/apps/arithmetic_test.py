"""--arithmetic: what the command multiplies in bfloat16, and where it cannot."""
import random
import struct

import cli_case
from cli_case import BAD_INPUT, USAGE, read_npy
from run_case import RunCase

EMULATED = {"HEADWISE_BF16": "emulated"}


def bfloat16(x):
    """float32 nearest to x among the numbers of bfloat16, ties to even."""
    bits, = struct.unpack("<I", struct.pack("<f", x))
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class ArithmeticTest(RunCase):
    def random_values(self, count):
        numbers = random.Random(count)
        return [numbers.uniform(-1, 1) for _ in range(count)]

    def call(self, *options, q=(1, 2, 3, 1), k=(1, 2, 1, 1), v=(1, 2, 1, 7)):
        for name, shape in (("q", q), ("k", k), ("v", v)):
            count = shape[0] * shape[1] * shape[2] * shape[3]
            self.put(f"{name}.npy", *shape, values=self.random_values(count))
        return ("run", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
                "--out", "o.npy", *options)

    def values(self, name):
        return read_npy(self.folder / f"{name}.npy")[1]

    def test_what_is_multiplied_is_rounded(self):
        # Of one key the weight is 1, and the score one product.
        call = self.call("--scale", "1", "--scores-out", "s.npy")
        for arithmetic, rounded in (("exact", lambda x: x), ("bf16", bfloat16)):
            with self.subTest(arithmetic):
                self.succeed(*call, "--arithmetic", arithmetic)
                q, k, v = (list(map(rounded, self.values(name))) for name in "qkv")
                for n, score in enumerate(self.values("s")):
                    self.assertAlmostEqual(score, q[n] * k[n // 3], delta=1e-6)
                for n, x in enumerate(self.values("o")):
                    self.assertEqual(x, v[n // 21 * 7 + n % 7])

    def test_exact_is_the_default(self):
        shapes = {"q": (1, 2, 5, 9), "k": (1, 2, 140, 9), "v": (1, 2, 140, 7)}
        outputs = []
        for options in ((), ("--arithmetic", "exact"), ("--arithmetic", "bf16")):
            self.succeed(*self.call(*options, **shapes))
            outputs.append(self.values("o"))
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotEqual(outputs[0], outputs[2])
        for x, y in zip(outputs[0], outputs[2]):
            self.assertAlmostEqual(x, y, delta=0.02)

    def test_the_bits_do_not_depend_on_the_processor(self):
        call = self.call("--arithmetic", "bf16", q=(1, 2, 5, 9),
                         k=(1, 2, 140, 9), v=(1, 2, 140, 7))
        self.succeed(*call)
        here = self.values("o")
        self.succeed(*call, env=EMULATED)
        self.assertEqual(self.values("o"), here)

    def layer_call(self, *options, tokens=1):
        self.put("x.npy", 1, tokens, 4, values=self.random_values(4 * tokens))
        for n, name in enumerate(("w_q", "w_k", "w_v", "w_o")):
            self.put(f"layer/{name}.weight.npy", 4, 4,
                     values=self.random_values(16 + n)[:16])
        return ("run", "--query", "x.npy", "--key", "x.npy", "--value", "x.npy",
                "--params", "layer", "--num-heads", "2", "--out", "o.npy",
                *options)

    def test_a_layer_rounds_at_every_product(self):
        call = self.layer_call("--arithmetic", "bf16")
        self.succeed(*call)

        def projected(name, x):
            weight = self.values(f"layer/{name}.weight")
            return [sum(bfloat16(weight[4 * row + column]) * bfloat16(x[column])
                        for column in range(4)) for row in range(4)]

        expected = projected("w_o", projected("w_v", self.values("x")))
        for x, y in zip(self.values("o"), expected, strict=True):
            self.assertAlmostEqual(x, y, delta=1e-6)
        here = self.values("o")
        self.succeed(*call, env=EMULATED)
        self.assertEqual(self.values("o"), here)
        self.succeed(*self.layer_call())
        self.assertNotEqual(self.values("o"), here)

    def test_gradients_of_a_layer_are_of_rounded_numbers(self):
        call = self.layer_call("--arithmetic", "bf16")
        self.put("d.npy", 1, 1, 4, values=self.random_values(4))
        self.succeed(*call, "--d-output", "d.npy", "--grad-dir", "g")

        def back(name, d_y):
            weight = self.values(f"layer/{name}.weight")
            return [sum(bfloat16(d_y[row]) * bfloat16(weight[4 * row + column])
                        for row in range(4)) for column in range(4)]

        # Of one token the weight is 1.
        expected = back("w_v", back("w_o", self.values("d")))
        for x, y in zip(self.values("g/d_value"), expected, strict=True):
            self.assertAlmostEqual(x, y, delta=1e-6)

    def test_gradients_are_of_rounded_numbers(self):
        self.put("d.npy", 1, 2, 3, 7, values=self.random_values(42))
        self.succeed(*self.call("--arithmetic", "bf16", "--d-output", "d.npy",
                                "--grad-dir", "g"))
        # Of one key the weight is 1.
        d_output = list(map(bfloat16, self.values("d")))
        for n, x in enumerate(self.values("g/d_value")):
            head, feature = divmod(n, 7)
            self.assertAlmostEqual(
                x, sum(d_output[21 * head + feature::7][:3]), delta=1e-6)

    def test_mistakes_are_usage(self):
        self.refuse(USAGE, "--arithmetic is fp16, expected one of exact, bf16",
                    *self.call("--arithmetic", "fp16"))

    def test_info_says_how_bf16_runs(self):
        self.assertRegex(self.succeed("info"),
                         r"\nbf16: (dot products of the processor|emulated)")
        emulated = "\nbf16: emulated with float32"
        self.assertIn(emulated, self.succeed("info", env=EMULATED))
        sets = self.succeed("info").split("instruction sets: ")[1].split("\n")[0]
        for name in sets.split():
            if name != "avx3":
                self.assertIn(emulated, self.succeed(
                    "info", env={"HEADWISE_TARGET": name}))

    def test_another_choice_of_the_environment_is_an_error(self):
        for command in (("info",), self.call(), self.call("--arithmetic", "bf16")):
            self.refuse(BAD_INPUT, "HEADWISE_BF16 is native, expected emulated or "
                        "nothing", *command, env={"HEADWISE_BF16": "native"})
        self.succeed("info", env={"HEADWISE_BF16": ""})


if __name__ == "__main__":
    cli_case.main()
