"""Small tokenizers of every kind, trained on the sample texts: {name: tokenizer.json}.
Each has one odd thing or a few that real models have together."""
import functools
import json
import os
import random

import tokenizers
from tokenizers import trainers

import parts
from parts import (added, bert, by_regex, byte_level, decoders, document, metaspace,
                   normalizers, part, processing, regex, replace, sequence, split,
                   string, template, words)
from sample_texts import training_lines

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
EMPTY = {
    "BPE": {"type": "BPE", "vocab": {}, "merges": []},
    "Unigram": {"type": "Unigram", "unk_id": None, "vocab": []},
    "WordPiece": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {},
                  "continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
    "WordLevel": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"},
}

TRAINERS = {"BPE": trainers.BpeTrainer, "Unigram": trainers.UnigramTrainer,
            "WordPiece": trainers.WordPieceTrainer,
            "WordLevel": trainers.WordLevelTrainer}


def trained(kind, size, special=(), model=(), trainer=(), lines=None, **pieces):
    """The model that learns from the texts as the normalizer and the pre-tokenizer of
    `pieces` leave them, in a document with all pieces. `model` changes it later."""
    learner = tokenizers.Tokenizer.from_str(json.dumps(document(
        EMPTY[kind], normalizer=pieces.get("normalizer"),
        pre_tokenizer=pieces.get("pre_tokenizer"))))
    made = TRAINERS[kind](
        vocab_size=size, show_progress=False, special_tokens=list(special),
        **dict(trainer))
    learner.train_from_iterator(lines or training_lines(), made)
    learnt = json.loads(learner.to_str())
    listed = pieces.pop("added_tokens", None)
    learnt.update(pieces)
    learnt["model"].update(dict(model))
    learnt["added_tokens"] = (learnt["added_tokens"] if listed is None else listed)
    return learnt


def changed(base, model=(), **pieces):
    """A copy with another model or pieces."""
    copy = {**base, **pieces}
    copy["model"] = {**base["model"], **dict(model)}
    return copy


