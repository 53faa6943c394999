// Gemma 2 and 3, the models of text.
#include <cmath>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// Both; the layers' rotations and windows are still open.
Description describe_gemma_like(Settings& settings) {
  Description made;
  made.prefix = "model.";
  StackSpec& stack = made.stack;
  stack.causal = true;
  stack.hidden_size = settings.size("hidden_size", 2304);
  stack.embedding = {
      .vocab_size = settings.size("vocab_size", 256000),
      .size = stack.hidden_size,
      .scale = std::sqrt(static_cast<double>(stack.hidden_size))};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = settings.size("num_attention_heads", 8);
  heads.num_kv_heads = settings.size("num_key_value_heads", 4);
  heads.head_dim = settings.size("head_dim", 256);
  heads.scale = 1 / std::sqrt(settings.number("query_pre_attn_scalar", 256));
  stack.feed_forward = {.size = settings.size("intermediate_size", 9216),
                        .activation = settings.activation("hidden_activation",
                                                          "gelu_pytorch_tanh")};
  stack.norm = {.kind = NormKind::rms,
                .eps = settings.number("rms_norm_eps", 1e-6),
                .plus_one = true};
  made.unembedding = settings.unembedding(true);
  made.unembedding->softcap =
      settings.optional_number("final_logit_softcapping");
  made.stack.layers = settings.layers("num_hidden_layers", 26);
  const bool bias = settings.flag("attention_bias", false);
  made.names = {{"embed_tokens", Part::tokens},
                {"norm", Part::final_norm},
                {"lm_head", Part::unembedding},
                {"layers.{N}.input_layernorm", Part::attention_before},
                {"layers.{N}.post_attention_layernorm", Part::attention_after},
                {"layers.{N}.pre_feedforward_layernorm", Part::feed_before},
                {"layers.{N}.post_feedforward_layernorm", Part::feed_after},
                {"layers.{N}.self_attn.q_proj", Part::w_q, Form::plain, bias},
                {"layers.{N}.self_attn.k_proj", Part::w_k, Form::plain, bias},
                {"layers.{N}.self_attn.v_proj", Part::w_v, Form::plain, bias},
                {"layers.{N}.self_attn.o_proj", Part::w_o, Form::plain, bias},
                {"layers.{N}.mlp.gate_proj", Part::gate},
                {"layers.{N}.mlp.up_proj", Part::up},
                {"layers.{N}.mlp.down_proj", Part::down}};
  return made;
}

// All layers but every `period`-th have the window and the second rotation, if
// there are two.
void set_layers(Settings& settings, std::size_t window, std::size_t period,
                Description& made) {
  auto& layers = made.stack.layers;
  settings.set_windows(
      window, [period](std::size_t n) { return (n + 1) % period != 0; }, made);
  for (std::size_t n = 0; n < layers.size(); ++n) {
    layers[n].rotary = layers[n].window ? made.stack.rotary.size() - 1 : 0;
  }
}

Result<Description> describe_gemma2(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_gemma_like(settings);
  HeadsSpec& heads = made.stack.heads;
  heads.softcap = settings.optional_number("attn_logit_softcapping");
  // Null turns a cap off. A missing key means the default.
  if (!config.json().find("attn_logit_softcapping")) {
    heads.softcap = 50;
  }
  if (!config.json().find("final_logit_softcapping")) {
    made.unembedding->softcap = 30;
  }
  made.stack.rotary = {
      settings.rotary(settings.rotary_dim(heads.head_dim), 10000)};
  set_layers(settings, settings.size("sliding_window", 4096), 2, made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Full layers and those with a window rotate by other angles. Old files scale
// those of full layers alone.
Result<Description> describe_gemma3(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_gemma_like(settings);
  HeadsSpec& heads = made.stack.heads;
  heads.qk_norm = made.stack.norm;
  made.names.insert(made.names.end(),
                    {{"layers.{N}.self_attn.q_norm", Part::q_norm},
                     {"layers.{N}.self_attn.k_norm", Part::k_norm}});
  const JsonPart nested = config.at("rope_parameters");
  const std::size_t dim = heads.head_dim;
  const double full_theta = settings.number("rope_theta", 1e6);
  const double sliding_theta = settings.number("rope_local_base_freq", 1e4);
  if (nested.at("full_attention").exists()) {
    made.stack.rotary = {
        settings.rotary_of(nested.at("full_attention"), dim, full_theta),
        settings.rotary_of(nested.at("sliding_attention"), dim, sliding_theta)};
  } else {
    made.stack.rotary = {
        settings.rotary(dim, full_theta),
        {.config = {.rotary_dim = dim, .base = sliding_theta}}};
  }
  std::size_t window = settings.size("sliding_window", 4096);
  if (settings.flag("use_bidirectional_attention", false)) {
    made.stack.causal = false;
    window = window / 2 + 1;  // the file has that of both sides together
  }
  set_layers(settings, window, settings.size("sliding_window_pattern", 6),
             made);
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kGemmaLike[] = {{"gemma2", describe_gemma2},
                                 {"gemma3_text", describe_gemma3}};

}  // namespace

constexpr std::span<const Family> kGemmaFamilies = kGemmaLike;

}  // namespace headwise::inline HEADWISE_ABI::transformer
