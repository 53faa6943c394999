"""Small models: each family, in each form that a reader has to tell apart."""
import dataclasses

VOCABULARY = 96
ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
SIZES = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=40,
             num_hidden_layers=3, num_attention_heads=6, max_position_embeddings=64)
DECODER = {**SIZES, **ENDS}
GROUPED = {**DECODER, "num_key_value_heads": 3}
GPT2 = dict(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=6, n_positions=32,
            bos_token_id=1, eos_token_id=2)
OPT = dict(vocab_size=VOCABULARY, hidden_size=48, ffn_dim=40, num_hidden_layers=3,
           num_attention_heads=6, max_position_embeddings=32, bos_token_id=2,
           eos_token_id=2, pad_token_id=1)
FALCON = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=3,
              num_attention_heads=6, max_position_embeddings=64, bos_token_id=1,
              eos_token_id=2)
GEMMA = {**GROUPED, "head_dim": 16, "query_pre_attn_scalar": 24, "sliding_window": 6}
EXPERTS = {**GROUPED, "head_dim": 16, "num_local_experts": 5, "num_experts_per_tok": 2,
           "sliding_window": 6}
ROBERTA = {**SIZES, "max_position_embeddings": 34}
ALBERT = {**SIZES, "num_hidden_layers": 4, "embedding_size": 20}
DEBERTA = dict(**SIZES, relative_attention=True, pos_att_type=["p2c", "c2p"],
               position_biased_input=False, share_att_key=True,
               norm_rel_ebd="layer_norm", max_relative_positions=-1)
MODERN = {**SIZES, **ENDS, "num_hidden_layers": 5, "local_attention": 8,
          "cls_token_id": 1, "sep_token_id": 2}
T5 = dict(vocab_size=VOCABULARY, d_model=48, d_kv=12, d_ff=40, num_layers=3,
          num_heads=6, decoder_start_token_id=0, eos_token_id=1, pad_token_id=0,
          relative_attention_num_buckets=12, relative_attention_max_distance=20)
BART = dict(vocab_size=VOCABULARY, d_model=48, encoder_layers=3, decoder_layers=3,
            encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=40,
            decoder_ffn_dim=56, max_position_embeddings=32)


def yarn(**keys):
    return dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
                original_max_position_embeddings=16, **keys)


LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=32)


