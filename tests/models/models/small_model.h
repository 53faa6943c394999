// A model folder of random parameters, small enough to be computed by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/interop/safetensors.h"
#include "headwise/transformer/transformer.h"
#include "interop/files.h"
#include "models/model_texts.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Parameters by their names in a file.
using Params = std::map<std::string, Tensor<float, 2>>;

enum class SmallFamily { bert, distilbert };

struct SmallConfig {
  SmallFamily family = SmallFamily::bert;
  std::size_t vocab_size = 14;
  std::size_t hidden_size = 12;
  std::size_t num_layers = 2;
  std::size_t num_heads = 3;
  std::size_t intermediate_size = 20;
  std::size_t max_positions = 9;
  std::size_t type_vocab_size = 2;  // of BERT
  double layer_norm_eps = 0.01;     // large enough to show
};

inline auto both_families() {
  return testing::Values(SmallFamily::bert, SmallFamily::distilbert);
}
inline std::string family_name(const testing::TestParamInfo<SmallFamily>& of) {
  return of.param == SmallFamily::bert ? "Bert" : "DistilBert";
}

inline SmallConfig small_config(SmallFamily family) {
  SmallConfig config{.family = family};
  if (family == SmallFamily::distilbert) {
    config.type_vocab_size = 0;
    config.layer_norm_eps = 1e-12;  // no setting of its
  }
  return config;
}

// config.json
inline Fields fields_of(const SmallConfig& config) {
  const bool bert = config.family == SmallFamily::bert;
  const auto number = [](std::size_t n) { return std::to_string(n); };
  Fields fields = {
      {"model_type", bert ? "\"bert\"" : "\"distilbert\""},
      {"vocab_size", number(config.vocab_size)},
      {bert ? "hidden_size" : "dim", number(config.hidden_size)},
      {bert ? "num_hidden_layers" : "n_layers", number(config.num_layers)},
      {bert ? "num_attention_heads" : "n_heads", number(config.num_heads)},
      {bert ? "intermediate_size" : "hidden_dim",
       number(config.intermediate_size)},
      {"max_position_embeddings", number(config.max_positions)},
      {bert ? "hidden_act" : "activation", "\"gelu\""}};
  if (bert) {
    fields["type_vocab_size"] = number(config.type_vocab_size);
    fields["layer_norm_eps"] = std::to_string(config.layer_norm_eps);
  }
  return fields;
}

// The model of the parameters in the folder.
inline Result<Transformer> read_small(const TempFolder& folder,
                                      const SmallConfig& config,
                                      const ModelAccess& access = {}) {
  put_file(folder / "config.json", bytes_of(json(fields_of(config))));
  return Transformer::read(folder.path(), access);
}

// (B, H, L, L) of each layer that is run.
inline std::vector<Tensor<float, 4>> weights_of(const Transformer& model,
                                                const RaggedTokens& ids,
                                                ModelPass pass = {}) {
  std::vector<Tensor<float, 4>> weights;
  pass.see_attn_weights = [&](const AttentionPlace&,
                              TensorView<const float, 4> seen) {
    auto copy = Tensor<float, 4>::create(seen.extents()).value();
    std::copy_n(seen.data(), copy.size(), copy.data());
    weights.push_back(std::move(copy));
    return ok();
  };
  EXPECT_TRUE(model.hidden(ids, pass));
  return weights;
}

// What a family calls the parts of its layers, and headwise's words for them.
struct PartNames {
  std::string q, k, v, o, attention_norm, intermediate, output, output_norm;
};
inline PartNames part_names(SmallFamily family, std::size_t layer) {
  const std::string number = std::to_string(layer);
  if (family == SmallFamily::bert) {
    const std::string at = "encoder.layer." + number + ".";
    return {at + "attention.self.query",
            at + "attention.self.key",
            at + "attention.self.value",
            at + "attention.output.dense",
            at + "attention.output.LayerNorm",
            at + "intermediate.dense",
            at + "output.dense",
            at + "output.LayerNorm"};
  }
  const std::string at = "transformer.layer." + number + ".";
  return {at + "attention.q_lin", at + "attention.k_lin",
          at + "attention.v_lin", at + "attention.out_lin",
          at + "sa_layer_norm",   at + "ffn.lin1",
          at + "ffn.lin2",        at + "output_layer_norm"};
}

// One-dimensional parameters are (1, size).
inline Params small_params(const SmallConfig& config) {
  Params params;
  std::uint32_t stream = 100;
  const auto add = [&](const std::string& name, std::size_t out, std::size_t in,
                       double around = 0) {
    params.emplace(name,
                   uniform<2>({out, in}, ++stream, around - .7, around + .7));
  };
  const std::size_t E = config.hidden_size;
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", 1, E, 1);
    add(name + ".bias", 1, E);
  };
  const auto add_linear = [&](const std::string& name, std::size_t out,
                              std::size_t in) {
    add(name + ".weight", out, in);
    add(name + ".bias", 1, out);
  };
  add("embeddings.word_embeddings.weight", config.vocab_size, E);
  add("embeddings.position_embeddings.weight", config.max_positions, E);
  if (config.type_vocab_size != 0) {
    add("embeddings.token_type_embeddings.weight", config.type_vocab_size, E);
  }
  add_norm("embeddings.LayerNorm");
  for (std::size_t n = 0; n < config.num_layers; ++n) {
    const PartNames names = part_names(config.family, n);
    for (const auto& name : {names.q, names.k, names.v, names.o}) {
      add_linear(name, E, E);
    }
    add_norm(names.attention_norm);
    add_linear(names.intermediate, config.intermediate_size, E);
    add_linear(names.output, E, config.intermediate_size);
    add_norm(names.output_norm);
  }
  return params;
}

// Every name with `prefix` before it.
inline Status write_params(const std::string& path, const Params& params,
                           const std::string& prefix = "",
                           const SafetensorsMetadata& metadata = {}) {
  std::map<std::string, AnyView> views;
  for (const auto& [name, param] : params) {
    if (param.extent(0) == 1) {
      views.emplace(prefix + name, TensorView<const float, 1>(
                                       param.data(), {param.extent(1)}));
    } else {
      views.emplace(prefix + name, param.view());
    }
  }
  return write_safetensors(path, views, metadata);
}

// The tokens of small_config()'s vocabulary.
inline constexpr std::string_view kSmallVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nheads\nmatter\n!\nwe\nsee\n##s\na\n"
    "head\nwhy\n";

// The whole folder of small_config(SmallFamily::bert).
inline void put_small_model(const TempFolder& folder, const Params& params) {
  put_file(folder / "vocab.txt", bytes_of(kSmallVocabulary));
  put_file(folder / "config.json",
           bytes_of(json(fields_of(small_config(SmallFamily::bert)))));
  EXPECT_TRUE(write_params(folder / "model.safetensors", params));
}

// What follows the encoder in that folder; `pooling` is its config.json.
inline void put_modules(const TempFolder& folder, const std::string& pooling,
                        bool normalize) {
  std::filesystem::create_directory(folder / "1_Pooling");
  put_file(folder / "1_Pooling/config.json", bytes_of(pooling));
  put_file(
      folder / "modules.json",
      bytes_of(normalize ? modules_text("Transformer", "Pooling", "Normalize")
                         : modules_text("Transformer", "Pooling")));
}

}  // namespace headwise::testing_support
