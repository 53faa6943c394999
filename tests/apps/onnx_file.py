"""ONNX files for tests: the messages that they need, written field by field."""
import struct

FLOAT, INT64, STRING, BOOL, FLOAT16, DOUBLE, BFLOAT16 = 1, 7, 8, 9, 10, 11, 16
UINT64 = 13
LETTERS = {FLOAT: "f", INT64: "q", BOOL: "?", FLOAT16: "e", DOUBLE: "d",
           6: "i", UINT64: "Q"}


def varint(number):
    number %= 1 << 64
    out = b""
    while number > 127:
        out += bytes([number % 128 + 128])
        number //= 128
    return out + bytes([number])


def field(number, value):
    """A field: bytes and text by their length, floats in 4 bytes, integers."""
    if isinstance(value, float):
        return varint(number * 8 + 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number * 8 + 2) + varint(len(data)) + data


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def tensor(name, shape, values=(), kind=FLOAT, raw=None, more=b""):
    if raw is None and kind == BFLOAT16:  # values that it holds
        raw = b"".join(struct.pack("<f", each)[2:] for each in values)
    elif raw is None:
        raw = struct.pack(f"<{len(values)}{LETTERS[kind]}", *values)
    return (fields(1, shape) + field(2, kind) + field(8, name) +
            (field(9, raw) if raw else b"") + more)


def external(name, shape, place, kind=FLOAT):
    """A tensor whose data are in another file."""
    entries = b"".join(field(13, field(1, key) + field(2, str(value)))
                       for key, value in place.items())
    return tensor(name, shape, raw=b"", kind=kind,
                  more=entries + field(14, 1))


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, bytes):  # a tensor
        return field(1, name) + field(5, value) + field(20, 4)
    if value and isinstance(value[0], float):
        return field(1, name) + fields(7, value) + field(20, 6)
    return field(1, name) + fields(8, value) + field(20, 7)


def node(op, inputs, outputs, name="", domain="", raw_attributes=(), **attributes):
    return (fields(1, inputs) + fields(2, outputs) + field(3, name) +
            field(4, op) +
            fields(5, [attribute(k, v) for k, v in attributes.items()]) +
            fields(5, raw_attributes) + field(7, domain))


def port(name, shape=None, kind=FLOAT):
    dims = b"" if shape is None else field(2, b"".join(
        field(1, field(2, each) if isinstance(each, str) else field(1, each))
        for each in shape))
    return field(1, name) + field(2, field(1, field(1, kind) + dims))


def model(nodes, inputs, outputs, initializers=(), opset=23, more=b""):
    graph = (fields(1, nodes) + field(2, "graph") + fields(5, initializers) +
             fields(11, inputs) + fields(12, outputs) + more)
    return (field(1, 10) + field(7, graph) +
            field(8, field(1, "") + field(2, opset)))
