// T5: an encoder-decoder whose scores have a bias by distance and no scale.
#include <cmath>
#include <string>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// "relu", or "gated-X", where gated-gelu is that by tanh.
struct FeedForwardKind {
  Activation activation = Activation::relu;
  bool gated = false;
};

FeedForwardKind feed_forward_kind(Settings& settings) {
  constexpr std::string_view kKey = "feed_forward_proj";
  std::string name = "relu";
  settings.keep(settings.config().get(kKey, name));
  constexpr std::string_view kGated = "gated-";
  const bool gated = name.starts_with(kGated);
  name = gated ? name.substr(kGated.size()) : name;
  return {settings.activation_named(
              kKey, gated && name == "gelu" ? "gelu_new" : name),
          gated};
}

// `side` is encoder or decoder.
NamedStack describe_t5_side(Settings& settings, const std::string& side,
                            std::size_t layers) {
  NamedStack made;
  StackSpec& stack = made.stack;
  const bool is_decoder = side == "decoder";
  stack.causal = is_decoder;
  stack.hidden_size = settings.size("d_model", 512);
  stack.embedding = {.vocab_size = settings.size("vocab_size", 32128),
                     .size = stack.hidden_size};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads = settings.size("num_heads", 8);
  heads.head_dim = settings.size("d_kv", 64);
  heads.relative = {
      .buckets = settings.size("relative_attention_num_buckets", 32),
      .max_distance = settings.size("relative_attention_max_distance", 128),
      .bidirectional = !is_decoder};
  const FeedForwardKind kind = feed_forward_kind(settings);
  stack.feed_forward = {.size = settings.size("d_ff", 2048),
                        .activation = kind.activation};
  stack.norm = {.kind = NormKind::rms,
                .eps = settings.number("layer_norm_epsilon", 1e-6)};
  stack.layers.resize(layers);
  for (std::size_t n = 0; n < layers; ++n) {
    stack.layers[n].params = n;
  }
  const std::string layer = side + ".block.{N}.layer.";
  const std::string attention = layer + "0.SelfAttention.";
  const std::string last = layer + (is_decoder ? "2." : "1.");
  const std::string network = last + "DenseReluDense.";
  made.names = {{"shared", Part::tokens},
                {side + ".block.0.layer.0.SelfAttention."
                        "relative_attention_bias",
                 Part::relative},
                {layer + "0.layer_norm", Part::attention_before},
                {attention + "q", Part::w_q},
                {attention + "k", Part::w_k},
                {attention + "v", Part::w_v},
                {attention + "o", Part::w_o},
                {last + "layer_norm", Part::feed_before},
                {network + (kind.gated ? "wi_1" : "wi"), Part::up},
                {network + "wo", Part::down},
                {side + ".final_layer_norm", Part::final_norm}};
  if (kind.gated) {
    made.names.push_back({network + "wi_0", Part::gate});
  }
  if (is_decoder) {
    const std::string cross = layer + "1.EncDecAttention.";
    made.names.insert(made.names.end(),
                      {{layer + "1.layer_norm", Part::cross_before},
                       {cross + "q", Part::cross_q},
                       {cross + "k", Part::cross_k},
                       {cross + "v", Part::cross_v},
                       {cross + "o", Part::cross_o},
                       {"lm_head", Part::unembedding}});
  }
  return made;
}

Result<Description> describe_t5(const JsonPart& config) {
  Settings settings(config);
  Description made;
  const std::size_t layers = settings.layers("num_layers", 6).size();
  made.encoder = describe_t5_side(settings, "encoder", layers);
  if (settings.architecture() == "T5EncoderModel") {
    made.keep_encoder();
  } else {
    static_cast<NamedStack&>(made) =
        describe_t5_side(settings, "decoder",
                         settings.layers("num_decoder_layers", layers).size());
    made.decoder_start = settings.token("decoder_start_token_id", 0,
                                        made.stack.embedding.vocab_size);
    made.unembedding = settings.unembedding(true);
    // Files that say true of both, saved again, keep the truth in the first.
    const bool is_scaled =
        settings.flag("scale_decoder_outputs", made.unembedding->tied);
    made.unembedding->scale =
        is_scaled ? 1 / std::sqrt(static_cast<double>(made.stack.hidden_size))
                  : 1;
  }
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kT5[] = {{"t5", describe_t5}};

}  // namespace

constexpr std::span<const Family> kT5Families = kT5;

}  // namespace headwise::inline HEADWISE_ABI::transformer
