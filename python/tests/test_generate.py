"""headwise.generate(): the tokens of a small random model, without torch."""
import json
import pickle

import headwise
import numpy as np
import pytest

WORDS = 40


@pytest.fixture
def folder(tmp_path):
    """A GPT-2 of two layers with words t0, t1, ..."""
    rng = np.random.default_rng(3)
    size, layers = 16, 2
    config = {"model_type": "gpt2", "vocab_size": WORDS, "n_positions": 32, "n_embd": size,
              "n_layer": layers, "n_head": 2, "eos_token_id": None}
    shapes = {"wte.weight": (WORDS, size), "wpe.weight": (32, size)}
    for n in range(layers):
        for name, shape in (("attn.c_attn", (size, 3 * size)), ("attn.c_proj", (size, size)),
                            ("mlp.c_fc", (size, 4 * size)), ("mlp.c_proj", (4 * size, size))):
            shapes[f"h.{n}.{name}.weight"] = shape
            shapes[f"h.{n}.{name}.bias"] = shape[1:]
    tensors = {name: rng.normal(0, 0.4, shape).astype("f4") for name, shape in shapes.items()}
    for norm in ("ln_f", *(f"h.{n}.ln_{k}" for n in range(layers) for k in (1, 2))):
        tensors |= {norm + ".weight": np.ones(size, "f4"), norm + ".bias": np.zeros(size, "f4")}
    header, data = {}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + data)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": {f"t{n}": n for n in range(WORDS)},
                  "unk_token": "t0"}}))
    return tmp_path


def test_a_text_has_ids_scores_and_weights(folder):
    text = headwise.generate(folder, "t3 t4 t5", max_new_tokens=6, heads=["1.0", (0, 1)],
                             statistics=True, received=True, logits=True)
    assert len(text.ids) == len(text.log_probabilities) == 6
    assert text.text == " ".join(f"t{id}" for id in text.ids)
    assert text.end == "max_new_tokens"
    assert set(text.attn_weights) == {"1.0", "0.1"}
    weights = text.attn_weights["1.0"]
    assert weights.shape == (6, 9)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    largest = text.statistics["1.0"][:, headwise.STATISTICS.index("largest")]
    np.testing.assert_allclose(largest, weights.max(-1), atol=1e-6)
    assert [each.shape for each in text.received] == [(2, 8)] * 2
    assert text.ids == list(text.logits.argmax(-1))
    assert repr(text) == "<GeneratedText: 6 tokens, max_new_tokens>"
    assert pickle.loads(pickle.dumps(text)).text == text.text


def test_prompts_do_not_depend_on_each_other(folder):
    model = headwise.TextGenerator.read(folder)
    draws = {"max_new_tokens": 5, "temperature": 1.0, "top_p": 0.9, "seed": 4}
    first, second = model.generate(["t3 t4 t5", [7]], **draws)
    assert headwise.generate(model, "t3 t4 t5", **draws).ids == first.ids
    assert len(second.ids) == 5
    one = headwise.Executor.with_threads(1)
    again = model.generate(["t3 t4 t5", [7]], executor=one, **draws)
    assert [text.ids for text in again] == [first.ids, second.ids]


def test_tokens_are_shown_and_may_end_the_text(folder):
    seen = []

    def show(prompt, id, text):
        seen.append((prompt, id, text))
        return len(seen) < 3

    text = headwise.generate(folder, "t3", max_new_tokens=9, on_token=show)
    assert [id for _, id, _ in seen] == text.ids and len(text.ids) == 3
    assert "".join(part for *_, part in seen) == text.text
    assert text.end is None

    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        headwise.generate(folder, "t3", on_token=fail)


def test_ablation_stops_and_eviction(folder):
    whole = headwise.generate(folder, "t3 t4", max_new_tokens=8)
    ablated = headwise.generate(folder, "t3 t4", max_new_tokens=8, ablate=["0.0", "1.1"])
    assert not np.array_equal(ablated.log_probabilities, whole.log_probabilities)
    word = f"t{whole.ids[4]}"
    stopped = headwise.generate(folder, "t3 t4", max_new_tokens=8, stop=word)
    assert stopped.end == "stop" and word not in stopped.text.split()
    kept = headwise.generate(folder, "t3 t4", max_new_tokens=8, keep_tokens=3)
    assert len(kept.ids) == 8


@pytest.mark.parametrize(("arguments", "error", "said"), [
    ({"prompt": ""}, ValueError, "has no tokens"),
    ({"prompt": 5}, TypeError, "prompts"),
    ({"prompt": [99]}, ValueError, "99"),
    ({"temperature": -1.0}, ValueError, "temperature"),
    ({"heads": ["x"]}, ValueError, r"heads\[0\] is x"),
    ({"heads": ["9.0"]}, ValueError, "9.0"),
    ({"stop": [""]}, ValueError, "empty"),
    ({"on_token": 3}, TypeError, "on_token"),
    ({"more": 3}, TypeError, "more"),
])
def test_bad_input_is_named(folder, arguments, error, said):
    arguments = {"prompt": "t3", "max_new_tokens": 2, **arguments}
    with pytest.raises(error, match=said):
        headwise.generate(folder, **arguments)
