"""The files that the console blocks of the documentation read."""
import json
import math
import pathlib
import re
import struct

PARAGRAPHS = pathlib.Path(__file__).resolve().parents[2] / "docs/images/paragraphs.txt"
# As tools/screenshots.py has them.
SENTENCES = re.split(r"(?<=\.)\s+", PARAGRAPHS.read_text("utf-8").strip())
LABELLED = [("sport", "They won the match in the last minute."),
            ("sport", "The team lost both games this week."),
            ("sport", "She broke the record in the final race."),
            ("business", "Shares fell after the bank cut its forecast."),
            ("business", "The company sold its factory for two billion."),
            ("business", "Prices rose again in the second quarter.")]


def npy(shape, values, descr="<f4"):
    letter = {"<f4": "f", "<i8": "q", "|b1": "?"}[descr]
    text = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() +
            struct.pack(f"<{math.prod(shape)}{letter}", *values))


def numbers(count, seed):
    """From -1 to 1."""
    return [((n * 37 + seed * 11) % 101) / 50 - 1 for n in range(count)]


def softmax_rows(rows, length):
    result = []
    for row in range(rows):
        terms = [math.exp(x) for x in numbers(length, row)]
        result += [x / sum(terms) for x in terms]
    return result


def write(folder):
    """B 1, H 4, L 16, D 8; as a ragged batch 24 rows of 3 sequences."""
    for seed, name in enumerate(("q", "k", "v"), 1):
        (folder / f"{name}.npy").write_bytes(npy((1, 4, 16, 8), numbers(512, seed)))
        (folder / f"{name}_rows.npy").write_bytes(npy((24, 4, 8), numbers(768, seed)))
        (folder / f"{name}_past.npy").write_bytes(npy((1, 4, 5, 8), numbers(160, seed)))
    (folder / "d_output.npy").write_bytes(npy((1, 4, 16, 8), numbers(512, 4)))
    (folder / "offsets.npy").write_bytes(npy((4,), [0, 10, 10, 24], "<i8"))
    # As torch has it: True hides.
    later = [j > i for i in range(16) for j in range(16)]
    (folder / "mask.npy").write_bytes(npy((16, 16), later, "|b1"))
    (folder / "x.npy").write_bytes(npy((6, 32), numbers(192, 5)))
    (folder / "onnx_data").mkdir()
    (folder / "onnx_data/input_0.npy").write_bytes(npy((1, 16, 384), numbers(6144, 6)))
    (folder / "attentions.npy").write_bytes(npy((4, 16, 16), softmax_rows(64, 16)))
    (folder / "tokens.txt").write_text("".join(f"token{n}\n" for n in range(16)))
    (folder / "batch.json").write_text(json.dumps([[62, 13, 47], [60]]))
    (folder / "heads.txt").write_text("Heads matter!\n")
    (folder / "ids.txt").write_text("101 4641 3043 999 102\n")
    for name in ("sentences.txt", "lines.txt"):
        (folder / name).write_text("\n".join(SENTENCES) + "\n", "utf-8")
    for name in ("train.tsv", "test.tsv"):
        (folder / name).write_text("".join(f"{label}\t{text}\n" for label, text in LABELLED))
