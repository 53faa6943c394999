"""The library's messages in the words of Python: no name that only C++ has."""

import pathlib
import re

import numpy as np
import pytest

import headwise

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Comments, raw strings, strings and characters, so that none hides in another.
TOKEN = re.compile(
    r'''//[^\n]*|R"\((?:.*?)\)"|(?P<text>"(?:\\.|[^"\\\n])*")'''
    r"""|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""", re.S)
CALL = re.compile(r"\b([a-z_]+)\(\)")
SCOPE = re.compile(r"\w::\w")

# Messages of what Python does not have.
CPP_ONLY = {
    "begin_step() before update()",                           # Optimizer
    "Device::cuda(stream)",                                   # the GPU
    "Device::cuda(stream); AttentionPlan is for the CPU",
    "ModelUse::training",                                     # Transformer
    "ModelWanted::gates",
    "a layer without Linear::for_inference()",                # write_onnx_layer()
}
# Text of files and pages, not messages.
NO_MESSAGES = ("src/view/inspect/words", "src/view/inspect/page", "src/view/inspect/pictures")


def texts():
    for path in sorted((ROOT / "src").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix not in {".cc", ".h"} or name.startswith(NO_MESSAGES):
            continue
        source = re.sub(r"#include[^\n]*", "", path.read_text(encoding="utf-8"))
        together, end = "", 0
        for token in TOKEN.finditer(source):
            if token["text"] is None:
                continue
            if source[end:token.start()].strip():
                yield together
                together = ""
            together += token["text"][1:-1]
            end = token.end()
        yield together


def python_names():
    names = set(dir(headwise))
    for name in headwise.__all__:
        names |= set(dir(getattr(headwise, name)))
    return names


@pytest.mark.skipif(not (ROOT / "src").exists(), reason="needs the library's sources")
def test_functions_that_messages_name_exist_in_python():
    names = python_names()
    found = {text for text in texts() if CALL.search(text) or SCOPE.search(text)}
    assert CPP_ONLY <= found
    assert {text for text in found - CPP_ONLY
            if SCOPE.search(text) or not set(CALL.findall(text)) <= names} == set()


def numbers(*shape):
    return np.random.default_rng(97).standard_normal(shape, dtype=np.float32)


def test_data_in_another_order():
    query, key = numbers(2, 5, 4, 8), numbers(2, 4, 3, 8)
    with pytest.raises(
            ValueError,
            match=r"; axes are \(B, L, H, D\), so transpose data in the order \(B, H, L, D\)$"):
        headwise.attention(query, key, key)


def test_what_a_call_does_not_return():
    x = numbers(2, 3, 2, 4)
    forward = headwise.attention(x, x, x, softmax_rows=True)
    with pytest.raises(ValueError, match="expected none: the forward pass computes them"):
        headwise.attention_backward(x, x, x, forward.output, forward.softmax_rows, x,
                                    statistics={"rows": True})
    layer = headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2)
    tokens = numbers(2, 3, 8)
    with pytest.raises(ValueError, match="attn_weights is asked for, expected none: only the"):
        layer.forward(tokens, out=np.empty_like(tokens), attn_weights="per_head")
