"""OpenVINO: its scaled_dot_product_attention; for one query also with the query
heads of a group as rows of one head, and with a cache that is the state of the
model; where the weights of attention are wanted, matmul-softmax-matmul, for the
operator returns none."""
import math

import numpy as np
import openvino
from openvino import opset13 as ops

from worker import need, need_one_query, score_mask, serve, threads

HEADS_FIRST = np.array([0, 2, 1, 3])
TYPES = {"bool": openvino.Type.boolean, "float32": openvino.Type.f32,
         "int32": openvino.Type.i32}


class Graph:
    def __init__(self):
        self.parameters, self.feeds, self.sinks = [], [], []

    def feed(self, value):
        self.parameters.append(ops.parameter(list(value.shape),
                                             TYPES[str(value.dtype)]))
        # It lends memory only if it may write there.
        self.feeds.append(np.require(value, requirements="CW"))
        return self.parameters[-1]

    def request(self, results, precision="f32"):
        """A request that computes the results of what was fed."""
        model = openvino.Model([ops.result(each) for each in results],
                               self.sinks, self.parameters)
        request = openvino.Core().compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": threads(), "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False, "KV_CACHE_PRECISION": precision,
            "INFERENCE_PRECISION_HINT": precision}).create_infer_request()
        for n, value in enumerate(self.feeds):
            self.lend(request, n, value)
        return request

    @staticmethod
    def lend(request, n, value):
        request.set_input_tensor(n, openvino.Tensor(value, shared_memory=True))


def linear(x, tensors, n):
    product = ops.matmul(x, ops.constant(tensors["w" + n]), False, True)
    return ops.add(product, ops.constant(tensors["b" + n]))


def size_of_heads(x):
    return x.output(0).get_partial_shape()[3].get_length()


def spread(x, spec):
    """Each key head once for every query head that reads it."""
    B, Hkv, Hq = spec["B"], spec["Hkv"], spec["Hq"]
    if Hq == Hkv:
        return x
    # 1 keeps an extent: the number of keys may change.
    grouped = ops.broadcast(
        ops.unsqueeze(x, ops.constant(np.array([2]))),
        ops.constant(np.array([1, 1, Hq // Hkv, 1, 1])),
        broadcast_spec="BIDIRECTIONAL")
    return ops.reshape(grouped, ops.constant(
        np.array([B, Hq, -1, size_of_heads(x)])), False)


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


def make_rows(spec, tensors, precision):
    """One query sees every key: no row needs a mask."""
    need_one_query(spec)
    graph = Graph()
    q, k, v = (graph.feed(value) for value in (
        tensors["q"].reshape(spec["B"], spec["Hkv"], -1, spec["d"]),
        tensors["k"], tensors["v"]))
    request = graph.request([ops.scaled_dot_product_attention(
        q, k, v, causal=False)], precision)
    return (lambda: request.infer() and graph.feeds,
            lambda _: {"out": np.array(request.get_output_tensor(0).data)})


def remembered(graph, spec, name, new, beams):
    """The keys or values in the model's state, followed by the new ones."""
    B, Hkv, d = spec["B"], spec["Hkv"], size_of_heads(new)
    shape = openvino.PartialShape([B, Hkv, -1, d])
    empty = ops.constant(np.zeros((B, Hkv, 0, d), np.float32))
    past = ops.read_value(empty, name, openvino.Type.f32, shape)
    of_beams = ops.gather(past, beams, ops.constant(np.int64(0)))
    both = ops.concat([of_beams, new], 2)
    graph.sinks.append(ops.assign(both, name))
    return both


def make_cached(spec, tensors, precision):
    """A model that generates text: each run appends a key to its state. begin()
    sets all keys but two and runs once, so that the timed runs find memory to
    grow into; the first of them has Lk keys."""
    need_one_query(spec)
    need(spec["Lk"] >= 1024, "its cache grows from run to run")
    graph = Graph()
    q = graph.feed(tensors["q"])
    last, before = ({n: np.ascontiguousarray(tensors[n][:, :, at:][:, :, :1])
                     for n in "kv"} for at in (-1, -2))
    new = {n: graph.feed(last[n]) for n in "kv"}
    beams = graph.feed(np.arange(spec["B"], dtype=np.int32))
    k, v = (spread(remembered(graph, spec, n, new[n], beams), spec)
            for n in "kv")
    request = graph.request([ops.scaled_dot_product_attention(
        q, k, v, causal=False)], precision)
    past = {n: np.ascontiguousarray(tensors[n][:, :, :-2]) for n in "kv"}

    def begin():
        for state in request.query_state():
            state.state = openvino.Tensor(past[state.name],
                                          shared_memory=True)
        for rows in (before, last):
            for place, n in enumerate("kv", 1):
                graph.lend(request, place, rows[n])
            if rows is before:
                request.infer()

    return (lambda: request.infer() and (graph.feeds, last, before),
            lambda _: {"out": np.array(request.get_output_tensor(0).data)},
            begin)


def make(peer, spec, tensors):
    form = peer.removesuffix("_bf16")
    precision = "f32" if form == peer else "bf16"
    if form == "openvino_rows":
        return make_rows(spec, tensors, precision)
    if form == "openvino_cache":
        return make_cached(spec, tensors, precision)
    need(form == "openvino", "no such form")
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
        results = attend(graph, spec, tensors, q, spread(k, spec),
                         spread(v, spec))
    request = graph.request(results, precision)
    keep = graph.feeds  # the tensors look at their memory

    def run():
        request.infer()
        return keep and request

    names = ("out", "weights")[:len(results)]
    return run, lambda _: {name: np.array(request.get_output_tensor(n).data)
                           for n, name in enumerate(names)}


serve(make, f"openvino {openvino.__version__.split('-')[0]}")
