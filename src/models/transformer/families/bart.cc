// BART: an encoder-decoder with the layers of BERT.
#include <cmath>
#include <string>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// `side` is encoder or decoder.
NamedStack describe_bart_side(Settings& settings, const std::string& side) {
  NamedStack made;
  StackSpec& stack = made.stack;
  const bool is_decoder = side == "decoder";
  stack.causal = is_decoder;
  stack.hidden_size = settings.size("d_model", 1024);
  constexpr std::size_t kFirstPosition = 2;
  stack.embedding = {
      .vocab_size = settings.size("vocab_size", 50265),
      .size = stack.hidden_size,
      .scale = settings.flag("scale_embedding", false)
                   ? std::sqrt(static_cast<double>(stack.hidden_size))
                   : 1,
      .positions =
          settings.size("max_position_embeddings", 1024) + kFirstPosition,
      .first_position = kFirstPosition};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads =
      settings.size(side + "_attention_heads", 16);
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  stack.feed_forward = {
      .size = settings.size(side + "_ffn_dim", 4096),
      .activation = settings.activation("activation_function", "gelu")};
  stack.norm = {.kind = NormKind::layer, .eps = 1e-5};
  stack.layers = settings.layers(side + "_layers", 12);
  const std::string layer = side + ".layers.{N}.";
  const auto add = [&](std::string name, Part part) {
    made.names.push_back({std::move(name), part, Form::plain, true});
  };
  made.names = {{"shared", Part::tokens},
                {side + ".embed_positions", Part::positions}};
  add(side + ".layernorm_embedding", Part::embedding_norm);
  add(layer + "self_attn.q_proj", Part::w_q);
  add(layer + "self_attn.k_proj", Part::w_k);
  add(layer + "self_attn.v_proj", Part::w_v);
  add(layer + "self_attn.out_proj", Part::w_o);
  add(layer + "self_attn_layer_norm", Part::attention_behind);
  add(layer + "fc1", Part::up);
  add(layer + "fc2", Part::down);
  add(layer + "final_layer_norm", Part::feed_behind);
  if (is_decoder) {
    add(layer + "encoder_attn.q_proj", Part::cross_q);
    add(layer + "encoder_attn.k_proj", Part::cross_k);
    add(layer + "encoder_attn.v_proj", Part::cross_v);
    add(layer + "encoder_attn.out_proj", Part::cross_o);
    add(layer + "encoder_attn_layer_norm", Part::cross_behind);
    made.names.push_back({"lm_head", Part::unembedding});
    made.names.push_back({.name = "final_logits_bias",
                          .part = Part::unembedding_bias,
                          .whole_name = true});
  }
  return made;
}

Result<Description> describe_bart(const JsonPart& config) {
  Settings settings(config);
  Description made;
  made.prefix = "model.";
  made.encoder = describe_bart_side(settings, "encoder");
  static_cast<NamedStack&>(made) = describe_bart_side(settings, "decoder");
  made.decoder_start = settings.token("decoder_start_token_id", 2,
                                      made.stack.embedding.vocab_size);
  made.unembedding = settings.unembedding(true);
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kBart[] = {{"bart", describe_bart}};

}  // namespace

constexpr std::span<const Family> kBartFamilies = kBart;

}  // namespace headwise::inline HEADWISE_ABI::transformer
