"""Makes the table of a Precompiled normalizer, as SentencePiece writes it: a double
array of UTF-8 keys, then the texts that replace them."""
import base64
import struct

# Enough of nmt_nfkc to meet each way a key is found.
NFKC_LIKE = {
    "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r\n": " ", "\u200b": " ",
    "\u00ad": "", "\u0007": "", "ﬁ": "fi", "ﬃ": "ffi", "①": "1", "½": "1⁄2",
    "Ａ": "A", "ａ": "a", "１": "1", "，": ",", "ｶ": "カ", "ｶﾞ": "ガ", "ﾞ": "\u3099",
    "㍿": "株式会社", "e\u0301": "é", "a\u0301\u0301": "x", "ﷺ": "صلى الله عليه وسلم",
    "각": "각", "É": "é", "İ": "i\u0307", "👍": "+", "👍🏽": "++",
}


def charsmap(table):
    """base64 of the table {key: replacement}"""
    texts, positions = b"", {}
    for key, value in table.items():
        positions[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    units = _double_array(positions)
    blob = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + texts
    return base64.b64encode(blob).decode()


def _double_array(values):
    """A node's unit has its label, whether a value follows at label 0, and the offset
    of its children: position ^ offset ^ label. No two nodes share their children."""
    tree = {}
    for key, value in values.items():
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value
    units, used, bases = {}, {0}, {0}

    def place(node, position, label):
        base = next(b for b in range(1, 1 << 20) if b not in bases and
                    all(b ^ byte not in used for byte in node))
        bases.add(base)
        used.update(base ^ byte for byte in node)
        units[position] = (label | (1 << 8 if 0 in node else 0) |
                           (position ^ base) << 10)
        for byte, child in node.items():
            if byte == 0:
                units[base] = child | 1 << 31
            else:
                place(child, base ^ byte, byte)

    place(tree, 0, 0)
    size = (max(units) | 255) + 1
    return [units.get(n, 0) for n in range(size)]
