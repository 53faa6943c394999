// Llama, and the families that differ from it in a few settings.
#include <cmath>

#include "transformer/families.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// What a family has where config.json does not say.
struct LlamaDefaults {
  std::optional<std::size_t> num_kv_heads{};  // none: all heads
  std::optional<std::size_t> head_dim{};      // none: hidden_size / heads
  double eps = 1e-6;
  double theta = 10000;
  bool tied = false;
};

// Embeddings, norms, projections and the network, as Llama has them.
Description describe_llama_like(Settings& settings,
                                const LlamaDefaults& defaults) {
  Description made;
  made.prefix = "model.";
  StackSpec& stack = made.stack;
  stack.causal = true;
  stack.hidden_size = settings.size("hidden_size");
  stack.embedding = {.vocab_size = settings.size("vocab_size"),
                     .size = stack.hidden_size};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = settings.size("num_attention_heads");
  heads.num_kv_heads = settings.size(
      "num_key_value_heads", defaults.num_kv_heads.value_or(heads.num_heads));
  heads.head_dim = settings.size(
      "head_dim",
      defaults.head_dim.value_or(stack.hidden_size / heads.num_heads));
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  stack.feed_forward = {
      .size = settings.size("intermediate_size"),
      .activation = settings.activation("hidden_act", "silu")};
  stack.norm = {.kind = NormKind::rms,
                .eps = settings.number("rms_norm_eps", defaults.eps)};
  stack.rotary = {
      settings.rotary(settings.rotary_dim(heads.head_dim), defaults.theta)};
  stack.layers = settings.layers("num_hidden_layers");
  for (LayerSpec& layer : stack.layers) {
    layer.rotary = 0;
  }
  made.unembedding = settings.unembedding(defaults.tied);
  const bool mlp_bias = settings.flag("mlp_bias", false);
  made.names = {
      {"embed_tokens", Part::tokens},
      {"norm", Part::final_norm},
      {"lm_head", Part::unembedding},
      {"layers.{N}.input_layernorm", Part::attention_before},
      {"layers.{N}.post_attention_layernorm", Part::feed_before},
      {"layers.{N}.mlp.gate_proj", Part::gate, Form::plain, mlp_bias},
      {"layers.{N}.mlp.up_proj", Part::up, Form::plain, mlp_bias},
      {"layers.{N}.mlp.down_proj", Part::down, Form::plain, mlp_bias}};
  return made;
}

void add_projections(bool qkv_bias, bool o_bias, Description& made) {
  made.names.insert(
      made.names.end(),
      {{"layers.{N}.self_attn.q_proj", Part::w_q, Form::plain, qkv_bias},
       {"layers.{N}.self_attn.k_proj", Part::w_k, Form::plain, qkv_bias},
       {"layers.{N}.self_attn.v_proj", Part::w_v, Form::plain, qkv_bias},
       {"layers.{N}.self_attn.o_proj", Part::w_o, Form::plain, o_bias}});
}

Result<Description> describe_llama(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(settings, {});
  const bool bias = settings.flag("attention_bias", false);
  add_projections(bias, bias, made);
  HEADWISE_TRY(settings.status());
  return made;
}

