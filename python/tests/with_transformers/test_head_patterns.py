"""find_heads next to the definitions of docs/patterns.md, written out over eager
attention's weights.
"""
import math
import statistics

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import attention_layers, prune_heads, repeated_random_tokens
from small_models import WORDS, inputs_of, small_model

SEPARATOR = 5
LENGTHS = [53, 4, 12, 1]  # one is longer than a tile of queries


def texts():
    """Token ids; many repeat, one of the texts has no separator."""
    generator = torch.Generator().manual_seed(3)
    rows = [torch.randint(4, 10, (length,), generator=generator).tolist()
            for length in LENGTHS]
    rows[1] = [6, 7, 6, 8]
    return rows


def padded(rows, left):
    """A batch, or one of each length where `left` is None."""
    if left is None:
        return [{"input_ids": torch.tensor([row])} for row in rows]
    length = max(map(len, rows))

    def with_padding(row, value):
        filling = [value] * (length - len(row))
        return filling + row if left else row + filling
    return [{"input_ids": torch.tensor([with_padding(row, 6) for row in rows]),
             "attention_mask": torch.tensor([with_padding([1] * len(row), 0)
                                             for row in rows])}]


def eager_maps(name, rows):
    """By text and layer: (H, L, L)."""
    model = small_model(name)
    model.set_attn_implementation("eager")
    maps = []
    for row in rows:
        seen = []
        hooks = [module.register_forward_hook(lambda *args: seen.append(args[2][1][0]))
                 for module in attention_layers(model).values()]
        with torch.no_grad():
            model(input_ids=torch.tensor([row]))
        for hook in hooks:
            hook.remove()
        maps.append(seen)
    return maps


def keys_of(pattern, t, i, visible):
    keys = {"previous": [i - 1], "next": [i + 1], "self": [i], "first": [0],
            "separator": [j for j, token in enumerate(t) if token == SEPARATOR],
            "duplicate": [j for j, token in enumerate(t) if token == t[i] and j != i],
            "induction": [j for j in range(1, i + 1) if t[j - 1] == t[i]]}[pattern]
    return [j for j in keys if 0 <= j < len(t) and visible(i, j)]


def score_of(pattern, weights, t, visible):
    """Of one head, weights (L, L); NaN where the pattern does not apply."""
    shares = []
    for i in range(len(t)):
        keys = keys_of(pattern, t, i, visible)
        if keys or pattern not in ("duplicate", "induction"):
            shares.append(sum(float(weights[i, j]) for j in keys))
    without = pattern == "separator" and SEPARATOR not in t
    return math.nan if without or not shares else sum(shares) / len(shares)


def positional_scores(maps, visible):
    """Of one head, by text, from weights (L, L)."""
    profiles = []
    for weights in maps:
        length = len(weights)
        seen = [sum(visible(i, j) for j in range(length)) for i in range(length)]
        profile = {}
        for o in range(-32, 33):
            at = [(i, i + o) for i in range(length)
                  if 0 <= i + o < length and visible(i, i + o)]
            if at:
                excess = sum(float(weights[i, j]) - 1 / seen[i] for i, j in at) / len(at)
                profile[o] = len(at) / length, excess
        profiles.append(profile)
    scores = []
    for profile in profiles:
        score = 0.0
        for o, (covered, excess) in profile.items():
            others = [each[o][1] for each in profiles if o in each and each is not profile]
            if others:
                score += covered * min(max(excess, 0), max(statistics.mean(others), 0))
        scores.append(score)
    return scores


# How far queries of a layer see.
VISIBLE = {"bert": lambda layer: lambda i, j: True,
           "gpt2": lambda layer: lambda i, j: j <= i,
           "mistral": lambda layer: lambda i, j: i - 6 < j <= i,
           "gpt_oss": lambda layer: lambda i, j: i - (99 if layer else 6) < j <= i}


@pytest.mark.parametrize("pattern", ["previous", "next", "self", "first", "separator",
                                     "duplicate", "induction", "positional"])
@pytest.mark.parametrize("name, left", [("bert", False), ("bert", None), ("gpt2", False),
                                        ("mistral", True), ("gpt_oss", False)])
def test_scores_are_those_of_the_definitions(name, left, pattern):
    rows = texts()
    if name != "bert" and pattern == "next":
        with pytest.raises(ValueError, match="'next'.*expected a model that is not causal"):
            headwise.find_heads(small_model(name), "next", padded(rows, left))
        return
    found = headwise.find_heads(small_model(name), pattern, padded(rows, left),
                                separators=[SEPARATOR])
    maps = eager_maps(name, rows)
    assert len(found) == 8
    for (layer, head), each in found.items():
        visible = VISIBLE[name](layer)
        of_texts = [of_layers[layer][head] for of_layers in maps]
        equal = [torch.tensor([[float(visible(i, j)) for j in range(len(t))]
                               for i in range(len(t))]) for t in rows]
        equal = [each / each.sum(-1, keepdim=True) for each in equal]
        scores, of_equal = (
            positional_scores(weights, visible) if pattern == "positional" else
            [score_of(pattern, each, t, visible) for each, t in zip(weights, rows)]
            for weights in (of_texts, equal))
        scores, of_equal = ([one for one in each if not math.isnan(one)]
                            for each in (scores, of_equal))
        assert each.texts == len(scores)
        if not scores:
            assert math.isnan(each.mean) and math.isnan(each.equal)
            continue
        assert each.mean == pytest.approx(statistics.mean(scores), abs=1e-5)
        assert each.equal == pytest.approx(statistics.mean(of_equal), abs=1e-5)
        if pattern == "positional":
            assert math.isnan(each.low) and math.isnan(each.high)
        else:
            half = {4: 3.182446, 3: 4.302653, 2: 12.706205}[len(scores)] \
                * statistics.stdev(scores) / math.sqrt(len(scores))
            assert (each.low, each.high) == pytest.approx(
                (each.mean - half, each.mean + half), abs=1e-5)
    assert found.left_out == len(rows) - found.texts
    means = [each.mean for each in found.values()]
    assert means == sorted(means, reverse=True)
    assert found.best(3) == list(found)[:3]


