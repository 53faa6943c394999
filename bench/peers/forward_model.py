"""A GPT-2 of 124 million random parameters, as each engine reads it:
forward_model.py FOLDER IDS NEW_TOKENS

    config.json, model.safetensors, tokenizer.json     transformers, headwise
    ctranslate2/                                        CTranslate2
    model.gguf, model-bf16.gguf                         llama.cpp
    reference.f64     in float64: the last token's logits, or the generated ids"""
import json
import pathlib
import sys

import ctranslate2
import gguf
import numpy as np
import torch
import transformers
from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests" / "model_families"))
from gguf_files import tensors_of  # noqa: E402


def write_tokenizer(folder, size):
    """Token n is the word tn."""
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "t0",
                  "vocab": {f"t{n}": n for n in range(size)}}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "t0",
        "bos_token": "t1", "eos_token": "t2"}))


def write_gguf(folder, config, name, bf16):
    """llama.cpp wants norms, biases and positions in float32."""
    writer = gguf.GGUFWriter(folder / name, "gpt2")
    writer.add_context_length(config.n_positions)
    writer.add_embedding_length(config.n_embd)
    writer.add_block_count(config.n_layer)
    writer.add_feed_forward_length(4 * config.n_embd)
    writer.add_head_count(config.n_head)
    writer.add_layer_norm_eps(config.layer_norm_epsilon)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("no_vocab")
    tensors = load_file(folder / "model.safetensors")
    for key, values in tensors_of(config.to_dict(), tensors).items():
        if bf16 and values.ndim == 2 and "position" not in key:
            kind = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(key, gguf.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(key, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(folder, ids, new_tokens):
    torch.manual_seed(0)
    config = transformers.GPT2Config()
    model = transformers.GPT2LMHeadModel(config).eval()
    model.save_pretrained(folder)
    write_tokenizer(folder, config.vocab_size)
    ctranslate2.converters.TransformersConverter(str(folder)).convert(
        str(folder / "ctranslate2"))
    write_gguf(folder, config, "model.gguf", bf16=False)
    write_gguf(folder, config, "model-bf16.gguf", bf16=True)
    given = torch.tensor([ids])
    model = model.double()
    with torch.inference_mode():
        if new_tokens == 0:
            made = model(given, logits_to_keep=1).logits
        else:
            made = model.generate(given, do_sample=False, min_new_tokens=new_tokens,
                                  max_new_tokens=new_tokens, eos_token_id=-1,
                                  attention_mask=torch.ones_like(given))[:, len(ids):]
    made.double().numpy().tofile(folder / "reference.f64")


main(pathlib.Path(sys.argv[1]), [int(each) for each in sys.argv[2].split(",")],
     int(sys.argv[3]))
