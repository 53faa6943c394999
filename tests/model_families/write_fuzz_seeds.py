"""Writes tiny models of several families, and a GGUF file, for the fuzz target of
models (tests/models/models/data): write_fuzz_seeds.py FOLDER"""
import dataclasses
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers

import gguf_files
import reference
from forms import FORMS

NAMES = ("llama_gqa llama_longrope gpt2 gpt_neox opt_post_norm falcon_40b bert mpnet "
         "deberta_v3 modernbert gemma3 gpt_oss t5_v11 bart").split()
SIZES = {"vocab_size": 6, "num_hidden_layers": 1, "n_layer": 1, "num_layers": 1,
         "num_decoder_layers": 1, "encoder_layers": 1, "decoder_layers": 1,
         "hidden_size": 8, "n_embd": 8, "d_model": 8, "num_attention_heads": 2,
         "n_head": 2, "num_heads": 2, "encoder_attention_heads": 2,
         "decoder_attention_heads": 2, "num_key_value_heads": 1, "num_kv_heads": 1,
         "head_dim": 4, "d_kv": 4, "intermediate_size": 4, "ffn_dim": 4, "d_ff": 4,
         "encoder_ffn_dim": 4, "decoder_ffn_dim": 4, "max_position_embeddings": 8,
         "n_positions": 8, "word_embed_proj_dim": 4, "num_local_experts": 2,
         "position_buckets": 4, "relative_attention_num_buckets": 4}


def make(name, folder):
    form = FORMS[name]
    tiny = {key: SIZES.get(key, value) for key, value in form.arguments.items()}
    if "rope_parameters" in tiny:
        tiny["rope_parameters"] = {
            key: value[:2] if isinstance(value, list) else value
            for key, value in tiny["rope_parameters"].items()}
    form = dataclasses.replace(form, arguments=tiny)
    config, model = (getattr(transformers, each) for each in form.classes)
    torch.manual_seed(1)
    model(config(**tiny)).save_pretrained(folder)


def main():
    target = pathlib.Path(sys.argv[1])
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder)
            make(name, made)
            config = (made / "config.json").read_bytes()
            tensors = (made / "model.safetensors").read_bytes()
            (target / f"{name}.transformer").write_bytes(config + b"\0" + tensors)
            if name == "llama_gqa":
                config, tensors = reference.files(made)
                gguf_files.write_floats(
                    target / "llama_gguf.transformer", config,
                    {key: np.asarray(values, "f4")
                     for key, values in tensors.named.items()})


if __name__ == "__main__":
    main()
