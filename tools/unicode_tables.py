#!/usr/bin/env python3
"""Writes the tables of src/tokenizer/unicode: what each character is to the
package `tokenizers`, found by asking it.

    pip install tokenizers==0.23.3 numpy
    tools/unicode_tables.py

Its regular expressions and its Rust code have different versions of Unicode, so
no file of Unicode says the same. Takes two minutes.
"""

import pathlib
import re
import sys

import numpy
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers
from tokenizers import pre_tokenizers as pre

FOLDER = pathlib.Path(__file__).parent.parent / "src/tokenizer/unicode"
ALL = numpy.array(
    [c for c in range(0x110000) if not 0xD800 <= c < 0xE000], dtype="<u4"
)
# The order of enum class Category (character_class.h).
CATEGORIES = (
    "lu ll lt lm lo mn mc me nd nl no pc pd ps pe pi pf po sm sc sk so"
    " zs zl zp cc cf cs co cn"
).split()
WHITE_CONTROL, UNKNOWN_NUMBER = 30, 31
WORD, PUNCTUATION, ACCENT = 0x20, 0x40, 0x80


def text_of(form):
    """The form for each character c, which takes the place of *."""
    codes = numpy.empty((len(ALL), len(form)), dtype="<u4")
    for n, character in enumerate(form):
        codes[:, n] = ALL if character == "*" else ord(character)
    return codes.tobytes().decode("utf-32-le")


def codes_of(text):
    return numpy.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def members(codes):
    result = numpy.zeros(0x110000, bool)
    result[codes] = True
    return result


def removed(normalizer):
    """The characters that a normalizer takes out."""
    return members(ALL) & ~members(codes_of(normalizer.normalize_str(text_of("*"))))


def matched(expression):
    return removed(normalizers.Replace(Regex(expression), ""))


