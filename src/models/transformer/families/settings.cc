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

TokenId Settings::token(std::string_view key, TokenId missing,
                        std::size_t vocab_size) {
  const std::size_t id = size(key, static_cast<std::size_t>(missing), 0);
  if (status_ && id >= vocab_size) {
    keep(config_.unexpected(key, message("less than {}", vocab_size)));
  }
  return static_cast<TokenId>(id);
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

std::size_t Settings::head_size(std::size_t hidden_size, std::size_t heads) {
  if (hidden_size % heads != 0) {
    keep(config_.fault(
        message("has {} heads", heads),
        message("a divisor of its hidden size, {}", hidden_size)));
  }
  return hidden_size / heads;
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
  return activation_named(key, name);
}

Activation Settings::activation_named(std::string_view key,
                                      std::string_view name) {
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

void Settings::require_text(std::string_view key, std::string_view expected) {
  std::string given(expected);
  keep(config_.get(key, given));
  if (given != expected) {
    keep(config_.unexpected(key, Message::verbatim(std::string(expected)),
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

std::string Settings::architecture() const {
  std::vector<std::string> names;
  const JsonPart listed = config_.at("architectures");
  return listed.exists() && listed.json().get(names) && names.size() == 1
             ? names[0]
             : "";
}

UnembeddingSpec Settings::unembedding(bool tied) {
  tied = flag("tie_word_embeddings", tied);
  return {.tied = tied, .may_miss = !tied && architecture().ends_with("Model")};
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
