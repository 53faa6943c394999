"""OpenVINO: its scaled_dot_product_attention; where the weights of attention
are wanted, matmul-softmax-matmul, for the operator returns none."""
import math

import numpy as np
import openvino
from openvino import opset13 as ops

from worker import need, score_mask, serve, threads

HEADS_FIRST = np.array([0, 2, 1, 3])


class Graph:
    def __init__(self):
        self.parameters, self.feeds = [], []

    def feed(self, value):
        dtype = openvino.Type.boolean if value.dtype == bool \
            else openvino.Type.f32
        self.parameters.append(ops.parameter(list(value.shape), dtype))
        # It lends memory only if it may write there.
        self.feeds.append(np.require(value, requirements="CW"))
        return self.parameters[-1]


def linear(x, tensors, n):
    product = ops.matmul(x, ops.constant(tensors["w" + n]), False, True)
    return ops.add(product, ops.constant(tensors["b" + n]))


def spread(x, spec):
    """Each key head once for every query head that reads it."""
    B, Hkv, Lk, d = (spec[k] for k in ("B", "Hkv", "Lk", "d"))
    shape = np.array([B, Hkv, spec["Hq"] // Hkv, Lk, d])
    grouped = ops.broadcast(ops.unsqueeze(x, ops.constant(np.array([2]))),
                            ops.constant(shape))
    return ops.reshape(grouped, ops.constant(
        np.array([B, spec["Hq"], Lk, d])), False)


def attend(graph, spec, tensors, q, k, v):
    """[out] or [out, weights]"""
    mask, causal = score_mask(spec, tensors)
    if spec["weights"]:
        need(mask is None and not causal, "weights under a mask")
        scale = ops.constant(np.float32(1 / math.sqrt(spec["d"])))
        p = ops.softmax(ops.multiply(ops.matmul(q, k, False, True), scale), 3)
        return [ops.matmul(p, v, False, False), p]
    inputs = [q, k, v]
    if mask is not None:
        shape = (*mask.shape[:2], spec["Lq"], spec["Lk"])
        inputs.append(graph.feed(np.broadcast_to(mask, shape)))
    return [ops.scaled_dot_product_attention(*inputs, causal=causal)]


def make(peer, spec, tensors):
    need(peer == "openvino", "no such form")
    graph = Graph()
    if spec["kind"] == "module":
        x = graph.feed(tensors["x"])
        shape = np.array([spec["B"], spec["Lq"], spec["Hq"], spec["d"]])
        heads = [ops.transpose(ops.reshape(linear(x, tensors, n),
                                           ops.constant(shape), False),
                               ops.constant(HEADS_FIRST)) for n in "qkv"]
        context, *weights = attend(graph, spec, tensors, *heads)
        merged = ops.reshape(ops.transpose(context, ops.constant(HEADS_FIRST)),
                             ops.constant(np.array(tensors["x"].shape)), False)
        results = [linear(merged, tensors, "o"), *weights]
    else:
        q, k, v = (graph.feed(tensors[n]) for n in "qkv")
        if spec["Hq"] != spec["Hkv"]:
            k, v = spread(k, spec), spread(v, spec)
        results = attend(graph, spec, tensors, q, k, v)
    model = openvino.Model([ops.result(r) for r in results], graph.parameters)
    request = openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": threads(), "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,
        "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for n, value in enumerate(graph.feeds):
        request.set_input_tensor(n, openvino.Tensor(value, shared_memory=True))
    keep = graph.feeds  # the tensors look at their memory

    def run():
        request.infer()
        return keep and request

    names = ("out", "weights")[:len(results)]
    return run, lambda _: {name: np.array(request.get_output_tensor(n).data)
                           for n, name in enumerate(names)}


serve(make, f"openvino {openvino.__version__.split('-')[0]}")
