#include "transformer/families/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

constexpr std::size_t kMostSize = (std::size_t{1} << 31U) - 1;

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr auto kActivationNames =
    std::to_array<ActivationName>({{"gelu", Activation::gelu},
                                   {"gelu_python", Activation::gelu},
                                   {"gelu_new", Activation::gelu_tanh},
                                   {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                   {"gelu_python_tanh", Activation::gelu_tanh},
                                   {"silu", Activation::silu},
                                   {"swish", Activation::silu},
                                   {"quick_gelu", Activation::quick_gelu},
                                   {"relu", Activation::relu}});

constexpr auto kRotaryTypes =
    std::to_array<std::string_view>({"default", "linear", "llama3", "yarn"});

}  // namespace

void Settings::keep(Status status) {
  if (status_) {
    status_ = std::move(status);
  }
}

std::size_t Settings::size(std::string_view key,
                           std::optional<std::size_t> missing,
                           std::size_t least) {
  std::size_t value = missing.value_or(least);
  keep(missing ? config_.get(key, value) : config_.require(key, value));
  if (status_ && (value < least || value > kMostSize)) {
    keep(config_.unexpected(
        key, message("a whole number from {} to {}", least, kMostSize)));
  }
  return status_ ? value : std::max<std::size_t>(least, 1);
}

std::vector<LayerSpec> Settings::layers(std::string_view key,
                                        std::optional<std::size_t> missing) {
  constexpr std::size_t kMostLayers = std::size_t{1} << 12U;
  const std::size_t count = size(key, missing);
  if (count > kMostLayers) {
    keep(config_.unexpected(
        key, message("a whole number from 1 to {}", kMostLayers)));
  }
  std::vector<LayerSpec> layers(std::min(count, kMostLayers));
  for (std::size_t n = 0; n < layers.size(); ++n) {
    layers[n].params = n;
  }
  return layers;
}

std::optional<std::size_t> Settings::optional_size(std::string_view key) {
  return config_.at(key).exists() ? std::optional(size(key)) : std::nullopt;
}

double Settings::number(std::string_view key, double missing) {
  keep(config_.get(key, missing));
  return missing;
}

std::optional<double> Settings::optional_number(std::string_view key) {
  return config_.at(key).exists() ? std::optional(number(key, 0))
                                  : std::nullopt;
}

bool Settings::flag(std::string_view key, bool missing) {
  keep(config_.get(key, missing));
  return missing;
}

Activation Settings::activation(std::string_view key,
                                std::string_view missing) {
  std::string name(missing);
  keep(config_.get(key, name));
  const auto found =
      std::ranges::find(kActivationNames, name, &ActivationName::name);
  if (found == kActivationNames.end()) {
    keep(config_.unexpected(key,
                            Message::verbatim(list_text(kActivationNames, ", ",
                                                        &ActivationName::name)),
                            ErrorCode::unsupported));
    return Activation::gelu;
  }
  return found->activation;
}

Status Settings::layer_type(std::size_t n, std::size_t layers,
                            std::span<const std::string_view> types,
                            std::size_t& type) {
  HEADWISE_ASSIGN(const auto listed, config_.list("layer_types"));
  if (listed.size() != layers) {
    return config_.at("layer_types")
        .fault(message("has length {}", listed.size()),
               message("{} as num_hidden_layers", layers));
  }
  std::string name;
  const auto found = std::ranges::find(
      types, listed[n].json().get(name) ? std::string_view(name) : "");
  if (found == types.end()) {
    return listed[n].fault("is not known",
                           Message::verbatim(list_text(types, ", ")),
                           ErrorCode::unsupported);
  }
  type = static_cast<std::size_t>(found - types.begin());
  return ok();
}

void Settings::require_flag(std::string_view key, bool expected) {
  if (flag(key, expected) != expected) {
    keep(config_.unexpected(key, expected ? "true" : "false",
                            ErrorCode::unsupported));
  }
}

