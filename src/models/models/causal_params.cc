#include "models/causal_params.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "headwise/interop/array.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/folder.h"
#include "interop/param_file.h"
#include "models/model_files.h"
#include "transformer/kept_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCausalParams = "read_causal_model";

// ---- Drawn. ----

// Each part of the parameters has random numbers of its own.
enum Stream : std::uint32_t { kToken = 16, kPosition, kUnembedding };

Result<Embedding> drawn_table(std::size_t rows, std::size_t size, Seed seed,
                              Stream stream) {
  HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset({rows, size}));
  RandomStream(seed, stream).fill_normal(weight.elements());
  return Embedding::from_weight(std::move(weight));
}

// The layers of one seed have different numbers.
Seed seed_of_layer(Seed seed, std::size_t layer) {
  const PhiloxCounter words =
      philox4x32({static_cast<std::uint32_t>(layer), 0, 0, 0},
                 {static_cast<std::uint32_t>(seed.value),
                  static_cast<std::uint32_t>(seed.value >> 32)});
  return {words[0] | std::uint64_t{words[1]} << 32};
}

Result<LayerNormParams> new_norm(const CausalConfig& config) {
  HEADWISE_ASSIGN(auto weight, Tensor<float, 1>::create({config.hidden_size}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({config.hidden_size}));
  std::ranges::fill(weight.elements(), 1.0f);
  return LayerNormParams{std::move(weight), std::move(bias),
                         config.layer_norm_eps};
}

// ---- Read. ----

using Axis = std::pair<std::string_view, std::size_t>;
using CausalAxes = std::initializer_list<Axis>;

class CausalReader {
 public:
  static Result<CausalReader> open(const std::string& folder,
                                   CausalConfig config) {
    HEADWISE_ASSIGN(const auto path, find_params(kCausalParams, folder));
    HEADWISE_ASSIGN(auto file, ParamFile::open(kCausalParams, path));
    const FileSubject subject{std::string(kCausalParams), path};
    HEADWISE_TRY(read_kept_heads(file.metadata(), subject, config.num_layers,
                                 config.num_heads, config.kept_heads));
    return CausalReader(std::move(file), std::move(config));
  }

  const CausalConfig& config() const { return config_; }

  Result<Embedding> table(const std::string& name, Axis rows) const {
    HEADWISE_ASSIGN(auto weight,
                    tensor<2>(name + ".weight", {rows, hidden_size()}));
    return Embedding::from_weight(std::move(weight));
  }

  Result<LayerNormParams> norm(const std::string& name) const {
    HEADWISE_ASSIGN(auto weight, tensor<1>(name + ".weight", {hidden_size()}));
    HEADWISE_ASSIGN(auto bias, tensor<1>(name + ".bias", {hidden_size()}));
    return LayerNormParams{std::move(weight), std::move(bias),
                           config_.layer_norm_eps};
  }

  Result<Linear> unembedding() const {
    HEADWISE_ASSIGN(auto weight, tensor<2>("unembedding.weight",
                                           {{"vocab_size", config_.vocab_size},
                                            hidden_size()}));
    return Linear::from_params(std::move(weight));
  }

  Result<CausalLayer> layer(std::size_t number) const {
    const std::size_t heads = config_.kept_heads.empty()
                                  ? config_.num_heads
                                  : config_.kept_heads[number].size();
    const Axis features = {"features",
                           heads * (config_.hidden_size / config_.num_heads)};
    const auto linear = [&](std::string_view part, Axis out, Axis in) {
      return this->linear(causal_name(number, part), out, in);
    };
    auto norm = this->norm(causal_name(number, "norm"));
    auto w_q = linear("w_q", features, hidden_size());
    auto w_k = linear("w_k", features, hidden_size());
    auto w_v = linear("w_v", features, hidden_size());
    auto w_o = linear("w_o", hidden_size(), features);
    HEADWISE_TRY(norm);
    HEADWISE_TRY(w_q);
    HEADWISE_TRY(w_k);
    HEADWISE_TRY(w_v);
    HEADWISE_TRY(w_o);
    HEADWISE_ASSIGN(auto attention, MultiHeadAttention::from_params(
                                        {*std::move(w_q), *std::move(w_k),
                                         *std::move(w_v), *std::move(w_o)},
                                        heads));
    return CausalLayer{*std::move(norm), std::move(attention)};
  }

 private:
  CausalReader(ParamFile file, CausalConfig config)
      : file_(std::move(file)), config_(std::move(config)) {}

  Axis hidden_size() const { return {"hidden_size", config_.hidden_size}; }

  Result<Linear> linear(const std::string& name, Axis out, Axis in) const {
    HEADWISE_ASSIGN(auto weight, tensor<2>(name + ".weight", {out, in}));
    HEADWISE_ASSIGN(auto bias, tensor<1>(name + ".bias", {out}));
    return Linear::from_params(std::move(weight), std::move(bias));
  }

  template <std::size_t Rank>
  Result<Tensor<float, Rank>> tensor(const std::string& name,
                                     CausalAxes axes) const {
    const FileSubject subject{std::string(kCausalParams), file_.path()};
    if (!file_.names().contains(name)) {
      return subject.bad_data(message("has no {}", printable(name)));
    }
    HEADWISE_ASSIGN(const auto array, file_.read(name));
    std::string words;
    std::vector<std::size_t> expected;
    for (const auto& [word, size] : axes) {
      words += (words.empty() ? "(" : ", ") + std::string(word);
      expected.push_back(size);
    }
    Status s =
        check_shape(kCausalParams, name, array.shape, words + ")", expected);
    s = s ? check_finite(array.view(), kCausalParams, name) : s;
    if (!s) {
      return subject.blame(s.error());
    }
    auto made = to_float<Rank>(array, kCausalParams, name);
    return made ? std::move(made) : subject.blame(made.error());
  }

  ParamFile file_;
  CausalConfig config_;
};

// One layer's memory serves all, which run one after another.
void share_memory(std::vector<CausalLayer>& layers) {
  for (std::size_t n = 1; n < layers.size(); ++n) {
    layers[n].attention.share_memory_with(layers.front().attention);
  }
}

// What read_causal_config() checks in a file; the layers check the rest.
Status check_config(const CausalConfig& config) {
  for (const auto& [name, size] :
       {std::pair("config.vocab_size", config.vocab_size),
        {"config.hidden_size", config.hidden_size},
        {"config.num_layers", config.num_layers},
        {"config.num_heads", config.num_heads},
        {"config.max_positions", config.max_positions}}) {
    HEADWISE_TRY(check_at_least_one(kCausalParams, name, size));
  }
  if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
    return value_error(kCausalParams, "config.layer_norm_eps",
                       number_text(config.layer_norm_eps),
                       "a number between 0 and 1");
  }
  return config.kept_heads.empty()
             ? ok()
             : argument_error(
                   kCausalParams, "config.kept_heads",
                   message("has {} layers", config.kept_heads.size()),
                   "none: a new model has all its heads");
}

