"""A BERT-family model folder of a few kilobytes, drawn at random and written by
hand, and the same encoder in plain Python, in binary64."""
import json
import math
import random
import struct
import unicodedata

HEAD = unicodedata.normalize("NFD", "머리")  # as the tokenizer takes it apart
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heads", "matter",
              "##s", "!", "<", "&", HEAD, "so", "internationalisation"]
HIDDEN, HEADS, LAYERS, INTERMEDIATE, POSITIONS = 8, 2, 2, 16, 12
EPSILON = 1e-12
CONFIG = {
    "model_type": "bert", "vocab_size": len(VOCABULARY), "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "intermediate_size": INTERMEDIATE, "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2, "layer_norm_eps": EPSILON, "hidden_act": "gelu"}


def tensors():
    """name -> (shape, values), the values those of binary32."""
    draw = random.Random(5)
    made = {}

    def add(name, *shape, mean=0.0):
        count = math.prod(shape)
        values = [draw.gauss(mean, 0.6) for _ in range(count)]
        made[name] = shape, struct.unpack(f"<{count}f",
                                          struct.pack(f"<{count}f", *values))

    def linear(name, out, taken):
        add(name + ".weight", out, taken)
        add(name + ".bias", out)

    def norm(name):
        add(name + ".LayerNorm.weight", HIDDEN, mean=1.0)
        add(name + ".LayerNorm.bias", HIDDEN)

    for kind, rows in (("word", len(VOCABULARY)), ("position", POSITIONS),
                       ("token_type", 2)):
        add(f"embeddings.{kind}_embeddings.weight", rows, HIDDEN)
    norm("embeddings")
    for n in range(LAYERS):
        layer = f"encoder.layer.{n}"
        for name in ("query", "key", "value"):
            linear(f"{layer}.attention.self.{name}", HIDDEN, HIDDEN)
        linear(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        norm(f"{layer}.attention.output")
        linear(f"{layer}.intermediate.dense", INTERMEDIATE, HIDDEN)
        linear(f"{layer}.output.dense", HIDDEN, INTERMEDIATE)
        norm(f"{layer}.output")
    return made


def safetensors(made):
    header, data = {}, b""
    for name, (shape, values) in made.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def write(folder, **config):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n",
                                      encoding="utf-8")
    (folder / "model.safetensors").write_bytes(safetensors(tensors()))


# ---- The encoder. ----

class Encoder:
    def __init__(self):
        self.made = tensors()

    def row(self, name, n):
        values = self.made[name][1]
        return values[n * HIDDEN:(n + 1) * HIDDEN]

    def linear(self, name, x):
        (out, taken), weight = self.made[name + ".weight"]
        bias = self.made[name + ".bias"][1]
        return [[math.fsum([bias[o], *(weight[o * taken + i] * row[i]
                                       for i in range(taken))])
                 for o in range(out)] for row in x]

    def norm(self, name, x):
        weight = self.made[name + ".LayerNorm.weight"][1]
        bias = self.made[name + ".LayerNorm.bias"][1]
        normed = []
        for row in x:
            mean = math.fsum(row) / HIDDEN
            variance = math.fsum((v - mean) ** 2 for v in row) / HIDDEN
            divisor = math.sqrt(variance + EPSILON)
            normed.append([(v - mean) / divisor * w + b
                           for v, w, b in zip(row, weight, bias)])
        return normed

    def attend(self, layer, x):
        """(attn_weights[h][i][j], output)"""
        q, k, v = (self.linear(f"{layer}.attention.self.{name}", x)
                   for name in ("query", "key", "value"))
        size = HIDDEN // HEADS
        heads, merged = [], [[] for _ in x]
        for h in range(HEADS):
            own = range(h * size, (h + 1) * size)
            heads.append([])
            for i, row in enumerate(q):
                scores = [math.fsum(row[d] * key[d] for d in own) /
                          math.sqrt(size) for key in k]
                shares = [math.exp(s - max(scores)) for s in scores]
                total = math.fsum(shares)
                heads[h].append([s / total for s in shares])
                merged[i] += [math.fsum(p * value[d] for p, value
                                        in zip(heads[h][i], v)) for d in own]
        return heads, self.linear(f"{layer}.attention.output.dense", merged)

    def layers(self, ids):
        """Of each layer (hidden states it takes, attn_weights[h][i][j], output);
        returns the last hidden states."""
        def add(a, b):
            return [[x + y for x, y in zip(*rows)] for rows in zip(a, b)]

        place = [[a + b for a, b in zip(
            self.row("embeddings.position_embeddings.weight", t),
            self.row("embeddings.token_type_embeddings.weight", 0))]
            for t in range(len(ids))]
        word = [self.row("embeddings.word_embeddings.weight", n) for n in ids]
        x = self.norm("embeddings", add(word, place))
        for n in range(LAYERS):
            layer = f"encoder.layer.{n}"
            attn_weights, output = self.attend(layer, x)
            yield x, attn_weights, output
            x = self.norm(f"{layer}.attention.output", add(x, output))
            wide = [[v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in row]
                    for row in self.linear(f"{layer}.intermediate.dense", x)]
            x = self.norm(f"{layer}.output",
                          add(x, self.linear(f"{layer}.output.dense", wide)))
        return x

    def hidden(self, ids):
        """The last hidden states."""
        layers = self.layers(ids)
        while True:
            try:
                next(layers)
            except StopIteration as end:
                return end.value
