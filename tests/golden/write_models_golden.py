#!/usr/bin/env python3
"""Writes tests/golden/models.json: what two attentions of transformers give.

    pip install transformers==5.24.0 torch==2.15.0
    tests/golden/write_models_golden.py

sinks   gpt-oss: one more logit per head, and a causal mask
latent  DeepSeek V3: the query here is the absorbed one, W_UK^T q_nope next to
        the rotated part, computed in binary64; the output is that of each head
        before o_proj, W_UV times the context of the latent vectors
"""
import json
import pathlib

import torch
import transformers
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss

LENGTH = 9


def causal_mask():
    return torch.full((LENGTH, LENGTH), float("-inf")).triu(1)[None, None]


def numbers(x):
    return x.detach().tolist()


def sinks():
    heads, groups, size = 4, 2, 8
    layer = torch.nn.Module()
    layer.num_key_value_groups = heads // groups
    layer.sinks = torch.nn.Parameter(torch.tensor([-1.0, 0.5, 2.0, 4.0]))
    layer.eval()
    query = torch.randn(1, heads, LENGTH, size)
    key, value = torch.randn(2, 1, groups, LENGTH, size)
    scale = size ** -0.5
    output, weights = gpt_oss.eager_attention_forward(
        layer, query, key, value, causal_mask(), scale)
    return {"scale": scale, "sinks": numbers(layer.sinks),
            "query": numbers(query[0].transpose(0, 1)),
            "key": numbers(key[0].transpose(0, 1)),
            "value": numbers(value[0].transpose(0, 1)),
            "output": numbers(output[0]), "attn_weights": numbers(weights[0])}


def latent():
    heads, nope = 2, 12
    config = deepseek.DeepseekV3Config(
        hidden_size=32, num_attention_heads=heads, num_key_value_heads=heads,
        q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=nope,
        qk_rope_head_dim=8, v_head_dim=10, attn_implementation="eager")
    layer = deepseek.DeepseekV3Attention(config, 0).eval()
    seen = {}

    def attend(module, query, key, value, mask, **options):
        seen.update(query=query[0], key=key[0])
        seen["output"], _ = plain(module, query, key, value, mask, **options)
        return seen["output"], None

    plain = deepseek.eager_attention_forward
    deepseek.eager_attention_forward = attend
    layer.kv_a_layernorm.register_forward_hook(
        lambda _, __, latents: seen.update(latents=latents[0]))
    with torch.no_grad():
        hidden = 2 * torch.randn(1, LENGTH, config.hidden_size)
        layer(hidden, deepseek.DeepseekV3RotaryEmbedding(config)(
            hidden, torch.arange(LENGTH)[None]), causal_mask())
    up = layer.kv_b_proj.weight.view(heads, -1, config.kv_lora_rank)
    absorbed = torch.einsum("hln,hnr->hlr", seen["query"][..., :nope].double(),
                            up[:, :nope].double()).float()
    query = torch.cat([absorbed, seen["query"][..., nope:]], dim=-1)
    key = torch.cat([seen["latents"], seen["key"][0, :, nope:]], dim=-1)
    return {"scale": layer.scaling, "query": numbers(query.transpose(0, 1)),
            "key": numbers(key[:, None]), "w_uv": numbers(up[:, nope:]),
            "output": numbers(seen["output"][0])}


def main():
    torch.manual_seed(1)
    lines = ",\n".join(f' "{case.__name__}": ' + json.dumps(case())
                       for case in (sinks, latent))
    path = pathlib.Path(__file__).parent / "models.json"
    path.write_text(f'{{"library": "transformers {transformers.__version__}",\n'
                    f'{lines}}}\n')


if __name__ == "__main__":
    main()
