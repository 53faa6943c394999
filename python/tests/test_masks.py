"""Masks, against the same rule written as an array of bool."""

import numpy as np
import pytest
import reference

import headwise

B, LQ, LKV, H, D = 3, 5, 7, 2, 4
I = np.arange(LQ)[:, None]
J = np.arange(LKV)


@pytest.fixture(scope="module")
def tensors():
    random = np.random.default_rng(23)
    return [
        random.standard_normal((B, length, H, D), dtype=np.float32)
        for length in (LQ, LKV, LKV)
    ]


LENGTHS = np.array([0, 3, 7])
ROW_LENGTHS = np.arange(B * LQ).reshape(B, LQ) % 8
PADDING = np.random.default_rng(29).random((B, LKV)) < 0.6
DENSE = np.random.default_rng(31).random((B, H, LQ, LKV)) < 0.6
QUERY_IDS = np.array([0, 0, 1, 1, 2])
KEY_IDS = np.array([0, 0, 0, 1, 1, 1, 3])


def of_rows(numbers):
    return np.asarray(numbers)[:, None, None, None]


CASES = {
    "causal": (headwise.causal(), J <= I),
    "window": (headwise.window(1, 2), (I - 1 <= J) & (J <= I + 2)),
    "one side": (headwise.window(None, 0), J <= I),
    "first keys": (headwise.window(0, 1, 2), ((I <= J) | (J < 2)) & (J <= I + 1)),
    "lengths": (headwise.key_lengths(LENGTHS), J < of_rows(LENGTHS)),
    "int32": (headwise.key_lengths(LENGTHS.astype(np.int32)), J < of_rows(LENGTHS)),
    "list": (headwise.key_lengths(list(LENGTHS)), J < of_rows(LENGTHS)),
    "strides": (headwise.key_lengths(LENGTHS[::-1]), J < of_rows(LENGTHS[::-1])),
    "row lengths": (
        headwise.key_lengths(ROW_LENGTHS),
        J < ROW_LENGTHS[:, None, :, None],
    ),
    "nested lists": (
        headwise.key_lengths(ROW_LENGTHS.tolist()),
        J < ROW_LENGTHS[:, None, :, None],
    ),
    "starts": (headwise.key_starts(LENGTHS), J >= of_rows(LENGTHS)),
    "padding": (headwise.key_padding(PADDING), PADDING[:, None, None]),
    "padding of 0 and 1": (
        headwise.key_padding(PADDING.astype(np.int64)),
        PADDING[:, None, None],
    ),
    "documents": (
        headwise.documents(QUERY_IDS, KEY_IDS),
        QUERY_IDS[:, None] == KEY_IDS,
    ),
    "documents of each": (
        headwise.documents([QUERY_IDS.tolist()] * B, [KEY_IDS.tolist()] * B),
        QUERY_IDS[:, None] == KEY_IDS,
    ),
    "array": (DENSE, DENSE),
    "array of two axes": (DENSE[0, 0], DENSE[0, 0]),
    "array of one head": (DENSE[:, :1], DENSE[:, :1]),
    "bytes": (DENSE.astype(np.uint8), DENSE),
    "dense": (
        headwise.dense(DENSE[:, 0].transpose(2, 0, 1), ("Lkv", "B", "Lq")),
        DENSE[:, :1],
    ),
    "broadcast": (np.broadcast_to(DENSE[0, 0], DENSE.shape), DENSE[0, 0]),
    "both": (
        headwise.causal() & headwise.key_lengths(LENGTHS),
        (J <= I) & (J < of_rows(LENGTHS)),
    ),
    "and an array": (headwise.causal() & DENSE, (J <= I) & DENSE),
    "array and": (DENSE & headwise.causal(), (J <= I) & DENSE),
}


@pytest.mark.parametrize("case", CASES)
def test_rules(tensors, case):
    mask, allowed = CASES[case]
    result = headwise.attention(*tensors, mask=mask, attn_weights="per_head")
    output, weights = reference.attention(*tensors, mask=allowed)
    np.testing.assert_allclose(result.attn_weights, weights, rtol=0, atol=2e-6)
    np.testing.assert_allclose(result.output, output, rtol=0, atol=2e-6)


def test_query_start(tensors):
    for start in (2, [2, 2, 2], "bottom_right"):
        output = headwise.attention(
            *tensors, mask=headwise.causal(), query_start=start
        )
        expected = reference.attention(*tensors, mask=J <= I + 2)[0]
        np.testing.assert_allclose(output, expected, rtol=0, atol=2e-6)


def test_numbers_are_copied_when_the_mask_is_made(tensors):
    lengths = LENGTHS.copy()
    mask = headwise.key_lengths(lengths)
    before = headwise.attention(*tensors, mask=mask)
    lengths[:] = -1
    np.testing.assert_array_equal(headwise.attention(*tensors, mask=mask), before)


def test_a_mask_keeps_its_array(tensors):
    mask = headwise.causal() & headwise.key_padding(PADDING.copy())
    np.zeros(PADDING.shape, bool).fill(True)  # takes memory that was freed
    np.testing.assert_array_equal(
        headwise.attention(*tensors, mask=mask),
        headwise.attention(*tensors, mask=headwise.causal() & headwise.key_padding(PADDING)),
    )


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: np.full((LQ, LKV), 2), ValueError, "the element 2, expected truth"),
        (lambda: np.full((LQ, LKV), -1), ValueError, "the element -1, expected truth"),
        (lambda: np.ones((LQ, LKV), np.float32), TypeError, "mask is float32, expected bool"),
        (lambda: np.ones((B, LQ, LKV), bool), ValueError, "names of its axes"),
        (lambda: headwise.key_lengths([1.5]), TypeError, "lengths is 1.5, expected a whole"),
        (lambda: headwise.key_lengths([True]), TypeError, "lengths is True"),
        (lambda: headwise.key_lengths(np.ones(B)), TypeError, "lengths is float64"),
        (lambda: headwise.key_lengths([[1, 2], [3]]), TypeError, "one length"),
        (lambda: headwise.key_lengths(3), TypeError, "lengths is a int"),
        (lambda: headwise.key_lengths([1, 2, 8]), ValueError, r"\[2\] is 8, expected 0"),
        (lambda: headwise.key_padding(np.ones(B, bool)), ValueError, r"\(B, Lkv\)"),
        (lambda: headwise.window(-1, 0), ValueError, "window"),
        (lambda: headwise.documents([1, 0, 0, 0, 0], KEY_IDS), ValueError, "ids"),
        (lambda: headwise.dense(DENSE, ("B",)), ValueError, "1 names, expected one for"),
        (lambda: headwise.dense(DENSE[0], ("H", "Lq", "Lk")), ValueError, "expected B, H, Lq"),
        (lambda: headwise.causal() & 3, TypeError, "mask is a int"),
    ],
)
def test_wrong_masks(tensors, make, error, message):
    with pytest.raises(error, match=message):
        headwise.attention(*tensors, mask=make())


def test_more_rules_than_a_mask_may_have(tensors):
    mask = headwise.causal()
    for _ in range(8):
        mask = mask & headwise.causal()
    with pytest.raises(NotImplementedError, match="mask"):
        headwise.attention(*tensors, mask=mask)


def test_repr():
    assert repr(headwise.causal() & headwise.window(2, None)) == "causal() & window(2, None)"
