"""Draws configurations of every family at random, makes models of them with
transformers, and compares `headwise forward` with the reference:
random_configurations.py PROGRAM [--count N] [--only REGEX] [--seed N]"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers

import reference
from compare import compare, expected_parts, padded
from comparison import difference
from forms import VOCABULARY, Form
from make_models import strengthen
from sequences import decoder_sequences, sequences

# Some draws have scores of several hundreds, whose rounding to float32 shows; a broken
# rule costs 1e-3 and more. Where that is not enough, three times what transformers is off
# in float32 with the same model.
TIMES = 5
TIMES_TRANSFORMERS = 3
ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "silu", "quick_gelu", "relu")


class Draw:
    """Numbers for one configuration."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one_of(self, *values):
        return values[self.rng.integers(len(values))]

    def flag(self):
        return bool(self.rng.integers(2))

    def whole(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def real(self, least, most):
        return float(self.rng.uniform(least, most))

    def sizes(self, names, head_sizes=(2, 4, 6, 8, 12, 16), **more):
        """Sizes of heads that fill the hidden size, by a family's names of hidden size,
        heads, layers and feed-forward size."""
        heads, size = self.whole(1, 6), self.one_of(*head_sizes)
        while heads * size < 16:  # norms of fewer features magnify every rounding
            heads, size = self.whole(1, 6), self.one_of(*head_sizes)
        values = heads * size, heads, self.whole(1, 4), self.whole(5, 60)
        return dict(zip(names, values), vocab_size=VOCABULARY, **more), size

    def decoder(self, least_positions=32, **more):
        made, size = self.sizes(("hidden_size", "num_attention_heads",
                                 "num_hidden_layers", "intermediate_size"),
                                bos_token_id=1, eos_token_id=2, pad_token_id=0)
        made |= dict(max_position_embeddings=self.whole(least_positions, 80),
                     tie_word_embeddings=self.flag())
        return made | more, size

    def eps(self):
        return self.one_of(1e-6, 1e-5, 1e-3)

    def groups(self, made):
        heads = made["num_attention_heads"]
        made["num_key_value_heads"] = self.one_of(
            *(each for each in range(1, heads + 1) if heads % each == 0))

    def rope(self, size, made):
        """The settings of `size` rotated features."""
        theta = dict(rope_theta=self.one_of(100.0, 10000.0, 5e5))
        original = self.one_of(8, 16, 32)
        kind = self.one_of("default", "linear", "dynamic", "llama3", "yarn", "longrope")
        if kind == "dynamic" and size == 2:
            kind = "linear"
        if kind in ("linear", "dynamic"):
            theta["factor"] = self.real(1, 8)
        elif kind == "llama3":
            low = self.real(0.5, 2)
            theta |= dict(factor=self.real(1, 8), low_freq_factor=low,
                          high_freq_factor=low + self.real(0.5, 4),
                          original_max_position_embeddings=original)
        elif kind == "yarn":
            original = max(original, 16)  # some pair turns as often as `slow` says
            slow = self.real(0.5, 2)
            theta |= dict(factor=self.real(1.5, 8), beta_slow=slow,
                          beta_fast=slow + self.real(0, 30), truncate=self.flag(),
                          original_max_position_embeddings=original)
            if self.flag():
                theta["attention_factor"] = self.real(0.8, 1.5)
        elif kind == "longrope":
            theta |= {name: [self.real(1, 6) for _ in range(size // 2)]
                      for name in ("short_factor", "long_factor")}
            theta |= dict(factor=self.real(1, 8),
                          original_max_position_embeddings=original)
        made["rope_parameters"] = {"rope_type": kind, **theta}

    def layer_types(self, made):
        made["layer_types"] = [self.one_of("full_attention", "sliding_attention")
                               for _ in range(made["num_hidden_layers"])]

    def llama_like(self, **more):
        made, size = self.decoder()
        self.groups(made)
        self.rope(size, made)
        return made | dict(rms_norm_eps=self.eps()) | more, size


def llama(draw):
    made, size = draw.llama_like(attention_bias=draw.flag(), mlp_bias=draw.flag(),
                                 hidden_act=draw.one_of(*ACTIVATIONS))
    if draw.flag():
        made["head_dim"] = size = draw.one_of(4, 8, 20)
        draw.rope(size, made)
    return Form("LlamaConfig", made, draw.one_of("ForCausalLM", "Model"))


def mistral(draw):
    made, _ = draw.llama_like(sliding_window=draw.one_of(None, 1, 5, 40))
    return Form("MistralConfig", made)


def qwen(draw):
    made, size = draw.llama_like(use_sliding_window=draw.flag(),
                                 sliding_window=draw.whole(1, 12),
                                 max_window_layers=draw.whole(0, 4))
    if draw.flag():
        draw.layer_types(made)
    if draw.flag():
        return Form("Qwen2Config", made)
    made |= dict(head_dim=size, attention_bias=draw.flag())
    return Form("Qwen3Config", made)


def phi3(draw):
    made, size = draw.llama_like(sliding_window=draw.one_of(None, 1, 5, 40))
    if size % 8 == 0 and draw.flag():
        draw.rope(size // 2, made)
        made["rope_parameters"]["partial_rotary_factor"] = 0.5
    original = made["rope_parameters"].get("original_max_position_embeddings")
    if made["rope_parameters"]["rope_type"] not in ("default", "longrope"):
        made["rope_parameters"] = dict(rope_type="default", rope_theta=10000.0)
    elif original:
        made["original_max_position_embeddings"] = original
    return Form("Phi3Config", made)


def smollm3(draw):
    made, _ = draw.llama_like(attention_bias=draw.flag(),
                              use_sliding_window=draw.flag(),
                              sliding_window=draw.whole(1, 12))
    if draw.flag():
        made["no_rope_layers"] = [draw.whole(0, 1)
                                  for _ in range(made["num_hidden_layers"])]
    else:
        made["no_rope_layer_interval"] = draw.whole(1, 4)
    return Form("SmolLM3Config", made)


def olmo2(draw):
    made, _ = draw.llama_like(attention_bias=draw.flag())
    return Form("Olmo2Config", made)


def gemma(draw):
    made, _ = draw.decoder()
    draw.groups(made)
    made |= dict(head_dim=draw.one_of(2, 8, 20), rms_norm_eps=draw.eps(),
                 query_pre_attn_scalar=draw.whole(4, 64),
                 sliding_window=draw.whole(1, 12),
                 attn_logit_softcapping=draw.one_of(None, 2.0, 50.0),
                 final_logit_softcapping=draw.one_of(None, 5.0))
    if draw.flag():
        draw.layer_types(made)
    return Form(draw.one_of("Gemma2Config", "Gemma3TextConfig"), made)


def gpt_oss(draw):
    made, size = draw.llama_like(attention_bias=draw.flag(),
                                 sliding_window=draw.whole(1, 12))
    made |= dict(head_dim=size, num_local_experts=draw.whole(2, 6),
                 swiglu_limit=draw.one_of(1.0, 7.0))
    made["num_experts_per_tok"] = draw.whole(1, made["num_local_experts"])
    return Form("GptOssConfig", made)


def gpt2(draw):
    made, _ = draw.sizes(("n_embd", "n_head", "n_layer", "n_inner"),
                         n_positions=draw.whole(23, 40), bos_token_id=1, eos_token_id=2)
    made |= dict(activation_function=draw.one_of(*ACTIVATIONS),
                 scale_attn_weights=draw.flag(), layer_norm_epsilon=draw.eps(),
                 scale_attn_by_inverse_layer_idx=draw.flag(),
                 tie_word_embeddings=draw.flag())
    return Form("GPT2Config", made)


def gpt_neox(draw):
    made, size = draw.decoder(hidden_act=draw.one_of(*ACTIVATIONS),
                              layer_norm_eps=draw.eps(), attention_bias=draw.flag(),
                              use_parallel_residual=draw.flag())
    rotated = draw.one_of(*range(2, size + 1, 2))
    draw.rope(rotated, made)
    made["rope_parameters"]["partial_rotary_factor"] = rotated / size
    return Form("GPTNeoXConfig", made)


def opt(draw):
    made, _ = draw.sizes(("hidden_size", "num_attention_heads", "num_hidden_layers",
                          "ffn_dim"), bos_token_id=2, eos_token_id=2, pad_token_id=1)
    made |= dict(max_position_embeddings=draw.whole(23, 40), enable_bias=draw.flag(),
                 activation_function=draw.one_of(*ACTIVATIONS),
                 do_layer_norm_before=draw.flag(),
                 layer_norm_elementwise_affine=draw.flag(),
                 word_embed_proj_dim=draw.one_of(made["hidden_size"], 10),
                 _remove_final_layer_norm=draw.flag(),
                 tie_word_embeddings=draw.flag())
    return Form("OPTConfig", made)


def falcon(draw):
    made, size = draw.decoder(bias=draw.flag(), layer_norm_epsilon=draw.eps())
    del made["intermediate_size"], made["pad_token_id"]
    kind = draw.one_of("new", "queries", "plain")
    made |= dict(new_decoder_architecture=kind == "new", multi_query=kind == "queries",
                 ffn_hidden_size=draw.whole(5, 60))
    if kind == "new":
        draw.groups(made)
        made["num_kv_heads"] = made.pop("num_key_value_heads")
        made["num_ln_in_parallel_attn"] = draw.one_of(1, 2)
    else:
        made |= dict(parallel_attn=draw.flag(), alibi=draw.flag())
    if not made.get("alibi"):
        draw.rope(size, made)
    return Form("FalconConfig", made)


def bert_like(draw, **more):
    made, _ = draw.sizes(("hidden_size", "num_attention_heads", "num_hidden_layers",
                          "intermediate_size"))
    return made | dict(max_position_embeddings=draw.whole(40, 60),
                       hidden_act=draw.one_of(*ACTIVATIONS), layer_norm_eps=draw.eps(),
                       type_vocab_size=draw.one_of(1, 2)) | more


def bert(draw):
    return Form("BertConfig", bert_like(draw), "Model")


def distilbert(draw):
    made, _ = draw.sizes(("dim", "n_heads", "n_layers", "hidden_dim"),
                         max_position_embeddings=draw.whole(23, 40))
    return Form("DistilBertConfig",
                made | dict(activation=draw.one_of("gelu", "relu")), "Model")


def roberta(draw):
    name = draw.one_of("Roberta", "XLMRoberta", "Camembert")
    return Form(f"{name}Config", bert_like(draw, pad_token_id=draw.whole(0, 5)), "Model")


def mpnet(draw):
    return Form("MPNetConfig", bert_like(draw), "Model")


def electra(draw):
    made = bert_like(draw, embedding_size=draw.whole(3, 30))
    return Form("ElectraConfig", made, "Model")


def albert(draw):
    made = bert_like(draw, embedding_size=draw.whole(3, 30),
                     inner_group_num=draw.whole(1, 2))
    made["num_hidden_groups"] = draw.whole(1, made["num_hidden_layers"])
    return Form("AlbertConfig", made, "Model")


def deberta(draw):
    made = bert_like(draw, type_vocab_size=draw.whole(0, 2),
                     relative_attention=draw.flag(), share_att_key=draw.flag(),
                     pos_att_type=draw.one_of(["c2p", "p2c"], ["c2p"], ["p2c"]),
                     position_biased_input=draw.flag(),
                     norm_rel_ebd=draw.one_of("none", "layer_norm"),
                     max_relative_positions=draw.one_of(-1, 12, 30),
                     position_buckets=draw.one_of(-1, 8))
    if draw.flag():
        made |= dict(conv_kernel_size=draw.one_of(1, 3, 5),
                     conv_act=draw.one_of("tanh", "gelu", "relu"),
                     conv_groups=draw.one_of(1, made["num_attention_heads"]))
    return Form("DebertaV2Config", made, "Model")


def modernbert(draw):
    made = bert_like(draw, local_attention=draw.one_of(2, 6, 20), cls_token_id=1,
                     sep_token_id=2, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                     global_attn_every_n_layers=draw.whole(1, 3), norm_eps=draw.eps(),
                     norm_bias=draw.flag(), attention_bias=draw.flag(),
                     mlp_bias=draw.flag(), hidden_activation=draw.one_of(*ACTIVATIONS))
    return Form("ModernBertConfig", made, "Model")


def nomic_bert(draw):
    return Form("NomicBertConfig", bert_like(draw, hidden_act="silu"), "Model")


def t5(draw):
    made, size = draw.sizes(("d_model", "num_heads", "num_layers", "d_ff"),
                            head_sizes=(4, 8, 12), decoder_start_token_id=0,
                            eos_token_id=1, pad_token_id=0)
    made |= dict(d_kv=draw.one_of(size, 6), num_decoder_layers=draw.whole(1, 3),
                 feed_forward_proj=draw.one_of("relu", "gated-gelu", "gated-silu"),
                 layer_norm_epsilon=draw.eps(),
                 relative_attention_num_buckets=draw.one_of(8, 12, 32),
                 relative_attention_max_distance=draw.one_of(20, 128))
    return Form("T5Config", made, "ForConditionalGeneration")


def bart(draw):
    heads, other = draw.one_of((1, 2), (2, 4), (4, 2))
    made = dict(vocab_size=VOCABULARY, d_model=draw.one_of(16, 32, 48),
                encoder_layers=draw.whole(1, 3), decoder_layers=draw.whole(1, 3),
                encoder_attention_heads=heads, decoder_attention_heads=other,
                encoder_ffn_dim=draw.whole(5, 60), decoder_ffn_dim=draw.whole(5, 60),
                max_position_embeddings=draw.whole(23, 40),
                activation_function=draw.one_of(*ACTIVATIONS),
                scale_embedding=draw.flag())
    return Form("BartConfig", made, "ForConditionalGeneration")


FAMILIES = (llama, mistral, qwen, phi3, smollm3, olmo2, gemma, gpt_oss, gpt2, gpt_neox,
            opt, falcon, bert, distilbert, roberta, mpnet, electra, albert, deberta,
            modernbert, nomic_bert, t5, bart)


def make(form, seed, folder):
    config, model = (getattr(transformers, each) for each in form.classes)
    torch.manual_seed(seed)
    made = model(config(**form.arguments)).eval()
    strengthen(made, form.config == "T5Config")
    made.save_pretrained(folder)


def rounding(form, folder):
    """How far transformers is off in float32: states, attention weights. Of an encoder
    or a decoder alone; otherwise 0."""
    made = reference.run(folder, sequences(), decoder_sequences())
    if made.encoder:
        return 0, 0
    model = getattr(transformers, form.classes[1]).from_pretrained(
        folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        each = [model(torch.tensor([ids]), output_hidden_states=True,
                      output_attentions=True) for ids in sequences() if ids]
    found = {f"hidden {n}": np.concatenate([one.hidden_states[n][0] for one in each])
             for n in range(len(made.hidden))}
    found |= {f"weights {n}": padded([one.attentions[n][0].numpy() for one in each])
              for n in range(len(made.attn_weights))}
    expected = {name: values for name, values in expected_parts(made).items()
                if name in found}
    return [max(TIMES_TRANSFORMERS * difference(values, found[name])
                for name, values in expected.items() if name.startswith(part))
            for part in ("hidden", "weights")]


def check(program, family, seed):
    """What differs, or nothing."""
    form = family(Draw(seed))
    with tempfile.TemporaryDirectory() as folder:
        make(form, seed, folder)
        try:
            folder = pathlib.Path(folder)
            told, right = compare(program, folder, TIMES)
            if not right:
                told, right = compare(program, folder, TIMES, rounding(form, folder))
        except (ValueError, OSError, subprocess.CalledProcessError) as error:
            told, right = getattr(error, "stderr", None) or str(error), False
    return None if right else f"{told.strip()}\n  {json.dumps(form.arguments)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=500, help="of each family")
    parser.add_argument("--only", default=".*", help="a regular expression of families")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failed = 0
    for family in FAMILIES:
        name = family.__name__
        if not re.fullmatch(options.only, name):
            continue
        wrong = 0
        for n in range(options.count):
            seed = zlib.crc32(f"{name} {options.seed} {n}".encode())
            if told := check(options.program, family, seed):
                wrong += 1
                print(f"{name} {n}: {told}", flush=True)
        failed += wrong
        print(f"{name:12} {options.count - wrong} of {options.count}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
