"""The examples in the docstrings run and print what they say; inspect knows signatures."""
import doctest
import inspect

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


def test_inspect_knows_the_signatures_of_functions():
    signatures = {name: inspect.signature(getattr(headwise, name)) for name in PUBLIC
                  if callable(getattr(headwise, name)) and name[0].islower()}
    assert len(signatures) >= 20
    assert not any("_A" in str(signature) for signature in signatures.values())
    attention = signatures["attention"].parameters
    assert list(attention)[:4] == ["query", "key", "value", "mask"]
    assert attention["attn_weights"].annotation == "AttnWeights | None"
    assert attention["attn_weights"].default is None
    assert headwise.attention.__name__ == "attention"
