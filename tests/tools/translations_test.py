"""Every text that the command can say is in each catalogue of po, and nothing else is.

The texts are read from the sources (tools/source_texts.py, tools/catalogue.py):
- sentences: what say(), in_language(), progress bars, steps and pictures take;
- errors: the forms of message(), and what the functions that make errors take;
- the words of the page.
The C++ test HelpLanguageTest reads the texts of help.
"""
import errno
import functools
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import catalogue  # noqa: E402
import source_texts  # noqa: E402
from source_texts import HOLE  # noqa: E402

VIEWER = ROOT / "src/view/inspect/page/viewer"

# What takes texts of errors, and at which places; None: the text is assigned.
ERRORS = {
    "value_error": (2, 3), "argument_error": (2, 3), "shape_error": (3,),
    "check_shape": (3,), "bad_data": (0, 1), "error": (1, 2),
    "option_error": (1, 2), "bad_option": (2,), "wrong_rank": (2,),
    "wrong_option": (2, 3), "usage": (0, 1, 2), "usage_error": (0,),
    "Message": (0,), "message": (0,),
    "given": None, "expected": None, "hint": None}
# Where the maker adds words to a literal.
COMPLETED = {("value_error", 2): "is {}", ("shape_error", 3): "{} = {{}}",
             ("check_shape", 3): "{} = {{}}"}
SENTENCES = {"say": 0, "in_language": 0, "ProgressBar": None, "words": 0,
             "words_": 0, "Step": 1}
# Sentences that errors are made of, and places: "line {}" of "line 3".
PATTERNS = {"(endings of what is missing)", "line {}", "step {}", "layer {}",
            "element {}", "SHA-256 of {}", "the gradient of {}",
            "the journal of {}", "the parts of {}", "is 0"}

# What CLI11 says, and a list that help puts together.
OTHERS = ("Display program version information and exit",
          "Print this help message and exit",
          "Built-in examples (--example NAME):")

# Where other texts of several words are no sentences of the command: help, which
# HelpLanguageTest tests, what programs and the compiler read, and names.
NO_SENTENCES = {"about", "add", "examples", "file", "footer", "kExamples", "Program",
                "type_name", "compared_with", "find", "starts_with", "static_assert",
                "description", "under", "cut_to"}
OTHER_TEXTS = {
    "Built-in examples (--example NAME):\n", "headwise view{}", "model name",
    "random {}", "training data", " or 1 where broadcast", " do not"}

# Words of Latin letters that Korean keeps: names of values, axes and programs.
NAMES = set("""
    ablate ablation accuracy additive al alibi auto bench bert bias bool bottom-right cividis
    classify clone cls confidence cpu cuda distance distilbert dot download duplicate
    dtype emulated encoder-decoder entropy et exact explain false first fisher flash-attention flax flow
    full-size git gradient headwise headwise-causal hidden huggingface-cli id importance induction inf
    heads ink input integrated integrated-by-layer jax
    kdim keras key kv largest librsvg linear lint-mask llama3 ln log-sum-exp loss
    masked max mean mpirun ms nan next none norm norms ntk null offsets onnx opset ort-contrib output prediction
    patch positional previous prune query random safetensors reverse rollout rows self self-attention separator shape
    single-head sinks softcap softmax start stream torch torch-mha torch-mha-split torch-sdpa
    stats train transformers true unbatched uniform valid-lengths value vdim view
    viridis xdg-open yarn zero zip
    """.split())


@functools.cache
def sources():
    """{path: (its texts, its literals)} of the library and the command."""
    return {str(path.relative_to(ROOT)): source_texts.texts_in(path)
            for folder in ("include", "src", "apps")
            for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".cc", ".h", ".cu", ".cuh")}


def texts():
    for name, (found, _) in sources().items():
        for text in found:
            yield f"{name}:{text.line}", text


def has_words(text):
    """Several words of a language."""
    return re.search(r"[a-z]{2,}[,;:]? ([a-z]{2,}|\{)|\}[,;:]? [a-z]{2,}",
                     text) is not None


def other_texts():
    """[(where, English)] that is handed on before a message is made of it."""
    for where, text in texts():
        if where.startswith(("src/view/inspect/", "src/core/base/error.cc")) or \
                text.callee.startswith("add_") or text.callee in NO_SENTENCES or \
                text.callee.endswith("Axes") or \
                (text.callee, text.position) in COMPLETED:
            continue
        for form in text.forms:
            if has_words(form) and form not in OTHER_TEXTS and HOLE not in form:
                yield where, form


def sentences():
    """[(where, English)]"""
    for where, text in texts():
        place = SENTENCES.get(text.callee.split("::")[-1], -1)
        if place is None or place == text.position:
            for form in text.forms:
                yield where, form


def errors():
    """[(where, form)]"""
    for where, text in texts():
        places = ERRORS.get(text.callee.split("::")[-1], ())
        if places is None or text.position in places:
            completed = COMPLETED.get((text.callee, text.position), HOLE)
            for form in text.forms:
                yield where, completed.format(form)


def literal_of_script(text):
    text = "".join(re.findall(r"'((?:[^'\\]|\\.)*)'", text))
    text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\(.)", r"\1", text)