def of_bytes():
    """Byte-level BPE."""
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    common = {"kind": "BPE", "size": 900, "special": ["<|endoftext|>"],
              "trainer": {"initial_alphabet": alphabet},
              "decoder": byte_level(), "lines": training_lines()}

    def one(pre_tokenizer, **more):
        return trained(**{**common, **more}, pre_tokenizer=pre_tokenizer)
    gpt2 = one(byte_level(), post_processor=byte_level(trim=False))
    llama3 = one(by_regex(parts.LLAMA3), post_processor=sequence(
        "processors", byte_level(), template("<|endoftext|> $A", "<|endoftext|> $A "
                                             "<|endoftext|>:1 $B:1",
                                             {"<|endoftext|>": [0]})),
        model={"ignore_merges": True})
    # So that some tokens are only found whole.
    llama3["model"]["merges"] = [merge for n, merge in enumerate(
        llama3["model"]["merges"]) if n % 5]
    roberta = one(byte_level(prefix=True),
                  special=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    roberta["added_tokens"][4].update(lstrip=True)
    falcon = words(part("Punctuation", behavior="Contiguous"), byte_level(),
                   part("Digits", individual_digits=False),
                   split(regex("[0-9][0-9][0-9]")))
    return {
        "gpt2": gpt2,
        "gpt2_prefix_trimmed": changed(gpt2, pre_tokenizer=byte_level(prefix=True),
                                       post_processor=byte_level(prefix=True)),
        "roberta": changed(roberta, post_processor=processing(
            "RobertaProcessing", ["</s>", 2], ["<s>", 0], trim_offsets=True,
            add_prefix_space=True)),
        "roberta_untrimmed": changed(roberta, post_processor=processing(
            "RobertaProcessing", ["</s>", 2], ["<s>", 0], trim_offsets=False,
            add_prefix_space=False)),
        "smollm": one(words(part("Digits", individual_digits=True), byte_level())),
        "llama3": llama3,
        "llama3_merges": changed(llama3, model={"ignore_merges": False}),
        "qwen2": one(by_regex(parts.QWEN2), normalizer=part("NFC"),
                     post_processor=byte_level(trim=False)),
        "cl100k_as_written": one(by_regex(parts.CL100K)),
        "o200k": one(by_regex(parts.O200K)),
        "deepseek": one(by_regex(*parts.DEEPSEEK), normalizer=normalizers()),
        "falcon": one(falcon),
        "nfkc_bytes": one(byte_level(), normalizer=part("NFKC")),
        "normalizer_bytes": one(part("Whitespace"), normalizer=normalizers(
            part("NFD"), part("ByteLevel"))),
        "bytes_without_regex": changed(gpt2, pre_tokenizer=byte_level(
            use_regex=False)),
        "clip": one(words(split(regex(parts.CLIP), "Removed", True),
                          byte_level(use_regex=False)),
                    trainer={"initial_alphabet": alphabet,
                             "end_of_word_suffix": "</w>"},
                    normalizer=normalizers(part("NFC"), replace(regex(r"\s+"), " "),
                                           part("Lowercase")),
                    decoder=part("BPEDecoder", suffix="</w>"),
                    special=["<|startoftext|>", "<|endoftext|>"],
                    model={"unk_token": "<|endoftext|>"},
                    post_processor=processing("RobertaProcessing",
                                              ["<|endoftext|>", 1],
                                              ["<|startoftext|>", 0],
                                              trim_offsets=False,
                                              add_prefix_space=False)),
    }


def of_characters():
    """BPE on characters."""
    llama2 = trained("BPE", 1400, ["<unk>", "<s>", "</s>", *BYTES],
                     normalizer=parts.LLAMA2_NORMALIZER, lines=training_lines(1),
                     decoder=parts.LLAMA2_DECODER, pre_tokenizer=split(
                         string("▁"), "MergedWithNext"),
                     trainer={"limit_alphabet": 400},
                     model={"unk_token": "<unk>", "byte_fallback": True,
                            "fuse_unk": True},
                     added_tokens=[added(text, n, normalized=False, special=True)
                                   for n, text in enumerate(["<unk>", "<s>", "</s>"])],
                     post_processor=template("<s> $A", "<s> $A <s>:1 $B:1",
                                             {"<s>": [1]}))
    llama2["pre_tokenizer"] = None
    some_bytes = [byte for n, byte in enumerate(BYTES) if n % 7]
    few = trained("BPE", 900, ["<unk>", *some_bytes], pre_tokenizer=metaspace(),
                  trainer={"limit_alphabet": 90}, decoder=metaspace(),
                  model={"unk_token": "<unk>"}, added_tokens=[])
    prefixed = trained("BPE", 700, ["[UNK]"], pre_tokenizer=part("BertPreTokenizer"),
                       trainer={"continuing_subword_prefix": "##",
                                "limit_alphabet": 120},
                       model={"unk_token": "[UNK]"}, decoder=part("WordPiece",
                                                                  prefix="##",
                                                                  cleanup=False))
    suffixed = trained("BPE", 700, ["<unk>"], pre_tokenizer=part("WhitespaceSplit"),
                       trainer={"end_of_word_suffix": "</w>", "limit_alphabet": 120},
                       model={"unk_token": "<unk>"}, decoder=part("BPEDecoder",
                                                                  suffix="</w>"))
    gemma = changed(llama2, normalizer=replace(string(" "), "▁"),
                    pre_tokenizer=split(string(" "), "MergedWithPrevious"),
                    decoder=decoders(replace(string("▁"), " "), part("ByteFallback"),
                                     part("Fuse")))
    made = {
        "llama2": llama2,
        "llama2_metaspace": changed(llama2, normalizer=None,
                                    pre_tokenizer=metaspace("first", False)),
        "gemma": gemma,
        "few_characters": few,
        "few_fused": changed(few, {"fuse_unk": True}),
        "few_without_unk": changed(few, {"unk_token": None}),
        "few_bytes": changed(few, {"byte_fallback": True}),
        "few_bytes_fused": changed(few, {"byte_fallback": True, "fuse_unk": True}),
        "few_bytes_without_unk": changed(few, {"byte_fallback": True,
                                               "unk_token": None}),
        "few_ignoring_merges": changed(few, {
            "ignore_merges": True, "merges": few["model"]["merges"][::2]}),
        "bpe_prefix": prefixed,
        "bpe_suffix": suffixed,
        "bpe_suffix_fused": changed(suffixed, {"fuse_unk": True},
                                    normalizer=part("Lowercase"),
                                    decoder=part("CTC", pad_token="e",
                                                 word_delimiter_token="the",
                                                 cleanup=True)),
    }
    for scheme in ("always", "first", "never"):
        for whole in (True, False):
            pre_tokenizer = metaspace(scheme, whole)
            made[f"metaspace_{scheme}{'' if whole else '_whole'}"] = changed(
                few, pre_tokenizer=pre_tokenizer, decoder=pre_tokenizer,
                added_tokens=[added("<mask>", lstrip=True), added("a b")])
    return made


def of_pieces():
    """Unigram."""
    few = ("latin", "greek", "cyrillic", "hiragana", "half_width", "thai")
    common = {"kind": "Unigram", "size": 1800, "special": ["<pad>", "</s>", "<unk>"],
              "trainer": {"unk_token": "<unk>"}, "decoder": metaspace()}
    t5 = trained(**common, normalizer=normalizers(
        parts.precompiled(), part("Strip", strip_left=False, strip_right=True),
        replace(regex(" {2,}"), "▁")), pre_tokenizer=metaspace(),
        lines=training_lines(3, scripts=few),
        post_processor=template("$A </s>", "$A </s> $B </s>", {"</s>": [1]}))
    plain = trained(**common, pre_tokenizer=metaspace("first"), lines=training_lines(2, scripts=few))
    pieces = plain["model"]["vocab"]
    lowest = min(score for _, score in pieces) - 1
    with_bytes = pieces + [[byte, lowest - n / 8] for n, byte in enumerate(BYTES)]
    without_some = [each for n, each in enumerate(with_bytes)
                    if n < len(pieces) or n % 7]
    albert = normalizers(replace(string("``"), '"'), replace(string("''"), '"'),
                         part("NFKD"), part("StripAccents"), part("Lowercase"))
    xlm = words(part("WhitespaceSplit"), metaspace())
    return {
        "t5": t5,
        "unigram": plain,
        "unigram_bytes": changed(plain, {"vocab": with_bytes, "byte_fallback": True},
                                 decoder=decoders(part("ByteFallback"), metaspace())),
        "unigram_some_bytes": changed(plain, {"vocab": without_some,
                                              "byte_fallback": True}),
        "unigram_bytes_off": changed(plain, {"vocab": with_bytes}),
        "unigram_equal_scores": changed(plain, {"vocab": [
            [text, -1.0 * len(text)] for text, _ in pieces]}),
        "unigram_without_unk": changed(plain, {"unk_id": None}),
        "unigram_whole": changed(plain, pre_tokenizer=None, decoder=None),
        "albert": changed(t5, normalizer=albert, pre_tokenizer=metaspace()),
        "xlm": changed(t5, normalizer=parts.precompiled(), pre_tokenizer=xlm),
        "nmt": changed(t5, normalizer=normalizers(part("Nmt"), part("NFKC")),
                       pre_tokenizer=metaspace("never")),
    }


def of_word_pieces():
    """WordPiece."""
    around = template("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1",
                      {"[CLS]": [2], "[SEP]": [3]})
    base = trained("WordPiece", 1500, BERT_TOKENS, normalizer=bert(),
                   trainer={"limit_alphabet": 300},
                   pre_tokenizer=part("BertPreTokenizer"), post_processor=around,
                   decoder=part("WordPiece", prefix="##", cleanup=True))
    made = {
        "bert": base,
        "bert_processing": changed(base, post_processor=processing(
            "BertProcessing", ["[SEP]", 3], ["[CLS]", 2]), decoder=None),
        "bert_short_words": changed(base, {"max_input_chars_per_word": 5}),
        "bert_other_prefix": changed(trained(
            "WordPiece", 700, BERT_TOKENS, normalizer=bert(lower=False),
            pre_tokenizer=part("Whitespace"),
            trainer={"continuing_subword_prefix": "@@", "limit_alphabet": 150}),
            {"continuing_subword_prefix": "@@"},
            decoder=part("WordPiece", prefix="@@", cleanup=False)),
    }
    for n in range(24):
        clean, chinese, lower = n & 1 > 0, n & 2 > 0, n & 4 > 0
        accents = (None, True, False)[n // 8]
        if n % 2 == 0 or accents is None:
            made[f"bert_{n}"] = changed(base, normalizer=bert(clean, chinese, accents,
                                                              lower))
    return made


def of_words():
    """WordLevel, where the words are those of the pre-tokenizer. The model knows the
    frequent ones."""
    sequences = {
        "whitespace": part("Whitespace"), "white_space": part("WhitespaceSplit"),
        "punctuation_words": words(part("Punctuation", behavior="Isolated"),
                                   part("WhitespaceSplit")),
        "punctuation_next": part("Punctuation", behavior="MergedWithNext"),
        "delimiter": part("CharDelimiterSplit", delimiter="e"),
        "digits": words(part("Digits", individual_digits=False),
                        part("BertPreTokenizer")),
        "fixed_length": part("FixedLength", length=3),
        "scripts": words(part("UnicodeScripts"), part("WhitespaceSplit")),
        "scripts_digits": words(part("UnicodeScripts"),
                                part("Digits", individual_digits=True),
                                part("Punctuation", behavior="Contiguous"),
                                part("FixedLength")),
        "nothing": words(),
    }
    patterns = (string("e"), regex(r"\s+"), regex(r"[aeiou]|\p{N}+"))
    for n, behavior in enumerate(("Removed", "Isolated", "MergedWithPrevious",
                                  "MergedWithNext", "Contiguous")):
        for invert in (False, True):
            sequences[f"split_{behavior}{'_inverted' * invert}"] = split(
                patterns[(n + 2 * invert) % 3], behavior, invert)
    made = {name: trained("WordLevel", 1500, ["[UNK]"], pre_tokenizer=each)
            for name, each in sequences.items()}
    one = made["whitespace"]
    normal = {
        "nfd_strip": normalizers(part("NFD"), part("StripAccents"), part("Lowercase")),
        "nfkd": part("NFKD"), "nfc": part("NFC"), "strip": normalizers(
            part("Strip", strip_left=True, strip_right=True)),
        "replaced": normalizers(replace(regex(r"(?i)the\b|[0-9]{2,}"), "$1x"),
                                replace(string("a"), ""), part("Prepend",
                                                               prepend="the ")),
    }
    decoder = decoders(replace(regex("[aeiou]"), "_"), part("Fuse"),
                       part("Strip", content="_", start=2, stop=3))
    made.update({f"words_{name}": changed(one, normalizer=each, decoder=decoder)
                 for name, each in normal.items()})
    made["words_metaspace_decoder"] = changed(one, decoder=metaspace("never"))
    made["words_without_unk"] = changed(one, {"unk_token": "nowhere"})
    return made


FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
CONTENTS = ["<a>", "<a", "a>", "<a><b>", "ab", "abc", "AB", "Ab c", "é", "e\u0301",
            " x", "x ", "한", "▁a", "Ġa", "X Y", "a", "[MASK]", "XY", "ﬁ", "1", "\n",
            "_", "ǅ", "İ", "the", "\u3000", "e\u0301a", ".", "<|im_start|>", "aa"]


def with_added_tokens(bases, seed=0, count=40):
    """Tokenizers with added tokens in each combination of flags."""
    rng = random.Random(f"added {seed}")
    normal = [None, part("Lowercase"), part("NFKC"), parts.LLAMA2_NORMALIZER, bert(),
              part("Strip", strip_left=True, strip_right=True), part("NFD"),
              parts.precompiled(), replace(string("a"), "bb"), part("ByteLevel")]
    chosen = [bases[name] for name in ("gpt2", "llama2", "metaspace_first", "bert",
                                       "unigram", "roberta", "scripts", "clip")]
    made = {}
    for n in range(count):
        base = chosen[n % len(chosen)]
        listed = [added(content, **{flag: rng.random() < 0.5 for flag in FLAGS})
                  for content in rng.sample(CONTENTS, rng.randint(1, len(CONTENTS)))]
        if n < 32:  # all in one combination
            flags = {flag: n >> bit & 1 > 0 for bit, flag in enumerate(FLAGS)}
            listed = [{**each, **flags} for each in listed]
        pieces = {} if rng.random() < 0.4 else {"normalizer": rng.choice(normal)}
        made[f"added_{n}"] = changed(base, added_tokens=listed, **pieces)
    return made


def make_all():
    made = {}
    for family in (of_bytes, of_characters, of_pieces, of_word_pieces, of_words):
        made.update(family())
    made.update(with_added_tokens(made))
    return made


@functools.cache
def small_tokenizers():
    """{name: text of its tokenizer.json}"""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    return {name: json.dumps(each, ensure_ascii=False)
            for name, each in make_all().items()}
