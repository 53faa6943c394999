"""Everything that the command can say, it can say in Korean.

    korean_messages_test.py KOREAN_OF_PHRASES

The texts are read from the sources (message_texts.py):
- what errors say: the arguments of the functions that make errors, and every
  other text of several words that nothing else explains;
- sentences in both languages side by side: say({..}) and tables of words;
- the words of the page.
"""
import functools
import pathlib
import re
import subprocess
import sys
import unittest

import message_texts
from message_texts import HOLE, is_korean

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What takes texts of errors, and at which places; None: the text is assigned.
ERROR_TEXTS = {
    "value_error": (2, 3), "argument_error": (2, 3), "shape_error": (3,),
    "check_shape": (3,), "bad_data": (0, 1), "error": (1, 2),
    "option_error": (1, 2), "bad_option": (1, 2), "wrong_rank": (2,),
    "wrong_option": (2, 3), "usage": (0, 1, 2), "usage_error": (0,),
    "given": None, "expected": None, "hint": None}
# Where the maker adds words to the text.
COMPLETED = {("value_error", 2): "is {}", ("bad_option", 1): "is {}",
             ("shape_error", 3): "{} = {{}}", ("check_shape", 3): "{} = {{}}"}
# What is said of the argument or the file.
OF_SUBJECT = {("value_error", 2), ("argument_error", 2), ("bad_data", 0),
              ("error", 1), ("option_error", 1), ("bad_option", 1),
              ("wrong_option", 2)}

# Texts of several words that are no errors. Help, which translation_test.cc
# tests: what takes it, beside the functions add_..() and under().
HELP = {"option_row", "about", "examples", "file", "footer", "kExamples",
        "Program"}
# What JSON, journals and files of the system hold, and what the compiler says.
FOR_PROGRAMS = {"compared_with", "find", "starts_with", "static_assert"}
OTHER_TEXTS = {
    # Of rules, each of which is looked at.
    "{} cannot be used with {}", "{} cannot be used with {}: {}",
    "Built-in examples (--example NAME):\n", "headwise view{}", "model name",
    "random {}", "training data",
    "headwise explain --params {} --tokens {} --picture {}",
    "headwise explain --params {} --tokens {} --target-tokens {} --picture {}",
    "{}{}{}  headwise prune --model {} --scores {} --remove 40% --out DIR\n",
    "window_and_first_mask[0,0,i,j] = (p - left <= j | j < keep_first) & j <= "
    "p + right, p = i + query_start",
    "window_mask[0,0,i,j] = p - left <= j <= p + right, p = i + query_start"}
# Where only the makers of errors are looked at: the rest is English on its way
# to be put together, formulas and pictures.
ERRORS_ONLY = ("src/base/error.cc", "src/inspect/")

# Words of Latin letters that Korean keeps: names of values, axes and programs.
NAMES = set("""
    ablate ablation accuracy additive al alibi auto bench bert bias bool bottom-right cividis
    classify clone cls confidence cpu cuda distance distilbert dot download duplicate
    dtype emulated encoder-decoder entropy et exact explain false first fisher flash-attention flax flow
    full-size git gradient headwise headwise-causal hidden huggingface-cli id importance induction inf
    heads ink integrated integrated-by-layer jax
    kdim keras key kv largest librsvg linear lint-mask llama3 ln log-sum-exp loss
    masked max mean mpirun ms nan next none norm norms ntk null offsets onnx opset ort-contrib output prediction
    patch positional previous prune query random safetensors reverse rollout rows self self-attention separator shape
    single-head sinks softmax start stream torch torch-mha torch-mha-split torch-sdpa
    stats train transformers true unbatched uniform valid-lengths value vdim view
    viridis xdg-open yarn zero zip
    """.split())


@functools.cache
def sources():
    """Texts of the library and the command, by the file's path."""
    found = {}
    for folder in ("include", "src", "apps"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".cu", ".cuh"):
                name = str(path.relative_to(ROOT))
                found[name] = message_texts.texts_in(path)
    return found


def has_words(text):
    """Several words of a language."""
    return re.search(r"[a-z]{2,}[,;:]? ([a-z]{2,}|\{)|\}[,;:]? [a-z]{2,}",
                     text) is not None


def in_tables():
    """English that has its Korean in a table of help or of words."""
    return {text.forms[0] for name, texts in sources().items()
            if "korean" in name and "phrases" not in name
            for text in texts if text.korean}


def error_texts():
    """[(where, maker and place, text)] of errors."""
    known = in_tables() | OTHER_TEXTS
    for name, texts in sources().items():
        if "/korean" in name or name.startswith("src/inspect/words"):
            continue
        for text in texts:
            if text.korean or text.callee.startswith("add_") or \
                    text.callee in HELP | FOR_PROGRAMS:
                continue
            # Constants of axes are for check_shape().
            maker = ("check_shape", 3) if text.callee.endswith("Axes") else \
                (text.callee, text.position)
            places = ERROR_TEXTS.get(maker[0], ())
            made = places is None or maker[1] in places
            for form in set(text.forms) - known:
                if made:
                    form = COMPLETED.get(maker, HOLE).format(form)
                elif not has_words(form) or name.startswith(ERRORS_ONLY):
                    continue
                yield f"{name}:{text.line}", maker, form


