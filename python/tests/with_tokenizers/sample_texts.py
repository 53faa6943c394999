"""Texts to train tokenizers on and to compare them with: what every Debian has, and
random text of many scripts. The same for the same seed on one machine."""
import functools
import pathlib
import random
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[3]
LICENCES = pathlib.Path("/usr/share/common-licenses")

# Parts of Unicode blocks with letters or signs of a script.
SCRIPTS = {
    "latin": "az AZ", "latin1": "À-ÿ", "latin_extended": "Ā-ɏ", "ipa": "ɐ-ʯ",
    "vietnamese": "Ạ-ỹ", "greek": "Α-ώ", "greek_extended": "ἀ-ῼ",
    "cyrillic": "Ѐ-ӿ", "armenian": "Ա-և", "hebrew": "\u0590-ת",
    "arabic": "\u0600-ۿ", "syriac": "\u0700-ݏ", "thaana": "ހ-ޱ", "nko": "߀-ߺ",
    "devanagari": "\u0900-ॿ", "bengali": "\u0980-৾", "gurmukhi": "\u0a01-੶",
    "gujarati": "\u0a81-૿", "tamil": "\u0b82-௺", "telugu": "\u0c00-౿",
    "kannada": "\u0c80-ೲ", "malayalam": "\u0d00-ൿ", "sinhala": "\u0d81-෴",
    "thai": "ก-๛", "lao": "ກ-ໟ", "tibetan": "ༀ-࿚", "myanmar": "က-႟",
    "georgian": "Ⴀ-ჿ", "jamo": "ᄀ-ᇿ", "ethiopic": "ሀ-᎙", "cherokee": "Ꭰ-ᏽ",
    "canadian": "᐀-ᙿ", "khmer": "ក-៹", "mongolian": "᠀-ᢪ", "hiragana": "ぁ-ゟ",
    "katakana": "゠-ヿ", "bopomofo": "ㄅ-ㄯ", "compatibility_jamo": "ㄱ-ㆎ",
    "han": "一-龥", "han_a": "㐀-䶿", "hangul": "가-힣", "yi": "ꀀ-ꒌ",
    "presentation": "ﬀ-ﷻ", "half_width": "！-￯", "compatibility_han": "\uf900-\ufad9",
    "gothic": "𐌰-𐍊", "mathematical": "𝐀-𝟿", "han_b": "𠀀-𠂀", "adlam": "𞤀-𞥟",
    "roman_numerals": "Ⅰ-ↈ", "enclosed": "①-⓿", "squared": "㌀-㏿",
    "superscripts": "⁰-₟", "arrows": "←-⋿", "boxes": "─-⟿",
    "turkish": "İ-ı", "digits": "09", "arabic_digits": "٠-٩",
    "nagari_digits": "०-९", "fullwidth_digits": "０-９",
}
ODD_SPACES = (" \t\n\r\v\f\x85\xa0\u1680\u180e\u2000\u2003\u2007\u2009\u200b\u2028"
              "\u2029\u202f\u205f\u3000\ufeff\x1c\x1d\x1e\x1f")
MARKS = ("\u0300\u0301\u0307\u0308\u0323\u0327\u0328\u0345\u0483\u05b0\u064e\u093c"
         "\u094d\u0e31\u0e48\u200c\u200d\u20dd\u302e\u302f\u3099\u309a\ufe0f\U000e0100")
ODD = ("\0\x01\x07\x1b\x7f\x80\x9f\xad\u0130\u0131\u017f\u0149\u01c5\u03a3\u03c2\u0378"
       "\u1e9e\ufdfa\u2126\u212a\u3164\u115f\u1160\ud7ff\ue000\uf8ff\ufdd0\ufffd\ufffe"
       "\uffff\U0001f1f0\U000110bd\U0001e900\U000e0001\U000f0000\U0010ffff\u2047\u2581"
       "\u0120\u010a\u00bd\u00b2\u2167\u3007\u4db5\u9fff\ua7dc\U00011380\U00031350")
EMOJI = ("😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇰🇷 🇰🇷🇯🇵🇺 ❤️ 1️⃣ #️⃣ ☎ ☎️ 🧑🏿‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ©️ 🫩 🐦‍⬛").split()
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»¿¡–—…‘’“”、。「」・，！？؟।᠂⁇§¶†€£¥₩^"
FIXED = [
    "I'm we'LL don'T they've it's 'S 'ſ ’s y'all'd O'Neill's 'tis d'être",
    "https://example.org/a_b-c/d.html?q=1&r=%20#x user@example.com C:\\Users\\x",
    "3.14159 1,234,567.89 12345678901 0x1F 1e-10 ½ ²³ ٣٤٥ Ⅷ ２０２６ 2026-11-29 10:30",
    "a--b-c --- ... !!! ?!?! $$$ +-=<>| `` '' \"\" ((nested)) [x][y] {z}",
    "if (x<=3) { return f(y)[2]; }  // comment\n\tfor i in range(10):\n\t\tpass\r\n",
    "   leading and trailing   ", "\n\n\n", " ", "", "\u3000", "▁", "▁▁ ▁a ▁ b▁",
    "Ġ Ċ Ń the Ġthe", "<0x41> <0xE3> <unk> <s> </s> [CLS] [MASK]",
    "a.b,c!d?e do n't ca n't I 'm he 's we 've they 're",
    "éèê e\u0301e\u0300 ÀÉÎ ﬁ ﬃ Ⅳ ｶﾞ ｶ\u3099 각 각 한글 ㅎㅏㄴ",
    "ΑΣ ὈΔΥΣΣΕΎΣ ΣΑΣ İSTANBUL ıI DŽ ǅ ß ẞ STRASSE",
]


