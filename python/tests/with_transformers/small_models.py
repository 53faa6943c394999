"""Small models with random parameters, one per architecture. Nothing is
downloaded.
"""
import functools

import torch
import transformers as tf

WORDS = 64
_SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2,
              num_attention_heads=4, vocab_size=WORDS, max_position_embeddings=128)
_ENDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=None)
_GROUPED = dict(num_key_value_heads=2, **_SIZES, **_ENDS)
_ENCODER_DECODER = dict(
    d_model=32, vocab_size=WORDS, encoder_layers=2, decoder_layers=2,
    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
    decoder_ffn_dim=48, decoder_start_token_id=1, **_ENDS)


def _bert():
    return tf.BertForMaskedLM(tf.BertConfig(**_SIZES))


def _roberta():
    return tf.RobertaForMaskedLM(tf.RobertaConfig(**_SIZES))


def _distilbert():
    return tf.DistilBertForMaskedLM(tf.DistilBertConfig(
        dim=32, hidden_dim=48, n_layers=2, n_heads=4, vocab_size=WORDS,
        max_position_embeddings=128))


def _gpt2():
    return tf.GPT2LMHeadModel(tf.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=128, **_ENDS))


def _gpt_neox():
    return tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**_SIZES, **_ENDS))


def _llama():
    return tf.LlamaForCausalLM(tf.LlamaConfig(**_GROUPED))


def _mistral():
    return tf.MistralForCausalLM(tf.MistralConfig(sliding_window=6, **_GROUPED))


def _qwen2():
    return tf.Qwen2ForCausalLM(tf.Qwen2Config(**_GROUPED))


def _qwen3():
    return tf.Qwen3ForCausalLM(tf.Qwen3Config(head_dim=16, **_GROUPED))


def _gemma2():
    return tf.Gemma2ForCausalLM(tf.Gemma2Config(
        head_dim=16, query_pre_attn_scalar=16, sliding_window=6,
        attn_logit_softcapping=2.0, **_GROUPED))


def _gemma3():
    return tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(
        head_dim=16, query_pre_attn_scalar=16, sliding_window=6,
        layer_types=["sliding_attention", "full_attention"], **_GROUPED))


def _modernbert():
    return tf.ModernBertForMaskedLM(tf.ModernBertConfig(
        local_attention=8, global_attn_every_n_layers=2, **_SIZES, **_ENDS))


def _albert():
    return tf.AlbertForMaskedLM(tf.AlbertConfig(embedding_size=16, **_SIZES))


def _phi3():
    return tf.Phi3ForCausalLM(tf.Phi3Config(
        original_max_position_embeddings=128, **_GROUPED))


def _gpt_oss():
    return tf.GptOssForCausalLM(tf.GptOssConfig(
        head_dim=16, sliding_window=6, num_local_experts=2, num_experts_per_tok=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, **_GROUPED))


def _t5():
    return tf.T5ForConditionalGeneration(tf.T5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=WORDS,
        decoder_start_token_id=1, **_ENDS))


def _bart():
    return tf.BartForConditionalGeneration(tf.BartConfig(
        max_position_embeddings=128, forced_eos_token_id=None, **_ENCODER_DECODER))


def _vit():
    return tf.ViTForImageClassification(tf.ViTConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, image_size=16, patch_size=4, num_labels=5))


def _whisper():
    return tf.WhisperForConditionalGeneration(tf.WhisperConfig(
        num_mel_bins=8, max_source_positions=16, max_target_positions=128,
        suppress_tokens=None, begin_suppress_tokens=None, **_ENCODER_DECODER))


def _opt():
    return tf.OPTForCausalLM(tf.OPTConfig(
        hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
        vocab_size=WORDS, max_position_embeddings=128, word_embed_proj_dim=32, **_ENDS))


def _gpt_bigcode():
    return tf.GPTBigCodeForCausalLM(tf.GPTBigCodeConfig(
        n_embd=32, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=128, **_ENDS))


def _stablelm():
    return tf.StableLmForCausalLM(tf.StableLmConfig(**_GROUPED))


