"""The Python of the readmes runs."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = ROOT / "README.md"
READMES = (README, ROOT / "README.ko.md")


def blocks(readme):
    return re.findall(r"^```python\n(.*?)^```", readme.read_text("utf-8"), re.S | re.M)


def test_attention_example_prints_a_weight(capsys):
    example, _ = blocks(README)
    names = {}
    exec(example, names)
    assert 0 < float(capsys.readouterr().out) < 1
    assert names["result"].attn_weights.shape == (2, 8, 20, 20)
    assert names["result"].output.shape == (2, 20, 8, 64)


def test_observe_example_sees_every_head(capsys):
    torch = pytest.importorskip("torch")
    tf = pytest.importorskip("transformers")
    import headwise
    model = tf.BertModel(tf.BertConfig(hidden_size=32, intermediate_size=48,
                                       num_hidden_layers=2, num_attention_heads=4,
                                       vocab_size=64)).eval()
    _, example = blocks(README)
    names = {"headwise": headwise, "model": model, "tokens": list("abcde"),
             "inputs": {"input_ids": torch.arange(5)[None]}}
    exec(example, names)
    assert float(capsys.readouterr().out) > 0
    assert len(names["seen"].heads) == 8
    assert "<iframe" in names["seen"]._repr_html_()


def test_readmes_have_the_same_examples():
    def without_comments(readme):
        return [re.sub(r" *#.*", "", block) for block in blocks(readme)]

    assert without_comments(README) == without_comments(ROOT / "README.ko.md")


def test_readmes_fit_two_screens():
    for readme in READMES:
        lines = readme.read_text("utf-8").splitlines()
        assert len(lines) <= 120, readme
        assert any("docs/images/heads.png" in line for line in lines[:20]), readme


def test_linked_files_exist():
    for readme in READMES:
        for link in re.findall(r"\]\(((?:docs|python)/[^)#]*)\)", readme.read_text("utf-8")):
            assert (ROOT / link).exists(), link
