"""Shows that an installed headwise computes: what script/wheel runs."""

import pathlib
import sys

import numpy

import headwise

place = pathlib.Path(headwise.__file__)
assert place.is_relative_to(sys.prefix), f"{place} is not what was installed"
notices = (place.parent / "THIRD_PARTY_NOTICES.txt").read_text(encoding="utf-8")
for package in ("nanobind", "libhwy-dev", "libtbb-dev", "libzip-dev", "nettle-dev"):
    assert f"==== {package} ====" in notices, f"no licence of {package}"
query = numpy.random.default_rng(0).standard_normal((1, 4, 2, 8), dtype=numpy.float32)
result = headwise.attention(
    query, query, query, mask=headwise.causal(), attn_weights="per_head"
)
assert abs(result.attn_weights.sum(-1) - 1).max() < 1e-6
print(f"headwise {headwise.__version__} computes")