def test_layers_of_an_encoder_and_a_decoder_have_tokens_of_their_own():
    model = small_model("t5")
    found = headwise.find_heads(model, "duplicate", [
        {"input_ids": torch.tensor([[5, 5, 5, 5]]),
         "decoder_input_ids": torch.tensor([[5, 6, 7], [5, 6, 5]])[1:]}])
    # Two layers of the encoder, then self-attention and cross-attention by turns.
    assert {layer for layer, _ in found} == {0, 1, 2, 4}
    assert {round(found[layer, 0].equal, 4) for layer in (0, 1)} == {0.75}
    assert {round(found[layer, 0].equal, 4) for layer in (2, 4)} == {0.3333}


def test_a_mask_of_numbers_hides_keys():
    ids = torch.tensor([[5, 6, 7, 8]])
    mask = torch.full((4, 4), torch.finfo(torch.float32).min).triu(1)[None, None]
    found = headwise.find_heads(small_model("bert"), "self",
                                [{"input_ids": ids, "attention_mask": mask}])
    assert found[0, 0].equal == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=1e-6)


def test_random_texts_repeat_once_without_special_tokens():
    model = small_model("bert")
    model.config.bos_token_id = 7
    batches = repeated_random_tokens(model, texts=30, length=40)
    ids = torch.cat([each["input_ids"] for each in batches])
    assert ids.shape == (30, 80)
    assert torch.equal(ids[:, :40], ids[:, 40:])
    assert all(len(set(row.tolist())) == 40 for row in ids)
    assert set(range(WORDS)) - set(ids.flatten().tolist()) == {0, 7}  # and padding
    again, other = (torch.cat([each["input_ids"] for each in repeated_random_tokens(
        model, texts=30, length=40, seed=seed)]) for seed in (0, 1))
    assert torch.equal(again, ids) and not torch.equal(other, ids)
    # 128 positions, 62 tokens.
    assert repeated_random_tokens(model, length=99)[0]["input_ids"].shape == (10, 124)
    decoder = repeated_random_tokens(small_model("t5"))[0]["decoder_input_ids"]
    assert decoder.shape == (10, 50)


def test_a_tokenizer_says_which_tokens_begin_words():
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##ing", "[unused1]",
             *(f"w{n}" for n in range(WORDS - 7))]
    tokenizer = tf.BertTokenizer(vocab={word: n for n, word in enumerate(vocab)})
    model = small_model("bert")
    ids = repeated_random_tokens(model, tokenizer, texts=20, length=30)[0]["input_ids"]
    assert set(ids[:, 0].tolist()) == {2} and set(ids[:, -1].tolist()) == {3}
    assert ids[:, 1:-1].min() == 7 and ids.shape[1] == 62
    found = headwise.find_heads(model, "separator", tokenizer=tokenizer, texts=3)
    assert next(iter(found.values())).equal == pytest.approx(1 / 52, abs=1e-6)


def test_heads_keep_their_numbers_and_nobody_is_disturbed():
    model = small_model("bert")
    prune_heads(model, {0: [1]})
    batches = padded(texts(), False)
    with headwise.intervene(model) as heads, headwise.observe(model) as seen:
        heads[0].scale(0)
        found = headwise.find_heads(model.train(), "self", batches)
        assert not seen.heads and model.training
    assert {head for layer, head in found if layer == 0} == {0, 2, 3}
    without = headwise.find_heads(model, "self", batches)
    assert dict(found) == dict(without)


def test_a_table_of_scores():
    found = headwise.find_heads(small_model("mistral"), "induction", padded(texts(), True))
    table = found.to_pandas()
    assert table["mean"].tolist() == [each.mean for each in found.values()]
    text, page = repr(found), found._repr_html_()
    layer, head = found.best(1)[0]
    best = f"{found[layer, head].mean:.4f}"
    assert "over 3 texts (1 left out)" in text and best in text and best in page
    assert f"would score {found[0, 0].equal:.4f}" in text


@pytest.mark.parametrize("change, message", [
    ({"pattern": "diagonal"}, "pattern is 'diagonal', expected one of previous, "),
    ({"pattern": "separator"}, "expected a text with a separator; separators="),
    ({"batches": [{"input_ids": torch.tensor([[5, 6, 7]])}]}, "in which tokens repeat"),
    ({"pattern": "positional", "texts": 1}, "expected two texts at least"),
])
def test_errors(change, message):
    arguments = {"pattern": "induction", **change}
    with pytest.raises(ValueError, match=message):
        headwise.find_heads(small_model("bert"), **arguments)


def test_images_have_patterns_of_positions_alone():
    model, batches = small_model("vit"), [inputs_of("vit")]
    assert len(headwise.find_heads(model, "next", batches)) == 8
    with pytest.raises(ValueError, match="input_ids in which tokens repeat"):
        headwise.find_heads(model, "duplicate", batches)
    with pytest.raises(ValueError, match="no token embeddings: give batches"):
        headwise.find_heads(model, "next")