def _nemotron():
    return tf.NemotronForCausalLM(tf.NemotronConfig(**_GROUPED))


def _persimmon():
    return tf.PersimmonForCausalLM(tf.PersimmonConfig(**_SIZES, **_ENDS))


def _siglip():
    return tf.SiglipVisionModel(tf.SiglipVisionConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, image_size=16, patch_size=4))


_HEADED = dict(head_dim=8, **_GROUPED)
_EXPERTS = dict(num_experts=2, num_local_experts=2, n_routed_experts=2, moe_num_experts=2,
                num_experts_per_tok=2, moe_k=2, moe_intermediate_size=16,
                shared_expert_intermediate_size=16, **_HEADED)
_LATENT = dict(q_lora_rank=12, kv_lora_rank=12, qk_rope_head_dim=4, qk_nope_head_dim=6,
               v_head_dim=8, n_group=1, topk_group=1, first_k_dense_replace=1,
               **{**_EXPERTS, "num_key_value_heads": 4, "head_dim": 4})
_IMAGE = dict(image_size=16, patch_size=4, **_SIZES)
_T5 = dict(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=WORDS,
           num_sparse_encoder_layers=0, num_sparse_decoder_layers=0,
           decoder_start_token_id=1, **_ENDS)
_SPEECH = dict(conv_dim=(8, 8), conv_stride=(4, 2), conv_kernel=(4, 2),
               num_feat_extract_layers=2, num_conv_pos_embeddings=4,
               num_conv_pos_embedding_groups=2, **_SIZES, **_ENDS)
_CROSS = dict(is_decoder=True, add_cross_attention=True)
_OF_GPT2 = dict(n_embd=32, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=128, **_ENDS)


def _of(name, head, sizes, config=None, **more):
    """Makes a model of the class `name` + `head`."""
    def make():
        of_config = getattr(tf, (config or name) + "Config")
        return getattr(tf, name + head)(of_config(**{**sizes, **more}))
    return make


def _each(names, head, sizes):
    return {name.lower(): _of(name, head, sizes) for name in names.split()}


def _clip():
    return tf.CLIPModel(tf.CLIPConfig(
        text_config={**_SIZES, **_ENDS, "eos_token_id": 2}, vision_config=_IMAGE,
        projection_dim=16))


def _t5gemma():
    stack = tf.T5GemmaModuleConfig(query_pre_attn_scalar=8, **_HEADED).to_dict()
    return tf.T5GemmaForConditionalGeneration(tf.T5GemmaConfig(
        encoder=stack, decoder=stack, vocab_size=WORDS))


def jamba():
    """Layers 1 and 3 of 4 have attention."""
    return tf.JambaForCausalLM(tf.JambaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=WORDS, attn_layer_period=2, attn_layer_offset=1,
        mamba_d_state=4, mamba_dt_rank=4, num_experts=2, use_mamba_kernels=False)).eval()


MODELS = {
    "bert": _bert, "roberta": _roberta, "distilbert": _distilbert, "gpt2": _gpt2,
    "gpt_neox": _gpt_neox, "llama": _llama, "mistral": _mistral, "qwen2": _qwen2,
    "qwen3": _qwen3, "gemma2": _gemma2, "gemma3": _gemma3, "phi3": _phi3,
    "gpt_oss": _gpt_oss, "modernbert": _modernbert, "albert": _albert,
    "t5": _t5, "bart": _bart, "vit": _vit, "whisper": _whisper,
    "opt": _opt, "gpt_bigcode": _gpt_bigcode, "stablelm": _stablelm,
    "nemotron": _nemotron, "persimmon": _persimmon, "siglip": _siglip,
}

_DECODERS = """Gemma Starcoder2 Granite SmolLM3 Olmo Olmo2 Helium Glm Glm4 Arcee Ministral
    Ministral3 Exaone4 Ernie4_5 SeedOss HunYuanDenseV1 Apertus Cohere2 Phi"""
_ENCODERS = """Electra Camembert XLMRoberta XLMRobertaXL Data2VecText Ernie Esm
    RobertaPreLayerNorm Albert ModernBert EuroBert NomicBert"""
