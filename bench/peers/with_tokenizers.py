"""Encodes texts as `headwise` or as the package `tokenizers` does, with offsets, in one
call: with_tokenizers.py PEER. The folder of a workload has tokenizer.json and
texts.json."""
import itertools
import json
import os
import pathlib
import sys

from worker import serve, threads


def loaded(peer, file):
    if peer == "headwise":
        import headwise
        return headwise.Tokenizer.read(str(file))
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def make(peer, file, texts):
    tokenizer = loaded(peer, file)
    options = {}
    if peer == "headwise":
        import headwise
        options["executor"] = headwise.Executor.with_threads(threads())

    def run():
        return tokenizer.encode_batch(texts, **options)
    return run, lambda encoded: {
        "ids": list(itertools.chain.from_iterable(each.ids for each in encoded))}


def read(peer, folder):
    texts = json.loads((folder / "texts.json").read_text("utf-8"))
    return folder / "tokenizer.json", texts


if __name__ == "__main__":
    os.environ["RAYON_NUM_THREADS"] = str(threads())
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads() > 1 else "false"
    serve(make, sys.argv[1], read)
