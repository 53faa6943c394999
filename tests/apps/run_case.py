"""What the tests of `headwise run` share."""
import itertools
import math

from cli_case import CliTest, read_npy


class RunCase(CliTest):
    """`run` and attention by plain loops."""

    def refuse(self, code, message, *arguments, **options):
        """Fails with this code and message, and writes nothing."""
        before = sorted(self.folder.iterdir())
        line = self.fail_with(code, message, *arguments, **options)
        self.assertEqual(sorted(self.folder.iterdir()), before)
        return line

    def inputs(self, *opts, q=(2, 4, 3, 5), k=(2, 2, 6, 5), v=(2, 2, 6, 7)):
        self.put("q.npy", *q)
        self.put("k.npy", *k)
        self.put("v.npy", *v)
        return ("run", "--query", "q.npy", "--key", "k.npy", "--value",
                "v.npy", "--out", "o.npy", *opts)

    def attention(self, allowed=lambda b, h, i, j: True, scale=5 ** -0.5,
                  term=lambda score, b, h, i, j: score, sinks=None):
        """(output, weights, lse) of inputs() by the formula."""
        (B, H, Lq, D), q = read_npy(self.folder / "q.npy")
        (_, G, Lk, _), k = read_npy(self.folder / "k.npy")
        (_, _, _, Dv), v = read_npy(self.folder / "v.npy")
        output, weights, lse = [], [], []
        for b, h, i in itertools.product(range(B), range(H), range(Lq)):
            g = b * G + h // (H // G)
            row = [term(scale * sum(q[((b * H + h) * Lq + i) * D + d] *
                                    k[(g * Lk + j) * D + d] for d in range(D)),
                        b, h, i, j)
                   if allowed(b, h, i, j) else -math.inf for j in range(Lk)]
            total = sum(map(math.exp, row))
            total += math.exp(sinks[h]) if sinks else 0
            share = [math.exp(s) / total if total else 0 for s in row]
            weights += share
            lse.append(math.log(total) if total else -math.inf)
            output += [sum(share[j] * v[(g * Lk + j) * Dv + d]
                           for j in range(Lk)) for d in range(Dv)]
        return output, weights, lse

    def scores(self, term):
        """Those of inputs() after `term`."""
        scores = []

        def keep(*at):
            scores.append(term(*at))
            return scores[-1]

        self.attention(term=keep)
        return scores

    def assert_close(self, path, shape, values, atol=2e-6):
        got_shape, got = read_npy(self.folder / path)
        self.assertEqual(got_shape, shape)
        for n, (x, y) in enumerate(zip(got, values)):
            if x != y and not abs(x - y) <= atol + 1e-5 * abs(y):
                self.fail(f"{path}[{n}] is {x}, expected {y}")
