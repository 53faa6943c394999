"""ONNX Runtime on its CPU provider: the standard Attention operator (opset 23)
and its own MultiHeadAttention, also one sequence after the other, and
GroupQueryAttention; of the layer the first two between matrix products, and its
own Attention, which has the input projections inside."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from worker import (key_mask, need, score_mask, serve, split_heads,
                    threads)

OWN = "com.microsoft"
TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32,
         "bool": TensorProto.BOOL}


class Graph:
    """Nodes, what is fed, what is constant, and the shapes that come out;
    of an output that lies where an input does: {output: input}."""

    def __init__(self):
        self.nodes, self.feeds, self.constants, self.outputs = [], {}, {}, {}
        self.in_place = {}

    def node(self, kind, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs,
                                           domain=domain, **attributes))

    def bound(self):
        """(run(), {output: its value})"""
        session = self.session()
        # Inputs and outputs stay where they are: nothing is copied in a run.
        binding = session.io_binding()
        value_of = onnxruntime.OrtValue.ortvalue_from_numpy
        inputs = {n: value_of(value) for n, value in self.feeds.items()}
        outputs = {n: inputs[self.in_place[n]] if n in self.in_place
                   else value_of(np.zeros(shape, np.float32))
                   for n, shape in self.outputs.items()}
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in outputs.items():
            binding.bind_ortvalue_output(name, value)
        keep = self.feeds  # the values may look at their memory
        return lambda: keep and session.run_with_iobinding(binding), outputs

    def session(self):
        graph = helper.make_graph(
            self.nodes, "attention",
            [helper.make_tensor_value_info(name, TYPES[str(value.dtype)],
                                           value.shape)
             for name, value in self.feeds.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
             for name, shape in self.outputs.items()],
            [onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
             for name, value in self.constants.items()])
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 23), helper.make_opsetid(OWN, 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options,
            providers=["CPUExecutionProvider"])


def merged(x):
    """(B, H, L, d) -> (B, L, H d)"""
    return np.ascontiguousarray(x.swapaxes(1, 2).reshape(
        x.shape[0], x.shape[2], -1))


def standard_node(graph, spec, inputs, output, **attributes):
    outputs = [output]
    if spec["weights"]:
        outputs += ["", "", "weights"]
        attributes["qk_matmul_output_mode"] = 3  # after the softmax
        graph.outputs["weights"] = tuple(spec[k] for k in
                                         ("B", "Hq", "Lq", "Lk"))
    graph.node("Attention", inputs, outputs, **attributes)


def standard_attention(graph, spec, tensors):
    B, Hq, Lq, Lk, dv = (spec[k] for k in ("B", "Hq", "Lq", "Lk", "dv"))
    graph.feeds = {n: np.ascontiguousarray(tensors[n]) for n in "qkv"}
    inputs = ["q", "k", "v"]
    mask, causal = score_mask(spec, tensors)
    if mask is not None:
        graph.feeds["mask"] = np.ascontiguousarray(
            np.broadcast_to(mask, (*mask.shape[:2], Lq, Lk)))
        inputs.append("mask")
    graph.outputs["out"] = (B, Hq, Lq, dv)
    standard_node(graph, spec, inputs, "out", is_causal=int(causal))


def own_attention(graph, spec, tensors):
    need(not spec["weights"], "returns no weights")
    need(spec["Hq"] == spec["Hkv"], "has no grouped heads")
    need("window" not in spec, "has no window")
    need(not spec["causal"] or spec["Lq"] == spec["Lk"],
         "causal from another row")
    graph.feeds = {n: merged(tensors[n]) for n in "qkv"}
    masks = {}
    if spec["lens"]:
        masks["mask"] = key_mask(spec, tensors)[:, 0, 0].astype(np.int32)
    if spec["bias"]:
        masks["bias"] = tensors["bias"]
    graph.feeds.update(masks)
    inputs = ["q", "k", "v", "",
              *(name if name in masks else "" for name in ("mask", "bias"))]
    graph.outputs["out"] = (spec["B"], spec["Lq"], spec["Hq"] * spec["d"])
    graph.node("MultiHeadAttention", inputs, ["out"], OWN,
               num_heads=spec["Hq"], unidirectional=spec["causal"])


def grouped_attention(graph, spec, tensors):
    """It appends the keys of the queries' own rows to those of a cache, which
    is as long as it will ever be and stays in its place."""
    B, Hq, Hkv, Lq, Lk, d = (spec[k] for k in ("B", "Hq", "Hkv", "Lq", "Lk",
                                               "d"))
    need(spec["causal"] or Lq == 1, "no such form but causal")
    need(not (spec["lens"] or spec["bias"] or spec["weights"]),
         "no lengths, bias or weights are set up")
    need(spec["dv"] == d, "has one size of heads")
    graph.feeds = {"q": merged(tensors["q"]),
                   "lens": np.full(B, Lk - 1, np.int32),
                   "total": np.array([Lk], np.int32)}
    for n in "kv":
        graph.feeds[n] = merged(tensors[n][:, :, Lk - Lq:])
        graph.feeds["cached_" + n] = tensors[n].copy()
        graph.outputs["longer_" + n] = tensors[n].shape
        graph.in_place["longer_" + n] = "cached_" + n
    graph.outputs["out"] = (B, Lq, Hq * d)
    windowed = {"local_window_size": spec["window"] + 1} \
        if "window" in spec else {}
    graph.node("GroupQueryAttention",
               ["q", "k", "v", "cached_k", "cached_v", "lens", "total"],
               ["out", "longer_k", "longer_v"], OWN, num_heads=Hq,
               kv_num_heads=Hkv, **windowed)


def cut_sequences(spec, tensors):
    """[(spec, tensors) of one sequence], without its padding."""
    need(spec["lens"] and spec["kind"] != "module" and not spec["causal"] and
         not spec["bias"], "no such form but for sequences of different lengths")
    cut = []
    for b, length in enumerate(tensors["lens"].tolist()):
        rows = length if spec["kind"] == "ragged" else spec["Lq"]
        cut.append(({**spec, "B": 1, "Lq": rows, "Lk": length, "lens": 0},
                    {"q": tensors["q"][b:b + 1, :, :rows],
                     "k": tensors["k"][b:b + 1, :, :length],
                     "v": tensors["v"][b:b + 1, :, :length]}))
    return cut


def make_loop(spec, tensors):
    """A session a sequence: every length is known beforehand."""
    runs, parts = [], []
    for one, its_tensors in cut_sequences(spec, tensors):
        graph = Graph()
        own_attention(graph, one, its_tensors)
        run, outputs = graph.bound()
        runs.append(run)
        parts.append(outputs["out"])

    def run_all():
        for run in runs:
            run()
        return parts

    def show(parts):
        out = np.zeros([spec[n] for n in ("B", "Hq", "Lq", "d")], np.float32)
        for whole, part in zip(out, parts):
            rows = split_heads(part.numpy(), spec["Hq"])[0]
            whole[:, :rows.shape[1]] = rows
        return {"out": out}

    return run_all, show


def layer(graph, peer, spec, tensors):
    need(not (spec["lens"] or spec["causal"]),
         "masks are not set up for the layer")
    need(peer in ("ort_onnx", "ort_mha", "ort_attention"), "no such form")
    need(peer == "ort_onnx" or not spec["weights"], "returns no weights")
    graph.feeds = {"x": tensors["x"]}

    def linear(x, n, y):
        graph.constants["w" + n] = tensors["w" + n].T
        graph.constants["b" + n] = tensors["b" + n]
        graph.node("MatMul", [x, "w" + n], ["product_" + n])
        graph.node("Add", ["product_" + n, "b" + n], [y])

    if peer == "ort_attention":
        graph.constants["w_qkv"] = np.concatenate(
            [tensors["w" + n] for n in "qkv"]).T
        graph.constants["b_qkv"] = np.concatenate(
            [tensors["b" + n] for n in "qkv"])
        graph.node("Attention", ["x", "w_qkv", "b_qkv"], ["context"], OWN,
                   num_heads=spec["Hq"])
    else:
        for n in "qkv":
            linear("x", n, n)
        if peer == "ort_mha":
            graph.node("MultiHeadAttention", ["q", "k", "v"], ["context"], OWN,
                       num_heads=spec["Hq"])
        else:
            standard_node(graph, spec, ["q", "k", "v"], "context",
                          q_num_heads=spec["Hq"], kv_num_heads=spec["Hq"])
    linear("context", "o", "out")
    graph.outputs["out"] = tensors["x"].shape


def make(peer, spec, tensors):
    if peer == "ort_loop":
        return make_loop(spec, tensors)
    graph = Graph()
    if spec["kind"] == "module":
        layer(graph, peer, spec, tensors)
    elif peer == "ort_onnx":
        standard_attention(graph, spec, tensors)
    elif peer == "ort_gqa":
        grouped_attention(graph, spec, tensors)
    else:
        need(peer == "ort_mha", "no such form")
        own_attention(graph, spec, tensors)
    run, outputs = graph.bound()
    merged_out = spec["kind"] != "module" and peer != "ort_onnx"

    def show(_):
        shown = {name: outputs[name].numpy() for name in ("out", "weights")
                 if name in outputs}
        if merged_out:
            shown["out"] = split_heads(shown["out"], spec["Hq"])
        return shown

    return run, show


serve(make, f"onnxruntime {onnxruntime.__version__}")