def sentences():
    """[(where, English, Korean)] that stand side by side."""
    for name, texts in sources().items():
        for text in texts:
            if text.korean:
                yield f"{name}:{text.line}", text.forms[0], text.korean


def page_words(language):
    path = ROOT / f"src/inspect/page/viewer/words.{language}.js"
    literal = r"'(?:[^'\\]|\\.)*'"
    return {key: re.sub(r"\\(.)", r"\1", "".join(
                part[1:-1] for part in re.findall(literal, value)))
            for key, value in re.findall(
                rf"^  '([\w.]+)':((?:[\s+]*{literal})+)",
                path.read_text("utf-8"), re.MULTILINE)}


def english_left(korean):
    """Words of English in a Korean text that are no names."""
    for name in (r"\{[^{}]*\}", r"\"[^\"]*\"", r"--[\w-]+(?: [\w.-]+)?",
                 r"https?:\S+", r"\w+\(\)?", r"\w+::\w+", r"[\w.]*[_./][\w.]+",
                 r"\([\w+*,. ]*\)", r"\[[\w+*,. ]*\]"):
        korean = re.sub(name, " ", korean, flags=re.ASCII)
    words = re.findall(r"(?<![A-Za-z\d$*-])[a-z][a-z-]*[a-z](?![A-Za-z\d-])",
                       korean)
    return [word for word in words if word not in NAMES]


def placeholders(text):
    """The numbers of the values that a format takes."""
    count = 0
    taken = set()
    for field in re.findall(r"\{\*?(\d*)(?::(?:[^{}]|\{\})*)?\}", text):
        taken.add(int(field) if field else count)
        count += 1
    return taken


class ErrorsTest(unittest.TestCase):
    def korean_of(self, texts):
        lines = [text.replace("\n", " ") + "\n" for text in texts]
        done = subprocess.run(PHRASES, input="".join(lines),
                              capture_output=True, text=True, check=True)
        return done.stdout.split("\n")

    def test_every_text_has_korean(self):
        texts = list(error_texts())
        self.assertGreater(len(texts), 350)
        said = [text.replace(HOLE, "7") for _, _, text in texts]
        for (where, maker, text), korean in zip(texts, self.korean_of(said)):
            if not korean and not english_left(text):
                continue  # nothing but names
            with self.subTest(where, text=text):
                self.assertTrue(korean, "has no row in korean_*_phrases.cc")
                self.assertTrue(is_korean(korean), korean)
                self.assertEqual(english_left(korean), [], korean)
                if maker in OF_SUBJECT:
                    self.assertIn("@", korean, "has no {s} in its Korean")

    def test_no_korean_is_there_for_texts_that_are_gone(self):
        texts = "\n".join(
            [form for name, texts in sources().items() if "korean" not in name
             for text in texts for form in text.forms] +
            [text for _, _, text in error_texts()])
        forms = subprocess.run([*PHRASES, "--forms"], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        for form in forms:
            with self.subTest(form):
                self.assertTrue(all(words.strip(" ,") in texts
                                    for words in form.split(HOLE)))


class SentencesTest(unittest.TestCase):
    def assert_alike(self, english, korean):
        self.assertEqual(english_left(korean), [], korean)
        words = re.search("[A-Za-z]", re.sub(r"\{[^{}]*\}", "", korean))
        self.assertTrue(is_korean(korean) or words is None, korean)
        # "{} head{}" has an ending that Korean has not.
        endings = {int(number) for number in
                   re.findall(r"[a-z]\{(\d+)\}", numbered(english))}
        taken = placeholders(korean)
        self.assertEqual(taken - placeholders(english), set(), korean)
        self.assertEqual(placeholders(english) - taken - endings, set(), korean)

    def test_both_languages_take_the_same_values(self):
        pairs = list(sentences())
        self.assertGreater(len(pairs), 200)
        for where, english, korean in pairs:
            with self.subTest(where, english=english):
                self.assert_alike(english, korean)

    def test_words_of_the_page(self):
        english, korean = page_words("en"), page_words("ko")
        self.assertGreater(len(english), 100)
        self.assertEqual(english.keys(), korean.keys())
        for key, text in korean.items():
            with self.subTest(key):
                self.assertEqual(placeholders(english[key]), placeholders(text))
                self.assertEqual(english_left(text), [], text)

    def test_bars_and_words_alone_are_in_a_table(self):
        known = in_tables()
        for name, texts in sources().items():
            for text in texts:
                if text.callee in ("ProgressBar", "in_language"):
                    with self.subTest(f"{name}:{text.line}"):
                        self.assertIn(text.forms[0], known)


def numbered(text):
    """{} as {0}, {1}, .."""
    count = iter(range(100))
    return re.sub(r"\{(\d*)((?::(?:[^{}]|\{\})*)?)\}",
                  lambda found: "{%s}" % (found[1] or next(count)), text)


if __name__ == "__main__":
    PHRASES = [sys.argv.pop(1)]
    unittest.main()