LITERAL = r"'(?:[^'\\\n]|\\.)*'"
SUM = re.compile(rf"{LITERAL}(?:\s*\+\s*{LITERAL})*")  # parts of one text


def literals_of_script(path):
    script = re.sub(r"(?m)^\s*//.*$", "", path.read_text("utf-8"))
    return [literal_of_script(found[0]) for found in SUM.finditer(script)]


def page_texts():
    """[(where, English)] of t('English') and of names.js."""
    yield from (("names.js", english) for english in
                literals_of_script(VIEWER / "names.js")[1::2])
    for path in sorted(VIEWER.glob("*.js")):
        for text in re.findall(rf"\bt\(({LITERAL})[,)]", path.read_text("utf-8")):
            yield path.name, literal_of_script(text)


def english_left(text):
    """Words of English in a text that are no names."""
    for name in (r"\{[^{}]*\}", r"\"[^\"]*\"", r"--[\w-]+(?: [\w.-]+)?",
                 r"https?:\S+", r"\w+\(\)?", r"\w+::\w+", r"[\w.]*[_./][\w.]+",
                 r"\([\w+*,. ]*\)", r"\[[\w+*,. ]*\]"):
        text = re.sub(name, " ", text, flags=re.ASCII)
    words = re.findall(r"(?<![A-Za-z\d$*-])[a-z][a-z-]*[a-z](?![A-Za-z\d-])", text)
    return [word for word in words if word not in NAMES]


def values_of(text):
    """The numbers of the values that a text takes."""
    count = 0
    taken = set()
    for field in re.findall(r"\{(\d*)(?::(?:[^{}]|\{\})*)?\}",
                            text.replace("{{", "").replace("}}", "")):
        taken.add(int(field) if field else count)
        count += 1
    return taken


class TranslationsTest(unittest.TestCase):
    def assert_has(self, context, where, english):
        for language, entries in catalogue.languages().items():
            with self.subTest(language, where=where, english=english):
                self.assertTrue((context, english) in entries)

    def test_every_sentence_has_a_translation(self):
        found = list(sentences())
        self.assertGreater(len(found), 300)
        for where, english in found:
            if english_left(english):
                self.assert_has("", where, english)

    def test_every_error_has_a_translation(self):
        found = list(errors())
        self.assertGreater(len(found), 1500)
        for where, form in found:
            if english_left(form):
                self.assert_has("error", where, form)

    def test_every_other_text_has_a_translation(self):
        for language, entries in catalogue.languages().items():
            known = {english for _, english in entries}
            for where, english in other_texts():
                with self.subTest(language, where=where, english=english):
                    self.assertTrue(english in known or not english_left(english))

    def test_every_text_of_the_page_has_a_translation(self):
        found = list(page_texts())
        names = literals_of_script(VIEWER / "names.js")[::2]
        self.assertGreater(len(found), 250)
        for where, english in found:
            if english not in names and not english.endswith("."):
                self.assert_has("page", where, english)

    def test_nothing_else_is_translated(self):
        known = {text for _, literals in sources().values() for text in literals}
        known |= {form for _, text in texts() for form in text.forms}
        known |= {form for _, form in errors()} | PATTERNS
        known |= {os.strerror(number) for number in errno.errorcode}
        # Help is put together of parts, some of which have values.
        parts = re.compile("|".join(
            ".+".join(map(re.escape, text.split(HOLE)))
            for text in known if HOLE in text))
        whole = "\n".join(known)
        pages = known | {text for path in VIEWER.glob("*.js")
                         for text in literals_of_script(path)}
        for language, entries in catalogue.languages().items():
            for context, english in entries:
                with self.subTest(language, context=context, english=english):
                    self.assertTrue(
                        english in (pages if context == "page" else known) or
                        not context and (english in whole or english.startswith(OTHERS) or
                                         parts.fullmatch(english)))

    def test_translations_take_the_values_of_the_english(self):
        for language, entries in catalogue.languages().items():
            for (context, english), text in entries.items():
                with self.subTest(language, context=context, english=english):
                    self.assertTrue(text)
                    # "{} head{}" has an ending that other languages lack.
                    endings = {int(number) for number in re.findall(
                        r"[a-z]\{(\d+)\}", numbered(english))}
                    if context == "error":
                        text = re.sub(r"\{s[^}]*\}", "", text)
                    self.assertEqual(values_of(text) - values_of(english), set())
                    self.assertEqual(
                        values_of(english) - values_of(text) - endings, set())

    def test_nothing_waits_for_a_translator(self):
        for path in catalogue.FOLDER.glob("*.po"):
            self.assertNotRegex(path.read_text("utf-8"), r"(?m)^#(~|, fuzzy)")

    def test_korean_is_korean(self):
        for (context, english), korean in catalogue.languages()["ko"].items():
            with self.subTest(context=context, english=english):
                self.assertEqual(english_left(korean), [])
                self.assertTrue(re.search("[가-힣]", korean) or
                                not english_left(english) or
                                not re.search("[A-Za-z]{3}", numbered(korean)))


def numbered(text):
    """{} as {0}, {1}, .."""
    count = iter(range(100))
    return re.sub(r"\{(\d*)((?::(?:[^{}]|\{\})*)?)\}",
                  lambda found: "{%s}" % (found[1] or next(count)), text)


if __name__ == "__main__":
    unittest.main()
