#!/usr/bin/env python3
"""Writes src/tokenizer/unicode/character_table.cc: what each character is to the
package `tokenizers`, found by asking it.

    pip install tokenizers==0.23.3 numpy
    tools/unicode_tables.py

Its regular expressions and its Rust code have different versions of Unicode, so
no file of Unicode says the same. Takes three minutes.

Its grapheme clusters do not show. The normalizer Precompiled replaces a cluster
of fewer than six bytes as a whole, and longer ones by character: with a table
that replaces everything by "|", the number of "|" says where clusters end.
Classes that change only clusters of six bytes and more are never seen, so they
are left out (regional indicators) or are those of the standard (Hangul).
"""

import pathlib
import re
import struct
import textwrap
import unicodedata

import numpy
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers
from tokenizers import pre_tokenizers as pre

FILE = pathlib.Path(__file__).parent.parent / "src/tokenizer/unicode/character_table.cc"
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

FORMS = [getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD")]
NFC, NFD, _, NFKD = FORMS
ACUTE, VIRAMA, KA, JOINER = "\u0301", "\u094d", "\u0915", "\u200d"
HANGUL = {
    "CHOSEONG": "leading",
    "JUNGSEONG": "vowel",
    "JONGSEONG": "trailing",
    "SYLLABLE": "syllable",
}
# The order of enum class GraphemeClass (character_traits.h).
GRAPHEME_CLASSES = (
    "other control prepend extend linker non_joiner joiner spacing pictograph"
    " consonant leading vowel trailing syllable"
).split()
SYLLABLES = range(0xAC00, 0xD7A4)


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


def one_step(canonical, changed):
    """{code: text} of what NFD makes of a character: all, or the two characters
    that NFC, unless it changes this one, composes."""
    steps = dict(canonical)
    for code in canonical.keys() - changed:
        first, second = NFC.normalize_str(canonical[code][:-1]), canonical[code][-1]
        assert NFC.normalize_str(first + second) == chr(code)
        steps[code] = first + second
    return steps


def packed(numbers):
    """Printable characters (packed_numbers.h)."""
    text = ""
    for number in numbers:
        while number >= 70:
            number, digit = divmod(number - 70, 22)
            text += chr(ord("#") + 70 + digit)
        text += chr(ord("#") + number)
    return text


def edges(values):
    """The codes with another value than the code before; before U+0000 is 0."""
    return numpy.flatnonzero(numpy.diff(values.astype(int), prepend=0)).tolist()


def runs(values):
    """The numbers of a CodeTable."""
    recent = [255, *range(255)]
    begins = sorted({0, *edges(values), 0x110000})
    for begin, end in zip(begins, begins[1:]):
        place = recent.index(values[begin])
        recent.insert(0, recent.pop(place))
        yield (end - begin - 1) * 6 + min(place, 6) - 1
        if place >= 6:
            yield place - 6


def decompositions(texts):
    last, before = -1, [0] * 32
    for code in sorted(texts.keys() - set(SYLLABLES)):
        text = texts[code]
        yield (code - last - 1) * 4 + (len(text) if len(text) < 4 else 0)
        if len(text) >= 4:
            yield len(text)
        for place, part in enumerate(map(ord, text)):
            difference = part - before[place]
            yield 2 * difference if difference >= 0 else -2 * difference - 1
            before[place] = part
        last = code


def class_numbers(begin, bounds, mask):
    yield 2 * len(bounds) + (mask > 0)
    if mask > 0:
        yield mask
    for bound in bounds:
        yield (bound - begin) % 0x110000
        begin = bound


def named_classes(sets, kinds):
    """Their names, and their numbers (character_class.h)."""
    categories = kinds & 31
    in_category = numpy.bincount(categories, minlength=32)
    classes = {}
    for name, inside in sorted(sets.items()):
        most = numpy.bincount(categories[inside], minlength=32) * 2 > in_category
        mask = sum(1 << n for n in range(32) if most[n])
        forms = (edges(inside), 0), (edges(inside ^ most[categories]), mask)
        bounds, mask = min(forms, key=lambda form: len(packed(class_numbers(0, *form))))
        classes.setdefault((tuple(bounds), mask), []).append(name)
    numbers, begin = [], 0
    for bounds, mask in sorted(classes):
        numbers += class_numbers(begin, bounds, mask)
        begin = bounds[-1] if bounds else begin
    return " ".join("=".join(classes[form]) for form in sorted(classes)), numbers


def kinds_of(sets):
    """The category and the three bits of each character."""
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
    return kinds


def traits_of(flags):
    """The parts of CharacterTraits, in one number."""
    parts = numpy.zeros(0x110000, "u4")
    for code in ALL.tolist():
        bits = sum(1 << n for n, codes in enumerate(flags) if code in codes)
        grapheme = GRAPHEME_CLASSES.index(grapheme_class(chr(code)))
        parts[code] = bits | combining_class(code) << 9 | grapheme << 17
    parts[0xD800:0xE000] = parts[0]
    return parts


def literal(text):
    return textwrap.fill(f'R"({text}', 77, break_on_hyphens=False) + ')"'


def table(name, values):
    return f"constinit const CodeTable {name}(\n{literal(packed(runs(values)))});\n"


def row_table(name, rows_name, values):
    rows, places = numpy.unique(values, return_inverse=True)
    row_list = textwrap.fill(", ".join(map(str, rows)), 80)
    return f"const {rows_name}[] = {{\n{row_list}}};\n" + table(name, places)


def main():
    sets = {name: matched(rf"\p{{{name}}}") for name in names()}
    for inside in sets.values():
        if not inside.any():  # surrogates, which no text has
            inside[0xD800:0xE000] = True
    kinds = kinds_of(sets)
    # Single bytes of Latin-1 in brackets are words of another table.
    sets["word]"] = matched("[[:word:]]")
    class_names, class_edges = named_classes(sets, kinds)

    forms = [changes(form) for form in FORMS]
    steps = one_step(forms[1], forms[0].keys())
    assert all(forms[3][code] == NFKD.normalize_str(steps[code]) for code in steps)
    composed = steps.keys() - forms[0].keys()
    moving = {code for code in ALL.tolist() if combining_class(code)}
    joining = moving | {ord(steps[code][1]) for code in composed}
    assert not composed & joining and not moving & (forms[3].keys() - forms[1].keys())
    cleaned = bert("clean_text")
    marks = bert("strip_accents")
    lower = changes(normalizers.Lowercase())
    # The order of the bits in character_traits.h.
    traits = traits_of(
        [forms[n].keys() | (moving if n % 2 else joining) for n in range(4)]
        + [{code for code in cleaned if not cleaned[code]}]
        + [{code for code in cleaned if cleaned[code]}]
        + [bert("handle_chinese_chars").keys()]
        + [{code for code in marks if not marks[code]}]
        + [lower.keys()]
    )
    differences = numpy.zeros(0x110000, "i4")
    assert lower.pop(0x130) == "i\u0307"
    for code, text in lower.items():
        differences[code] = ord(text) - code
    parts = decompositions(forms[3] | steps)
    FILE.write_text(
        f"// Written by tools/unicode_tables.py from the package tokenizers"
        f" {tokenizers.__version__}.\n// clang-format off\n"
        '#include "unicode/character_class.h"\n'
        '#include "unicode/character_traits.h"\n\n'
        "namespace headwise::inline HEADWISE_ABI::tokenizer {\n\n"
        + table("kKinds", kinds)
        + table("kScripts", script_classes())
        + row_table("kLowerCases", "std::int32_t kLowerCaseDifferences", differences)
        + row_table("kTraitRows", "unsigned kTraits", traits)
        + f"const char kDecompositions[] =\n{literal(packed(parts))};\n"
        + f"const char kClassNames[] =\n{literal(class_names).replace(' ', ',')};\n"
        + f"const char kClassEdges[] =\n{literal(packed(class_edges))};\n\n"
        "}  // namespace headwise::inline HEADWISE_ABI::tokenizer\n"
    )


if __name__ == "__main__":
    main()
