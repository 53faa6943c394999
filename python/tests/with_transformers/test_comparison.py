"""compare() next to the definitions of docs/compare-models.md over eager weights."""
import itertools
import math
import statistics

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import prune_heads
from small_models import WORDS, small_model
from test_head_patterns import eager_maps, padded, texts
from test_observation import statistics_of


@pytest.fixture(scope="module")
def rows():
    return texts()[:3]


@pytest.mark.parametrize("a, b", [("bert", "roberta"), ("gpt2", "mistral"),
                                  ("bert", "gpt2")])
def test_numbers_are_those_of_the_definitions(rows, a, b):
    changes = headwise.compare(small_model(a), small_model(b),
                               padded(rows, None if a == "bert" else False))
    maps_a, maps_b = eager_maps(a, rows), eager_maps(b, rows)
    assert changes.texts == changes.same_tokens == 3
    gains = torch.zeros(8, 8)
    for (m, one), (n, two) in itertools.product(enumerate(changes.heads_a),
                                                enumerate(changes.heads_b)):
        overlaps = [float(torch.minimum(x[one[0]][one[1]], y[two[0]][two[1]]).sum(-1).mean())
                    for x, y in zip(maps_a, maps_b)]
        found = changes.similarity(one, two)
        half = 4.302653 * statistics.stdev(overlaps) / math.sqrt(3)
        gains[m, n] = mean = statistics.mean(overlaps)
        assert found == pytest.approx((mean, mean - half, mean + half), abs=1e-5)
    for m, one in enumerate(changes.heads_a):
        assert changes.nearest[one] == changes.heads_b[int(gains[m].argmax())]
    table = gains.tolist()
    total = max(sum(table[m][n] for m, n in enumerate(order))
                for order in itertools.permutations(range(8)))
    pairs = changes.pairs("match")
    assert len({pair.b for pair in pairs}) == 8
    assert sum(pair.similarity.mean for pair in pairs) == pytest.approx(total, abs=1e-5)

    pairs = changes.pairs()
    assert [pair.similarity.mean for pair in pairs] == sorted(
        pair.similarity.mean for pair in pairs)
    for pair in pairs:
        of_a, of_b = ([{name: each[head] for name, each in statistics_of(
            of_text[layer][None]).items()} for of_text in maps]
            for maps, (layer, head) in ((maps_a, pair.a), (maps_b, pair.b)))
        for name in pair.differences.keys() & of_a[0].keys():
            one, two = ([each[name] for each in of] for of in (of_a, of_b))
            if name == "next" and "gpt2" in (a, b):
                assert math.isnan(pair.differences[name].mean)  # no causal head can
                continue
            differences = [x - y for x, y in zip(one, two)]
            half = 4.302653 * statistics.stdev(differences) / math.sqrt(3)
            mean = statistics.mean(differences)
            assert pair.differences[name] == pytest.approx(
                (mean, mean - half, mean + half), abs=1e-4)
            assert pair.a_means[name] == pytest.approx(statistics.mean(one), abs=1e-5)
            assert pair.b_means[name] == pytest.approx(statistics.mean(two), abs=1e-5)


def test_a_pruned_model_and_the_whole_one(rows):
    whole, pruned = small_model("bert"), small_model("bert")
    prune_heads(pruned, {0: [1], 1: [0, 2]})
    changes = headwise.compare(pruned, whole, padded(rows, False))
    assert changes.only_in_b == [(0, 1), (1, 0), (1, 2)] and changes.only_in_a == []
    assert {pair.a for pair in changes.pairs()} == {(0, 0), (0, 2), (0, 3), (1, 1), (1, 3)}
    # The input of layer 0 is the same.
    assert all(changes.similarity((0, head), (0, head)).mean > 1 - 1e-6
               for head in (0, 2, 3))
    back = headwise.compare(whole, pruned, padded(rows, False))
    assert [head for head, match in back.match.items() if match is None] and \
        len(back.pairs("match")) == 5
    assert "heads only in b: 0.1, 1.0, 1.2" in repr(changes)
    table = changes.to_pandas()
    assert len(table) == 5 and table["similarity"].is_monotonic_increasing
    assert "<td>1.3</td>" in changes._repr_html_()


def test_of_equal_heads_the_one_in_the_same_place_is_the_match(rows):
    model = small_model("bert")
    with torch.no_grad():
        for layer in model.bert.encoder.layer[:1]:
            for each in (layer.attention.self.query, layer.attention.self.key):
                each.weight[8:16], each.bias[8:16] = each.weight[:8], each.bias[:8]
    changes = headwise.compare(model, model, padded(rows, False))
    assert changes.similarity((0, 0), (0, 1)).mean > 1 - 1e-6
    assert changes.match == changes.nearest == {head: head for head in changes.heads_a}


def _tokenizer(words):
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    return tf.BertTokenizer(vocab={word: n for n, word in enumerate(vocab)})


def test_texts_with_different_tokens_count_in_the_statistics_alone():
    model = small_model("bert")
    words = [f"w{n}" for n in range(WORDS - 7)]
    one, two = _tokenizer(words), _tokenizer([*words[:9], "w", "##9"])
    lines = ["w1 w2 w1", "w3 w9 w4 w5", "w8 w8"]
    changes = headwise.compare(model, model, lines, tokenizer=one, tokenizer_b=two)
    assert (changes.texts, changes.same_tokens) == (3, 2)
    assert "3 texts, 1 of them with different tokens" in repr(changes)
    assert changes.match == {head: head for head in changes.heads_a}
    separator = changes.pair((0, 0), (0, 0)).a_means["separator"]
    ids = [one(line)["input_ids"] for line in lines]
    maps = eager_maps("bert", ids)
    assert separator == pytest.approx(statistics.mean(
        float(each[0][0][:, -1].mean()) for each in maps), abs=1e-5)
    shorter = headwise.compare(model, model, lines[1:2], tokenizer=one, max_tokens=3)
    assert shorter.pair((0, 0), (0, 0)).a_means["distance"] < 2


def test_heads_of_an_encoder_and_of_a_decoder_have_different_tokens():
    model = small_model("t5")
    changes = headwise.compare(model, model, [
        {"input_ids": torch.tensor([[5, 6, 7, 8]]),
         "decoder_input_ids": torch.tensor([[5, 6, 9]])}])
    assert math.isnan(changes.similarity((0, 1), (2, 1)).mean)
    assert changes.match == {head: head for head in changes.heads_a}


@pytest.mark.parametrize("error, message, given", [
    (ValueError, "texts is empty, expected at least one text", []),
    (ValueError, "texts has strings, expected tokenizer=", ["w1"]),
    (TypeError, "texts is a string, expected a list", "w1")])
def test_errors(error, message, given):
    with pytest.raises(error, match=message):
        headwise.compare(small_model("bert"), small_model("bert"), given)


def test_a_head_that_is_nan_is_named(rows):
    broken = small_model("bert")
    with torch.no_grad():
        broken.bert.encoder.layer[1].attention.self.query.weight[9] = math.nan
    with pytest.raises(ValueError, match="model_b computes NaN in head 1 of layer 1"):
        headwise.compare(small_model("bert"), broken, padded(rows, False))
    found = headwise.find_heads(broken, "first", padded(rows, False))
    assert math.isnan(found[1, 1].mean) and found[1, 1].texts == 0
    assert list(found)[-1] == (1, 1) and found.texts == 3
