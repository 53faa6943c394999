"""ONNX Runtime on its CPU provider: the standard Attention operator (opset 23)
and its own MultiHeadAttention; of the layer both between matrix products, and
its own Attention, which has the input projections inside."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from worker import key_mask, need, serve, threads

OWN = "com.microsoft"
TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32,
         "bool": TensorProto.BOOL}


class Graph:
    """Nodes, what is fed, what is constant, and the shapes that come out."""

    def __init__(self):
        self.nodes, self.feeds, self.constants, self.outputs = [], {}, {}, {}

    def node(self, kind, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs,
                                           domain=domain, **attributes))

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
    need(not spec["causal"] or spec["Lq"] == spec["Lk"],
         "causal from another row")
    B, Hq, Lq, Lk, d = (spec[k] for k in ("B", "Hq", "Lq", "Lk", "d"))
    graph.feeds = {n: tensors[n] for n in "qkv"}
    inputs = ["q", "k", "v"]
    mask = key_mask(spec, tensors)
    if mask is not None:
        graph.feeds["mask"] = np.ascontiguousarray(
            np.broadcast_to(mask, (B, 1, Lq, Lk)))
        inputs.append("mask")
    graph.outputs["out"] = (B, Hq, Lq, d)
    standard_node(graph, spec, inputs, "out", is_causal=spec["causal"])


def own_attention(graph, spec, tensors):
    need(not spec["weights"], "returns no weights")
    need(spec["Hq"] == spec["Hkv"], "has no grouped heads")
    need(not spec["causal"] or spec["Lq"] == spec["Lk"],
         "causal from another row")
    graph.feeds = {n: merged(tensors[n]) for n in "qkv"}
    inputs = ["q", "k", "v"]
    mask = key_mask(spec, tensors)
    if mask is not None:
        graph.feeds["mask"] = mask[:, 0, 0].astype(np.int32)
        inputs += ["", "mask"]
    graph.outputs["out"] = (spec["B"], spec["Lq"], spec["Hq"] * spec["d"])
    graph.node("MultiHeadAttention", inputs, ["out"], OWN,
               num_heads=spec["Hq"], unidirectional=spec["causal"])


def layer(graph, peer, spec, tensors):
    need(not (spec["lens"] or spec["causal"]),
         "masks are not set up for the layer")
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
    graph = Graph()
    if spec["kind"] == "module":
        layer(graph, peer, spec, tensors)
    elif peer == "ort_onnx":
        standard_attention(graph, spec, tensors)
    else:
        need(peer == "ort_mha", "no such form")
        own_attention(graph, spec, tensors)
    session = graph.session()
    # Inputs and outputs stay where they are: nothing is copied in a run.
    binding = session.io_binding()
    value_of = onnxruntime.OrtValue.ortvalue_from_numpy
    inputs = {n: value_of(value) for n, value in graph.feeds.items()}
    outputs = {n: value_of(np.zeros(shape, np.float32))
               for n, shape in graph.outputs.items()}
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)
    keep = graph.feeds  # the values may look at their memory

    def run():
        session.run_with_iobinding(binding)
        return keep and outputs

    def show(result):
        shown = {name: value.numpy() for name, value in result.items()}
        if spec["kind"] == "sdpa" and peer == "ort_mha":
            shown["out"] = shown["out"].reshape(
                spec["B"], spec["Lq"], spec["Hq"], -1).swapaxes(1, 2)
        return shown

    return run, show


serve(make, f"onnxruntime {onnxruntime.__version__}")
