"""ONNX Runtime on its CPU provider, with the same library's tokenizer: batches of 32
of about the same length, then the mean over the tokens and its normalisation in
NumPy. ort_fused has what ONNX Runtime's own optimiser makes of the encoder."""
import json
import pathlib

import numpy as np
import onnxruntime
import tokenizers

from worker import need, read_encode, serve, threads

FILES = {"ort_export": "encoder.onnx", "ort_fused": "encoder_fused.onnx"}
BATCH = 32


def session_of(file):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads()
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        file, options, providers=["CPUExecutionProvider"])


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


def make(peer, spec, sentences):
    need(peer in FILES, "no such form")
    session = session_of(pathlib.Path(spec["onnx"]) / FILES[peer])
    tokenizer = tokenizer_of(pathlib.Path(spec["model"]))

    def embed(batch):
        """of encoded sentences, the longest last"""
        ids = np.zeros((len(batch), len(batch[-1])), np.int64)
        mask = np.zeros_like(ids)
        for row, encoded in enumerate(batch):
            ids[row, :len(encoded)] = encoded.ids
            mask[row, :len(encoded)] = 1
        hidden, = session.run(None, {"input_ids": ids, "attention_mask": mask,
                                     "token_type_ids": np.zeros_like(ids)})
        return pooled(hidden, mask)

    def run():
        encoded = tokenizer.encode_batch(sentences)
        order = sorted(range(len(encoded)), key=lambda n: len(encoded[n]))
        parts = [embed([encoded[n] for n in order[begin:begin + BATCH]])
                 for begin in range(0, len(order), BATCH)]
        embeddings = np.empty((len(order), parts[0].shape[1]), np.float32)
        embeddings[order] = np.concatenate(parts)
        return embeddings

    return run, lambda embeddings: {"out": embeddings}


serve(make, f"onnxruntime {onnxruntime.__version__}, "
      f"tokenizers {tokenizers.__version__}", read_encode)
