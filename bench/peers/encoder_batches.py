"""What the peers that run only the encoder share: the tokenizer of the library
`tokenizers`, batches of 32 of about the same length, then the mean over the tokens
and its normalisation in NumPy."""
import json
import pathlib

import numpy as np
import tokenizers

BATCH = 32
VERSION = f"tokenizers {tokenizers.__version__}"


def tokenizer_of(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings = json.loads((folder / "sentence_bert_config.json").read_text())
    tokenizer.enable_truncation(settings["max_seq_length"])
    tokenizer.no_padding()
    return tokenizer


def pooled(hidden, mask):
    """(B, L, E), (B, L) -> (B, E) of length 1: the mean over the tokens."""
    # The normalisation takes away what the sum has more than the mean.
    sums = np.einsum("ble,bl->be", hidden, mask.astype(np.float32))
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def embedder(spec, sentences, hidden_of):
    """run() -> (sentences, E). hidden_of({input: (B, L)}) -> (B, L, E) float32"""
    tokenizer = tokenizer_of(pathlib.Path(spec["model"]))

    def embed(batch):
        """of encoded sentences, the longest last"""
        ids = np.zeros((len(batch), len(batch[-1])), np.int64)
        mask = np.zeros_like(ids)
        for row, encoded in enumerate(batch):
            ids[row, :len(encoded)] = encoded.ids
            mask[row, :len(encoded)] = 1
        return pooled(hidden_of({"input_ids": ids, "attention_mask": mask,
                                 "token_type_ids": np.zeros_like(ids)}), mask)

    def run():
        encoded = tokenizer.encode_batch(sentences)
        order = sorted(range(len(encoded)), key=lambda n: len(encoded[n]))
        parts = [embed([encoded[n] for n in order[begin:begin + BATCH]])
                 for begin in range(0, len(order), BATCH)]
        embeddings = np.empty((len(order), parts[0].shape[1]), np.float32)
        embeddings[order] = np.concatenate(parts)
        return embeddings

    return run
