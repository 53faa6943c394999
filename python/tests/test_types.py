"""The types of the package: mypy --strict accepts them and the Python of all pages, and
they have the options and words of the extension. script/types also runs pyright.
"""
import inspect
import os
import pathlib
import subprocess
import sys
import typing

import numpy as np
import pytest
import typed_pages

import headwise
from headwise import _types

PACKAGE = pathlib.Path(headwise.__file__).parent
X = np.ones((1, 3, 2, 4), np.float32)


def test_mypy_accepts_the_package_and_all_pages(tmp_path):
    pytest.importorskip("mypy")
    if not (PACKAGE / "_core.pyi").exists():
        pytest.skip("this build made no stub")
    names = typed_pages.write(tmp_path)
    assert {"README_page", "python_page", "every_head_page", "typed_calls"} <= {*names}
    names += ["headwise", *(f"headwise.{path.stem}" for path in PACKAGE.glob("_[a-z]*.py*"))]
    path = PACKAGE.parent  # mypy refuses to be told of an environment's packages
    found = {} if path.name == "site-packages" else {"MYPYPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *(word for name in names for word in ("-m", name))],
        cwd=tmp_path, env={**os.environ, **found},
        capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def fields(options):
    return {name: getattr(hint, "__forward_arg__", str(hint)).replace('"', "'")
            for name, hint in options.__annotations__.items()}


def test_options_are_those_of_the_extension():
    expected = {name: parameter.annotation for name, parameter
                in inspect.signature(headwise.attention).parameters.items()
                if parameter.kind is parameter.KEYWORD_ONLY}
    declared = {name: hint for base in (_types.SharedOptions, _types.CallOptions,
                                        _types.CallOutputs, _types.PlanOptions)
                for name, hint in fields(base).items()}
    assert declared == expected


@pytest.mark.parametrize("words, call", [
    ("AttnWeights", lambda word: headwise.attention(X, X, X, attn_weights=word)),
    ("Scores", lambda word: headwise.attention(X, X, X, scores=word)),
    ("EmptyRows", lambda word: headwise.attention(X, X, X, empty_rows=word)),
    ("KeyPart", lambda word: headwise.attention(X, X, X, key_part=word)),
    ("Arithmetic", lambda word: headwise.attention(X, X, X, arithmetic=word)),
    ("AxisName", lambda word: headwise.dense(X, [word])),
    ("Statistic", lambda word: headwise.attention(
        X, X, X, statistics={"rows": True}).statistics.mean(word)),
    ("Gradient", lambda word: headwise.attention_backward(X, X, X, X, X, X, gradients=[word])),
    ("CacheDType", lambda word: headwise.KvCache.create(
        num_kv_heads=1, head_dim=4, max_tokens=8, dtype=word)),
    ("FileAccess", lambda word: headwise.read_safetensors("", access=word)),
    ("Scoring", lambda word: headwise.MultiHeadAttention.create(
        embed_dim=8, num_heads=2, scoring=word)),
    ("ConstantPart", lambda word: headwise.remove_heads(
        headwise.MultiHeadAttention.create(embed_dim=8, num_heads=2), [0], constant=word)),
    ("ImportanceMethod", lambda word: headwise.importance([2], method=word)),
    ("RotaryLayout", lambda word: headwise.MultiHeadAttention.create(
        embed_dim=8, num_heads=2, rotary={"layout": word})),
])
def test_words_are_those_of_the_extension(words, call):
    with pytest.raises(ValueError, match="expected ") as caught:
        call("?")
    known = str(caught.value).split("expected ")[1].split(", ")
    known = {*known} - {"none", "all"}  # which a type says as None
    assert known == {*typing.get_args(getattr(_types, words))}
