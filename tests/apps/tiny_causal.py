"""A folder of a small causal model, drawn at random and written by hand."""
import json
import random
import struct

import tiny_model

VOCABULARY = [f"w{n}" for n in range(12)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
HIDDEN, HEADS, LAYERS, POSITIONS = 8, 2, 2, 16


def write(folder, positions=POSITIONS, scale=1.0):
    draw = random.Random(11)
    made = {}

    def add(name, *shape, mean=0.0):
        count = 1
        for size in shape:
            count *= size
        values = [scale * draw.gauss(mean, 0.5) for _ in range(count)]
        made[name] = shape, struct.unpack(f"<{count}f",
                                          struct.pack(f"<{count}f", *values))

    words = SPECIAL + VOCABULARY
    add("token.weight", len(words), HIDDEN)
    add("position.weight", positions, HIDDEN)
    for n in range(LAYERS):
        add(f"layers.{n}.norm.weight", HIDDEN, mean=1.0)
        add(f"layers.{n}.norm.bias", HIDDEN)
        for part in ("w_q", "w_k", "w_v", "w_o"):
            add(f"layers.{n}.{part}.weight", HIDDEN, HIDDEN)
            add(f"layers.{n}.{part}.bias", HIDDEN)
    add("norm.weight", HIDDEN, mean=1.0)
    add("norm.bias", HIDDEN)
    add("unembedding.weight", len(words), HIDDEN)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "model_type": "headwise-causal", "vocab_size": len(words),
        "hidden_size": HIDDEN, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "max_position_embeddings": positions,
        "layer_norm_eps": 1e-5}))
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "unk_token": "[UNK]",
                  "vocab": {word: n for n, word in enumerate(words)}}}))
    (folder / "model.safetensors").write_bytes(tiny_model.safetensors(made))
