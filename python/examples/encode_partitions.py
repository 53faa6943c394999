"""The embeddings of a corpus as a map over its partitions.

`encode_partition` is the function that Spark, Ray or a pool of processes calls for
each part of a corpus. An embedding depends on its sentence alone, so the rows are
bit for bit those of one process, however the corpus is cut.

    python encode_partitions.py MODEL sentences.txt embeddings.npy --processes 4
"""

import argparse
import concurrent.futures
import functools
import itertools
import multiprocessing

import numpy as np

import headwise


@functools.cache
def encoder(folder):
    """The model; a worker process reads it once, for all of its partitions."""
    return headwise.SentenceEncoder.read(folder)


def encode_partition(lines, folder, threads=1, batch=1024):
    """Yields the embedding of each line, in order; holds one batch at a time."""
    executor = headwise.Executor.with_threads(threads)
    lines = iter(lines)
    while sentences := list(itertools.islice(lines, batch)):
        yield from encoder(folder).encode(sentences, executor=executor)


def encode_rows(lines, folder):
    """A partition as one array, which takes less to send than its rows."""
    rows = list(encode_partition(lines, folder))
    return np.stack(rows) if rows else np.empty((0, encoder(folder).embedding_size), np.float32)


def read_lines(path):
    """The lines that `headwise encode` sees: splitlines() knows other ends of lines."""
    with open(path, encoding="utf-8-sig", newline="\n") as text:
        return [line.removesuffix("\n").removesuffix("\r") for line in text]


def partitions(lines, count):
    """The lines in `count` parts, one after another."""
    cuts = [len(lines) * n // count for n in range(count + 1)]
    return [lines[begin:end] for begin, end in itertools.pairwise(cuts)]


def with_processes(lines, folder, count):
    """On this machine, without any other package."""
    # A worker starts anew: a forked one would share the threads of this process.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(count, mp_context=context) as pool:
        parts = pool.map(functools.partial(encode_rows, folder=folder), partitions(lines, count))
        return np.concatenate(list(parts))


def with_ray(lines, folder, count):
    """On a cluster of Ray; ray.init() was called."""
    import ray

    encode = ray.remote(encode_rows)
    parts = ray.get([encode.remote(part, folder) for part in partitions(lines, count)])
    return np.concatenate(parts)


def with_spark(session, lines, folder, count):
    """On a cluster of Spark. For a corpus of many machines, write the rows of
    mapPartitions() from the workers in place of collecting them here."""
    rows = session.sparkContext.parallelize(lines, count).mapPartitions(
        functools.partial(encode_partition, folder=folder)
    )
    return np.stack(rows.collect())


def main():
    parser = argparse.ArgumentParser(description="embeddings of the lines of a text")
    parser.add_argument("model")
    parser.add_argument("sentences")
    parser.add_argument("out")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    lines = read_lines(options.sentences)
    np.save(options.out, with_processes(lines, options.model, options.processes))


if __name__ == "__main__":
    main()
