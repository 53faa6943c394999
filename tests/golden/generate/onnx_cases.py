"""Cases onnx (generate.py torch ROOT): node tests of the onnx package, those
of Attention that onnx_cases.txt lists, as the usual folders with model.onnx.

The .npy file of a tensor is next to its .pb file; bfloat16 is stored as float32.
"""
import pathlib
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

from golden import RTOL, rounded_up, text_of
from onnx_attention import SLOTS, attention

# Half a unit in the last place of 1, and the factor from the error to the
# tolerance. In 16 bits, rounding is most of the error.
ACCURACY = {"float": (2.0 ** -24, 8), "float16": (2.0 ** -11, 4), "bfloat16": (2.0 ** -8, 4)}


def write_tensor(folder, stem, x, name):
    """Writes both files; returns the array and its entry in case.json."""
    if not isinstance(x, onnx.TensorProto):
        x = numpy_helper.from_array(np.asarray(x), name)
    x.name = name
    (folder / f"{stem}.pb").write_bytes(x.SerializeToString())
    kind = onnx.TensorProto.DataType.Name(x.data_type).lower()
    array = numpy_helper.to_array(x)
    if kind == "bfloat16":
        array = array.astype(np.float32)
    np.save(folder / f"{stem}.npy", array)
    return array, {"file": f"{folder.name}/{stem}.npy", "pb": f"{folder.name}/{stem}.pb",
                   "elem_type": kind, "dtype": str(array.dtype), "shape": list(array.shape)}


def tolerances(got, want, kind):
    ulp, room = ACCURACY[kind]
    finite = np.isfinite(got) & np.isfinite(want)
    error = np.abs(got[finite] - want[finite]).max(initial=0.0)
    largest = np.abs(want[finite]).max(initial=0.0)
    if error > 4 * ulp * max(largest, 1):
        raise ValueError(f"onnx is off by {error}, which is more than rounding")
    return {"atol": rounded_up(max(room * error, 4 * ulp * largest, 1e-12)),
            "rtol": RTOL, "err": float(f"{error:.3g}"), "max": float(f"{largest:.6g}")}


def write(root, test):
    folder = root / "onnx" / test.name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(test.model, folder / "model.onnx")
    graph = test.model.graph
    node, = graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    (inputs, outputs), = test.data_sets
    arrays, tensors = {}, {}
    for role, values, ports in (("input", inputs, graph.input),
                                ("output", outputs, graph.output)):
        for n, (x, port) in enumerate(zip(values, ports, strict=True)):
            arrays[port.name], entry = write_tensor(data, f"{role}_{n}", x, port.name)
            tensors[port.name] = entry | {"role": role}
    given = [arrays.get(name) for name in node.input]
    given += [None] * (len(SLOTS) - len(given))
    for name, want in zip(node.output, attention(attributes, given)):
        if name:
            got = arrays[name].astype(np.float64)
            tensors[name] |= tolerances(got, want, tensors[name]["elem_type"])
    (folder / "case.json").write_text(text_of({
        "case": test.name, "kind": "onnx_attention",
        "framework": {"name": "onnx reference implementation", "version": onnx.__version__},
        "opset": test.model.opset_import[0].version,
        "node_inputs": list(node.input), "node_outputs": list(node.output),
        "attributes": attributes, "tensors": tensors}))


def write_all(root):
    names = pathlib.Path(__file__).with_suffix(".txt").read_text().split()
    # The node tests compute with infinities.
    warnings.simplefilter("ignore")
    tests = {test.name: test for test in collect_testcases(None)}
    for name in names:
        write(root, tests[f"test_attention_{name}"])
