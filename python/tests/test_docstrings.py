"""The examples in the docstrings run and print what they say; help() shows them."""
import doctest
import inspect
import pickle

import numpy as np
import pytest

import headwise
from headwise import _core

PUBLIC = [name for name in headwise.__all__ if name not in ("SafetensorsFile", "Trace")]
# What has an example; more may have.
SHOWN = {
    "AttentionPlan", "DecodePlan", "KvCache", "MultiHeadAttention", "alibi_slopes",
    "attention", "attention_backward", "causal", "dense", "documents", "explain", "importance",
    "key_lengths", "key_padding", "key_starts", "read_safetensors", "remove_heads", "view",
    "window"}
EXAMPLES = {
    name: doctest.DocTestParser().get_doctest(
        value.__doc__, {"headwise": headwise, "np": np}, name, None, None)
    for name, value in [(name, getattr(headwise, name)) for name in PUBLIC]
    + [("_core.mean_with_interval", _core.mean_with_interval)] if value.__doc__}


def test_public_functions_have_examples():
    assert SHOWN <= {name for name, found in EXAMPLES.items() if found.examples}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if EXAMPLES[name].examples])
def test_the_example(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(EXAMPLES[name], out=said.append)
    assert not said, "".join(said)


def functions():
    """("attention", function) and ("KvCache.append", method) of the public ones."""
    for name in PUBLIC:
        value = getattr(headwise, name)
        if inspect.isclass(value):
            yield from ((f"{name}.{member}", getattr(value, member)) for member in dir(value)
                        if not member.startswith("_") and callable(getattr(value, member)))
        elif callable(value):
            yield name, value


def test_inspect_knows_every_signature():
    signatures = {name: inspect.signature(function) for name, function in functions()}
    assert len(signatures) > 50
    assert not any("_A" in str(signature) for signature in signatures.values())
    attention = signatures["attention"].parameters
    assert list(attention)[:4] == ["query", "key", "value", "mask"]
    assert attention["attn_weights"].annotation == "AttnWeights | None"
    assert attention["attn_weights"].default is None
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    for call in (layer, layer.forward):
        assert list(inspect.signature(call).parameters) == ["query", "key", "value", "options"]
    assert "embed_dim" in signatures["MultiHeadAttention.create"].parameters


def test_functions_can_be_pickled():
    for name, function in functions():
        if "." not in name:
            assert pickle.loads(pickle.dumps(function)) is function
