// GPT-2.
#include <cmath>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

Result<Description> describe_gpt2(const JsonPart& config) {
  Settings settings(config);
  Description made;
  made.prefix = "transformer.";
  StackSpec& stack = made.stack;
  stack.causal = true;
  stack.hidden_size = settings.size("n_embd", 768);
  stack.embedding = {.vocab_size = settings.size("vocab_size", 50257),
                     .size = stack.hidden_size,
                     .positions = settings.size("n_positions", 1024)};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads = settings.size("n_head", 12);
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = settings.flag("scale_attn_weights", true)
                    ? 1 / std::sqrt(static_cast<double>(heads.head_dim))
                    : 1;
  settings.require_flag("add_cross_attention", false);
  stack.feed_forward = {
      .size = settings.size("n_inner", 4 * stack.hidden_size),
      .activation = settings.activation("activation_function", "gelu_new")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_epsilon", 1e-5)};
  stack.layers = settings.layers("n_layer", 12);
  const bool by_layer = settings.flag("scale_attn_by_inverse_layer_idx", false);
  for (std::size_t n = 0; n < stack.layers.size(); ++n) {
    stack.layers[n].scale = by_layer ? 1 / static_cast<double>(n + 1) : 1;
  }
  made.unembedding = settings.unembedding(true);
  made.names = {{"wte", Part::tokens},
                {"wpe", Part::positions},
                {"ln_f", Part::final_norm, Form::plain, true},
                {"lm_head", Part::unembedding},
                {"h.{N}.ln_1", Part::attention_before, Form::plain, true},
                {"h.{N}.attn.c_attn", Part::w_qkv, Form::transposed, true},
                {"h.{N}.attn.c_proj", Part::w_o, Form::transposed, true},
                {"h.{N}.ln_2", Part::feed_before, Form::plain, true},
                {"h.{N}.mlp.c_fc", Part::up, Form::transposed, true},
                {"h.{N}.mlp.c_proj", Part::down, Form::transposed, true}};
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kGpt2Like[] = {{"gpt2", describe_gpt2}};

}  // namespace

constexpr std::span<const Family> kGpt2Families = kGpt2Like;

}  // namespace headwise::inline HEADWISE_ABI::transformer