def cut_out(pre_tokenizer):
    """The characters that are a piece of their own before a letter."""
    pieces = pre_tokenizer.pre_tokenize_str(text_of("*a"))
    spans = numpy.array([span for _, span in pieces])
    begins = spans[spans[:, 1] - spans[:, 0] == 1][:, 0]
    return members(ALL[begins[begins % 2 == 0] // 2])


def in_words():
    """What makes `xy` a part of a longer word."""
    tokenizer = Tokenizer(models.WordLevel({"q": 0}, "q"))
    tokenizer.add_tokens([AddedToken("xy", single_word=True, normalized=False)])
    encoding = tokenizer.encode(text_of(" xy*"))
    begins = numpy.array(encoding.offsets)[numpy.array(encoding.ids) == 1][:, 0]
    return members(ALL) & ~members(ALL[begins // 4])


def names():
    """The properties that \\p{} knows: words of the library that it accepts."""
    (library,) = pathlib.Path(tokenizers.__file__).parent.glob("*.so")
    found = re.findall(rb"[A-Za-z0-9_]{1,60}", library.read_bytes())
    known = set()
    for name in {word.decode().replace("_", "").lower() for word in found}:
        try:
            Regex(rf"\p{{{name}}}")
        except Exception:  # noqa: BLE001
            continue
        known.add(name)
    return sorted(known)


def script_classes():
    """The class of each character to UnicodeScripts; 0 joins any."""

    def cut_between(codes):
        text = numpy.asarray(codes, dtype="<u4").tobytes().decode("utf-32-le")
        spans = pre.UnicodeScripts().pre_tokenize_str(text)
        return set(begin for _, (begin, _) in spans)

    def unlike(first, codes):
        """Of each of the codes, whether a cut separates it from `first`."""
        pairs = numpy.stack([numpy.full(len(codes), first), codes], axis=1)
        begins = cut_between(pairs.reshape(-1))
        return numpy.array([2 * n + 1 in begins for n in range(len(codes))])

    rest = ALL[unlike(ord("a"), ALL) | unlike(0x5D0, ALL)]
    begins = cut_between(rest)
    first = [n for n in range(len(rest)) if n == 0 or n in begins]
    run_of = numpy.zeros(len(rest), int)
    run_of[first] = 1
    run_of = numpy.cumsum(run_of) - 1
    heads = rest[first]
    class_of = numpy.zeros(len(heads), int)
    while (class_of == 0).any():
        (unknown,) = numpy.nonzero(class_of == 0)
        same = unknown[~unlike(heads[unknown[0]], heads[unknown])]
        class_of[same] = class_of.max() + 1
    result = numpy.zeros(0x110000, int)
    result[rest] = class_of[run_of]
    return result


def numbers(values):
    lines, line = [], ""
    for value in values:
        piece = f"{value},"
        if len(line) + len(piece) > 80:
            lines.append(line)
            line = ""
        line += piece
    return "\n".join(lines + [line])


def write(name, included, body):
    (FOLDER / f"{name}.cc").write_text(
        f"// Written by tools/{pathlib.Path(sys.argv[0]).name} from the package"
        f" tokenizers {tokenizers.__version__}.\n// clang-format off\n"
        f'#include "unicode/{included}.h"\n\n'
        "namespace headwise::inline HEADWISE_ABI::tokenizer {\n\n"
        f"{body}\n"
        "}  // namespace headwise::inline HEADWISE_ABI::tokenizer\n"
    )


def array(declaration, values):
    return f"{declaration} = {{\n{numbers(values)}\n}};\n"


def write_kinds(sets):
    kinds = numpy.full(0x110000, CATEGORIES.index("cs"), dtype="u1")
    for n, category in enumerate(CATEGORIES):
        if category != "cs":
            kinds[sets[category]] = n
    kinds[sets["cc"] & sets["whitespace"]] = WHITE_CONTROL
    numeric = cut_out(pre.Digits(individual_digits=True))
    assert not (sets["n"] & ~numeric).any()
    assert not (numeric & ~sets["n"] & ~sets["cn"]).any()
    kinds[numeric & ~sets["n"]] = UNKNOWN_NUMBER
    kinds[in_words()] |= WORD
    kinds[cut_out(pre.Punctuation("isolated"))] |= PUNCTUATION
    kinds[removed(normalizers.StripAccents())] |= ACCENT
    blocks = {}
    order = [
        blocks.setdefault(block.tobytes(), len(blocks))
        for block in kinds.reshape(-1, 128)
    ]
    write(
        "kind_table",
        "character_class",
        array("const std::uint16_t kKindBlocks[0x110000 / 128]", order)
        + "\n"
        + array(
            "const std::uint8_t kKinds[]", (byte for block in blocks for byte in block)
        ),
    )


def lower_case_runs():
    """[first, last, step, difference] of the characters with a lower case."""
    lower = normalizers.Lowercase()
    runs = []
    for code in ALL.tolist():
        text = lower.normalize_str(chr(code))
        if text == chr(code) or code == 0x130:
            continue
        assert len(text) == 1
        difference = ord(text) - code
        if runs:
            first, last, step, before = runs[-1]
            gap = code - last
            if difference == before and (gap == step or first == last and gap <= 2):
                runs[-1] = [first, code, gap, difference]
                continue
        runs.append([code, code, 1, difference])
    assert lower.normalize_str("\u0130") == "i\u0307"
    return runs


def write_cases_and_scripts():
    runs = lower_case_runs()
    rows = "\n".join("{%d, %d, %d, %d}," % tuple(run) for run in runs)
    classes = script_classes()
    begins = numpy.nonzero(numpy.diff(classes))[0] + 1
    scripts = [int(b) << 8 | int(classes[b]) for b in [0, *begins]]
    write(
        "case_and_script_table",
        "character_class",
        f"const LowerCaseRun kLowerCase[] = {{\n{rows}\n}};\n"
        f"const std::size_t kLowerCaseRuns = {len(runs)};\n\n"
        + array("const std::uint32_t kScripts[]", scripts)
        + f"const std::size_t kScriptRuns = {len(scripts)};\n",
    )


def varint(number):
    while number >= 128:
        yield number & 127 | 128
        number >>= 7
    yield number


def write_named(sets):
    """The distances between the edges of each set (character_class.h)."""
    sets = dict(sets)
    # Single bytes of Latin-1 in brackets are words of another table.
    sets["word]"] = matched("[[:word:]]")
    packed, offsets, rows = bytearray(), {}, []
    for name in sorted(sets):
        inside = sets[name]
        edges = numpy.nonzero(numpy.diff(inside.astype(int)))[0] + 1
        bounds = ([] if not inside[0] else [0]) + edges.tolist()
        lengths = numpy.diff([0] + bounds).tolist()
        code = bytes(b for n in [len(lengths), *lengths] for b in varint(n))
        if code not in offsets:
            offsets[code] = len(packed)
            packed += code
        rows.append('{"%s", %d},' % (name, offsets[code]))
    rows = "\n".join(rows)
    write(
        "named_class_table",
        "character_class",
        f"const NamedClass kNamedClasses[] = {{\n{rows}\n}};\n"
        f"const std::size_t kNamedClassCount = {len(sets)};\n\n"
        + array("const std::uint8_t kNamedClassRuns[]", packed),
    )


def main():
    sets = {name: matched(rf"\p{{{name}}}") for name in names()}
    for inside in sets.values():
        if not inside.any():  # surrogates, which no text has
            inside[0xD800:0xE000] = True
    write_kinds(sets)
    write_cases_and_scripts()
    write_named(sets)


if __name__ == "__main__":
    main()
