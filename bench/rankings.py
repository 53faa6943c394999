"""How the ranking of pairs of sentences by similarity changes."""
import itertools
import random

PAIRS = 1000


def drawn_pairs(count):
    """PAIRS pairs of two different ones of `count` sentences, always the same."""
    rng = random.Random(27)
    for _ in range(PAIRS):
        first = int(rng.random() * count)
        yield first, (first + 1 + int(rng.random() * (count - 1))) % count


def swaps(expected, found):
    """Of the similarities of the same pairs: how many pairs of pairs there are,
    how many of them are in another order in `found`, the largest difference in
    `expected` between two that swap, and the largest error of a similarity."""
    pairs = sorted(zip(expected, found))
    # Sorted: the second of two is not less similar.
    swapped = [second - first
               for (first, found_first), (second, found_second)
               in itertools.combinations(pairs, 2)
               if found_second < found_first]
    return {"of": len(pairs) * (len(pairs) - 1) // 2, "swapped": len(swapped),
            "largest_swap": max(swapped, default=0.0),
            "largest_difference": max(abs(one - other) for one, other in pairs)}
