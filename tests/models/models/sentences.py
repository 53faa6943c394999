"""Sentences that are hard for a tokenizer, the same from the same seed."""

# Letters of many scripts: first and last code points.
SCRIPTS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF),
    (0x400, 0x52F), (0x531, 0x587), (0x5D0, 0x5EA), (0x620, 0x6D3),
    (0x710, 0x74A), (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FE),
    (0xA01, 0xA76), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xD00, 0xD7F),
    (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F),
    (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137C), (0x13A0, 0x13FD),
    (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1B00, 0x1B7F), (0x1E00, 0x1EFF),
    (0x1F00, 0x1FFE), (0x3041, 0x30FF), (0x3105, 0x312F), (0xA000, 0xA4C6),
    (0xAC00, 0xD7A3), (0xA640, 0xA7FF), (0x10400, 0x1044F), (0x11100, 0x11146),
    (0x11180, 0x111DF), (0x1E900, 0x1E95F), (0x16E40, 0x16E9A),
]
IDEOGRAPHS = [
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F), (0x2B820, 0x2B91F), (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F), (0x3100, 0x31BF),
]
MARKS = [
    (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A),
    (0x64B, 0x65F), (0x7EB, 0x7FD), (0x898, 0x8FF), (0x93C, 0x94D),
    (0xF71, 0xF84), (0x135D, 0x135F), (0x1714, 0x1715), (0x1AB0, 0x1ACE),
    (0x1B34, 0x1B44), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x302A, 0x302F),
    (0x3099, 0x309A), (0xA953, 0xA953), (0xA9C0, 0xA9C0), (0xFE20, 0xFE2F),
    (0x111C0, 0x111C0), (0x16FF0, 0x16FF1), (0x1D15E, 0x1D164),
    (0x1D165, 0x1D172), (0x1E000, 0x1E02A), (0x1E944, 0x1E94A),
]
CONTROLS = [
    (0x00, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C),
    (0x6DD, 0x6DD), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F),
    (0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000), (0xE000, 0xE010),
    (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFD), (0xE0001, 0xE007F), (0xF0000, 0xF0003),
]
SYMBOLS = [
    (0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF),
    (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20C0), (0x2190, 0x21FF),
    (0x2E00, 0x2E5D), (0x3001, 0x303F), (0xFE30, 0xFE6B), (0xFF01, 0xFF65),
    (0x55A, 0x55F), (0x5BE, 0x5C6), (0x964, 0x965), (0x10100, 0x10102),
    (0x1360, 0x1368), (0x1400, 0x1400), (0x166D, 0x166E), (0x16EB, 0x16ED),
]
EMOJI = [
    "\U0001F600", "\U0001F44D\U0001F3FD", "\u2764\uFE0F",
    "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
    "\U0001F3F3\uFE0F\u200D\U0001F308", "\U0001F1F0\U0001F1F7", "1\uFE0F\u20E3",
    "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[mask]", "[MASK",
           "[[SEP]]", "[unused1]", "[CL\u00ADS]"]
SPACES = [" "] * 12 + ["  ", "\t", "\u00A0", "\u3000", "\u2009", ""]


class Sentences:
    def __init__(self, random, words):
        """`words` are taken as they are, some with other cases or accents."""
        self.random = random
        self.words = words

    def character(self, ranges):
        return chr(self.random.randint(*self.random.choice(ranges)))

    def some(self, ranges, most):
        return "".join(self.character(ranges)
                       for _ in range(self.random.randint(1, most)))

    def known_word(self):
        word = self.random.choice(self.words)
        return self.random.choice(
            [word, word, word, word.upper(), word.title(),
             word + self.random.choice(self.words),
             "".join(c + self.character(MARKS) if self.random.random() < 0.2
                     else c for c in word)])

    def foreign_word(self):
        script = [self.random.choice(SCRIPTS)]
        word = "".join(self.character(script)
                       for _ in range(self.random.randint(1, 9)))
        if self.random.random() < 0.3:
            word = "".join(c + self.some(MARKS, 3)
                           if self.random.random() < 0.4 else c for c in word)
        return word

    def long_word(self):
        size = self.random.choice([95, 99, 100, 101, 102, 150, 10_000])
        kind = self.random.random()
        if kind < 0.4:
            return "a" * size
        if kind < 0.6:
            return "".join(self.random.choices("abcdefghij\u00E9\u0301",
                                               k=size))
        if kind < 0.8:
            return "e" + self.some(MARKS, size)
        return "".join(self.character(SCRIPTS) for _ in range(size))

    def any_characters(self):
        """Of all Unicode, and of all at once."""
        text = ""
        for _ in range(self.random.randint(1, 12)):
            code = self.random.randint(0, 0x10FFFF)
            text += "" if 0xD800 <= code < 0xE000 else chr(code)
        return text

    def part(self):
        kind = self.random.random()
        if kind < 0.45:
            return self.known_word()
        if kind < 0.65:
            return self.foreign_word()
        if kind < 0.72:
            return self.some(IDEOGRAPHS, 5)
        if kind < 0.80:
            return self.some(SYMBOLS, 4)
        if kind < 0.85:
            return self.random.choice(EMOJI)
        if kind < 0.90:
            return self.some(CONTROLS, 3)
        if kind < 0.93:
            return self.some(MARKS, 6)
        if kind < 0.95:
            return self.random.choice(SPECIAL)
        if kind < 0.952:
            return self.long_word()
        return self.any_characters()

    def sentence(self):
        return "".join(self.part() + self.random.choice(SPACES)
                       for _ in range(self.random.randint(0, 30)))