Status check_vocabulary(const CausalConfig& config,
                        const Vocabulary& vocabulary) {
  return config.vocab_size == vocabulary.size()
             ? ok()
             : argument_error(kCausalParams, "vocabulary",
                              message("has {} tokens", vocabulary.size()),
                              std::to_string(config.vocab_size),
                              ErrorCode::bad_data);
}

}  // namespace

std::string causal_name(std::size_t layer, std::string_view part) {
  return "layers." + std::to_string(layer) + "." + std::string(part);
}

Result<CausalParams> draw_causal_params(const CausalConfig& config,
                                        Vocabulary vocabulary, Seed seed,
                                        Arithmetic arithmetic) {
  HEADWISE_TRY(check_config(config));
  HEADWISE_TRY(check_vocabulary(config, vocabulary));
  HEADWISE_ASSIGN(auto token, drawn_table(config.vocab_size, config.hidden_size,
                                          seed, kToken));
  HEADWISE_ASSIGN(
      auto position,
      drawn_table(config.max_positions, config.hidden_size, seed, kPosition));
  HEADWISE_ASSIGN(auto norm, new_norm(config));
  HEADWISE_ASSIGN(auto unembedding,
                  Linear::create({.in_features = config.hidden_size,
                                  .out_features = config.vocab_size,
                                  .bias = false},
                                 RandomStream(seed, kUnembedding)));
  std::vector<CausalLayer> layers;
  for (std::size_t n = 0; n < config.num_layers; ++n) {
    HEADWISE_ASSIGN(auto attention,
                    MultiHeadAttention::create({.embed_dim = config.hidden_size,
                                                .num_heads = config.num_heads,
                                                .arithmetic = arithmetic},
                                               seed_of_layer(seed, n)));
    HEADWISE_ASSIGN(auto of_layer, new_norm(config));
    layers.push_back({std::move(of_layer), std::move(attention)});
  }
  share_memory(layers);
  return CausalParams{config,
                      std::move(vocabulary),
                      std::move(token),
                      std::move(position),
                      std::move(layers),
                      std::move(norm),
                      std::move(unembedding)};
}

Result<CausalParams> read_causal_params(const std::string& folder,
                                        Arithmetic arithmetic) {
  HEADWISE_ASSIGN(const auto config, read_causal_config(folder));
  HEADWISE_ASSIGN(const auto words_path, vocabulary_path(folder));
  const std::string& words = words_path;
  HEADWISE_TRY(check_regular_file("read_vocabulary", words));
  HEADWISE_ASSIGN(auto vocabulary, read_vocabulary(words));
  HEADWISE_TRY(check_vocabulary(config, vocabulary));
  HEADWISE_ASSIGN(const auto reader, CausalReader::open(folder, config));
  HEADWISE_ASSIGN(auto token,
                  reader.table("token", {"vocab_size", config.vocab_size}));
  HEADWISE_ASSIGN(
      auto position,
      reader.table("position", {"max_positions", config.max_positions}));
  HEADWISE_ASSIGN(auto norm, reader.norm("norm"));
  HEADWISE_ASSIGN(auto unembedding, reader.unembedding());
  std::vector<CausalLayer> layers;
  for (std::size_t n = 0; n < config.num_layers; ++n) {
    HEADWISE_ASSIGN(auto layer, reader.layer(n));
    HEADWISE_TRY(layer.attention.set_arithmetic(arithmetic));
    layers.push_back(std::move(layer));
  }
  share_memory(layers);
  return CausalParams{reader.config(),       std::move(vocabulary),
                      std::move(token),      std::move(position),
                      std::move(layers),     std::move(norm),
                      std::move(unembedding)};
}

}  // namespace headwise::inline HEADWISE_ABI