void Settings::set_windows(std::optional<std::size_t> window,
                           FunctionRef<bool(std::size_t)> slides,
                           Description& made) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"full_attention", "sliding_attention"});
  auto& layers = made.stack.layers;
  for (std::size_t n = 0; n < layers.size(); ++n) {
    std::size_t type = slides(n) ? 1 : 0;
    if (config_.at("layer_types").exists()) {
      keep(layer_type(n, layers.size(), kTypes, type));
    }
    layers[n].window = type == 1 ? window : std::nullopt;
  }
}

UnembeddingSpec Settings::unembedding(bool tied) {
  std::vector<std::string> names;
  const JsonPart listed = config_.at("architectures");
  const bool is_base = listed.exists() && listed.json().get(names) &&
                       names.size() == 1 && names[0].ends_with("Model");
  tied = flag("tie_word_embeddings", tied);
  return {.tied = tied, .may_miss = is_base && !tied};
}

JsonPart Settings::rotary_settings() const {
  const JsonPart old = config_.at("rope_scaling");
  return old.exists() ? old : config_.at("rope_parameters");
}

std::size_t Settings::rotary_dim(std::size_t head_dim, double partial) {
  partial = number("partial_rotary_factor", partial);
  keep(rotary_settings().get("partial_rotary_factor", partial));
  return static_cast<std::size_t>(static_cast<double>(head_dim) * partial);
}

RotaryConfig Settings::rotary(std::size_t rotary_dim, double theta) {
  return rotary_of(rotary_settings(), rotary_dim, number("rope_theta", theta));
}

RotaryConfig Settings::rotary_of(const JsonPart& part, std::size_t rotary_dim,
                                 double theta) {
  RotaryConfig config{.rotary_dim = rotary_dim, .base = theta};
  keep(part.get("rope_theta", config.base));
  std::string type = "default";
  keep(part.get("type", type));
  keep(part.get("rope_type", type));
  double factor = 1;
  std::size_t original = size("max_position_embeddings", 2048);
  keep(config_.get("original_max_position_embeddings", original));
  keep(part.get("factor", factor));
  keep(part.get("original_max_position_embeddings", original));
  if (type == "linear") {
    config.scaling = LinearScaling{factor};
  } else if (type == "llama3") {
    Llama3Scaling scaling{.factor = factor, .original_length = original};
    keep(part.get("low_freq_factor", scaling.low_freq_factor));
    keep(part.get("high_freq_factor", scaling.high_freq_factor));
    config.scaling = scaling;
  } else if (type == "yarn") {
    const bool has_factor = part.at("factor").exists();
    const auto longest = size("max_position_embeddings", 2048);
    YarnScaling scaling{.factor = has_factor
                                      ? factor
                                      : static_cast<double>(longest) /
                                            static_cast<double>(original),
                        .original_length = original};
    keep(part.get("beta_fast", scaling.beta_fast));
    keep(part.get("beta_slow", scaling.beta_slow));
    keep(part.get("truncate", scaling.truncate));
    double mscale = 0;
    double of_all = 0;
    keep(part.get("mscale", mscale));
    keep(part.get("mscale_all_dim", of_all));
    const auto magnitude = [&](double by) {
      return scaling.factor > 1 ? 0.1 * by * std::log(scaling.factor) + 1 : 1;
    };
    double attention_factor = mscale != 0 && of_all != 0
                                  ? magnitude(mscale) / magnitude(of_all)
                                  : magnitude(1);
    keep(part.get("attention_factor", attention_factor));
    scaling.attention_factor = attention_factor;
    config.scaling = scaling;
  } else if (type != "default") {
    keep(part.unexpected(part.at("rope_type").exists() ? "rope_type" : "type",
                         Message::verbatim(list_text(kRotaryTypes, ", ")),
                         ErrorCode::unsupported));
  }
  return config;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
