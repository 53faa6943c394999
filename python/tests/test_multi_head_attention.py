"""headwise.MultiHeadAttention: the layer in NumPy, torch's layer, and files."""

import gc
import json
import mmap
import pathlib
import threading

import layer_reference
import numpy as np
import pytest

import headwise


def layer(**config):
    return headwise.MultiHeadAttention.create(**{"embed_dim": 24, "num_heads": 4, "seed": 7,
                                                 **config})


def tensors(query_dim=24, kdim=24, vdim=24, batch=2):
    random = np.random.default_rng(3)
    return [random.standard_normal(shape, dtype=np.float32)
            for shape in ((batch, 5, query_dim), (batch, 7, kdim), (batch, 7, vdim))]


def copied(params):
    return {name: np.array(value) for name, value in params.items()}


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        ({}, (24, 24, 24)),
        ({"num_kv_heads": 2, "bias": False}, (24, 24, 24)),
        ({"query_dim": 10, "kdim": 11, "vdim": 12, "head_dim": 5, "v_head_dim": 3}, (10, 11, 12)),
        ({"out_proj": False}, (24, 24, 24)),
    ],
)
def test_forward(config, sizes):
    made = layer(**config)
    query, key, value = tensors(*sizes)
    gates = np.array([1, 0, 0.5, 2], np.float32)
    result = made.forward(query, key, value, mask=headwise.causal(), head_gates=gates,
                          attn_weights="per_head", lse=True)
    output, weights = layer_reference.forward(
        made.params, query, key, value, 4, config.get("num_kv_heads"), gates,
        mask=np.tri(5, 7, dtype=bool))
    np.testing.assert_allclose(result.output, output, atol=1e-5)
    np.testing.assert_allclose(result.attn_weights, weights, atol=1e-6)
    assert result.lse.shape == (2, 4, 5) and result.scores is None
    one = made.forward(query[1], key[1], value[1], mask=headwise.causal(), head_gates=gates)
    np.testing.assert_array_equal(one, result.output[1])


