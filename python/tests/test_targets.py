"""The instruction sets, as the C++ library names them."""

import os
import subprocess
import sys

import pytest

import headwise


def test_the_target_in_use_is_available():
    assert headwise.current_target() in headwise.available_targets()
    for target in headwise.available_targets():
        assert headwise.promises_same_bits(target) in (True, False)
    assert headwise.promises_same_bits() == headwise.promises_same_bits(headwise.current_target())
    with pytest.raises(TypeError, match="promises_same_bits: target is 3, expected a string"):
        headwise.promises_same_bits(3)


def run(code, target):
    return subprocess.run([sys.executable, "-c", f"import headwise; {code}"], text=True,
                          capture_output=True, env={**os.environ, "HEADWISE_TARGET": target})


def test_a_target_that_is_forced():
    last = headwise.available_targets()[-1]
    assert run("print(headwise.current_target())", last).stdout.strip() == last
    failed = run("headwise.current_target()", "abacus")
    assert "NotImplementedError" in failed.stderr and last in failed.stderr
