// GPT-NeoX (Pythia), OPT and Falcon.
#include <algorithm>
#include <cmath>

#include "headwise/base/half.h"
#include "headwise/steps/alibi.h"
#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// What all three have.
Description describe_decoder(Settings& settings, std::string_view heads_key,
                             std::string_view layers_key) {
  Description made;
  StackSpec& stack = made.stack;
  stack.causal = true;
  stack.hidden_size = settings.size("hidden_size");
  stack.embedding = {.vocab_size = settings.size("vocab_size"),
                     .size = stack.hidden_size};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads = settings.size(heads_key);
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  stack.layers = settings.layers(layers_key);
  return made;
}

void rotate_all(RotarySpec rotary, Description& made) {
  made.stack.rotary = {std::move(rotary)};
  for (LayerSpec& layer : made.stack.layers) {
    layer.rotary = 0;
  }
}

Result<Description> describe_gpt_neox(const JsonPart& config) {
  Settings settings(config);
  Description made =
      describe_decoder(settings, "num_attention_heads", "num_hidden_layers");
  made.prefix = "gpt_neox.";
  StackSpec& stack = made.stack;
  stack.parallel = settings.flag("use_parallel_residual", true);
  stack.feed_forward = {
      .size = settings.size("intermediate_size"),
      .activation = settings.activation("hidden_act", "gelu")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_eps", 1e-5)};
  const double partial = settings.number("rotary_pct", 0.25);
  // transformers ignores rope_theta here.
  rotate_all(
      settings.rotary_of(settings.rotary_settings(),
                         settings.rotary_dim(stack.heads.head_dim, partial),
                         settings.number("rotary_emb_base", 10000)),
      made);
  made.unembedding = settings.unembedding(false);
  const bool bias = settings.flag("attention_bias", true);
  made.names = {
      {"embed_in", Part::tokens},
      {"final_layer_norm", Part::final_norm, Form::plain, true},
      {"embed_out", Part::unembedding},
      {"layers.{N}.input_layernorm", Part::attention_before, Form::plain, true},
      {"layers.{N}.attention.query_key_value", Part::w_qkv, Form::qkv_by_group,
       bias},
      {"layers.{N}.attention.dense", Part::w_o, Form::plain, bias},
      {"layers.{N}.post_attention_layernorm", Part::feed_before, Form::plain,
       true},
      {"layers.{N}.mlp.dense_h_to_4h", Part::up, Form::plain, true},
      {"layers.{N}.mlp.dense_4h_to_h", Part::down, Form::plain, true}};
  HEADWISE_TRY(settings.status());
  return made;
}

Result<Description> describe_opt(const JsonPart& config) {
  Settings settings(config);
  Description made =
      describe_decoder(settings, "num_attention_heads", "num_hidden_layers");
  made.prefix = "model.";
  StackSpec& stack = made.stack;
  constexpr std::size_t kFirstPosition = 2;
  stack.embedding.positions =
      settings.size("max_position_embeddings", 2048) + kFirstPosition;
  stack.embedding.first_position = kFirstPosition;
  stack.embedding.size =
      settings.size("word_embed_proj_dim", stack.hidden_size);
  stack.feed_forward = {
      .size = settings.size("ffn_dim"),
      .activation = settings.activation("activation_function", "relu")};
  stack.norm = {.kind = NormKind::layer, .eps = 1e-5};
  const bool before = settings.flag("do_layer_norm_before", true);
  const bool bias = settings.flag("enable_bias", true);
  made.unembedding = settings.unembedding(true);
  made.names = {
      {"decoder.embed_tokens", Part::tokens},
      {"decoder.embed_positions", Part::positions},
      {"lm_head", Part::unembedding},
      {"decoder.layers.{N}.self_attn_layer_norm",
       before ? Part::attention_before : Part::attention_behind, Form::plain,
       true},
      {"decoder.layers.{N}.self_attn.q_proj", Part::w_q, Form::plain, bias},
      {"decoder.layers.{N}.self_attn.k_proj", Part::w_k, Form::plain, bias},
      {"decoder.layers.{N}.self_attn.v_proj", Part::w_v, Form::plain, bias},
      {"decoder.layers.{N}.self_attn.out_proj", Part::w_o, Form::plain, bias},
      {"decoder.layers.{N}.final_layer_norm",
       before ? Part::feed_before : Part::feed_behind, Form::plain, true},
      {"decoder.layers.{N}.fc1", Part::up, Form::plain, bias},
      {"decoder.layers.{N}.fc2", Part::down, Form::plain, bias}};
  if (before && !settings.flag("_remove_final_layer_norm", false)) {
    made.names.push_back(
        {"decoder.final_layer_norm", Part::final_norm, Form::plain, true});
  }
  if (stack.embedding.size != stack.hidden_size) {
    made.names.insert(made.names.end(),
                      {{"decoder.project_in", Part::token_projection},
                       {"decoder.project_out", Part::unembedding_projection}});
  }
  if (!settings.flag("layer_norm_elementwise_affine", true)) {
    for (TensorName& row : made.names) {
      row.name = row.name.ends_with("layer_norm") ? "" : row.name;
    }
  }
  HEADWISE_TRY(settings.status());
  return made;
}

// The slopes are rounded to bfloat16.
Status set_slopes(Description& made) {
  // Too many are an error later.
  HEADWISE_ASSIGN(
      const auto slopes,
      alibi_slopes(std::min(made.stack.heads.num_heads, kMostHeads)));
  for (const float slope : slopes.elements()) {
    made.stack.heads.key_slopes.push_back(widened(narrowed_to_bfloat16(slope)));
  }
  return ok();
}

Result<Description> describe_falcon(const JsonPart& config) {
  Settings settings(config);
  Description made =
      describe_decoder(settings, "num_attention_heads", "num_hidden_layers");
  made.prefix = "transformer.";
  StackSpec& stack = made.stack;
  const bool is_new = settings.flag("new_decoder_architecture", false);
  HeadsSpec& heads = stack.heads;
  if (is_new) {
    heads.num_kv_heads = settings.size("num_kv_heads", heads.num_heads);
  } else if (settings.flag("multi_query", true)) {
    heads.num_kv_heads = 1;
  }
  stack.feed_forward = {
      .size = settings.size("ffn_hidden_size", 4 * stack.hidden_size),
      .activation = settings.activation("activation", "gelu")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_epsilon", 1e-5)};
  stack.parallel = is_new || settings.flag("parallel_attn", true);
  if (settings.flag("alibi", false)) {
    settings.keep(set_slopes(made));
  } else {
    rotate_all(settings.rotary(heads.head_dim, 10000), made);
  }
  made.unembedding = settings.unembedding(true);
  const bool has_two =
      is_new && settings.size("num_ln_in_parallel_attn", 2) == 2;
  const bool bias = settings.flag("bias", false);
  made.names = {{"word_embeddings", Part::tokens},
                {"ln_f", Part::final_norm, Form::plain, true},
                {"lm_head", Part::unembedding},
                {has_two ? "h.{N}.ln_attn" : "h.{N}.input_layernorm",
                 Part::attention_before, Form::plain, true},
                {"h.{N}.self_attention.query_key_value", Part::w_qkv,
                 Form::qkv_by_group, bias},
                {"h.{N}.self_attention.dense", Part::w_o, Form::plain, bias},
                {"h.{N}.mlp.dense_h_to_4h", Part::up, Form::plain, bias},
                {"h.{N}.mlp.dense_4h_to_h", Part::down, Form::plain, bias}};
  if (has_two || !stack.parallel) {
    made.names.push_back(
        {has_two ? "h.{N}.ln_mlp" : "h.{N}.post_attention_layernorm",
         Part::feed_before, Form::plain, true});
  }
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kDecoders[] = {{"gpt_neox", describe_gpt_neox},
                                {"opt", describe_opt},
                                {"falcon", describe_falcon}};

}  // namespace

constexpr std::span<const Family> kGptNeoxFamilies = kDecoders;

}  // namespace headwise::inline HEADWISE_ABI::transformer
