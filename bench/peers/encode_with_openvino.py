"""OpenVINO (encoder_batches.py has the rest) on the encoder as its converter reads
it from PyTorch; openvino_bf16 with the inference precision bfloat16."""
import pathlib

import openvino

from encoder_batches import VERSION, embedder
from worker import need, read_encode, serve, threads

PRECISIONS = {"openvino": "f32", "openvino_bf16": "bf16"}


def make(peer, spec, sentences):
    need(peer in PRECISIONS, "no such form")
    request = openvino.Core().compile_model(
        pathlib.Path(spec["encoders"]) / "encoder.xml", "CPU", {
            "INFERENCE_NUM_THREADS": threads(), "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
            "INFERENCE_PRECISION_HINT": PRECISIONS[peer]}
    ).create_infer_request()

    def hidden_of(inputs):
        return next(iter(request.infer(inputs, share_inputs=True,
                                       share_outputs=True).values()))

    return (embedder(spec, sentences, hidden_of),
            lambda embeddings: {"out": embeddings})


serve(make, f"openvino {openvino.__version__.split('-')[0]}, {VERSION}",
      read_encode)
