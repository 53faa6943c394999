"""Models of one node of ONNX Runtime's operators of attention, and what ONNX
Runtime 1.32 gives for them: onnx_contrib_values.json. Run this file where
onnxruntime is installed to write it again."""
import json
import math
import pathlib

import onnx_file as onnx

VALUES = pathlib.Path(__file__).with_name("onnx_contrib_values.json")
INT32 = 6
LOWEST = -3.4028234663852886e38


def numbers(shape, seed=0):
    return [((n * 37 + 11 + 17 * seed) % 101) / 50 - 1
            for n in range(math.prod(shape))]


def floats(*shape):
    return shape


def ints(shape, *values):
    return (onnx.tensor, shape, values, INT32)


def longs(shape, *values):
    return (onnx.tensor, shape, values, onnx.INT64)


def bias(shape, *values):
    return (onnx.tensor, shape, values, onnx.FLOAT)


def model(op, inputs, outputs, more_nodes=(), **attributes):
    """A model whose inputs are in it. None: left out."""
    held = []
    names = []
    for seed, given in enumerate(inputs):
        names.append("" if given is None else f"x{seed}")
        if given is None:
            continue
        if given and given[0] is onnx.tensor:
            held.append(onnx.tensor(names[-1], *given[1:]))
        else:
            held.append(onnx.tensor(names[-1], given, numbers(given, seed)))
    made = [f"y{n}" for n in range(outputs)]
    return onnx.model(
        [onnx.node(op, names, made, "n", "com.microsoft", **attributes),
         *more_nodes], [], [onnx.port(name) for name in made], held,
        opset=17) + onnx.field(8, onnx.field(1, "com.microsoft") +
                               onnx.field(2, 1))


Q, K, V = floats(2, 3, 8), floats(2, 4, 8), floats(2, 4, 6)
PAST = floats(2, 2, 2, 4)
COS, SIN = floats(8, 8), floats(8, 8)
INF_ROW = bias((1, 1, 3, 4), *[-math.inf] * 4, 0, -math.inf, 1, 2, *[0.5] * 4)
PADDING = ints((2, 4), 0, 1, 1, 0, 1, 1, 0, 2)
MHA, GQA = "MultiHeadAttention", "GroupQueryAttention"


def mha(*inputs, outputs=1, **attributes):
    return (MHA, inputs, outputs, {"num_heads": 2, **attributes})


def attention(*inputs, outputs=1, **attributes):
    return ("Attention", inputs, outputs, {"num_heads": 2, **attributes})


def gqa(*inputs, lengths=(2, 2), total=3, more=(), outputs=3, **attributes):
    """2 query heads and 1 key head."""
    packed = len(inputs) == 1
    inputs = (inputs[0], None, None, None, None) if packed else \
        (*inputs, None, None)[:5]
    return (GQA, (*inputs, ints((len(lengths),), *lengths), ints((1,), total),
                  *more), outputs,
            {"num_heads": 2, "kv_num_heads": 1, **attributes})


