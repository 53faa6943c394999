// What config.json says, with the defaults of a family. The first thing that is
// wrong is kept for the end, so that a family reads like a table.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/steps/activation.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

class Settings {
 public:
  explicit Settings(const JsonPart& config) : config_(config) {}

  const JsonPart& config() const { return config_; }
  // Ok, or what was wrong first.
  const Status& status() const { return status_; }
  void keep(Status status);
  void keep(Error error) { keep(Status(std::move(error))); }

  // A whole number from 1 on; of a key that must be there without `missing`.
  std::size_t size(std::string_view key,
                   std::optional<std::size_t> missing = {},
                   std::size_t least = 1);
  // Below vocab_size.
  TokenId token(std::string_view key, TokenId missing, std::size_t vocab_size);
  // The number of layers, each with its number.
  std::vector<LayerSpec> layers(std::string_view key,
                                std::optional<std::size_t> missing = {});
  // hidden_size / heads; an error unless they divide it.
  std::size_t head_size(std::size_t hidden_size, std::size_t heads);
  // Nothing where the key is missing or null.
  std::optional<std::size_t> optional_size(std::string_view key);
  double number(std::string_view key, double missing);
  std::optional<double> optional_number(std::string_view key);
  bool flag(std::string_view key, bool missing);
  // By its name in transformers.
  Activation activation(std::string_view key, std::string_view missing);
  // The same of a name that the key says.
  Activation activation_named(std::string_view key, std::string_view name);

  // The place, in `types`, of layer `n` in layer_types, a list of a name for
  // each of `layers`.
  Status layer_type(std::size_t n, std::size_t layers,
                    std::span<const std::string_view> types, std::size_t& type);

  // An error unless the setting, if it is there, is `expected`: anything else
  // would be computed otherwise.
  void require_flag(std::string_view key, bool expected);
  void require_text(std::string_view key, std::string_view expected);

  // The rotation of `rotary_dim` features. What its settings do not say is the
  // family's: `theta`.
  RotarySpec rotary(std::size_t rotary_dim, double theta);
  // The same of one kind of layers, where the settings are nested.
  RotarySpec rotary_of(const JsonPart& settings, std::size_t rotary_dim,
                       double theta);
  // Layers whose entry in layer_types is sliding_attention have the window;
  // without that list, those that `slides` says.
  void set_windows(std::optional<std::size_t> window,
                   FunctionRef<bool(std::size_t)> slides, Description& made);
  // The one name in `architectures`; empty where there is another number.
  std::string architecture() const;
  // The unembedding; the model itself, without one, has none.
  UnembeddingSpec unembedding(bool tied);

  // rope_parameters, or rope_scaling of old files.
  JsonPart rotary_settings() const;
  // The part of a head that rotates.
  std::size_t rotary_dim(std::size_t head_dim, double partial = 1);

 private:
  JsonPart config_;
  Status status_ = ok();
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
