// ModernBERT and NomicBERT: encoders with rotary positions.
#include <cmath>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

Description describe_rotary_encoder(Settings& settings) {
  Description made;
  StackSpec& stack = made.stack;
  stack.hidden_size = settings.size("hidden_size", 768);
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads =
      settings.size("num_attention_heads", 12);
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  stack.embedding.size = stack.hidden_size;
  return made;
}

// Every third layer sees all keys and rotates by other angles.
Result<Description> describe_modernbert(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_rotary_encoder(settings);
  made.prefix = "model.";
  StackSpec& stack = made.stack;
  stack.embedding.vocab_size = settings.size("vocab_size", 50368);
  stack.feed_forward = {
      .size = settings.size("intermediate_size", 1152),
      .activation = settings.activation("hidden_activation", "gelu")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("norm_eps", 1e-5)};
  const JsonPart nested = config.at("rope_parameters");
  const std::size_t dim = stack.heads.head_dim;
  stack.rotary = {
      settings.rotary_of(nested.at("full_attention"), dim,
                         settings.number("global_rope_theta", 160000)),
      settings.rotary_of(nested.at("sliding_attention"), dim,
                         settings.number("local_rope_theta", 10000))};
  stack.layers = settings.layers("num_hidden_layers", 22);
  const std::size_t period = settings.size("global_attn_every_n_layers", 3);
  settings.set_windows(
      settings.size("local_attention", 128) / 2 + 1,
      [period](std::size_t n) { return n % period != 0; }, made);
  for (LayerSpec& layer : stack.layers) {
    layer.rotary = layer.window ? 1 : 0;
  }
  const bool norm_bias = settings.flag("norm_bias", false);
  const bool attention_bias = settings.flag("attention_bias", false);
  const bool mlp_bias = settings.flag("mlp_bias", false);
  made.names = {
      {"embeddings.tok_embeddings", Part::tokens},
      {"embeddings.norm", Part::embedding_norm, Form::plain, norm_bias},
      {"final_norm", Part::final_norm, Form::plain, norm_bias},
      {.name = "layers.{N}.attn_norm",
       .part = Part::attention_before,
       .bias = norm_bias,
       .first_layer = 1},
      {"layers.{N}.attn.Wqkv", Part::w_qkv, Form::plain, attention_bias},
      {"layers.{N}.attn.Wo", Part::w_o, Form::plain, attention_bias},
      {"layers.{N}.mlp_norm", Part::feed_before, Form::plain, norm_bias},
      {"layers.{N}.mlp.Wi", Part::gate_up, Form::plain, mlp_bias},
      {"layers.{N}.mlp.Wo", Part::down, Form::plain, mlp_bias}};
  HEADWISE_TRY(settings.status());
  return made;
}

// Published files have the keys of GPT-2, those of transformers its own.
Result<Description> describe_nomic_bert(const JsonPart& config) {
  Json merged = config.json();
  for (const auto& [old, key] : {std::pair("n_embd", "hidden_size"),
                                 {"n_head", "num_attention_heads"},
                                 {"n_layer", "num_hidden_layers"},
                                 {"n_inner", "intermediate_size"},
                                 {"n_positions", "max_position_embeddings"},
                                 {"layer_norm_epsilon", "layer_norm_eps"},
                                 {"rotary_emb_base", "rope_theta"}}) {
    if (const Json* const value = config.json().find(old)) {
      merged[key] = *value;
    }
  }
  Settings settings(JsonPart(&merged, config.subject(), config.path()));
  Description made = describe_rotary_encoder(settings);
  made.prefix = "nomic_bert.";
  StackSpec& stack = made.stack;
  stack.embedding.vocab_size = settings.size("vocab_size", 30528);
  stack.embedding.token_types = settings.size("type_vocab_size", 2, 0);
  stack.feed_forward = {
      .size = settings.size("intermediate_size", 3072),
      .activation = settings.activation("hidden_act", "silu")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_eps", 1e-12)};
  stack.rotary = {settings.rotary(stack.heads.head_dim, 1000)};
  stack.layers = settings.layers("num_hidden_layers", 12);
  for (LayerSpec& layer : stack.layers) {
    layer.rotary = 0;
  }
  made.names = {
      {"embeddings.word_embeddings", Part::tokens},
      {"emb_ln", Part::embedding_norm, Form::plain, true},
      {"encoder.layers.{N}.attn.Wqkv", Part::w_qkv},
      {"encoder.layers.{N}.attn.out_proj", Part::w_o},
      {"encoder.layers.{N}.norm1", Part::attention_behind, Form::plain, true},
      {"encoder.layers.{N}.mlp.fc12", Part::gate},
      {"encoder.layers.{N}.mlp.fc11", Part::up},
      {"encoder.layers.{N}.mlp.fc2", Part::down},
      {"encoder.layers.{N}.norm2", Part::feed_behind, Form::plain, true}};
  if (stack.embedding.token_types != 0) {
    made.names.push_back(
        {"embeddings.token_type_embeddings", Part::token_types});
  }
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kRotaryEncoders[] = {{"modernbert", describe_modernbert},
                                      {"nomic_bert", describe_nomic_bert}};

}  // namespace

constexpr std::span<const Family> kModernBertFamilies = kRotaryEncoders;

}  // namespace headwise::inline HEADWISE_ABI::transformer