X, W, B = floats(2, 3, 5), floats(5, 24), floats(24)
GQ, GK = floats(2, 3, 16), floats(2, 3, 8)
RQ, RK = floats(2, 3, 32), floats(2, 3, 16)  # of a size that can rotate
ONE_Q, ONE_K = floats(2, 1, 32), floats(2, 1, 16)
CACHE = floats(2, 1, 5, 16)
CASES = {
    "mha": mha(Q, K, V),
    "mha bias, scale": mha(Q, K, V, floats(22), scale=0.7),
    "mha keys with heads apart get no bias":
        mha(Q, floats(2, 2, 4, 4), floats(2, 2, 4, 4), floats(24), outputs=3),
    "mha lengths": mha(Q, K, V, None, ints((2,), 1, 3)),
    "mha lengths of 3B + 2":
        mha(Q, K, V, None, ints((8,), 2, 4, 0, 3, 6, 0, 2, 6)),
    "mha padding": mha(Q, K, V, None, PADDING),
    "mha padding by query":
        mha(Q, K, V, None, ints((2, 3, 4), *[1, 0, 1, 1] * 3, *[0, 0, 1, 0] * 3),
            floats(1, 2, 3, 4)),
    "mha causal, padding on the left":
        mha(K, K, V, None, PADDING, unidirectional=1),
    "mha causal, bias, scores":
        mha(K, K, V, None, None, floats(2, 1, 4, 4), unidirectional=1,
            outputs=4),
    "mha past": mha(Q, Q, Q, None, None, None, PAST, PAST, outputs=3),
    "mha past, causal, scores":
        mha(Q, Q, Q, None, None, None, PAST, PAST, unidirectional=1,
            outputs=4),
    "mha a row of -inf": mha(Q, K, V, None, None, INF_ROW),
    "mha the lowest number twice":
        mha(Q, K, V, None, ints((2, 4), 0, 0, 0, 0, 1, 1, 1, 1),
            bias((1, 1, 3, 4), *[LOWEST] * 12), mask_filter_value=LOWEST),
    "attention": attention(X, W, B),
    "attention no bias, scale": attention(X, W, scale=0.3),
    "attention sizes": attention(X, W, B, qkv_hidden_sizes=[10, 10, 4]),
    "attention lengths": attention(X, W, B, ints((2,), 1, 3)),
    "attention ends and starts":
        attention(X, W, B, ints((4,), 2, 3, 0, 1)),
    "attention lengths of 3B + 2":
        attention(X, W, B, ints((8,), 2, 3, 0, 2, 5, 0, 2, 5)),
    "attention padding, causal":
        attention(X, W, B, ints((2, 3), 0, 1, 1, 1, 1, 0), unidirectional=1),
    "attention padding by query":
        attention(X, W, B, ints((2, 3, 3), *[1, 0, 1] * 3, *[0, 1, 1] * 3), None,
                  floats(2, 2, 3, 3)),
    "attention past, causal":
        attention(X, W, B, None, floats(2, 2, 2, 2, 4), outputs=2,
                  unidirectional=1),
    "attention past, padding":
        attention(X, W, B, ints((2, 5), 1, 1, 0, 1, 1, 1, 0, 1, 1, 1),
                  floats(2, 2, 2, 2, 4), outputs=2),
    "gqa prompt": gqa(GQ, GK, GK),
    "gqa packed, window, softcap":
        gqa(floats(2, 3, 32), local_window_size=2, softcap=0.8),
    "gqa smooth": gqa(GQ, GK, GK, smooth_softmax=1, scale=0.4),
    "gqa sink, bias":
        gqa(GQ, GK, GK, more=(None, None, None, floats(1, 2, 3, 3), floats(2))),
    "gqa both ways": gqa(GQ, GK, GK, causal=0),
    "gqa rotary": gqa(RQ, RK, RK, more=(COS, SIN), do_rotary=1),
    "gqa rotary, neighbours, first position":
        gqa(RQ, RK, RK, more=(COS, SIN, longs((2, 3), 4, 0, 0, 0, 0, 0)),
            do_rotary=1, rotary_interleaved=1),
    "gqa cache grows":
        gqa(ONE_Q, ONE_K, ONE_K, CACHE, CACHE, lengths=(5, 3), total=6),
    "gqa cache has room":
        gqa(ONE_Q, ONE_K, ONE_K, CACHE, CACHE, lengths=(2, 3), total=4,
            more=(COS, SIN), do_rotary=1),
    "gqa part of a prompt, positions":
        gqa(floats(1, 3, 32), floats(1, 3, 16), floats(1, 3, 16),
            floats(1, 1, 5, 16), floats(1, 1, 5, 16), lengths=(7,), total=8,
            more=(COS, SIN, longs((1, 3), 7, 0, 3)), do_rotary=1,
            local_window_size=4),
    "gqa scores": gqa(GQ, GK, GK, outputs=4, qk_output=1, softcap=0.9),
    "fused product": ("FusedMatMul", (floats(2, 3, 4), floats(4, 5)), 1, {}),
    "fused product, turned, scaled":
        ("FusedMatMul", (floats(2, 4, 3), floats(2, 5, 4)), 1,
         {"transA": 1, "transB": 1, "alpha": -0.3}),
    "fused product, batches turned":
        ("FusedMatMul", (floats(3, 2, 4), floats(5, 2, 4)), 1,
         {"transBatchA": 1, "transBatchB": 1, "transB": 1}),
    "fused product of four axes, batches turned":
        ("FusedMatMul", (floats(4, 2, 2, 3), floats(2, 2, 4, 5)), 1,
         {"transBatchA": 1, "transA": 1, "alpha": 0.5}),
    "fused product of a vector":
        ("FusedMatMul", (floats(4), floats(5, 4)), 1, {"transB": 1}),
    "quick gelu": ("QuickGelu", (X,), 1, {}),
    "gelu": ("Gelu", (X,), 1, {}),
    "bias gelu": ("BiasGelu", (X, floats(5)), 1, {}),
    "fast gelu": ("FastGelu", (X, floats(5)), 1, {}),
    "skip, layer norm":
        ("SkipLayerNormalization", (X, X, floats(5), floats(5), floats(5)), 1,
         {"epsilon": 1e-3}),
    "skip of one sequence":
        ("SkipLayerNormalization", (X, floats(3, 5), floats(5)), 1, {}),
    "skip, RMS norm":
        ("SkipSimplifiedLayerNormalization", (X, X, floats(5), floats(5)), 1,
         {"epsilon": 1e-3}),
    "gqa weights": gqa(GQ, GK, GK, outputs=4, qk_output=2, smooth_softmax=1),
}


def model_of(name):
    op, inputs, outputs, attributes = CASES[name]
    return model(op, inputs, outputs, **attributes)


def main():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    lines = []
    for name in CASES:
        session = onnxruntime.InferenceSession(
            model_of(name), options, providers=["CPUExecutionProvider"])
        made = [[list(array.shape),
                 [float(f"{x:.6g}") for x in array.ravel().tolist()]]
                for array in session.run(None, {})]
        lines.append(f"{json.dumps(name)}: {json.dumps(made)}")
    VALUES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