_OF_IMAGES = "DeiT Beit Dinov2 ViTMSN"
_OF_SPEECH = "Wav2Vec2 Hubert"
_TRANSLATORS = "MBart Pegasus M2M100 Blenderbot BlenderbotSmall"
_OF_T5 = "MT5 UMT5 SwitchTransformers"

MODELS.update({
    **_each(_DECODERS, "ForCausalLM", _HEADED),
    **_each("Mixtral Qwen2Moe Qwen3Moe GraniteMoe Olmoe Phimoe", "ForCausalLM", _EXPERTS),
    **_each("DeepseekV2 DeepseekV3", "ForCausalLM", _LATENT),
    **_each(_ENCODERS, "ForMaskedLM", {**_SIZES, **_ENDS}),
    **_each(_OF_IMAGES, "Model", _IMAGE),
    **_each(_OF_SPEECH, "Model", _SPEECH),
    **_each(_TRANSLATORS, "ForConditionalGeneration", dict(
        max_position_embeddings=128, forced_eos_token_id=None, **_ENCODER_DECODER)),
    **_each(_OF_T5, "ForConditionalGeneration", _T5),
    "gemma3": _of("Gemma3", "ForCausalLM", _HEADED, "Gemma3Text", sliding_window=6),
    "cohere": _of("Cohere", "ForCausalLM", _GROUPED, use_qk_norm=True),
    "stablelm_normed": _of("StableLm", "ForCausalLM", _GROUPED, qk_layernorm=True),
    "gptj": _of("GPTJ", "ForCausalLM", _OF_GPT2, rotary_dim=4),
    "gpt_bigcode_heads": _of("GPTBigCode", "ForCausalLM", _OF_GPT2, multi_query=False),
    "deepseekv3_plain": _of("DeepseekV3", "ForCausalLM", _LATENT, q_lora_rank=None),
    "modernbertdecoder": _of("ModernBertDecoder", "ForCausalLM", {**_SIZES, **_ENDS}),
    "biogpt": _of("BioGpt", "ForCausalLM", {**_SIZES, **_ENDS}),
    "bert_decoder": _of("Bert", "LMHeadModel", _SIZES, **_CROSS),
    "gpt2_decoder": _of("GPT2", "LMHeadModel", _OF_GPT2, **_CROSS),
    "clip": _clip, "t5gemma": _t5gemma,
})
_WITH_DECODER = {"t5", "bart", "t5gemma", *_TRANSLATORS.lower().split(),
                 *_OF_T5.lower().split()}
_WITH_IMAGES = {"vit", "siglip", *_OF_IMAGES.lower().split()}


def small_model(name: str) -> torch.nn.Module:
    """In evaluation, with parameters that are not tiny, so that attention is far
    from uniform and biases are not 0.
    """
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.25)
            else:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


@functools.cache
def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def words(batch: int, length: int) -> torch.Tensor:
    """Token ids, (batch, length), none of which is padding."""
    generator = torch.Generator().manual_seed(length)
    return torch.randint(4, WORDS, (batch, length), generator=generator)


def inputs_of(name: str, batch: int = 2, length: int = 11) -> dict[str, torch.Tensor]:
    """Arguments of the model, without padding."""
    if name in _WITH_IMAGES:
        return {"pixel_values": _random(batch, 3, 16, 16)}
    if name == "whisper":
        return {"input_features": _random(batch, 8, 32),
                "decoder_input_ids": words(batch, length)}
    if name in _OF_SPEECH.lower().split():
        return {"input_values": _random(batch, 96)}
    if name == "clip":
        return {"input_ids": words(batch, length),
                "pixel_values": _random(batch, 3, 16, 16)}
    if name in ("bert_decoder", "gpt2_decoder"):
        return {"input_ids": words(batch, length),
                "encoder_hidden_states": _random(batch, 7, 32)}
    if name in _WITH_DECODER:
        return {"input_ids": words(batch, length),
                "decoder_input_ids": words(batch, length - 2)}
    return {"input_ids": words(batch, length)}
