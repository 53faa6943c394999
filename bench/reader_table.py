#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks.md from the JSON in bench/results.

    bench/reader_table.py            writes them
    bench/reader_table.py --check    fails if they are not what the JSON says

A table lies between two lines `<!-- NAME -->` and `<!-- end -->`.
"""
import json
import pathlib
import re
import statistics
import sys

import report

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs/benchmarks.md"
CPU = "2026-11-21-amd-epyc-0af239a"
LAYERS = "2026-11-22-amd-epyc-96fb51f"
DECODE = "2026-11-25-amd-epyc-a50b48b"
ENCODE = "2026-11-22-amd-epyc-ea32ab5-encode"
PYTHON = "2026-11-25-amd-epyc-8c63eb9-python"
BF16 = "2026-11-27-amd-epyc-b2aa7104-bf16"
ENCODE_BF16 = "2026-11-27-amd-epyc-b2aa7104-encode-bf16"
TOKENIZERS = "2026-11-30-amd-epyc-0ba45044-tokenizers"
TOKENIZER_NAMES = {"gpt2": "GPT-2, BPE", "smollm2": "SmolLM2, BPE",
                   "llama2": "Llama 2, BPE of bytes and pieces", "j2": "J2, Unigram",
                   "minilm": "MiniLM, WordPiece"}
FASTEST = None
# What is measured, results, workload, headwise's form, the other form (FASTEST: of all).
TABLES = {
    "attention": [
        ("8 × 512 tokens, 12 heads of 64 (BERT's size)", CPU, "bert", "headwise", FASTEST),
        ("2,048 tokens, 32 heads of 128, causal", CPU, "gpt_causal", "headwise", FASTEST),
        ("8,192 tokens, 8 heads of 64, causal", CPU, "long_causal", "headwise", FASTEST),
        ("8 × 197 tokens, 12 heads of 64 (ViT's size)", CPU, "vit", "headwise", FASTEST),
        ("BERT's size with a dense bias", CPU, "bias", "headwise", FASTEST),
        ("BERT's size, attention weights returned", CPU, "attn_weights", "headwise", FASTEST),
        ("64 sequences of up to 512 tokens, ragged", CPU, "ragged", "headwise", FASTEST),
        ("BERT's size, forward and backward", "2026-11-21-amd-epyc-7450b74", "bert_bwd",
         "headwise", FASTEST),
        ("a layer with its projections, 8 × 512 tokens, E 768", LAYERS, "module", "headwise",
         FASTEST),
        ("a small layer, 10 × 20 tokens, E 512", LAYERS, "seed_module", "headwise", FASTEST),
    ],
    "decoding": [
        ("8 × 4,096 tokens, 32 heads, 8 key heads (GQA)", DECODE, "decode", "headwise", FASTEST),
        ("1 × 32,768 tokens, the same heads", DECODE, "decode_long", "headwise", FASTEST),
        ("8 × 4,096 tokens, 16 heads, 1 key head of 576 (MLA)", DECODE, "decode_mla", "headwise",
         FASTEST),
        ("8 × 4,096 tokens, 32 heads, 32 key heads", DECODE, "decode_mha", "headwise", FASTEST),
        ("the same with an int8 cache", DECODE, "decode_mha", "headwise_int8", FASTEST),
    ],
    "sentences": [
        ("1,000 sentences", ENCODE, "encode_1000", "headwise", "sentence_transformers"),
        ("1,000 sentences", ENCODE, "encode_1000", "headwise", FASTEST),
        ("one sentence of 12 tokens", ENCODE, "encode_one", "headwise", "sentence_transformers"),
        ("one sentence of 12 tokens", ENCODE, "encode_one", "headwise", FASTEST),
    ],
    "python": [
        ("attention, BERT's size", PYTHON, "bert", "headwise_torch", "torch_sdpa"),
        ("attention, 2,048 tokens, causal", PYTHON, "gpt_causal", "headwise_torch", "torch_sdpa"),
        ("forward pass of a model of GPT-2's size", PYTHON, "gpt2_forward", "forward_headwise",
         "forward_sdpa"),
        ("forward pass of a model of BERT's size", PYTHON, "bert_forward", "forward_headwise",
         "forward_sdpa"),
        ("2,048 tokens with all attention weights", PYTHON, "weights_2048", "headwise_weights",
         "torch_matmul"),
        ("2,048 tokens with the statistics of every head", PYTHON, "weights_2048",
         "headwise_statistics", "torch_matmul"),
        ("a call of 4 queries and 4 keys", PYTHON, "call", "headwise_torch", "torch_sdpa"),
    ],
    "bf16": [
        ("attention, BERT's size", BF16, "bert", "headwise_in_bf16", "openvino_bf16"),
        ("a layer with its projections", BF16, "module", "headwise_in_bf16", "openvino_bf16"),
        ("1,000 sentences", ENCODE_BF16, "encode_1000", "headwise_in_bf16",
         "sentence_transformers_bf16"),
        ("1,000 sentences", ENCODE_BF16, "encode_1000", "headwise_in_bf16", "openvino_bf16"),
    ],
}
LIBRARIES = {"torch": "PyTorch", "ort": "ONNX Runtime", "openvino": "OpenVINO",
             "onednn": "oneDNN", "jax": "JAX", "numpy": "NumPy", "forward": "PyTorch",
             "sentence": "sentence-transformers"}


def results_of(name):
    return json.loads((HERE / f"results/{name}.json").read_text("utf-8"))["results"]


def cell(result, own, peer):
    """The time, how many times as fast as the peer, and which peer that is."""
    others = [form for form in result["timed"] if not form.startswith("headwise")]
    if peer is FASTEST:
        others = [form for form in others if "bf16" not in form]
        peer = min(others, key=lambda form: report.seconds(result, form))
    faster = report.speedup(result, peer, own)
    name = LIBRARIES[peer.split("_")[0]]
    number = f"{faster:.2f}×"
    return (time_text(report.seconds(result, own)), number if faster >= 1 else f"**{number}**",
            name)


def time_text(seconds):
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-4 else report.time_text(seconds)


def table(rows):
    counts = sorted({result["threads"] for _, file, *_ in rows for result in results_of(file)})
    head = [f"{threads} thread{'s' * (threads > 1)} | times as fast" for threads in counts]
    lines = [f"| | compared with | {' | '.join(head)} |",
             "| --- | --- |" + " ---: | ---: |" * len(counts)]
    for text, file, workload, own, peer in rows:
        cells, names = [], []
        for threads in counts:
            result, = (each for each in results_of(file)
                       if each["workload"] == workload and each["threads"] == threads)
            time, faster, name = cell(result, own, peer)
            cells += [time, faster]
            names += [name] if name not in names else []
        lines.append(f"| {text} | {', '.join(names)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def tokenizer_table():
    """How many times as fast as the peer, by language: with one thread, and two."""
    speed = json.loads((HERE / f"results/{TOKENIZERS}.json").read_text("utf-8"))["speed"]
    languages = list(dict.fromkeys(key.split(", ")[1] for key in speed))

    def faster(name, language, threads):
        here, there = (statistics.median(speed[f"{name}, {language}, {threads}"][peer]
                                         ["seconds"])
                       for peer in ("headwise", "tokenizers"))
        number = f"{there / here:.1f}×"
        return number if there >= here else f"**{number}**"
    lines = [f"| | {' | '.join(each.capitalize() for each in languages)} |",
             "| --- |" + " ---: |" * len(languages)]
    for name, text in TOKENIZER_NAMES.items():
        cells = [f"{faster(name, each, 1)}, {faster(name, each, 2)}" for each in languages]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def made(name):
    return tokenizer_table() if name == "tokenizers" else table(TABLES[name])


def main():
    before = PAGE.read_text("utf-8")
    after = re.sub(r"(<!-- (\w+) -->\n).*?(<!-- end -->)",
                   lambda found: found[1] + made(found[2]) + found[3], before,
                   flags=re.S)
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(after, "utf-8")
    elif before != after:
        sys.exit(f"{PAGE} is not what bench/results says: run bench/reader_table.py")


if __name__ == "__main__":
    main()
