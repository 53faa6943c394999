"""Pages from observe(): several sequences, two runs, tokens as text, the notebook's page."""
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tf = pytest.importorskip("transformers")

import headwise
import tokenizers
from headwise.transformers import notebook_page, register, token_labels
from small_models import inputs_of, small_model
from test_view import data_of, documents_of, entropies

register()


def seen_by(name, maps=True, **inputs):
    model = small_model(name)
    with torch.no_grad(), headwise.observe(model, maps=maps) as seen:
        model(**inputs)
    return seen


def padded(ids, lengths, side):
    """Arguments of a model for the first tokens of each row, with padding."""
    places = torch.arange(ids.shape[1])
    mask = torch.stack([places < n if side == "right" else places >= ids.shape[1] - n
                        for n in lengths])
    given = torch.zeros_like(ids)
    for row, n in enumerate(lengths):
        given[row, mask[row]] = ids[row, :n]
    return {"input_ids": given, "attention_mask": mask.long(),
            "position_ids": (mask.long().cumsum(1) - 1).clamp(min=0)}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "gpt_oss", "mistral"])
def test_a_padded_batch_shows_each_sequence_as_if_alone(name, side, tmp_path):
    ids, lengths = inputs_of(name)["input_ids"], (11, 8)
    tokens = [[f"w{row}.{n}" for n in range(length)] for row, length in enumerate(lengths)]
    (path,) = seen_by(name, **padded(ids, lengths, side)).view(tmp_path / "page.html", tokens)
    documents = documents_of(path.read_text())
    assert [each["query_tokens"] for each in documents] == tokens
    for row, document in enumerate(documents):
        (alone,) = seen_by(name, input_ids=ids[row:row + 1, :lengths[row]]).view(
            tmp_path / "alone.html", tokens[row])
        expected = data_of(alone.read_text())
        assert [each["number"] for each in document["layers"]] == [0, 1]
        np.testing.assert_allclose(entropies(document), entropies(expected), atol=1e-5)
        assert [each["name"] for each in document["masks"]] == [
            each["name"] for each in expected["masks"]]


def test_sequences_are_chosen(tmp_path):
    seen = seen_by("bert", **inputs_of("bert", batch=3))
    labels = [f"w{n}" for n in range(11)]
    every, one, two = (data_of(seen.view(tmp_path / "page.html", *arguments, **options)[0]
                               .read_text())
                       for arguments, options in (((), {}), ((labels,), {}),
                                                  (([labels] * 2,), {"sequences": [2, 0]})))
    assert [each["text"] for each in every["documents"]] == [f"sequence {n}" for n in range(3)]
    assert one["query_tokens"] == labels and one["text"] == " ".join(labels)
    assert len(two["documents"]) == 2
    for arguments, message in ((dict(sequences=3), "sequences has 3, expected 0 to 2"),
                               (dict(tokens=[labels] * 2), "tokens has 2 lists, expected 3"),
                               (dict(tokens=labels[:-1]), "label"),
                               (dict(layers=[]), "layers is empty, expected at least"),
                               (dict(labels=("a", "b")), "labels needs against")):
        with pytest.raises(ValueError, match=message):
            seen.view(tmp_path / "none.html", **arguments)


def test_labels_may_be_those_of_the_padded_sequence(tmp_path):
    inputs = padded(inputs_of("bert")["input_ids"], (11, 8), "left")
    labels = [f"w{n}" for n in range(11)]
    (path,) = seen_by("bert", **inputs).view(tmp_path / "page.html", [labels, labels])
    assert [each["query_tokens"] for each in documents_of(path.read_text())] == [
        labels, labels[3:]]