def test_self_attention_and_a_ragged_batch():
    made = layer()
    rows = tensors()[0].reshape(1, 10, 24)
    result = made.forward(rows, offsets=[0, 3, 10], attn_weights="per_head")
    assert result.attn_weights.shape == (2, 4, 7, 7)
    np.testing.assert_array_equal(result.output[:, :3], made.forward(rows[:, :3]))
    np.testing.assert_array_equal(made.forward(rows[0], offsets=[0, 3, 10]), result.output[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("batched", [True, False])
def test_out(dtype, batched):
    made = layer()
    arrays = [x.astype(dtype) for x in tensors()]
    if not batched:
        arrays = [x[1] for x in arrays]
    options = {"mask": headwise.causal(), "head_gates": np.array([1, 0, 0.5, 2], np.float32)}
    memory = np.full((2, *arrays[0].shape[:-1], 24), 9, dtype)
    out = memory[0]
    assert made.forward(*arrays, out=out, **options) is out
    np.testing.assert_array_equal(out, made.forward(*arrays, **options))
    assert (memory[1] == 9).all()


def test_out_with_a_cache():
    made = layer()
    x = tensors()[0]
    caches = [headwise.KvCache.create(num_kv_heads=4, head_dim=6, max_tokens=256, max_sequences=2)
              for _ in range(2)]
    outputs = [made.forward(x, cache=cache, sequences=[cache.add(), cache.add()], out=out)
               for cache, out in zip(caches, (None, np.empty_like(x)))]
    np.testing.assert_array_equal(*outputs)


def test_wrong_out():
    made, (x, *_) = layer(), tensors()
    read_only = np.empty_like(x)
    read_only.setflags(write=False)
    for options, error, message in [
            ({"out": np.empty((2, 5, 23), np.float32)}, ValueError, "output has shape"),
            ({"out": np.empty((5, 24), np.float32)}, ValueError, r"out has shape \(5, 24\)"),
            ({"out": np.empty((2, 5, 24), np.float16)}, TypeError, "out is float16"),
            ({"out": np.empty((24, 5, 2), np.float32).T}, ValueError, "output"),
            ({"out": x}, ValueError, "output"),
            ({"out": read_only}, ValueError, "out is read-only"),
            ({"out": np.empty_like(x), "attn_weights": "per_head"}, ValueError, "attn_weights"),
            ({"out": np.empty_like(x), "lse": True}, ValueError, "lse is asked for"),
    ]:
        with pytest.raises(error, match=message):
            made.forward(x, **options)
    with pytest.raises(TypeError, match="no option 'out'"):
        made.forward_for_backward(x, out=np.empty_like(x))
    with pytest.raises(TypeError, match="no option 'out'"):
        headwise.explain(x, layer=made, out=np.empty_like(x))


def resident_bytes():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE


@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="needs /proc")
def test_layers_share_memory():
    x = np.random.default_rng(5).standard_normal((1, 8192, 256), dtype=np.float32)
    first, *others = [layer(embed_dim=256, seed=seed) for seed in range(4)]
    options = {"out": np.zeros_like(x), "mask": headwise.window(0, 0)}
    first.forward(x, **options)
    first.share_memory_with(first)
    before = resident_bytes()
    for other in others:
        other.share_memory_with(first)
        other.forward(x, **options)
        np.testing.assert_array_equal(
            options["out"][0, :3], other.forward(x[:, :3], mask=headwise.window(0, 0))[0])
    grown = resident_bytes() - before
    assert grown < 16 << 20  # three layers keep 96 MiB of their own
    del first
    gc.collect()
    others[0].forward(x, **options)


def test_config():
    config = layer(num_kv_heads=2, qk_norm={"kind": "layer", "bias": True}, kdim=5).config
    assert config["num_kv_heads"] == 2 and config["kdim"] == 5 and config["head_dim"] == 6
    assert config["qk_norm"]["kind"] == "layer" and config["qk_norm"]["over"] == "head"
    assert config["rotary"] is False and config["scoring"] == "dot"
    assert sorted(layer(kv_group_sizes=[3, 1]).config["kv_group_sizes"]) == [1, 3]


def test_params_are_views_that_keep_the_layer():
    made = layer()
    params = made.params
    assert list(params) == [f"w_{x}.{kind}" for x in "qkvo" for kind in ("weight", "bias")]
    weight = params["w_k.weight"]
    before = weight.copy()
    del made, params
    gc.collect()
    [np.full(1000, 9, np.float32) for _ in range(100)]
    np.testing.assert_array_equal(weight, before)
    with pytest.raises(ValueError, match="read-only"):
        weight[0, 0] = 1


def test_set_params():
    made, other = layer(), layer(seed=8)
    view = made.params["w_q.weight"]
    given = copied(other.params)
    del given["w_o.weight"], given["w_o.bias"]
    made.set_params({name: np.asfortranarray(value) for name, value in given.items()})
    np.testing.assert_array_equal(view, given["w_q.weight"])
    query, key, value = tensors()
    output, _ = layer_reference.forward(made.params, query, key, value, 4)
    np.testing.assert_allclose(made.forward(query, key, value), output, atol=1e-5)
    assert not np.array_equal(made.params["w_o.weight"], other.params["w_o.weight"])


def test_from_params():
    made = layer(num_kv_heads=2, qk_norm={"kind": "rms"}, add_bias_kv=True)
    again = headwise.MultiHeadAttention.from_params(
        made.params, num_heads=4, num_kv_heads=2, qk_norm={"kind": "rms"})
    np.testing.assert_array_equal(again.forward(*tensors()), made.forward(*tensors()))
    torch = pytest.importorskip("torch")
    widened = headwise.MultiHeadAttention.from_params(
        {name: torch.from_numpy(x).to(torch.bfloat16)
         for name, x in copied(layer().params).items()},
        num_heads=4)
    np.testing.assert_allclose(widened.params["w_v.bias"], layer().params["w_v.bias"], rtol=2**-8)


@pytest.mark.parametrize("name", ["layer.npz", "layer.safetensors"])
def test_files(name, tmp_path):
    made = layer(num_kv_heads=2, qk_norm={"kind": "rms"}, rotary={"rotary_dim": 4})
    made.save(tmp_path / name)
    again = headwise.MultiHeadAttention.load(tmp_path / name, qk_norm={"kind": "rms"},
                                             rotary={"rotary_dim": 4})
    assert again.config == {**made.config, "dropout": 0.0}
    np.testing.assert_array_equal(again.forward(*tensors()), made.forward(*tensors()))
    with pytest.raises(FileNotFoundError):
        headwise.MultiHeadAttention.load(tmp_path / "missing.npz")
    with pytest.raises(ValueError, match="num_heads is 3"):
        headwise.MultiHeadAttention.load(tmp_path / name, num_heads=3)


def torch_params(prefix, features=8, embed_dim=8):
    random = np.random.default_rng(len(prefix))
    return {prefix + "in_proj_weight": random.standard_normal((3 * features, embed_dim)),
            prefix + "out_proj.weight": random.standard_normal((embed_dim, features))}


def test_load_finds_a_prefix(tmp_path):
    load = headwise.MultiHeadAttention.load
    params = torch_params("encoder.layers.1.self_attn.")
    np.savez(tmp_path / "one.npz", **params, **{"head.weight": np.zeros(2)})
    made = load(tmp_path / "one.npz", num_heads=2)
    np.testing.assert_array_equal(made.params["w_o.weight"], np.float32(
        params["encoder.layers.1.self_attn.out_proj.weight"]))
    np.savez(tmp_path / "two.npz", **params, **torch_params("decoder."))
    with pytest.raises(ValueError, match="several prefixes: decoder., encoder.layers"):
        load(tmp_path / "two.npz", num_heads=2)
    load(tmp_path / "two.npz", num_heads=2, prefix="encoder")


@pytest.mark.parametrize("key, record", [
    ("pruned_heads", {"0": [1]}),
    ("headwise_pruned_heads", {"layers": 1, "heads": {"0": [1]}})])
def test_load_knows_pruned_heads(tmp_path, key, record):
    np.savez(tmp_path / "layer.npz", **torch_params("", features=6))
    (tmp_path / "config.json").write_text(json.dumps(
        {"num_attention_heads": 4, "hidden_size": 8, key: record}))
    made = headwise.MultiHeadAttention.load(tmp_path / "layer.npz")
    assert (made.config["num_heads"], made.config["head_dim"]) == (3, 2)
    (tmp_path / "config.json").write_text(json.dumps(
        {"num_attention_heads": 4, "hidden_size": 8, "pruned_heads": {"0": [1, 2]}}))
    with pytest.raises(ValueError, match="layer 0 has 2 heads of 2 features"):
        headwise.MultiHeadAttention.load(tmp_path / "layer.npz")


def test_rotary_positions():
    made = layer(rotary={"rotary_dim": 6, "base": 100.0, "layout": "interleaved"})
    x = tensors()[0]
    shifted = made.forward(x, query_positions=np.arange(5)[None].repeat(2, 0) + 3,
                           key_positions=np.arange(5)[None].repeat(2, 0) + 3)
    np.testing.assert_allclose(shifted, made.forward(x), atol=1e-5)
    moved = made.forward(x, query_positions=np.arange(5)[None].repeat(2, 0) + 3)
    assert np.abs(moved - shifted).max() > 1e-3
    angles = np.arange(9)[:, None] * 100.0 ** (-2 * np.arange(3) / 6)
    made.set_rotary({"cos": np.cos(angles).astype(np.float32),
                     "sin": np.sin(angles).astype(np.float32), "layout": "interleaved"})
    np.testing.assert_allclose(made.forward(x), shifted, atol=1e-5)
    made.set_rotary(None)
    np.testing.assert_array_equal(made.forward(x), layer().forward(x))


def test_rotary_factors_of_each_pair():
    x = tensors()[0]
    plain, scaled = (layer(rotary={"rotary_dim": 6, "base": 100.0, "scaling": scaling})
                     for scaling in ({"kind": "linear", "factor": 2.0},
                                     {"kind": "longrope", "factors": [2.0, 2, 2]}))
    np.testing.assert_array_equal(plain.forward(x), scaled.forward(x))
    other = layer(rotary={"rotary_dim": 6, "base": 100.0, "scaling": {
        "kind": "longrope", "factors": (2.0, 3.0, 4.0), "attention_factor": 1.5}})
    assert not np.array_equal(plain.forward(x), other.forward(x))


def test_open_sizes():
    made = layer(query_dim="open", kdim="open", vdim="open")
    assert made.config["kdim"] == "open"
    with pytest.raises(ValueError, match="fix_sizes"):
        made.params
    with pytest.raises(ValueError, match="query_dim is open"):
        made.forward(*tensors())
    made.fix_sizes(query_dim=24, kdim=24, vdim=24)
    np.testing.assert_array_equal(made.forward(*tensors()), layer().forward(*tensors()))


def test_torch_layer():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(24, 4, batch_first=True)
    names = dict(zip("qkv", theirs.in_proj_weight.detach().chunk(3)))
    params = {f"w_{x}.weight": weight for x, weight in names.items()}
    params |= {f"w_{x}.bias": bias
               for x, bias in zip("qkv", theirs.in_proj_bias.detach().chunk(3))}
    params |= {"w_o.weight": theirs.out_proj.weight.detach(),
               "w_o.bias": theirs.out_proj.bias.detach()}
    made = headwise.MultiHeadAttention.from_params(params, num_heads=4)
    x = torch.from_numpy(tensors()[0])
    with torch.no_grad():
        output, weights = theirs(x, x, x, average_attn_weights=False)
        ours = made.forward(x, attn_weights="per_head")
    assert isinstance(ours.output, torch.Tensor)
    torch.testing.assert_close(ours.output, output, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.attn_weights, weights, atol=1e-5, rtol=0)
    half = made.forward(x.to(torch.bfloat16))
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), output, atol=0.02, rtol=0)


