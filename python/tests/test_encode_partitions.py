"""The example that encodes the partitions of a corpus in several processes."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import headwise

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "apps"))
sys.path.append(str(ROOT / "python" / "examples"))
import encode_partitions  # noqa: E402
import tiny_model  # noqa: E402

WORDS = ["heads", "matter", "so", "!"]
LINES = [" ".join(WORDS[(n + k) % 4] for k in range(n % 9)) for n in range(50)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model.write(path)
    return str(path)


@pytest.fixture(scope="module")
def whole(folder):
    return headwise.SentenceEncoder.read(folder).encode(LINES)


@pytest.mark.parametrize("batch", [1, 7, 1024])
def test_a_partition_yields_its_rows_in_order(folder, whole, batch):
    rows = encode_partitions.encode_partition(iter(LINES), folder, batch=batch)
    np.testing.assert_array_equal(np.stack(list(rows)), whole)


def test_a_partition_may_be_empty(folder, whole):
    assert list(encode_partitions.encode_partition([], folder)) == []
    assert encode_partitions.encode_rows([], folder).shape == (0, whole.shape[1])


@pytest.mark.parametrize("count", [1, 3, 60])
def test_partitions_are_the_lines_in_order(count):
    parts = encode_partitions.partitions(LINES, count)
    assert len(parts) == count
    assert [line for part in parts for line in part] == LINES


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("\n", [""]),
        ("\ufeffa\r\n\n b\u2028c\fd\re\x85\r\r\nf\r", ["a", "", " b\u2028c\fd\re\x85\r", "f"]),
    ],
)
def test_lines_are_those_of_the_command(text, lines, tmp_path):
    (tmp_path / "lines.txt").write_bytes(text.encode())
    assert encode_partitions.read_lines(tmp_path / "lines.txt") == lines


def test_processes_have_the_bits_of_one(folder, whole, tmp_path):
    (tmp_path / "lines.txt").write_text("".join(line + "\n" for line in LINES))
    subprocess.run(
        [
            sys.executable,
            encode_partitions.__file__,
            folder,
            tmp_path / "lines.txt",
            tmp_path / "e.npy",
            "--processes",
            "2",
        ],
        check=True,
        timeout=300,
    )
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), whole)


def test_ray_has_the_bits_of_one(folder, whole):
    ray = pytest.importorskip("ray")
    # Workers import the example by its name.
    with ray.init(
        num_cpus=2, runtime_env={"env_vars": {"PYTHONPATH": ":".join(filter(None, sys.path))}}
    ):
        np.testing.assert_array_equal(encode_partitions.with_ray(LINES, folder, 3), whole)


def test_spark_has_the_bits_of_one(folder, whole, monkeypatch):
    pyspark = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    with pyspark.SparkSession.builder.master("local[2]").getOrCreate() as session:
        np.testing.assert_array_equal(
            encode_partitions.with_spark(session, LINES, folder, 3), whole
        )
