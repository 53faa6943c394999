// headwise's own causal model: attention alone, small enough to be understood
// (`headwise train --task induction`). Source: Elhage et al. 2021, "A
// mathematical framework for transformer circuits".
#include <cmath>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

Result<Description> describe_causal(const JsonPart& config) {
  Settings settings(config);
  Description made;
  StackSpec& stack = made.stack;
  stack.causal = true;
  stack.hidden_size = settings.size("hidden_size");
  stack.embedding = {.vocab_size = settings.size("vocab_size"),
                     .size = stack.hidden_size,
                     .positions = settings.size("max_position_embeddings")};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads = settings.size("num_attention_heads");
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_eps", 1e-5)};
  stack.layers = settings.layers("num_hidden_layers");
  made.unembedding = UnembeddingSpec{};
  made.names = {{"token", Part::tokens},
                {"position", Part::positions},
                {"layers.{N}.norm", Part::attention_before, Form::plain, true},
                {"layers.{N}.w_q", Part::w_q, Form::plain, true},
                {"layers.{N}.w_k", Part::w_k, Form::plain, true},
                {"layers.{N}.w_v", Part::w_v, Form::plain, true},
                {"layers.{N}.w_o", Part::w_o, Form::plain, true},
                {"norm", Part::final_norm, Form::plain, true},
                {"unembedding", Part::unembedding}};
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kCausalLike[] = {{"headwise-causal", describe_causal}};

}  // namespace

constexpr std::span<const Family> kCausalFamilies = kCausalLike;

}  // namespace headwise::inline HEADWISE_ABI::transformer