def test_numpy_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = tensors()[0].astype(ml_dtypes.bfloat16)
    output = layer().forward(x)
    assert output.dtype == x.dtype
    exact = layer().forward(x.astype(np.float32))
    np.testing.assert_array_equal(output, exact.astype(ml_dtypes.bfloat16))


def test_threads_that_use_and_change_a_layer():
    query = tensors(query_dim=256)[0]
    layers = [layer(embed_dim=256, seed=seed) for seed in (1, 2)]
    values = [copied(each.params) for each in layers]
    expected = [each.forward(query) for each in layers]
    made = layers[0]
    wrong, changed = [], threading.Event()

    def use():
        while not changed.is_set():
            output = made.forward(query)
            if not any(np.array_equal(output, each) for each in expected):
                wrong.append(output)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(200):
        made.set_params(values[n % 2])
    changed.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: layer(num_heads=5), ValueError, "num_heads"),
        (lambda: layer(heads=5), TypeError, "no option 'heads'"),
        (lambda: layer(scoring="x"), ValueError, "scoring is 'x', expected dot, additive"),
        (lambda: layer(rotary={"rotary_dim": 3}), ValueError, "rotary_dim"),
        (lambda: layer(rotary={"rotary_dim": 2, "scaling": {"kind": "yarn", "fact": 2}}),
         TypeError, "rotary.scaling has no option 'fact'"),
        (lambda: layer(rotary={"rotary_dim": 4, "scaling": {"kind": "longrope",
                                                            "factors": 2}}),
         TypeError, "rotary.scaling.factors is 2, expected a list of numbers"),
        (lambda: layer(rotary={"rotary_dim": 4, "scaling": {"kind": "longrope",
                                                            "factors": [1.0]}}),
         ValueError, "scaling.factors has length 1"),
        (lambda: layer(qk_norm=3), TypeError, "qk_norm is 3, expected a dict"),
        (lambda: layer(kdim="closed"), ValueError, "kdim is 'closed', expected open"),
        (lambda: layer().forward(tensors()[0][..., :3]), ValueError, "query has shape"),
        (lambda: layer().forward(tensors()[0][0, 0]), ValueError, r"query has shape \(24,\)"),
        (lambda: layer().forward(tensors()[0].astype(float)), TypeError, "query is float64"),
        (lambda: layer().forward(*tensors()[:2], statistics={}), TypeError,
         "no option 'statistics'"),
        (lambda: layer().set_params({"w_q": tensors()[0]}), TypeError, "params has 'w_q'"),
        (lambda: layer(bias=False).set_params({"w_q.bias": np.zeros(24, np.float32)}),
         ValueError, "has w_q.bias, which the layer does not have"),
        (lambda: layer().set_params({"w_q.bias": np.zeros(23, np.float32)}), ValueError,
         r"w_q.bias has shape \(23,\), expected \(24,\)"),
        (lambda: layer().set_params({"w_q.bias": np.zeros(24)}), TypeError, "float64"),
        (lambda: headwise.MultiHeadAttention.from_params({}, num_heads=2), ValueError,
         "has no w_q.weight"),
        (lambda: headwise.MultiHeadAttention.from_params(
            {**layer().params, "w_k.bias": np.zeros(23, np.float32)}, num_heads=4), ValueError,
         "bias"),
        (lambda: layer(kv_group_sizes=[3, 1]).save("never.npz"), NotImplementedError,
         "kv_group_sizes"),
    ],
)
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_change_nothing():
    made = layer()
    before = copied(made.params)
    with pytest.raises(ValueError, match="w_o.bias"):
        made.set_params({"w_q.weight": np.zeros((24, 24), np.float32),
                         "w_o.bias": np.zeros(3, np.float32)})
    for name, value in made.params.items():
        np.testing.assert_array_equal(value, before[name])


