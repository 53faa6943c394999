"""The evaluator of the onnx package: onnx-1.23, or onnx-1.21 with that release."""
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from random_call import LOWEST, assert_same

RELEASE = tuple(int(part) for part in onnx.__version__.split(".")[:2])


def model_of(inputs, opset=23, **attributes):
    """One Attention node, with inputs by their names in the schema."""
    order = ("Q", "K", "V", "attn_mask", "past_key", "past_value")
    names = [name if name in inputs else "" for name in order]
    while not names[-1]:
        names.pop()
    ports = [helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(inputs[name].dtype),
        inputs[name].shape) for name in names if name]
    past = "past_key" in inputs
    outputs = ["Y", "present_key", "present_value"] if past else ["Y"]
    graph = helper.make_graph(
        [helper.make_node("Attention", names, outputs, **attributes)], "call",
        ports, [helper.make_tensor_value_info(name, 1, None)
                for name in outputs])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", opset)])


def draw_call(call, masks, causal_masks, ranks=(1, 2, 3, 4)):
    """Inputs and attributes of a node, and how headwise is called. Without rank
    1, masks are not broadcast over the queries."""
    inputs = {"Q": call.q, "K": call.k, "V": call.v}
    attributes, opts, arrays = {}, [], {}
    past = call.draw.choice((0, 0, 3))
    if past:
        for name in ("past_key", "past_value"):
            arrays[name] = call.tensor(call.B, call.H, past, call.D)
    causal = call.chance(0.4)
    if call.chance(0.7):
        # Under a causal mask the evaluator takes the queries from the mask.
        ranks = (2, 3, 4) if causal else ranks
        rows = call.draw.choice((1, call.Lq)) if 1 in ranks else call.Lq
        wide = (call.draw.choice((1, call.B)), call.draw.choice((1, call.H)),
                rows, past + call.Lkv)
        mask = call.draw.choice(causal_masks if causal else masks)(
            wide[4 - call.draw.choice(ranks):])
        inputs["attn_mask"] = arrays["mask"] = mask
    attributes["is_causal"] = int(causal)
    if call.chance(0.3):
        attributes["scale"] = 0.7
        opts += ["--scale", "0.7"]
    inputs |= {n: a for n, a in arrays.items() if n.startswith("past")}
    return inputs, attributes, causal, opts, arrays


def check(call, dialect, *masks):
    inputs, attributes, causal, opts, arrays = draw_call(call, *masks)
    # headwise refuses a softcap after a mask.
    alone = not causal and "mask" not in arrays
    if (alone or dialect == "onnx-1.23") and call.chance(0.4):
        attributes["softcap"] = 1.5
        opts += ["--softcap", "1.5"]
    with np.errstate(all="ignore"):
        want = ReferenceEvaluator(model_of(inputs, **attributes)).run(
            None, inputs)[0]
    assert_same("output", call.run(dialect, *opts, causal=causal, **arrays),
                want)


def release_1_23(call):
    masks = call.allowed, call.added
    check(call, "onnx-1.23", masks, masks)


def release_1_21(call):
    """Its evaluator adds floats in double, where -1e9 leaves scores as they are,
    and makes NaN of a bool mask next to a causal one (0 * -inf)."""
    def added(shape):
        return call.added(shape, (-np.inf, LOWEST))

    check(call, "onnx-1.21", (call.allowed, added), (added,))


CHECKS = ({"onnx-1.23": release_1_23} if RELEASE >= (1, 23)
          else {"onnx-1.21": release_1_21} if RELEASE <= (1, 21) else {})