def plain_overlap(a, b):
    """(Hq), of eager weights (1, Hq, Lq, Lkv)."""
    return torch.minimum(a, b).sum(-1).mean((0, 2))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_run_with_an_intervention_next_to_the_whole(name, side, tmp_path):
    model, inputs = small_model(name), padded(inputs_of(name)["input_ids"], (11, 7), side)
    with torch.no_grad(), headwise.observe(model, maps=True) as whole:
        model(**inputs)
    with torch.no_grad(), headwise.intervene(model) as heads:
        heads[0, 1].knock_out(keys=[10 if side == "left" else 0])
        with headwise.observe(model, maps=True) as cut:
            model(**inputs)
    (path,) = whole.view(tmp_path / "page.html", against=cut, labels=("whole", "cut 0.1"))
    data = data_of(path.read_text())
    assert [each["variant"] for each in data["documents"]] == ["whole", "cut 0.1"] * 2
    assert [each["text"] for each in data["documents"]] == [
        "sequence 0", "sequence 0", "sequence 1", "sequence 1"]
    changes = {tuple(each["head"]): each for each in data["changes"]}
    assert len(changes) == 8
    means = [each["similarity"][0] for each in data["changes"]]
    assert means == sorted(means)
    for layer in (0, 1):
        weights = [run.call(layer).attn_weights for run in (whole, cut)]
        rows = [slice(11 - n, 11) if side == "left" else slice(0, n) for n in (11, 7)]
        expected = torch.stack([
            plain_overlap(*(each[b:b + 1, :, part, part] for each in weights))
            for b, part in enumerate(rows)]).mean(0)
        entropy = torch.stack([torch.stack([
            each.call(layer).statistics["entropy"][b, :, part].nanmean(-1)
            for b, part in enumerate(rows)]) for each in (whole, cut)]).mean(1)
        for head in range(4):
            change = changes[layer, head]
            assert change["similarity"][0] == pytest.approx(expected[head].item(), abs=1e-5)
            assert change["differences"]["entropy"][0] == pytest.approx(
                (entropy[0] - entropy[1])[head].item(), abs=1e-5)
    assert changes[0, 0]["similarity"][0] == pytest.approx(1, abs=1e-6)
    assert changes[0, 1]["similarity"][0] < 0.99


def test_two_models_on_one_page(tmp_path):
    ids = inputs_of("gpt2")["input_ids"]
    a, b = seen_by("gpt2", input_ids=ids), seen_by("llama", input_ids=ids)
    (path,) = a.view(tmp_path / "page.html", against=b)
    data = data_of(path.read_text())
    assert data["title"] == "GPT2LMHeadModel and LlamaForCausalLM"
    assert [each["model"] for each in data["documents"]] == [
        "GPT2LMHeadModel", "LlamaForCausalLM"] * 2
    assert len(data["changes"]) == 8
    with pytest.raises(ValueError, match="labels is 'both', expected two strings"):
        a.view(path, against=b, labels="both")
    with pytest.raises(ValueError, match="against has another number of sequences"):
        a.view(path, against=seen_by("gpt2", input_ids=ids[:1]))


def test_sinks_are_a_key_of_the_overlap(tmp_path):
    seen = seen_by("gpt_oss", **inputs_of("gpt_oss"))
    (path,) = seen.view(tmp_path / "page.html", against=seen, labels=("a", "b"))
    for change in data_of(path.read_text())["changes"]:
        assert change["similarity"][0] == pytest.approx(1, abs=1e-6)


def byte_level_tokenizer():
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<|end\u0120|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator(["The workers went home.\n"] * 3, trainer)
    return tf.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|end\u0120|>")


def test_tokens_of_byte_level_bpe_are_text():
    tokenizer = byte_level_tokenizer()
    ids = tokenizer("The workers went\nê<|end\u0120|>")["input_ids"]
    assert token_labels(tokenizer, torch.tensor(ids)) == [
        "The", " workers", " went", "\n", "\\xc3", "\\xaa", "<|end\u0120|>"]


def test_marks_of_wordpiece_stay():
    pieces = tokenizers.Tokenizer(tokenizers.models.WordPiece(
        {"[UNK]": 0, "\u0120": 1, "##s": 2}, unk_token="[UNK]"))
    assert token_labels(tf.PreTrainedTokenizerFast(tokenizer_object=pieces), [1, 2]) == [
        "\u0120", "##s"]