def test_a_cache():
    made = layer(num_kv_heads=2, rotary={"rotary_dim": 6})
    x = tensors()[0]
    cache = headwise.KvCache.create(num_kv_heads=2, head_dim=6, max_tokens=256, max_sequences=2)
    ids = [cache.add(), cache.add()]
    steps = [made.forward(x[:, first:last], mask=headwise.causal(), cache=cache, sequences=ids)
             for first, last in ((0, 3), (3, 4), (4, 5))]
    expected = made.forward(x, mask=headwise.causal())
    np.testing.assert_allclose(np.concatenate(steps, 1), expected, atol=1e-6)
    assert cache.length(ids[0]) == 5
    with pytest.raises(TypeError, match="cache is 3, expected a headwise.KvCache"):
        made.forward(x, cache=3, sequences=ids)


def test_threads_on_one_cache():
    made = layer()
    x = np.random.default_rng(9).standard_normal((1, 16, 24), dtype=np.float32)
    options = {"num_kv_heads": 4, "head_dim": 6, "page_size": 16, "max_tokens": 8 * 16 * 60}
    cache = headwise.KvCache.create(**options, max_sequences=8)
    ids = [cache.add() for _ in range(8)]

    def fill(cache, sequence):
        return [made.forward(x, mask=headwise.causal(), cache=cache, sequences=[sequence])
                for _ in range(60)]

    alone = headwise.KvCache.create(**options)
    expected = fill(alone, alone.add())
    outputs = {}
    threads = [threading.Thread(target=lambda n=n: outputs.update({n: fill(cache, ids[n])}))
               for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(8):
        np.testing.assert_array_equal(outputs[n], expected)
    assert cache.free_pages == 0
