"""Three heads read a text: what script/demo-python runs.

    three_heads.py TEXT_FILE

Nothing is trained. The queries and keys of a head are features of the words, so
what it attends to can be checked by eye: words of similar spelling, words with
the same ending, and neighbours (by a linear bias).
"""

import pathlib
import re
import sys
import zlib

import numpy as np

import headwise

HEADS = ("spelling", "ending", "nearby")
FEATURES = 2048
MOST_WORDS = 300
SHARPNESS = 4.0  # the largest score is its square
LEAST_WEIGHT = 0.02  # of what is printed


def features(parts: list[str]) -> np.ndarray:
    """A vector of length SHARPNESS with one direction for each part."""
    vector = np.zeros(FEATURES, np.float32)
    for part in parts:
        vector[zlib.crc32(part.encode()) % FEATURES] += 1
    return SHARPNESS * vector / max(np.linalg.norm(vector), 1)


def spelling(word: str) -> list[str]:
    framed = f"<{word}>"
    return [framed[i : i + 3] for i in range(len(framed) - 2)]


def head_vectors(words: list[str]) -> np.ndarray:
    """(words, heads, FEATURES)"""
    return np.array(
        [
            [features(spelling(word)), features([word[-3:]]), features([])]
            for word in words
        ]
    )


def main(path: str) -> None:
    text = pathlib.Path(path).read_text(encoding="utf-8")
    words = re.findall(r"[a-z]{3,}", text.lower())[:MOST_WORDS]
    vectors = head_vectors(words)
    names = np.array(words)
    result = headwise.attention(
        vectors,
        vectors,
        vectors,
        scale=1,
        mask=names[:, None] != names,  # a word does not look at itself
        alibi=np.array([0, 0, 1], np.float32),
        statistics={"rows": True, "top_keys": 12},
    )
    statistics = result.statistics
    print(f"headwise {headwise.__version__}: {len(HEADS)} heads read {len(words)} words")
    print("\nhead        entropy  distance  largest weight   (means of all words)")
    for h, head in enumerate(HEADS):
        entropy, distance, largest = (
            statistics.mean(name)[h] for name in ("entropy", "distance", "largest")
        )
        print(f"{head:10} {entropy:8.2f} {distance:9.1f} {largest:15.2f}")

    largest = statistics.row("largest")
    for h, head in enumerate(HEADS):
        print(f"\n{head}:")
        seen = set()
        for i in np.argsort(-largest[h]):
            if len(seen) == 5:
                break
            if words[i] not in seen:
                seen.add(words[i])
                strong = statistics.top_weights[h, i] > LEAST_WEIGHT
                keys = statistics.top_keys[h, i][strong]
                found = dict.fromkeys(words[j] for j in keys)
                print(f"  {words[i]:16} looks at  {', '.join(list(found)[:4])}")


if __name__ == "__main__":
    main(sys.argv[1])
