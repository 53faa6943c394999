"""ONNX Runtime: its own MultiHeadAttention, and ONNX's Attention."""
import numpy as np
import onnxruntime
from onnx import helper

import onnx_peer
from random_call import LOWEST, assert_same, blhd


def run_model(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options,
        providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def attention(call):
    """It reads the lowest float as -inf, does not broadcast masks over queries,
    and lets a single query see all keys."""
    masks = call.allowed, lambda shape: call.added(shape, (-np.inf, -1e9))
    inputs, attributes, causal, opts, arrays = onnx_peer.draw_call(
        call, masks, masks, (2, 3, 4))
    if causal and call.Lq == 1:
        return
    want = run_model(onnx_peer.model_of(inputs, **attributes), inputs)
    assert_same("output", call.run("onnx-1.23", *opts, causal=causal, **arrays),
                want)


def key_padding_of(call):
    """key_padding_mask of rank 1 to 3, and what it allows over (B, Lq, Lkv)."""
    kind = call.draw.choice((1, 2, 3))
    if kind == 1:
        mask = call.numbers.integers(0, call.Lkv + 1, call.B).astype(np.int32)
        return mask, np.arange(call.Lkv) < mask[:, None, None]
    shape = (call.B, call.Lkv) if kind == 2 else (call.B, call.Lq, call.Lkv)
    mask = call.allowed(shape).astype(np.int32)
    return mask, mask.reshape(call.B, -1, call.Lkv) != 0


def multi_head_attention(call):
    def joined(x):
        return np.ascontiguousarray(blhd(x)).reshape(call.B, -1,
                                                     call.H * call.D)

    inputs = {"query": joined(call.q), "key": joined(call.k),
              "value": joined(call.v)}
    causal = call.chance(0.3)
    arrays = {}
    visible = np.ones((call.B, call.H, call.Lq, call.Lkv), bool)
    if not causal and call.chance(0.5):
        mask, allowed = key_padding_of(call)
        visible &= allowed[:, None]
        inputs["key_padding_mask"] = mask
        arrays["key_padding" if mask.ndim == 2 else "mask"] = mask
    if "mask" not in arrays and call.chance(0.5):
        # Next to a causal mask a row of -inf attends to the keys behind it.
        numbers = (-1e9,) if causal else (-np.inf, -1e9, LOWEST)
        arrays["mask"] = inputs["attention_bias"] = call.added(
            (call.draw.choice((1, call.B)), call.draw.choice((1, call.H)),
             call.Lq, call.Lkv), numbers)
        visible &= arrays["mask"] > -1e8
    closed = ~visible.any(axis=-1)
    names = [name if name in inputs else "" for name in (
        "query", "key", "value", "bias", "key_padding_mask", "attention_bias")]
    while not names[-1]:
        names.pop()
    graph = helper.make_graph(
        [helper.make_node("MultiHeadAttention", names, ["y"],
                          domain="com.microsoft", num_heads=call.H,
                          unidirectional=int(causal))],
        "call", [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in inputs.items()],
        [helper.make_tensor_value_info("y", 1, None)])
    want = run_model(helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]),
        inputs)
    got = call.run("ort-contrib", causal=causal, **arrays)
    want = blhd(want.reshape(call.B, call.Lq, call.H, call.D))
    if causal and call.Lq < call.Lkv:
        # Its last query sees all keys.
        got, want, closed = got[:, :, :-1], want[:, :, :-1], closed[:, :, :-1]
    assert_same("output", got[~closed], want[~closed])
    # Scores next to an added -1e4 lose their last bits.
    assert_same("rows without a key", got[closed], want[closed], 1e-3)


CHECKS = {"onnx-1.23": attention, "ort-contrib": multi_head_attention}
