"""Writes what the suite needs of models from make_models.py, to make others without
transformers: settings, and names and shapes of tensors:
write_shapes.py FOLDER"""
import json
import pathlib
import sys

from tensors import Tensors

SHAPES = pathlib.Path(__file__).parent / "shapes.json"
# One of each family, and those with rules of their own.
NAMES = """llama_gqa llama_biased llama_mqa llama_llama3 llama_yarn llama_yarn_keys
llama_yarn_mscale llama_linear mistral qwen2 qwen2_layer_types qwen3 phi3 phi3_window
smollm3_layers olmo2 gemma2_caps gemma2_uncapped gemma3 gemma3_bidirectional gpt2
gpt2_inverse_layer gpt_neox gpt_neox_sequential opt opt_post_norm opt_unbiased falcon_7b
falcon_40b falcon_11b falcon_alibi falcon_biased bert distilbert roberta mpnet electra
albert_groups modernbert nomic_bert llama_dynamic llama_longrope phi3_longrope
gpt_neox_dynamic gpt_oss deberta_v3 deberta_v2_conv_groups deberta_projections
deberta_c2p deberta_absolute t5 t5_v11 t5_gated_silu bart bart_scaled""".split()


def main():
    folder = pathlib.Path(sys.argv[1])
    lines = []
    for name in NAMES:
        model = folder / f"{name}-strong"
        config = json.loads((model / "config.json").read_text("utf-8"))
        shapes = {key: list(values.shape)
                  for key, values in Tensors.read(model).named.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps([config, shapes])}")
    SHAPES.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
