"""The Python of the readmes runs."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = ROOT / "README.md"


def blocks(readme):
    return re.findall(r"^```python\n(.*?)^```", readme.read_text("utf-8"), re.S | re.M)


def test_attention_example_prints_what_its_comments_say(capsys):
    example, _ = blocks(README)
    exec(example, {})
    shape, weight, entropies = capsys.readouterr().out.split("\n", 2)
    assert f"print(result.output.shape)                # {shape}" in example
    assert float(weight) > 0
    assert len(entropies.replace("[", "").replace("]", "").split()) == 8


def test_observe_example_sees_every_head():
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
    assert len(names["seen"].heads) == 8
    assert "<iframe" in names["seen"]._repr_html_()


def test_readmes_have_the_same_examples():
    def without_comments(readme):
        return [re.sub(r" *#.*", "", block) for block in blocks(readme)]

    assert without_comments(README) == without_comments(ROOT / "README.ko.md")


def test_linked_files_exist():
    for readme in (README, ROOT / "README.ko.md"):
        for link in re.findall(r"\]\(((?:docs|python)/[^)#]*)\)", readme.read_text("utf-8")):
            assert (ROOT / link).exists(), link
