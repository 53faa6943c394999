"""headwise.Tokenizer gives what the package `tokenizers` gives: a sample of what
script/compare-tokenizers compares."""
import json

import pytest

pytest.importorskip("tokenizers")

import comparison  # noqa: E402
import compare_changes  # noqa: E402
from readers import Headwise, changed_reference  # noqa: E402
from small_tokenizers import small_tokenizers  # noqa: E402

SHARDS = 12
LINES = 400
SCALARS = 1531  # the step from one scalar to the next


def compared(name, make_other, lines=LINES, step=SCALARS):
    text = small_tokenizers()[name]
    made = comparison.Comparison(name, text, make_other)
    made.lines(comparison.lines_for(name, json.loads(text), lines))
    return made.scalars(step) if step else made


@pytest.mark.parametrize("shard", range(SHARDS))
def test_ids_offsets_and_texts_are_those_of_the_reference(shard):
    found = []
    for name in list(small_tokenizers())[shard::SHARDS]:
        report = compared(name, Headwise).report()
        if report["differences"]:
            found.append(f"{name}: {report['differences']}\n  " +
                         "\n  ".join(report["cases"]))
    assert not found, "\n".join(found)


def test_changed_files_are_accepted_and_refused_as_by_the_reference():
    _, _, unknown = compare_changes.compare(small_tokenizers(), 400, "sample")
    assert not unknown, "\n".join(f"{kind}: {case[:4]}" for kind, cases in
                                  unknown.items() for case in cases[:2])


def at(*path):
    """Sets the value at this place of a tokenizer.json."""
    *path, key, value = path

    def change(document):
        for each in path:
            document = document[each]
        document[key] = value
    return change


@pytest.mark.parametrize("name, change", [
    ("gpt2", at("pre_tokenizer", "use_regex", False)),
    ("gpt2_prefix_trimmed", at("post_processor", "trim_offsets", False)),
    ("gpt2", at("decoder", None)),
    ("llama3", at("model", "ignore_merges", False)),
    ("few_characters", at("model", "fuse_unk", True)),
    ("few_bytes", at("model", "byte_fallback", False)),
    ("metaspace_first", at("pre_tokenizer", "prepend_scheme", "always")),
    ("unigram_bytes", at("model", "byte_fallback", False)),
    ("t5", at("normalizer", None)),
    ("bert", at("normalizer", "clean_text", False)),
    ("bert", at("post_processor", "pair", 3, "Sequence", "type_id", 0)),
    ("bert_short_words", at("model", "max_input_chars_per_word", 6)),
    ("roberta", at("added_tokens", 4, "lstrip", False)),
    ("roberta", at("added_tokens", 4, "special", False)),
    ("digits", at("pre_tokenizer", "pretokenizers", 0, "individual_digits", True)),
    ("words_nfkd", at("normalizer", "type", "NFD")),
])
def test_the_comparison_finds_a_mistake(name, change):
    report = compared(name, changed_reference(change), step=0).report()
    assert report["differences"]


def test_the_comparison_finds_none_in_the_reference_itself():
    for name in ("gpt2", "added_7", "added_15", "t5"):
        report = compared(name, changed_reference(lambda document: None)).report()
        assert not report["differences"], report
