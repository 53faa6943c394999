"""What may be given as an array: one test for each kind, and for each error."""

import array
import subprocess
import sys

import numpy as np
import pytest

import headwise

SHAPE = (2, 3, 2, 4)


def numbers(shape=SHAPE, seed=41):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def attend(query, key=None, value=None, **options):
    key = query if key is None else key
    value = key if value is None else value
    return headwise.attention(query, key, value, **options)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.transpose(0, 2, 1, 3),
        lambda a: a[::-1, ::-1, ::-1, ::-1],
        lambda a: a[:, ::2],
        lambda a: np.broadcast_to(a[:1, :1], SHAPE),
        lambda a: np.asfortranarray(a),
        lambda a: a[:0],
        lambda a: a[:, :0],
    ],
    ids=["transposed", "negative", "gaps", "zero", "fortran", "no batch", "no rows"],
)
def test_strides(view):
    seen = view(numbers())
    np.testing.assert_array_equal(attend(seen), attend(seen.copy()))


def test_no_keys():
    assert not attend(numbers(), numbers((2, 0, 2, 4))).any()


def test_read_only():
    query = numbers()
    expected = attend(query)
    query.setflags(write=False)
    np.testing.assert_array_equal(attend(query), expected)
    with pytest.raises(ValueError, match="out is read-only"):
        attend(numbers(), out=query)


def test_subclass():
    class Mine(np.ndarray):
        pass

    np.testing.assert_array_equal(attend(numbers().view(Mine)), attend(numbers()))


def test_out_that_is_an_input():
    query = numbers()
    with pytest.raises(ValueError, match="output"):
        attend(query, out=query)


def misaligned():
    memory = np.zeros(4 * np.prod(SHAPE) + 1, np.uint8)
    return memory[1:].view(np.float32).reshape(SHAPE)


def field_of_a_record():
    records = np.zeros(SHAPE, np.dtype([("a", np.float32), ("b", np.int8)]))
    return records["a"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: [1.0], TypeError, "query is a list, expected a NumPy array, a PyTorch"),
        (lambda: None, TypeError, "query is a NoneType"),
        (lambda: object(), TypeError, "query is a object"),
        (lambda: numbers().astype(np.float64), TypeError, "query is float64, expected float32"),
        (lambda: numbers().astype(np.int32), TypeError, "query is int32"),
        (lambda: numbers() > 0, TypeError, "query is bool"),
        (lambda: numbers().astype(complex), TypeError, "query has elements of 128 bits"),
        (lambda: numbers().astype(">f4"), TypeError, "other order"),
        (lambda: numbers().astype(str), TypeError, "element type <U"),
        (lambda: numbers()[0, 0], ValueError, r"shape \(2, 4\), expected \(B, Lq, Hq, D\) or"),
        (lambda: numbers()[None], ValueError, r"query has shape \(1, 2, 3, 2, 4\)"),
        (lambda: numbers().reshape((1,) * 5 + SHAPE), ValueError, "has 9 axes, expected at most 8"),
        (misaligned, ValueError, "query is not aligned to its elements of 4 bytes"),
        (field_of_a_record, ValueError, "strides that are not multiples"),
    ],
)
def test_wrong_arrays(make, error, message):
    with pytest.raises(error, match=message):
        attend(make(), numbers(), numbers())


def test_errors_name_the_argument():
    with pytest.raises(TypeError, match="attention: key is float64, expected float32"):
        attend(numbers(), numbers().astype(np.float64))
    with pytest.raises(TypeError, match="value is float16, expected float32"):
        attend(numbers(), numbers(), numbers().astype(np.float16))
    with pytest.raises(ValueError, match=r"key has shape \(3, 2, 4\), expected \(B, Lkv"):
        attend(numbers(), numbers()[0])
    with pytest.raises(ValueError, match=r"value has shape \(2, 2, 2, 4\), expected"):
        attend(numbers(), numbers(), numbers()[:, :2])


class Lent:
    """An array of no library, with nothing but __dlpack__."""

    def __init__(self, of):
        self.of = of

    def __dlpack__(self, **options):
        return self.of.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.of.__dlpack_device__()


def test_an_object_with_dlpack():
    query = numbers()
    output = attend(Lent(query))
    assert isinstance(output, np.ndarray)
    np.testing.assert_array_equal(output, attend(query))


class Library:
    """A library with a from_dlpack of its own."""

    class Array(Lent):
        def __array_namespace__(self):
            return Library

    @staticmethod
    def from_dlpack(of):
        return Library.Array(np.from_dlpack(of))


def test_results_come_back_as_the_library():
    result = attend(Library.Array(numbers()), lse=True, statistics={"rows": True})
    expected = attend(numbers(), lse=True, statistics={"rows": True})
    for name in ("output", "lse"):
        assert isinstance(getattr(result, name), Library.Array)
        np.testing.assert_array_equal(getattr(result, name).of, getattr(expected, name))
    np.testing.assert_array_equal(
        result.statistics.rows.of, expected.statistics.rows
    )


def test_a_buffer():
    flat = array.array("f", numbers().ravel())
    query = memoryview(flat).cast("B").cast("f", SHAPE)
    np.testing.assert_array_equal(attend(query), attend(numbers()))


class Freed:
    """Lends memory that it then drops."""

    def __dlpack__(self, **options):
        return numbers().__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


def test_memory_whose_owner_is_gone():
    np.testing.assert_array_equal(attend(Freed()), attend(numbers()))


def test_import_loads_neither_numpy_nor_torch():
    code = (
        "import sys, headwise; headwise.attention; headwise.causal(); dir(headwise)\n"
        "assert not {'numpy', 'torch', 'ml_dtypes'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name():
    from_star = {}
    exec("from headwise import *", from_star)
    assert from_star.keys() - {"__builtins__"} == set(headwise.__all__)
    for name in headwise._PLACES:
        assert name in dir(headwise)
    with pytest.raises(AttributeError, match="no attribute 'atention'"):
        headwise.atention
