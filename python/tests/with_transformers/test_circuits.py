"""OV and QK circuits and composition scores, next to dense matrices cut out of the
parameters by hand.
"""
import copy

import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
from headwise.transformers import Circuit, attention_layers, prune_heads
from small_models import inputs_of, small_model

HEADS = range(4)


def _bert(model, layer):
    self, output = (model.bert.encoder.layer[layer].attention.self,
                    model.bert.encoder.layer[layer].attention.output.dense)
    return self.query.weight.T, self.key.weight.T, self.value.weight.T, output.weight.T


def _gpt2(model, layer):
    attn = model.transformer.h[layer].attn
    return *attn.c_attn.weight.split(32, 1), attn.c_proj.weight


def _llama(model, layer):
    attn = model.model.layers[layer].self_attn
    return (attn.q_proj.weight.T, attn.k_proj.weight.T, attn.v_proj.weight.T,
            attn.o_proj.weight.T)


def _t5(model, layer):
    """Layers 0 and 1 are the encoder's, then come self and cross by turns."""
    block = (model.encoder.block[layer].layer[0] if layer < 2 else
             model.decoder.block[(layer - 2) // 2].layer[layer % 2])
    attn = block.EncDecAttention if layer in (3, 5) else block.SelfAttention
    return attn.q.weight.T, attn.k.weight.T, attn.v.weight.T, attn.o.weight.T


# The whole projections, how many query heads read a key head, and D.
FAMILIES = {"bert": (_bert, 1, 8), "gpt2": (_gpt2, 1, 8), "llama": (_llama, 2, 8),
            "gemma2": (_llama, 2, 16), "gpt_oss": (_llama, 2, 16), "t5": (_t5, 1, 8)}


def dense(name, model, layer, head):
    """W_Q, W_K, W_V (hidden, D) and W_O (D, hidden)."""
    whole, group, size = FAMILIES[name]
    q, k, v, o = (each.detach().double() for each in whole(model, layer))
    own = slice(head * size, (head + 1) * size)
    read = slice(head // group * size, (head // group + 1) * size)
    return q[:, own], k[:, read], v[:, read], o[own]


def close(ours, plain):
    torch.testing.assert_close(ours.detach().double(), plain.detach().double(), rtol=0,
                               atol=1e-5 * float(plain.detach().abs().max()))


@pytest.mark.parametrize("name", FAMILIES)
def test_circuits_are_products_of_the_head_s_matrices(name):
    model = small_model(name)
    layers = range(6 if name == "t5" else 2)
    with headwise.intervene(model) as heads:
        for layer, head in [(layer, head) for layer in layers for head in HEADS]:
            q, k, v, o = dense(name, model, layer, head)
            ov, qk = heads[layer, head].ov(), heads[layer, head].qk()
            close(ov.matrix, v @ o)
            close(qk.matrix, q @ k.T)
            assert qk.shape == (32, 32) and qk.rank == q.shape[1]


def test_numbers_of_a_circuit_are_those_of_its_matrix():
    torch.manual_seed(0)
    one, two = (Circuit(torch.randn(20, 6), torch.randn(6, 20)) for _ in range(2))
    rows, columns = torch.randn(9, 20), torch.randn(20, 9)
    for ours in (one, one.T, one @ two, one.between(rows, columns), one.between(rows)):
        close(ours.norm(), torch.linalg.matrix_norm(ours.matrix))
        close(ours.singular_values(), torch.linalg.svdvals(ours.matrix)[:6])
    close((one @ two).matrix, one.matrix @ two.matrix)
    close(one.T.matrix, one.matrix.T)
    close(one.between(rows, columns).matrix, rows @ one.matrix @ columns)
    values = torch.linalg.eigvals(one.matrix.double())
    close(one.eigenvalues().abs(), values.abs().sort(descending=True).values[:6])
    close(one.eigenvalues().real.sum(), one.matrix.trace())
    assert one.copying_score() == pytest.approx(
        float(values.real.sum() / values.abs().sum()), abs=1e-5)
    assert Circuit(torch.eye(4), 2 * torch.eye(4)).copying_score() == 1
    assert repr(Circuit(torch.eye(4)[:, :2], torch.eye(4)[:2])) == \
        "Circuit (4, 4), rank 2, norm 1.414"
    with pytest.raises(ValueError, match=r"the circuit is \(9, 20\), expected a square"):
        one.between(rows).eigenvalues()
    with pytest.raises(ValueError, match=r"left has the shape \(2, 3\).*expected \(n, D\)"):
        Circuit(torch.ones(2, 3), torch.ones(2, 3))


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_circuits_from_tokens_to_tokens(name):
    model = small_model(name)
    embedding = model.get_input_embeddings().weight.double()
    unembedding = model.get_output_embeddings().weight.double()
    q, k, v, o = dense(name, model, 1, 3)
    ids = [5, 60, 7]
    with headwise.intervene(model) as heads:
        head = heads[1, 3]
        whole = head.ov("tokens")
        close(whole.matrix, embedding @ v @ o @ unembedding.T)
        close(head.ov(ids).matrix, whole.matrix[ids][:, ids])
        close(head.qk(torch.tensor(ids)).matrix,
              embedding[ids] @ q @ k.T @ embedding[ids].T)


def _calls(model, name):
    """The hidden states that every layer reads, and what it makes of them."""
    states = []
    hooks = [module.register_forward_pre_hook(
        lambda _, args, options: states.append((args or [options["hidden_states"]])[0]),
        with_kwargs=True) for module in attention_layers(model).values()]
    with torch.no_grad(), headwise.observe(model, maps=True) as seen:
        model(**inputs_of(name))
    for hook in hooks:
        hook.remove()
    return states, seen


def _without_biases(name):
    model = small_model(name)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith("bias"):
                parameter.zero_()
    return model


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "gemma2", "phi3", "stablelm"])
def test_scores_of_a_pass_are_those_of_the_circuit(name):
    """With rotary positions only those of a token and itself."""
    model = _without_biases(name)
    states, seen = _calls(model, name)
    with headwise.intervene(model) as heads:
        for layer, head in ((0, 3), (1, 2)):
            call, x = seen.call(layer), states[layer][0]
            read = head // (call.query.shape[2] // call.key.shape[2])
            scores = call.query[0, :, head] @ call.key[0, :, read].T
            ours = x @ heads[layer, head].qk().matrix @ x.T
            for distance in (-2, 0, 3) if name == "gpt2" else (0,):
                error = (ours - scores).diagonal(-distance).abs().max()
                assert float(error) <= 1e-5 * float(scores.abs().max())
            value = call.value[0, :, read]
            close(x @ heads[layer, head].ov().left, value)


@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_circuits_of_16_bit_parameters_are_not_rounded(name):
    model = small_model(name).bfloat16()
    exact = copy.deepcopy(model).double()
    with headwise.intervene(model) as ours, headwise.intervene(exact) as plain:
        for of in (lambda heads: heads[1, 2].ov(), lambda heads: heads[1, 2].qk(),
                   lambda heads: heads[1, 2].ov([3, 9])):
            assert of(ours).matrix.dtype == torch.float32
            close(of(ours).matrix, of(plain).matrix)


def _composed(name, model, kind, earlier, later):
    _, _, v, o = dense(name, model, *earlier)
    q2, k2, v2, o2 = dense(name, model, *later)
    writes, reads = v @ o, {"q": q2 @ k2.T, "k": k2 @ q2.T, "v": v2 @ o2}[kind]
    return float((writes @ reads).norm() / (writes.norm() * reads.norm()))


@pytest.mark.parametrize("kind", ["q", "k", "v"])
@pytest.mark.parametrize("name", FAMILIES)
def test_composition_is_that_of_dense_matrices(name, kind):
    model = small_model(name)
    found = headwise.composition(model, kind)
    pairs = {(0, 1)}
    if name == "t5":  # cross-attention (3, 5) reads the encoder as keys and values
        pairs |= {(2, 4), (3, 4)}
        pairs |= ({(2, 3), (2, 5), (3, 5), (4, 5)} if kind == "q" else
                  {(0, 3), (1, 3), (0, 5), (1, 5)})
    expected = {((one, a), (two, b)): _composed(name, model, kind, (one, a), (two, b))
                for one, two in pairs for a in HEADS for b in HEADS}
    assert int((~found.scores.isnan()).sum()) == len(expected)
    worst = max(abs(found[pair] - score) for pair, score in expected.items())
    assert worst <= 1e-5 * max(expected.values())
    best = sorted(expected, key=expected.get, reverse=True)
    assert found.best(2) == best[:2]
    table = found.to_pandas()
    assert len(table) == len(expected) and tuple(table.iloc[0, :2]) == best[0][0]
    assert f"{found[best[0]]:.4f}" in repr(found)
    with pytest.raises(KeyError, match="does not read what head"):
        found[(1, 0), (0, 0)]


def test_composition_of_random_matrices_is_subtracted():
    model = small_model("gpt2")
    scores, above = (headwise.composition(model, "v", minus_random=subtracted).scores
                     for subtracted in (False, True))
    random = (scores - above)[:4, 4:]
    close(random, random.mean().expand(4, 4))
    # The square of a score of random matrices is 1 / hidden on average.
    assert float(random.mean()) == pytest.approx(32 ** -0.5, rel=0.05)


def test_heads_keep_their_numbers():
    model = small_model("bert")
    with headwise.intervene(model) as heads:
        before = heads[1, 3].ov().matrix
    score = headwise.composition(model, "k")[(0, 2), (1, 3)]
    prune_heads(model, {0: [0], 1: [1, 2]})
    with headwise.intervene(model) as heads:
        close(heads[1, 3].ov().matrix, before)
        with pytest.raises(IndexError, match="head 2 of layer 1 was removed"):
            heads[1, 2].ov()
    assert headwise.composition(model, "k")[(0, 2), (1, 3)] == pytest.approx(score)


@pytest.mark.parametrize("error, message, call", [
    (ValueError, "heads is layer 0 all heads, expected one head", lambda h: h[0].ov()),
    (ValueError, "expected one head", lambda h: h[0, [1, 2]].qk()),
    (ValueError, "tokens is 'all', expected 'tokens' or ids", lambda h: h[0, 1].ov("all")),
    (ValueError, "kind is 'z', expected 'q', 'k' or 'v'",
     lambda h: headwise.composition(h.model, "z")),
])
def test_errors(error, message, call):
    with headwise.intervene(small_model("bert")) as heads, \
            pytest.raises(error, match=message):
        call(heads)


def test_a_model_without_an_unembedding():
    with headwise.intervene(small_model("vit")) as heads, \
            pytest.raises(ValueError, match="the embedding of ViT.* is none, expected one"):
        heads[0, 1].ov("tokens")