def characters(ranges):
    for part in ranges.split():
        first, last = part[0], part[-1]
        yield from map(chr, range(ord(first), ord(last) + 1))


@functools.cache
def script(name):
    return list(characters(SCRIPTS[name]))


@functools.cache
def english():
    return [line.strip() for name in ("GPL-3", "LGPL-2.1", "Apache-2.0", "Artistic")
            if (LICENCES / name).exists()
            for line in (LICENCES / name).read_text("utf-8").splitlines()
            if line.strip()]


@functools.cache
def code():
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return [line for name in ("argparse.py", "textwrap.py", "json/decoder.py",
                              "typing.py", "difflib.py")
            for line in (library / name).read_text("utf-8").splitlines() if line]


@functools.cache
def korean():
    texts = [(ROOT / name).read_text("utf-8") for name in ("po/ko.po", "README.ko.md")]
    return [line for text in texts for line in text.splitlines()
            if any("가" <= c <= "힣" for c in line)]


def words_of_scripts(seed=0, count=40):
    """{script: words that come back}, so that trainers find something to merge."""
    rng = random.Random(f"words {seed}")
    return {name: ["".join(rng.choices(script(name)[:120], k=rng.randint(1, 7)))
                   for _ in range(count)] for name in SCRIPTS}


def training_lines(seed=0, size=90_000, scripts=tuple(SCRIPTS)):
    """About `size` characters."""
    rng = random.Random(f"training {seed}")
    words = words_of_scripts(seed)
    lines = []
    while size > 0:
        kind = rng.random()
        if kind < 0.4:
            line = rng.choice(english())
        elif kind < 0.55:
            line = rng.choice(code())
        elif kind < 0.7:
            line = rng.choice(korean())
        elif kind < 0.75:
            line = rng.choice(FIXED)
        else:
            line = " ".join(rng.choices(words[rng.choice(scripts)], k=10))
        lines.append(line)
        size -= len(line)
    return lines


class Lines:
    """Random lines; `contents`: what to mix in, such as added tokens."""

    def __init__(self, seed, contents=()):
        self.rng = random.Random(f"lines {seed}")
        self.contents = list(contents)
        self.words = words_of_scripts()
        self.names = list(SCRIPTS)

    def some(self, characters, most):
        return "".join(self.rng.choices(characters, k=self.rng.randint(1, most)))

    def excerpt(self, lines):
        line = self.rng.choice(lines)
        if self.rng.random() < 0.5:
            begin = self.rng.randrange(len(line))
            line = line[begin:begin + self.rng.randint(1, 80)]
        return line

    def any_scalar(self):
        at = self.rng.randrange(0x10f800)
        return chr(at if at < 0xd800 else at + 0x800)

    def of_scripts(self):
        used = self.rng.choices(self.names, k=self.rng.randint(1, 4))
        parts = []
        for _ in range(self.rng.randint(1, 12)):
            name = self.rng.choice(used)
            parts.append(self.rng.choice(self.words[name]) if self.rng.random() < 0.5
                         else self.some(script(name), 8))
        return self.rng.choice((" ", " ", " ", "", "-", "  ")).join(parts)

    def odd(self):
        rng = self.rng
        kinds = (lambda: self.some(ODD_SPACES, 4), lambda: self.some(MARKS, 4),
                 lambda: rng.choice(ODD), self.any_scalar, lambda: rng.choice(EMOJI),
                 lambda: self.some(PUNCTUATION, 4), lambda: rng.choice("aé한字9 _"),
                 lambda: rng.choice(self.words["latin"]), lambda: " ",
                 lambda: self.some(script("jamo"), 3),
                 lambda: rng.choice(script(rng.choice(self.names))))
        return "".join(rng.choice(kinds)() for _ in range(rng.randint(1, 14)))

    def long(self):
        rng = self.rng
        word = self.some(script(rng.choice(self.names)), rng.choice((1, 2, 30)))
        return word * rng.randint(1, 60)

    def with_contents(self):
        if not self.contents:
            return self.odd()
        parts = []
        for _ in range(self.rng.randint(1, 8)):
            parts.append(self.rng.choice(self.contents))
            if self.rng.random() < 0.6:
                parts.append(self.rng.choice((
                    " ", "  ", "\u3000", "a", "b ", " c", "1", "_", "é", "-", ".", "\n",
                    "\u0301", "한", "Xy", self.rng.choice(self.contents)[:2])))
        text = "".join(parts)
        return self.rng.choice((text, text, text.upper(), text.swapcase()))

    def line(self):
        kind = self.rng.random()
        if kind < 0.15:
            return self.excerpt(english())
        if kind < 0.25:
            return self.excerpt(code())
        if kind < 0.33:
            return self.excerpt(korean())
        if kind < 0.36:
            return self.excerpt([line for line in FIXED if line])
        if kind < 0.37:
            return self.rng.choice(FIXED)
        if kind < 0.57:
            return self.of_scripts()
        if kind < 0.77:
            return self.odd()
        if kind < 0.80:
            return self.long()
        if kind < 0.92:
            return self.with_contents()
        return self.line()[:40] + self.rng.choice((" ", "", "\n")) + self.line()[:40]

    def take(self, count):
        return [self.line() for _ in range(count)]


def scalar_texts(scalar):
    c = chr(scalar)
    return c, f" {c}the", f"word {c}x 12"


def scalars(step=1):
    """Every step-th Unicode scalar."""
    for first, end in ((0, 0xd800), (0xe000, 0x110000)):
        yield from range(first + (-first) % step, end, step)
