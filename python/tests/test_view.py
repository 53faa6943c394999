"""headwise.view and ViewPage: the data of the page against float64."""

import base64
import gc
import json
import pathlib
import re
import threading
import zlib

import numpy as np
import pytest
import reference

import headwise

TOKENS = ["[CLS]", "</script>", "개", "barks", "[SEP]"]


@pytest.fixture
def layer():
    random = np.random.default_rng(71)
    return [random.standard_normal((2, 5, heads, 8), dtype=np.float32) for heads in (4, 2)]


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="page">(.*?)</script>', page, re.DOTALL)[1])


def block_of(page: str, number: int) -> bytes:
    text = re.search(rf'id="block-{number}">(.*?)</script>', page, re.DOTALL)[1]
    return zlib.decompress(base64.b64decode(text))


def pooled(page: str, layer: int = 0) -> np.ndarray:
    """Mean entropy of the heads that were not pruned."""
    return np.array([head["pooled"]["entropy"] for head in data_of(page)["layers"][layer]["heads"]
                     if not head["pruned"]])


def entropy(query, key, mask=None):
    """(Hq), of one sequence, over the rows that have a key."""
    scores = reference.scores_of(query[None], key[None])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = reference.softmax(scores)[0]
    terms = np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0)
    return -terms.sum(-1).mean(-1)


def test_the_heads_of_the_chosen_sequence(layer, tmp_path):
    path = tmp_path / "page.html"
    page = headwise.view(path, [layer], TOKENS, title="Mine", sequence=1,
                         mask=headwise.causal(), query_special=[0, 4])
    html = path.read_text(encoding="utf-8")
    assert html == page.html()
    data = data_of(html)
    assert data["title"] == "Mine"
    assert data["query_tokens"] == data["key_tokens"] == TOKENS
    assert data["query_special"] == [0, 4]
    assert [head["kv_head"] for head in data["layers"][0]["heads"]] == [0, 0, 1, 1]
    expected = entropy(layer[0][1], layer[1][1], np.tri(5, dtype=bool))
    np.testing.assert_allclose(pooled(html), expected, atol=1e-5)


def test_rows_of_every_head(layer, tmp_path):
    html = headwise.view(tmp_path / "page.html", [layer], TOKENS).html()
    weights = reference.softmax(reference.scores_of(*layer))[0]
    for h, head in enumerate(data_of(html)["layers"][0]["heads"]):
        rows = np.frombuffer(block_of(html, head["rows"]), "<f4").reshape(-1, 5)
        expected = -(weights[h] * np.log(weights[h])).sum(-1)
        np.testing.assert_allclose(rows[0], expected, atol=1e-5)


def test_layers_pruned_heads_and_settings(layer, tmp_path):
    query, key = layer
    page = headwise.view(tmp_path / "page.html",
                         [layer, {"query": query, "key": key, "number": 7,
                                  "head_numbers": [0, 1, 4, 5], "num_heads": 8}],
                         TOKENS, model="m", text="t", command="c", language="ko",
                         cross=True, elements=False)
    page.add_pruned(9, num_heads=3)
    data = data_of(page.html())
    assert [each["number"] for each in data["layers"]] == [0, 7, 9]
    pruned = [[head["pruned"] for head in each["heads"]] for each in data["layers"]]
    assert pruned[1] == [False, False, True, True, False, False, True, True]
    assert pruned[2] == [True] * 3
    assert [data[name] for name in ("model", "text", "command", "lang", "kind")] == [
        "m", "t", "c", "ko", "cross"]


@pytest.mark.parametrize("weights", [False, True])
def test_a_layer_whose_heads_were_all_pruned(layer, tmp_path, weights):
    given = reference.softmax(reference.scores_of(*layer)).astype(np.float32) if weights else layer
    page = headwise.view(tmp_path / "page.html", [{"num_heads": 3}, given, {"num_heads": 2}],
                         TOKENS)
    layers = data_of(page.html())["layers"]
    assert [each["number"] for each in layers] == [0, 1, 2]
    assert [[head["pruned"] for head in each["heads"]] for each in layers] == [
        [True] * 3, [False] * 4, [True] * 2]
    alone = headwise.view(tmp_path / "page.html", [{"num_heads": 3, "number": 5}], TOKENS)
    assert data_of(alone.html())["layers"][0]["number"] == 5
    with pytest.raises(ValueError, match="num_heads"):
        headwise.view(tmp_path / "page.html", [{"num_heads": 0}], TOKENS)


def test_attention_weights_before_dropout(layer, tmp_path):
    page, dropped = [
        headwise.view(tmp_path / "page.html", [layer], TOKENS, **options).html()
        for options in ({}, {"dropout": {"p": 0.5, "training": True, "seed": 7}})]
    assert page == dropped


@pytest.mark.parametrize("strides", ["transposed", "reversed", "unbatched"])
def test_any_strides(layer, strides):
    def page(query, key):
        made = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS)
        made.add(query, key)
        return made.html()

    query, key = layer
    if strides == "transposed":
        given = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
                 for x in layer]
    elif strides == "reversed":
        given = [np.ascontiguousarray(x[..., ::-1])[..., ::-1] for x in layer]
    else:
        given = [query[0], key[0]]
        query, key = query[:1], key[:1]  # a page of a larger batch says which sequence it shows
    assert page(*given) == page(query, key)


def test_16_bits_are_widened(layer):
    def page(*arrays):
        made = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS)
        made.add(*arrays)
        return made.html()

    narrow = [x.astype(np.float16) for x in layer]
    assert page(*narrow) == page(*(x.astype(np.float32) for x in narrow))