Result<Description> describe_mistral(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(settings, {.num_kv_heads = 8});
  add_projections(false, false, made);
  // A file without the key has a window, one with null has none.
  settings.set_windows(
      config.json().find("sliding_window") == nullptr
          ? std::optional<std::size_t>(4096)
          : settings.optional_size("sliding_window"),
      [](std::size_t) { return true; }, made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Layers from max_window_layers on have a window, if it is used.
void set_qwen_windows(Settings& settings, Description& made) {
  const bool used = settings.flag("use_sliding_window", false);
  const std::size_t first = settings.size("max_window_layers", 28, 0);
  settings.set_windows(
      used ? settings.optional_size("sliding_window") : std::nullopt,
      [first](std::size_t n) { return n >= first; }, made);
}

Result<Description> describe_qwen2(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(settings, {.num_kv_heads = 32});
  add_projections(true, false, made);
  set_qwen_windows(settings, made);
  HEADWISE_TRY(settings.status());
  return made;
}

Result<Description> describe_qwen3(const JsonPart& config) {
  Settings settings(config);
  Description made =
      describe_llama_like(settings, {.num_kv_heads = 32, .head_dim = 128});
  const bool bias = settings.flag("attention_bias", false);
  add_projections(bias, bias, made);
  made.stack.heads.qk_norm = made.stack.norm;
  made.names.insert(made.names.end(),
                    {{"layers.{N}.self_attn.q_norm", Part::q_norm},
                     {"layers.{N}.self_attn.k_norm", Part::k_norm}});
  set_qwen_windows(settings, made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Projections are fused, and a head may rotate in part.
Result<Description> describe_phi3(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(settings, {.eps = 1e-5});
  std::erase_if(made.names, [](const TensorName& row) {
    return row.part == Part::gate || row.part == Part::up;
  });
  made.names.insert(made.names.end(),
                    {{"layers.{N}.self_attn.qkv_proj", Part::w_qkv},
                     {"layers.{N}.self_attn.o_proj", Part::w_o},
                     {"layers.{N}.mlp.gate_up_proj", Part::gate_up}});
  settings.set_windows(
      settings.optional_size("sliding_window"),
      [](std::size_t) { return true; }, made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Some layers do not rotate; those may have a window.
Result<Description> describe_smollm3(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(
      settings, {.num_kv_heads = 4, .theta = 2e6, .tied = true});
  const bool bias = settings.flag("attention_bias", false);
  add_projections(bias, bias, made);
  const std::size_t interval = settings.size("no_rope_layer_interval", 4);
  std::vector<int> listed;
  const JsonPart list = config.at("no_rope_layers");
  auto& layers = made.stack.layers;
  if (list.exists() &&
      !(list.json().get(listed) && listed.size() == layers.size())) {
    settings.keep(config.unexpected(
        "no_rope_layers", message("a list of {} numbers", layers.size())));
  }
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const bool rotates =
        n < listed.size() ? listed[n] != 0 : (n + 1) % interval != 0;
    layers[n].rotary = rotates ? std::optional<std::size_t>(0) : std::nullopt;
  }
  const bool used = settings.flag("use_sliding_window", false);
  settings.set_windows(
      used ? settings.optional_size("sliding_window") : std::nullopt,
      [&](std::size_t n) { return !layers[n].rotary; }, made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Norms are on what the parts give, and on all queries and keys of a token.
Result<Description> describe_olmo2(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_llama_like(settings, {.eps = 1e-5});
  const bool bias = settings.flag("attention_bias", false);
  add_projections(bias, bias, made);
  std::erase_if(made.names, [](const TensorName& row) {
    return row.part == Part::attention_before || row.part == Part::feed_before;
  });
  made.names.insert(
      made.names.end(),
      {{"layers.{N}.post_attention_layernorm", Part::attention_after},
       {"layers.{N}.post_feedforward_layernorm", Part::feed_after},
       {"layers.{N}.self_attn.q_norm", Part::q_norm},
       {"layers.{N}.self_attn.k_norm", Part::k_norm}});
  made.stack.heads.qk_norm = made.stack.norm;
  made.stack.heads.qk_norm->over = NormOver::projection;
  HEADWISE_TRY(settings.status());
  return made;
}

// gpt-oss: sinks, a window in every second layer, and experts.
Result<Description> describe_gpt_oss(const JsonPart& config) {
  Json merged = config.json();
  const auto has = [&merged](std::string_view key) {
    const Json* const value = merged.find(key);
    return value != nullptr && !value->is_null();
  };
  if (!has("rope_scaling") && !has("rope_parameters")) {
    merged["rope_scaling"] = {{"rope_type", "yarn"},
                              {"factor", 32.0},
                              {"truncate", false},
                              {"original_max_position_embeddings", 4096}};
  }
  Settings settings(JsonPart(&merged, config.subject(), config.path()));
  Description made = describe_llama_like(
      settings,
      {.num_kv_heads = 8, .head_dim = 64, .eps = 1e-5, .theta = 150000});
  const bool bias = settings.flag("attention_bias", true);
  add_projections(bias, bias, made);
  settings.set_windows(
      settings.size("sliding_window", 128),
      [](std::size_t n) { return n % 2 == 0; }, made);
  ExpertsSpec experts{.count = settings.size("num_local_experts", 128),
                      .chosen = settings.size("num_experts_per_tok", 4),
                      .limit = settings.number("swiglu_limit", 7)};
  if (experts.chosen > experts.count) {
    settings.keep(config.unexpected(
        "num_experts_per_tok",
        message("at most num_local_experts = {}", experts.count)));
  }
  // The activation is x sigmoid(1.702 x), whatever hidden_act says.
  if (settings.number("swiglu_alpha", 1.702) != 1.702) {
    settings.keep(
        config.unexpected("swiglu_alpha", "1.702", ErrorCode::unsupported));
  }
  made.stack.feed_forward.activation = Activation::quick_gelu;
  made.stack.feed_forward.experts = experts;
  std::erase_if(made.names, [](const TensorName& row) {
    return row.part == Part::gate || row.part == Part::up ||
           row.part == Part::down;
  });
  const auto whole = [](std::string name, Part part) {
    return TensorName{
        .name = std::move(name), .part = part, .whole_name = true};
  };
  made.names.insert(
      made.names.end(),
      {{"layers.{N}.mlp.router", Part::router, Form::plain, true},
       whole("layers.{N}.mlp.experts.gate_up_proj", Part::experts_gate_up),
       whole("layers.{N}.mlp.experts.down_proj", Part::experts_down),
       whole("layers.{N}.self_attn.sinks", Part::sinks)});
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kLlamaLike[] = {
    {"llama", describe_llama}, {"mistral", describe_mistral},
    {"qwen2", describe_qwen2}, {"qwen3", describe_qwen3},
    {"phi3", describe_phi3},   {"smollm3", describe_smollm3},
    {"olmo2", describe_olmo2}, {"gpt_oss", describe_gpt_oss}};

}  // namespace

constexpr std::span<const Family> kLlamaFamilies = kLlamaLike;

}  // namespace headwise::inline HEADWISE_ABI::transformer
