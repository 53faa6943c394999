"""ONNX Runtime on its CPU provider (encoder_batches.py has the rest). ort_fused has
what ONNX Runtime's own optimiser makes of the encoder."""
import pathlib

import onnxruntime

from encoder_batches import VERSION, embedder
from worker import need, read_encode, serve, threads

FILES = {"ort_export": "encoder.onnx", "ort_fused": "encoder_fused.onnx"}


def session_of(file):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads()
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        file, options, providers=["CPUExecutionProvider"])


def make(peer, spec, sentences):
    need(peer in FILES, "no such form")
    session = session_of(pathlib.Path(spec["encoders"]) / FILES[peer])
    return (embedder(spec, sentences,
                     lambda inputs: session.run(None, inputs)[0]),
            lambda embeddings: {"out": embeddings})


serve(make, f"onnxruntime {onnxruntime.__version__}, {VERSION}", read_encode)
