"""The importance of the heads of models."""
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

from headwise.transformers import attention_layers, head_importance, prune_heads
from headwise.transformers.head_layout import HeadFeatures, weight_axis
from small_models import inputs_of, small_model

MODELS = ["bert", "gpt2", "gpt_neox", "llama", "phi3", "vit", "bart", "distilbert", "albert",
          "clip", "cohere", "deepseekv3", "gemma3", "gpt_bigcode", "gpt_oss", "modernbert",
          "olmo2", "stablelm_normed", "t5", "t5gemma", "umt5", "whisper"]
# Those that compute everything in float64; others norm in float32.
DOUBLE = ["bert", "gpt2", "gpt_neox", "vit", "bart", "distilbert", "albert", "gpt_bigcode",
          "opt", "whisper"]


def loss(output, batch):
    """One loss per example, not linear in the outputs."""
    return output[0].flatten(1).square().mean(1).sqrt()


def last_layer(model):
    return len(attention_layers(model)) - 1


def scaled_columns(model, layer, head, factor):
    found = HeadFeatures(model, list(attention_layers(model))[layer])
    with torch.no_grad():
        axis = weight_axis(found.output, "in")
        index = [slice(None)] * 2
        index[axis] = found.of_output([head])
        found.output.weight[tuple(index)] *= factor
    return model


def losses(model, name):
    with torch.no_grad():
        return loss(model(**inputs_of(name)), None).double()


@pytest.mark.parametrize("name", MODELS)
def test_ablation_is_the_loss_without_the_columns_of_the_head(name):
    importance = head_importance(small_model(name), [inputs_of(name)], loss, "ablation")
    layers = len(importance.scores)
    whole = losses(small_model(name), name).mean()
    for layer in (0, layers - 1):
        for head in (0, 3):
            without = scaled_columns(small_model(name), layer, head, 0)
            expected = (losses(without, name).mean() - whole).item()
            assert importance.scores[layer][head] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["gradient", "fisher"])
@pytest.mark.parametrize("name", DOUBLE)
def test_gradient_is_the_change_of_the_loss_with_the_head(name, method):
    importance = head_importance(small_model(name).double(), [as_double(name)], loss,
                                 method)
    step, last = 1e-5, last_layer(small_model(name))
    expected = []
    for head in range(4):
        more, less = (scaled_columns(small_model(name).double(), last, head,
                                     1 + sign * step) for sign in (1, -1))
        with torch.no_grad():
            slope = (loss(more(**as_double(name)), None)
                     - loss(less(**as_double(name)), None)) / (2 * step)
        expected.append((slope.abs() if method == "gradient" else slope.square()).mean())
    expected = torch.stack(expected)
    if method == "gradient":
        expected /= expected.norm()
    torch.testing.assert_close(torch.tensor(importance.scores[last], dtype=torch.float64),
                               expected, rtol=1e-5, atol=1e-9)


def as_double(name):
    return {key: value.double() if value.is_floating_point() else value
            for key, value in inputs_of(name).items()}


@pytest.mark.parametrize("method", ["gradient", "fisher", "ablation"])
def test_batches_may_be_cut_anywhere(method):
    inputs = inputs_of("bert", batch=5)
    parts = [{key: value[rows] for key, value in inputs.items()}
             for rows in (slice(0, 2), slice(2, 5))]
    whole = head_importance(small_model("bert"), [inputs], loss, method)
    cut = head_importance(small_model("bert"), iter(parts), loss, method)
    for one, other in zip(whole.scores, cut.scores):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-6)


def test_order_is_by_score_then_layer_then_head():
    model = small_model("bert")
    importance = head_importance(model, [inputs_of("bert")], loss)
    scores = [importance.scores[layer][head] for layer, head in importance.order]
    assert len(scores) == 8 and scores == sorted(scores)
    for each in importance.scores:
        assert torch.tensor(each).norm() == pytest.approx(1)


def test_least_heads_are_removed_in_whole_groups():
    importance = head_importance(small_model("llama"), [inputs_of("llama")], loss)
    plan = importance.least(4)
    assert sum(map(len, plan.values())) == 4
    prune_heads(small_model("llama"), plan)
    with pytest.raises(ValueError, match="count is 3"):
        importance.least(3)
    with pytest.raises(ValueError, match="count is 8"):
        importance.least(8)


def test_heads_that_all_read_the_same_keys_are_removed_one_by_one():
    importance = head_importance(small_model("gpt_bigcode"), [inputs_of("gpt_bigcode")], loss)
    plan = importance.least(3)
    assert sum(map(len, plan.values())) == 3
    prune_heads(small_model("gpt_bigcode"), plan)


def test_pruned_heads_keep_their_numbers():
    model = small_model("bert")
    prune_heads(model, {0: [1]})
    importance = head_importance(model, [inputs_of("bert")], loss)
    assert importance.heads == [[0, 2, 3], [0, 1, 2, 3]]
    assert (0, 1) not in importance.order and (0, 3) in importance.order


def test_model_is_as_before():
    model = small_model("bert").train()
    model.bert.embeddings.eval()
    head_importance(model, [inputs_of("bert")], loss)
    assert model.training and not model.bert.embeddings.training
    assert all(each.grad is None for each in model.parameters())
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_parameters_may_be_frozen():
    model = small_model("bert").requires_grad_(False)
    free = head_importance(small_model("bert"), [inputs_of("bert")], loss)
    assert head_importance(model, [inputs_of("bert")], loss).scores == free.scores


def mean_loss(output, batch):
    return torch.nn.functional.mse_loss(output.logits, torch.zeros_like(output.logits))


def test_mean_over_the_batch_is_refused():
    with pytest.raises(ValueError, match=r"one number per example, \(2,\)"):
        head_importance(small_model("bert"), [inputs_of("bert")], mean_loss)
    head_importance(small_model("bert"), [inputs_of("bert", batch=1)], mean_loss)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="method is 'guess'"):
        head_importance(small_model("bert"), [inputs_of("bert")], loss, "guess")
    with pytest.raises(ValueError, match="batches is empty"):
        head_importance(small_model("bert"), [], loss)
    model = tf.BloomModel(tf.BloomConfig(hidden_size=8, n_layer=1, n_head=2, vocab_size=8))
    with pytest.raises(NotImplementedError, match="BloomAttention"):
        head_importance(model, [inputs_of("bert")], loss)


def test_score_that_is_not_finite_names_the_head():
    def broken(output, batch):
        return loss(output, batch) * float("nan")
    with pytest.raises(ValueError, match="head 0 of layer 0 is nan"):
        head_importance(small_model("bert"), [inputs_of("bert")], broken)