def test_a_page_keeps_its_options(layer):
    def page():
        return headwise.ViewPage.create(
            query_labels=TOKENS, key_labels=TOKENS,
            mask=headwise.key_padding(np.arange(10).reshape(2, 5) % 4 != 3),
            sinks=np.arange(4, dtype=np.float32),
            executor=headwise.Executor.with_threads(1))

    made, expected = page(), page()
    expected.add(*layer)
    gc.collect()
    [np.full(10, 9, np.float32) for _ in range(100)]
    made.add(*layer)
    assert made.html() == expected.html()


def test_threads_share_a_page(layer):
    page = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS)
    threads = [threading.Thread(target=page.add, args=layer, kwargs={"number": n})
               for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    layers = data_of(page.html())["layers"]
    assert sorted(each["number"] for each in layers) == list(range(8))
    expected = pooled(page.html())
    for place in range(8):
        np.testing.assert_array_equal(pooled(page.html(), place), expected)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"title": 3}, TypeError, "title is 3, expected a string"),
        ({"query_labels": "abcde"}, TypeError, "query_labels is 'abcde', expected a list"),
        ({"query_labels": [1]}, TypeError, "query_labels is 1, expected a string"),
        ({"query_labels": ["a"]}, ValueError, "query_labels"),
        ({"query_special": [-1]}, ValueError, r"query_special\[0\] is -1"),
        ({"language": "fr"}, ValueError, "language is 'fr', expected en, ko"),
        ({"colour": 1}, TypeError, "no option 'colour'"),
        ({"sequence": 2}, ValueError, "sequence"),
        ({"most_bytes": 10}, ValueError, "page"),
        ({"executor": 2}, TypeError, "executor is 2, expected a headwise.Executor"),
    ],
)
def test_wrong_settings(layer, settings, error, message):
    with pytest.raises(error, match=message):
        headwise.ViewPage.create(**{"query_labels": TOKENS, "key_labels": TOKENS,
                                    **settings}).add(*layer)


def test_wrong_layers(layer, tmp_path):
    query, key = layer
    page = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS)
    with pytest.raises(ValueError, match="layers"):
        page.html()
    with pytest.raises(TypeError, match="ViewPage.add: query .*float64"):
        page.add(query.astype(np.float64), key)
    with pytest.raises(ValueError, match="key"):
        page.add(query, key[0])
    with pytest.raises(ValueError, match=r"query\[0, 1, 2, 3\]"):
        wrong = query.copy()
        wrong[0, 1, 2, 3] = np.nan
        page.add(wrong, key)
    with pytest.raises(ValueError, match="head_numbers"):
        page.add(query, key, head_numbers=[0, 1], num_heads=2)
    with pytest.raises(ValueError, match="num_heads"):
        page.add_pruned(0, 0)
    page.add(query, key)
    with pytest.raises(FileNotFoundError):
        page.write(tmp_path / "none" / "page.html")
    with pytest.raises(TypeError):
        page.write(3)
    assert not list(pathlib.Path(tmp_path).iterdir())


def documents_of(page: str) -> list[dict]:
    """The JSON of each document of a page of several."""
    return [json.loads(block_of(page, each["block"])) for each in data_of(page)["documents"]]


def entropies(document: dict) -> list[list[float]]:
    """Mean entropy of the heads, by layer."""
    return [[head["pooled"]["entropy"] for head in layer["heads"] if not head["pruned"]]
            for layer in document["layers"]]


def test_layers_with_options_of_their_own(layer):
    page = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS, sequence=1)
    page.add(*layer)
    page.add(*layer, number=1, mask=headwise.causal())
    one = [x[1] for x in layer]
    np.testing.assert_allclose(pooled(page.html()), entropy(*one), atol=1e-5)
    np.testing.assert_allclose(pooled(page.html(), 1),
                               entropy(*one, np.tri(5, dtype=bool)), atol=1e-5)
    before = page.html()
    for options, message in (({"scale": 1.0}, "scale is 1.0, expected the same in all layers"),
                             ({"softcap": 2.0}, "softcap is 2.0, exp"),
                             ({"bias": np.zeros((5, 5), np.float32)}, "bias is given, exp")):
        with pytest.raises(ValueError, match=message):
            page.add(*layer, number=2, **options)
    with pytest.raises(TypeError, match="no option 'colour'"):
        page.add(*layer, colour=3)
    assert page.html() == before


def test_changes_between_two_documents(layer):
    page = headwise.ViewPage.create(query_labels=TOKENS, key_labels=TOKENS, text="t")
    page.add(*layer)
    page.next(query_labels=TOKENS, key_labels=TOKENS, text="t", variant="cut")
    page.add(*layer)
    page.set_changes([{"head": (0, 1), "other": (0, 2), "match": (0, 3),
                       "similarity": [0.4, 0.5, 0.6],
                       "differences": {"entropy": [1.0, float("nan")]}}])
    data = data_of(page.html())
    assert [each["variant"] for each in data["documents"]] == [None, "cut"]
    (change,) = data["changes"]
    assert [change[name] for name in ("head", "other", "match")] == [[0, 1], [0, 2], [0, 3]]
    half = 4.302653 * 0.1 / 3 ** 0.5  # t of 2 degrees of freedom
    np.testing.assert_allclose(change["similarity"], [0.5, 0.5 - half, 0.5 + half], atol=1e-6)
    assert change["differences"]["entropy"] == [1.0, None, None]
    assert change["differences"]["first"] == [None] * 3
    for wrong, message in (([{"head": 3}], r"head is 3, expected \(layer, head\)"),
                           ([{"differences": {"size": [1]}}], "differences.size|'size'"),
                           ("abc", "changes is 'abc', expected a list")):
        with pytest.raises(TypeError, match=message):
            page.set_changes(wrong)
