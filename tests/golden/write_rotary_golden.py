#!/usr/bin/env python3
"""Writes tests/golden/rotary_scaling.json: the frequencies, cosines and sines
of transformers' scaling rules, as LlamaRotaryEmbedding gives them.

    pip install transformers==5.23.0 torch==2.15.0
    tests/golden/write_rotary_golden.py

transformers forms angles in binary32: frequency and product are rounded. The
positions are small, so that this costs the angle at most 2^-23 of itself.
"""
import json
import pathlib

import torch
import transformers
from transformers.models.llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

# What transformers is given and, by headwise's names, the same rule.
CASES = {
    "linear": (
        {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
        {"rule": "linear", "factor": 4.0}),
    # At twice the trained length the factor 3 becomes 3 * 2 - (3 - 1).
    "dynamic": (
        {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 3.0},
        {"rule": "ntk", "factor": 4.0}),
    "yarn": (
        {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
         "original_max_position_embeddings": 4096},
        {"rule": "yarn", "factor": 4.0, "original_length": 4096}),
    # gpt-oss
    "yarn_not_truncated": (
        {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0,
         "original_max_position_embeddings": 4096, "beta_fast": 32.0,
         "beta_slow": 1.0, "truncate": False},
        {"rule": "yarn", "factor": 32.0, "original_length": 4096,
         "truncate": False}),
    "yarn_attention_factor": (
        {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0,
         "original_max_position_embeddings": 4096, "beta_fast": 16.0,
         "beta_slow": 2.0, "attention_factor": 1.25},
        {"rule": "yarn", "factor": 40.0, "original_length": 4096,
         "beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 1.25}),
    # Llama 3.1
    "llama3": (
        {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0,
         "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 8192},
        {"rule": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
         "high_freq_factor": 4.0, "original_length": 8192}),
}
HEAD_DIM = 64
POSITIONS = [0, 1, 2, 7, 31]
LENGTH = {"dynamic": (POSITIONS[-1] + 1) // 2}  # that was trained


def computed(rope):
    config = LlamaConfig(hidden_size=2 * HEAD_DIM, num_attention_heads=2,
                         head_dim=HEAD_DIM, rope_parameters=rope,
                         max_position_embeddings=LENGTH.get(
                             rope["rope_type"], 131072))
    rotary = LlamaRotaryEmbedding(config)
    # Of all positions up to the last: `dynamic` looks at the length.
    tokens = torch.arange(POSITIONS[-1] + 1)[None]
    cos, sin = rotary(torch.zeros(1, dtype=torch.float32), tokens)
    half = HEAD_DIM // 2
    assert torch.equal(cos[..., :half], cos[..., half:])
    return (rotary.inv_freq, float(rotary.attention_scaling),
            cos[0, POSITIONS, :half], sin[0, POSITIONS, :half])


def main():
    cases = []
    for name, (rope, rule) in CASES.items():
        frequencies, factor, cos, sin = computed(rope)
        cases.append({
            "name": name, "base": rope["rope_theta"], **rule,
            "frequencies": frequencies.tolist(), "factor_on_both": factor,
            "cos": cos.tolist(), "sin": sin.tolist()})
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    text = (f'{{"library": "transformers {transformers.__version__}",\n'
            f' "rotary_dim": {HEAD_DIM}, "positions": {POSITIONS},\n'
            f' "cases": [\n{lines}\n ]}}\n')
    path = pathlib.Path(__file__).parent / "rotary_scaling.json"
    path.write_text(text)


if __name__ == "__main__":
    main()
