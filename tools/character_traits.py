#!/usr/bin/env python3
"""Writes the tables of src/tokenizer/unicode/character_traits.h: what each
character is to the normalizers of the package `tokenizers`, found by asking it.

    pip install tokenizers==0.23.3 numpy
    tools/character_traits.py

Its grapheme clusters do not show. The normalizer Precompiled replaces a cluster
of fewer than six bytes as a whole, and longer ones by character: with a table
that replaces everything by "|", the number of "|" says where clusters end.
Classes that change only clusters of six bytes and more are never seen, so they
are left out (regional indicators) or are those of the standard (Hangul).
"""

import struct
import unicodedata

import numpy
from tokenizers import normalizers

from unicode_tables import ALL, array, write

FORMS = [getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD")]
NFC, NFD, _, NFKD = FORMS
ACUTE, VIRAMA, KA, JOINER = "\u0301", "\u094d", "\u0915", "\u200d"
HANGUL = {
    "CHOSEONG": "leading",
    "JUNGSEONG": "vowel",
    "JONGSEONG": "trailing",
    "SYLLABLE": "syllable",
}
SYLLABLES = range(0xAC00, 0xD7A4)
JOINING_JAMO = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}


def everything_to_bars():
    """A double-array trie whose root has a leaf for each byte."""
    units = [0] * 1024
    root, leaf = 256, 768
    units[0] = root << 10
    for byte in range(1, 256):
        node = root ^ byte
        units[node] = byte | 1 << 8 | (node ^ leaf) << 10
    data = struct.pack("<I1024I", 4 * len(units), *units) + b"|\0"
    return normalizers.Precompiled(data)


BARS = everything_to_bars()


def bars(text):
    return len(BARS.normalize_str(text))


def grapheme_class(c):
    script, kind = (unicodedata.name(c, "").split() + ["", ""])[:2]
    if script == "HANGUL" and kind in HANGUL:
        return HANGUL[kind]
    if c == JOINER:
        return "joiner"
    if bars(c + ACUTE + ACUTE) == 2:
        return "control"
    if bars("a" + c) == 1:
        if bars(KA + c + KA + ACUTE) == 4:
            return "linker"
        if bars("\u00a9" + c + JOINER + "\u00a9" + ACUTE) != 5:
            return "spacing"
        conjunct = bars(KA + VIRAMA + c + KA + ACUTE) == 5
        return "extend" if conjunct else "non_joiner"
    if bars(c + "a") == 1:
        return "prepend"
    if bars("\u00a9" + JOINER + c) == 3:
        return "pictograph"
    return "consonant" if bars(c + VIRAMA + KA + ACUTE) == 4 else "other"


def changes(normalizer):
    """{code: text} of the characters that it changes."""
    texts = ((code, normalizer.normalize_str(chr(code))) for code in ALL.tolist())
    return {code: text for code, text in texts if text != chr(code)}


def bert(*steps):
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return changes(normalizers.BertNormalizer(**{n: n in steps for n in names}))


def combining_class(code):
    """That of Python where the reference sorts the character at all."""
    c, nfd = chr(code), NFD.normalize_str
    same = nfd("\u0345" + c) == "\u0345" + nfd(c) and nfd(c + "\u0334") == c + "\u0334"
    return 0 if same else unicodedata.combining(c)


def composites(canonical, composed):
    """{(first, second): code}, without Hangul."""
    found = {}
    for code, text in canonical.items():
        if len(text) > 1 and code not in composed and code not in SYLLABLES:
            first = NFC.normalize_str(text[:-1])
            assert NFC.normalize_str(first + text[-1]) == chr(code)
            found[ord(first), ord(text[-1])] = code
    return found


def write_normal_forms(canonical, compatible, pairs):
    pool, rows = "", []
    for code in sorted(compatible.keys() - set(SYLLABLES)):
        texts = [canonical.get(code, ""), compatible[code]]
        for text in texts:
            pool += "" if text in pool else text
        begins = [pool.index(text) for text in texts]
        rows.append("{%d,{%d,%d},{%d,%d}}" % (code, *begins, *map(len, texts)))
    composed = ["{%d,%d,%d}" % (*pair, pairs[pair]) for pair in sorted(pairs)]
    write(
        "normal_form_table",
        "character_traits",
        array("const DecomposedCharacter kDecomposed[]", rows)
        + f"const std::size_t kDecomposedCount = {len(rows)};\n\n"
        + array("const char32_t kDecomposedTexts[]", map(ord, pool))
        + array("\nconst ComposedPair kComposed[]", composed)
        + f"const std::size_t kComposedCount = {len(composed)};\n",
    )


def write_traits(flags):
    rows, kinds = {}, numpy.zeros(0x110000, "u1")
    for code in ALL.tolist():
        bits = sum(1 << n for n, codes in enumerate(flags) if code in codes)
        row = (bits, combining_class(code), grapheme_class(chr(code)))
        kinds[code] = rows.setdefault(row, len(rows))
    assert len(rows) <= 256
    blocks = {}
    order = [
        blocks.setdefault(block.tobytes(), len(blocks))
        for block in kinds.reshape(-1, 128)
    ]
    write(
        "character_traits_table",
        "character_traits",
        array("const std::uint16_t kTraitBlocks[0x110000 / 128]", order)
        + array("\nconst std::uint8_t kTraitRows[]", b"".join(blocks))
        + "\nconst CharacterTraits kTraits[] = {\n"
        + "".join("{%d, %d, GraphemeClass::%s},\n" % row for row in rows)
        + "};\n",
    )


def main():
    forms = [changes(form) for form in FORMS]
    pairs = composites(forms[1], forms[0])
    write_normal_forms(forms[1], forms[3], pairs)
    moving = {code for code in ALL.tolist() if combining_class(code)}
    joining = moving | JOINING_JAMO | {second for _, second in pairs}
    cleaned = bert("clean_text")
    marks = bert("strip_accents")
    # The order of the bits in character_traits.h.
    write_traits(
        [forms[n].keys() | (moving if n % 2 else joining) for n in range(4)]
        + [{code for code in cleaned if not cleaned[code]}]
        + [{code for code in cleaned if cleaned[code]}]
        + [bert("handle_chinese_chars").keys()]
        + [{code for code in marks if not marks[code]}]
        + [changes(normalizers.Lowercase()).keys()]
    )


if __name__ == "__main__":
    main()
