"""Safetensors files: the arrays, what keeps them, and the errors."""

import gc
import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

import headwise

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "I64": np.int64,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
    "BOOL": np.bool_,
}


def file_bytes(tensors, metadata=None, filler=0):
    """Of names to (type, array); `filler` blanks behind the header."""
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (kind, array) in tensors.items():
        begin = len(data)
        data += array.tobytes()
        header[name] = {
            "dtype": kind,
            "shape": array.shape,
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + filler)
    return struct.pack("<Q", len(text)) + text + data


def drawn(kind, shape=(3, 4)):
    random = np.random.default_rng(17)
    return random.integers(0, 2 if kind == "BOOL" else 100, shape).astype(TYPES[kind])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.safetensors"


def write(path, *arguments, **options):
    path.write_bytes(file_bytes(*arguments, **options))
    return path


def one(array=None):
    array = np.arange(6, dtype=np.float32).reshape(2, 3) if array is None else array
    return {"w": ("F32", array)}


@pytest.mark.parametrize("filler", [0, 1], ids=["in place", "copied"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_type(path, kind, filler):
    expected = drawn(kind)
    write(path, {"w": (kind, expected)}, filler=filler)
    got = headwise.read_safetensors(path)["w"]
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    assert got.flags.c_contiguous and got.flags.aligned and not got.flags.writeable


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,) * 32])
@pytest.mark.parametrize("kind", ["F32", "BF16", "BOOL"])
def test_every_shape(path, shape, kind):
    expected = drawn(kind, shape)
    write(path, {"w": (kind, expected)})
    got = headwise.read_safetensors(path)["w"]
    assert got.shape == shape
    np.testing.assert_array_equal(got, expected)


def test_mapping(path):
    write(path, {**one(), "a": ("I64", np.arange(3))}, {"format": "pt", "머리": "h"})
    file = headwise.read_safetensors(path)
    assert list(file) == list(file.keys()) == ["a", "w"]
    assert len(file) == 2
    assert "a" in file and "b" not in file
    assert file.get("b") is None
    assert {name: array.shape for name, array in file.items()} == {
        "a": (3,),
        "w": (2, 3),
    }
    assert file.metadata == {"format": "pt", "머리": "h"}
    assert "2 tensors" in repr(file)


def test_no_metadata_and_no_tensors(path):
    file = headwise.read_safetensors(write(path, {}))
    assert file.metadata == {} and dict(file) == {}


@pytest.mark.parametrize("access", ["mapped", "read"])
def test_arrays_outlive_the_file(path, access):
    """The array is all that is left; its bytes must still be there."""
    expected = np.random.default_rng(3).standard_normal((300, 1000), np.float32)
    write(path, one(expected))
    row = headwise.read_safetensors(path, access=access)["w"][7]
    path.unlink()
    gc.collect()
    [np.full((300, 1000), 9, np.float32) for _ in range(20)]
    np.testing.assert_array_equal(row, expected[7])


def memory_maps(path):
    return pathlib.Path("/proc/self/maps").read_text().count(str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_mapping_ends_with_the_last_array(path):
    file = headwise.read_safetensors(write(path, one()))
    array = file["w"]
    view = array[1:]
    assert memory_maps(path) == 1
    del file, array
    gc.collect()
    assert memory_maps(path) == 1
    del view
    gc.collect()
    assert memory_maps(path) == 0


def change(path):
    """Writes 9 as the last element, into the same file."""
    with path.open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(9).tobytes())


def test_mapped_arrays_look_at_the_file(path):
    array = headwise.read_safetensors(write(path, one()))["w"]
    change(path)
    assert array[-1, -1] == 9


def test_read_arrays_do_not(path):
    array = headwise.read_safetensors(write(path, one()), access="read")["w"]
    change(path)
    assert array[-1, -1] == 5


@pytest.mark.parametrize("given", [str, os.fsencode, pathlib.Path])
def test_kinds_of_paths(path, given):
    assert list(headwise.read_safetensors(given(write(path, one())))) == ["w"]


def test_missing_file(path):
    with pytest.raises(FileNotFoundError, match="m.safetensors"):
        headwise.read_safetensors(path)


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
def test_missing_file_whose_name_is_not_utf8(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff"
    with pytest.raises(FileNotFoundError, match="\udcff"):
        headwise.read_safetensors(name)


def test_missing_tensor(path):
    file = headwise.read_safetensors(write(path, one()))
    with pytest.raises(KeyError, match="m.safetensors has no tensor b"):
        file["b"]
    with pytest.raises(TypeError, match="name is 3, expected"):
        file[3]


def test_wrong_content(path):
    path.write_bytes(file_bytes(one())[:-1])
    with pytest.raises(ValueError, match="m.safetensors"):
        headwise.read_safetensors(path)


def test_other_element_types(path):
    write(path, {"w": ("F8_E4M3", np.zeros(4, np.uint8))})
    with pytest.raises(NotImplementedError, match="F8_E4M3"):
        headwise.read_safetensors(path)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((3,), {}, TypeError, "path is 3, expected a str, bytes or os.PathLike"),
        (("a\0b",), {}, ValueError, "null"),
        (("a",), {"access": "write"}, ValueError, "access is .*mapped, read"),
        (("a",), {"access": None}, TypeError, "access is None"),
    ],
)
def test_wrong_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        headwise.read_safetensors(*arguments, **options)


def run_python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_ml_dtypes_only_for_bfloat16(path):
    write(path, {**one(), "h": ("BF16", drawn("BF16"))})
    code = (
        "import sys, headwise\n"
        "file = headwise.read_safetensors(sys.argv[1])\n"
        "file['w']\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "file['h']\n"
        "assert 'ml_dtypes' in sys.modules\n"
    )
    done = run_python(code, str(path))
    assert done.returncode == 0, done.stderr


def test_bfloat16_without_ml_dtypes(path):
    write(path, {"h": ("BF16", drawn("BF16"))})
    code = (
        "import sys, headwise\n"
        "sys.modules['ml_dtypes'] = None\n"
        "headwise.read_safetensors(sys.argv[1])['h']\n"
    )
    done = run_python(code, str(path))
    assert "ImportError: NumPy has no bfloat16: pip install ml_dtypes" in done.stderr