def longrope(size, original, **keys):
    return dict(rope_type="longrope", rope_theta=10000.0,
                short_factor=[1 + n / 8 for n in range(size // 2)],
                long_factor=[2.0 + n for n in range(size // 2)],
                original_max_position_embeddings=original, **keys)


@dataclasses.dataclass
class Form:
    config: str  # transformers' class
    arguments: dict
    head: str = "ForCausalLM"  # "Model": the base model alone
    own_head: bool = False  # T5: an output layer of its own

    @property
    def classes(self):
        stem = self.config.removesuffix("Config").removesuffix("Text")
        name = stem + self.head
        return self.config, {"GPT2ForCausalLM": "GPT2LMHeadModel"}.get(name, name)


def decoder(name, sizes, **more):
    return Form(name + "Config", {**sizes, **more})


def encoder(name, sizes, head="Model", **more):
    return Form(name + "Config", {**sizes, **more}, head)


def both(name, sizes, own_head=False, **more):
    return Form(name + "Config", {**sizes, **more}, "ForConditionalGeneration",
                own_head)


FORMS = {
    "gpt2": decoder("GPT2", GPT2),
    "gpt2_inverse_layer": decoder("GPT2", GPT2, scale_attn_by_inverse_layer_idx=True,
                                  n_inner=40, activation_function="gelu"),
    "gpt2_unscaled": decoder("GPT2", GPT2, scale_attn_weights=False,
                             layer_norm_epsilon=1e-3),
    "gpt2_untied": decoder("GPT2", GPT2, tie_word_embeddings=False),
    "gpt_neox": decoder("GPTNeoX", DECODER, hidden_size=96),
    "gpt_neox_sequential": decoder("GPTNeoX", DECODER, use_parallel_residual=False,
                                   rotary_pct=0.5, rotary_emb_base=5000),
    "gpt_neox_linear": decoder("GPTNeoX", DECODER, hidden_act="gelu_new",
                               rope_parameters=dict(rope_type="linear", factor=2.0,
                                                    partial_rotary_factor=1.0)),
    "gpt_neox_dynamic": decoder("GPTNeoX", DECODER, hidden_size=96,
                                max_position_embeddings=16,
                                rope_parameters=dict(rope_type="dynamic", factor=2.0,
                                                     partial_rotary_factor=0.5)),
    "gpt_neox_unbiased": decoder("GPTNeoX", DECODER, attention_bias=False,
                                 rotary_pct=1.0, tie_word_embeddings=True),
    "opt": decoder("OPT", OPT),
    "opt_post_norm": decoder("OPT", OPT, do_layer_norm_before=False,
                             word_embed_proj_dim=32),
    "opt_without_final_norm": decoder("OPT", OPT, _remove_final_layer_norm=True,
                                      activation_function="gelu"),
    "opt_unbiased": decoder("OPT", OPT, enable_bias=False,
                            layer_norm_elementwise_affine=False,
                            tie_word_embeddings=False),
    "llama": decoder("Llama", DECODER),
    "llama_gqa": decoder("Llama", GROUPED, head_dim=12, rms_norm_eps=1e-5),
    "llama_mqa": decoder("Llama", DECODER, num_key_value_heads=1,
                         tie_word_embeddings=True),
    "llama_biased": decoder("Llama", GROUPED, attention_bias=True, mlp_bias=True,
                            hidden_act="gelu"),
    "llama_base": Form("LlamaConfig", GROUPED, "Model"),
    "llama_theta": decoder("Llama", GROUPED,
                           rope_parameters=dict(rope_type="default", rope_theta=5e5)),
    "llama_linear": decoder("Llama", GROUPED, rope_parameters=dict(
        rope_type="linear", rope_theta=10000.0, factor=2.5)),
    "llama_dynamic": decoder("Llama", GROUPED, max_position_embeddings=16,
                             rope_parameters=dict(rope_type="dynamic",
                                                  rope_theta=10000.0, factor=2.0)),
    "llama_llama3": decoder("Llama", GROUPED, head_dim=16, rope_parameters=LLAMA3),
    "llama_yarn": decoder("Llama", GROUPED, head_dim=16, rope_parameters=yarn()),
    "llama_yarn_keys": decoder("Llama", GROUPED, head_dim=16, rope_parameters=yarn(
        beta_fast=4.0, beta_slow=0.5, truncate=False, attention_factor=1.3)),
    "llama_yarn_mscale": decoder("Llama", GROUPED, head_dim=16, rope_parameters=yarn(
        mscale=0.7, mscale_all_dim=1.2)),
    "llama_yarn_without_factor": decoder("Llama", GROUPED, head_dim=16,
                                         rope_parameters={**yarn(), "factor": None}),
    "llama_yarn_without_original": decoder("Llama", GROUPED, head_dim=16,
                                           rope_parameters=dict(rope_type="yarn",
                                                                rope_theta=10000.0,
                                                                factor=4.0)),
    "llama_longrope": decoder("Llama", GROUPED, head_dim=12, rope_parameters=longrope(
        12, 16, factor=4.0)),
    "mistral": decoder("Mistral", GROUPED, sliding_window=6),
    "mistral_whole": decoder("Mistral", GROUPED, sliding_window=None, head_dim=12),
    "mistral_default_groups": decoder("Mistral", DECODER, hidden_size=64,
                                      num_attention_heads=16),
    "qwen2": decoder("Qwen2", GROUPED),
    "qwen2_windows": decoder("Qwen2", GROUPED, num_hidden_layers=4, sliding_window=6,
                             use_sliding_window=True, max_window_layers=2),
    "qwen2_default_groups": decoder("Qwen2", DECODER, hidden_size=64,
                                    num_attention_heads=32, tie_word_embeddings=True),
    "qwen2_layer_types": decoder("Qwen2", GROUPED, use_sliding_window=True,
                                 sliding_window=6,
                                 layer_types=["sliding_attention", "full_attention",
                                              "sliding_attention"]),
    "qwen3": decoder("Qwen3", GROUPED, head_dim=12),
    "qwen3_default_head": decoder("Qwen3", GROUPED, num_hidden_layers=2),
    "qwen3_yarn": decoder("Qwen3", GROUPED, head_dim=16, rope_parameters=yarn()),
    "qwen3_biased": decoder("Qwen3", GROUPED, head_dim=12, attention_bias=True,
                            use_sliding_window=True, sliding_window=6,
                            max_window_layers=1, tie_word_embeddings=True),
    "phi3": decoder("Phi3", GROUPED),
    "phi3_window": decoder("Phi3", DECODER, sliding_window=6, hidden_size=96,
                           rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                                partial_rotary_factor=0.75)),
    "phi3_longrope": decoder("Phi3", GROUPED, original_max_position_embeddings=16,
                             rope_parameters=longrope(8, 16)),
    "phi3_partial_longrope": decoder("Phi3", DECODER, num_attention_heads=3,
                                     original_max_position_embeddings=16,
                                     rope_parameters=longrope(
                                         12, 16, partial_rotary_factor=0.75)),
    "phi3_longrope_short": decoder("Phi3", GROUPED, original_max_position_embeddings=32,
                                   rope_parameters=longrope(8, 32,
                                                            attention_factor=1.2)),
    "gemma2": decoder("Gemma2", GEMMA, num_hidden_layers=4),
    "gemma2_caps": decoder("Gemma2", GEMMA, attn_logit_softcapping=2.0,
                           final_logit_softcapping=5.0),
    "gemma2_uncapped": decoder("Gemma2", GEMMA, attn_logit_softcapping=None,
                               final_logit_softcapping=None),
    "gemma2_default_head": decoder("Gemma2", DECODER, num_attention_heads=4,
                                   num_hidden_layers=2),
    "gemma3": decoder("Gemma3Text", GEMMA, num_hidden_layers=6),
    "gemma3_pattern": decoder("Gemma3Text", GEMMA, attn_logit_softcapping=2.0,
                              final_logit_softcapping=5.0, layer_types=[
                                  "full_attention", "sliding_attention",
                                  "full_attention"], rope_parameters={
        "full_attention": dict(rope_type="default", rope_theta=5e5),
        "sliding_attention": dict(rope_type="default", rope_theta=2e4)}),
    "gemma3_every_third": decoder("Gemma3Text", GEMMA, num_hidden_layers=4,
                                  sliding_window_pattern=3),
    "gemma3_bidirectional": decoder("Gemma3Text", GEMMA, num_hidden_layers=6,
                                    sliding_window=10, use_bidirectional_attention=True),
    "gemma3_linear": decoder("Gemma3Text", GEMMA, num_hidden_layers=6, rope_parameters={
        "full_attention": dict(rope_type="linear", factor=8.0, rope_theta=1e6),
        "sliding_attention": dict(rope_type="default", rope_theta=1e4)}),
    "smollm3": decoder("SmolLM3", GROUPED, num_hidden_layers=5),
    "smollm3_layers": decoder("SmolLM3", GROUPED, no_rope_layers=[0, 1, 1],
                              use_sliding_window=True, sliding_window=6,
                              attention_bias=True, tie_word_embeddings=False),
    "smollm3_every_third": decoder("SmolLM3", GROUPED, no_rope_layer_interval=3),
    "olmo2": decoder("Olmo2", GROUPED),
    "olmo2_biased": decoder("Olmo2", DECODER, attention_bias=True, rms_norm_eps=1e-6,
                            rope_parameters=LLAMA3),
    "falcon_7b": decoder("Falcon", FALCON),
    "falcon_40b": decoder("Falcon", FALCON, new_decoder_architecture=True,
                          num_kv_heads=3),
    "falcon_11b": decoder("Falcon", FALCON, new_decoder_architecture=True,
                          num_kv_heads=3, num_ln_in_parallel_attn=1, ffn_hidden_size=56),
    "falcon_biased": decoder("Falcon", FALCON, multi_query=False, bias=True,
                             parallel_attn=False, tie_word_embeddings=False),
    # The slopes of 12 heads are not powers of 2, which bfloat16 has exactly.
    "falcon_alibi": decoder("Falcon", FALCON, alibi=True, multi_query=False, bias=True,
                            parallel_attn=False, num_attention_heads=12),
    "gpt_oss": decoder("GptOss", EXPERTS),
    "gpt_oss_plain": decoder("GptOss", EXPERTS, swiglu_limit=1.0,
                             rope_parameters=dict(rope_type="default",
                                                  rope_theta=10000.0)),
    "bert": encoder("Bert", SIZES),
    "bert_gelu_new": encoder("Bert", SIZES, "ForMaskedLM", hidden_act="gelu_new",
                             layer_norm_eps=1e-5),
    "distilbert": encoder("DistilBert", dict(
        vocab_size=VOCABULARY, dim=48, hidden_dim=40, n_layers=3, n_heads=6,
        max_position_embeddings=32), "ForMaskedLM"),
    "distilbert_sinusoidal": encoder("DistilBert", dict(
        vocab_size=VOCABULARY, dim=48, hidden_dim=40, n_layers=3, n_heads=6,
        max_position_embeddings=32, sinusoidal_pos_embds=True)),
    "roberta": encoder("Roberta", ROBERTA, "ForMaskedLM", layer_norm_eps=1e-5,
                       type_vocab_size=1),
    "roberta_pad": encoder("Roberta", ROBERTA, pad_token_id=5),
    "xlm_roberta": encoder("XLMRoberta", ROBERTA, layer_norm_eps=1e-5,
                           type_vocab_size=1),
    "camembert": encoder("Camembert", ROBERTA, "ForMaskedLM"),
    "mpnet": encoder("MPNet", ROBERTA),
    "mpnet_masked": encoder("MPNet", ROBERTA, "ForMaskedLM", layer_norm_eps=1e-5),
    "electra": encoder("Electra", SIZES, embedding_size=20),
    "electra_equal": encoder("Electra", SIZES, "ForPreTraining", embedding_size=48),
    "albert": encoder("Albert", ALBERT),
    "albert_groups": encoder("Albert", ALBERT, "ForMaskedLM", num_hidden_groups=2,
                             inner_group_num=2),
    "deberta_v3": encoder("DebertaV2", DEBERTA, position_buckets=8),
    "deberta_v2_conv": encoder("DebertaV2", DEBERTA, position_buckets=8,
                               conv_kernel_size=3, conv_act="gelu", type_vocab_size=2),
    "deberta_v2_conv_groups": encoder("DebertaV2", DEBERTA, conv_kernel_size=5,
                                      conv_groups=4, max_relative_positions=10),
    # A distance of 20 is on the edge of a bucket.
    "deberta_projections": encoder("DebertaV2", DEBERTA, share_att_key=False,
                                   position_buckets=20, max_relative_positions=81,
                                   pos_att_type="p2c|c2p", norm_rel_ebd="none",
                                   position_biased_input=True),
    "deberta_c2p": encoder("DebertaV2", DEBERTA, "ForMaskedLM", pos_att_type=["c2p"],
                           share_att_key=False, max_relative_positions=12),
    "deberta_p2c": encoder("DebertaV2", DEBERTA, pos_att_type=["p2c"],
                           share_att_key=False, embedding_size=20),
    "deberta_absolute": encoder("DebertaV2", DEBERTA, relative_attention=False,
                                position_biased_input=True),
    "modernbert": encoder("ModernBert", MODERN),
    "modernbert_biased": encoder("ModernBert", MODERN, "ForMaskedLM", norm_bias=True,
                                 attention_bias=True, mlp_bias=True, norm_eps=1e-6,
                                 layer_types=["sliding_attention", "full_attention",
                                              "sliding_attention", "full_attention",
                                              "sliding_attention"], rope_parameters={
        "full_attention": dict(rope_type="default", rope_theta=80000.0),
        "sliding_attention": dict(rope_type="default", rope_theta=5000.0)}),
    "modernbert_every_second": encoder("ModernBert", MODERN,
                                       global_attn_every_n_layers=2),
    "nomic_bert": encoder("NomicBert", SIZES, hidden_act="silu"),
    "nomic_bert_theta": encoder("NomicBert", SIZES, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0), layer_norm_eps=1e-5),
    "t5": both("T5", T5),
    "t5_default_buckets": both("T5", T5, relative_attention_num_buckets=32,
                               relative_attention_max_distance=128, d_kv=8),
    # Distances of 8 and 16 are on the edges of buckets of the encoder.
    "t5_edges": both("T5", T5, relative_attention_num_buckets=18,
                     relative_attention_max_distance=128),
    "t5_v11": both("T5", T5, True, feed_forward_proj="gated-gelu",
                   tie_word_embeddings=False, num_decoder_layers=2),
    "t5_gated_silu": both("T5", T5, feed_forward_proj="gated-silu",
                          num_decoder_layers=4),
    "bart": both("Bart", BART),
    "bart_scaled": both("Bart", BART, scale_embedding=True, decoder_layers=2,
                        decoder_attention_heads=4, activation_function="relu"),
}