@pytest.mark.parametrize("given_to", ["observe", "view"])
def test_a_tokenizer_labels_the_ids_of_the_run(given_to, tmp_path):
    tokenizer, model = byte_level_tokenizer(), tf.GPT2LMHeadModel(tf.GPT2Config(
        n_embd=32, n_layer=1, n_head=4, vocab_size=290, n_positions=32)).eval()
    tokenizer.pad_token = tokenizer.eos_token
    inputs = tokenizer(["The workers went", "home"], return_tensors="pt", padding=True)
    of_observe, of_view = ({"tokenizer": tokenizer} if given_to == each else {}
                           for each in ("observe", "view"))
    with torch.no_grad(), headwise.observe(model, maps=True, **of_observe) as seen:
        model(inputs["input_ids"], attention_mask=inputs["attention_mask"])
        model.generate(inputs["input_ids"][:1, :1], max_new_tokens=2, do_sample=False)
    (path,) = seen.view(tmp_path / "page.html", **of_view)
    data = data_of(path.read_text())
    assert [each["text"] for each in data["documents"]] == ["The workers went", "home"]
    documents = documents_of(path.read_text())
    assert [each["query_tokens"] for each in documents] == [
        ["The", " workers", " went"], token_labels(tokenizer, tokenizer("home")["input_ids"])]
    if given_to == "view":
        (path,) = seen.view(path, against=seen, labels=("a", "b"), **of_view)
        assert " workers" in documents_of(path.read_text())[1]["query_tokens"]


def test_an_encoder_and_a_decoder_have_their_own_ids(tmp_path):
    class Letters:  # of a tokenizer, what labels need
        all_special_ids = [3]
        backend_tokenizer = None
        convert_ids_to_tokens = staticmethod(lambda ids: [f"t{each}" for each in ids])
        decode = staticmethod(lambda ids, **_: "text")

    inputs = inputs_of("bart", batch=1)
    inputs["input_ids"][0, 2] = 3
    seen = seen_by("bart", **inputs)
    encoder, decoder, cross = (data_of(path.read_text()) for path in seen.view(
        tmp_path / "page.html", tokenizer=Letters()))
    of_encoder, of_decoder = ([f"t{each}" for each in inputs[name][0].tolist()]
                              for name in ("input_ids", "decoder_input_ids"))
    assert encoder["query_tokens"] == encoder["key_tokens"] == of_encoder
    assert encoder["query_special"] == [2]
    assert decoder["query_tokens"] == cross["query_tokens"] == of_decoder
    assert cross["key_tokens"] == of_encoder and cross["kind"] == "cross"


def page_in(notebook):
    return re.search("srcdoc='(.*?)'", notebook, re.S)[1].replace(
        "&#x27;", "'").replace("&amp;", "&")


def test_a_notebook_shows_every_sequence_and_every_kind_of_layer():
    notebook = seen_by("bart", **inputs_of("bart"))._repr_html_()
    documents = data_of(page_in(notebook))["documents"]
    assert [each["variant"] for each in documents] == [
        "encoder, layers 0 to 1", "decoder, layers 2, 4", "cross-attention, layers 3, 5"] * 2
    assert "keep the notebook small" not in notebook


@pytest.mark.parametrize("share, left_out, layers", [
    (2, None, [[0, 1]] * 2), (0.8, "1 of 2 sequences", [[0, 1]]),
    (0.55, "the first 1 of 2 layers of the first sequence", [[0]])])
def test_a_notebook_stays_small(monkeypatch, share, left_out, layers):
    seen = seen_by("bert", **inputs_of("bert", length=120))
    whole = len(page_in(seen._repr_html_()))
    monkeypatch.setattr(notebook_page, "_MOST_BYTES", int(share * whole))
    notebook = seen._repr_html_()
    page = page_in(notebook)
    documents = documents_of(page) if len(layers) > 1 else [data_of(page)]
    assert [[each["number"] for each in document["layers"]]
            for document in documents] == layers
    if layers != [[0]]:  # one layer is shown even if it is large
        assert len(page) <= share * whole
    assert (f"the page has {left_out}." in notebook) == (left_out is not None)
    assert documents[0]["layers"][0]["heads"][0]["query"] is None
