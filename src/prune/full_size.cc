#include "headwise/prune/full_size.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "models/bert_names.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Where the features of the heads that stayed were before pruning.
std::vector<std::size_t> kept_features(const BertConfig& config,
                                       std::size_t layer) {
  const std::size_t size = config.hidden_size / config.num_heads;
  std::vector<std::size_t> features;
  for (const std::size_t head : heads_in(config, layer)) {
    for (std::size_t d = 0; d < size; ++d) {
      features.push_back(head * size + d);
    }
  }
  return features;
}

// `kept[n]` is the row of the result that row n becomes; all other rows are 0.
Result<Tensor<float, 2>> scatter_rows(TensorView<const float, 2> pruned,
                                      const std::vector<std::size_t>& kept,
                                      std::size_t rows) {
  auto whole = Tensor<float, 2>::create({rows, pruned.extent(1)});
  for (std::size_t n = 0; whole && n < kept.size(); ++n) {
    for (std::size_t e = 0; e < pruned.extent(1); ++e) {
      (*whole)(kept[n], e) = pruned(n, e);
    }
  }
  return whole;
}

// The same of the elements of a bias.
Result<Tensor<float, 1>> scatter(TensorView<const float, 1> pruned,
                                 const std::vector<std::size_t>& kept,
                                 std::size_t size) {
  auto whole = Tensor<float, 1>::create({size});
  for (std::size_t n = 0; whole && n < kept.size(); ++n) {
    (*whole)(kept[n]) = pruned(n);
  }
  return whole;
}

// The same of columns.
Result<Tensor<float, 2>> scatter_columns(TensorView<const float, 2> pruned,
                                         const std::vector<std::size_t>& kept,
                                         std::size_t columns) {
  auto whole = Tensor<float, 2>::create({pruned.extent(0), columns});
  for (std::size_t e = 0; whole && e < pruned.extent(0); ++e) {
    for (std::size_t n = 0; n < kept.size(); ++n) {
      (*whole)(e, kept[n]) = pruned(e, n);
    }
  }
  return whole;
}

class FullSizeLayer {
 public:
  FullSizeLayer(const BertConfig& config, std::size_t number,
                FullSizeAttention& into)
      : config_(config),
        number_(number),
        kept_(kept_features(config, number)),
        into_(into) {}

  Status add_input(std::string_view name, const Linear& pruned) {
    const std::size_t features = config_.hidden_size;
    return add(name, scatter_rows(pruned.weight(), kept_, features),
               scatter(pruned.bias(), kept_, features));
  }
  Status add_output(std::string_view name, const Linear& pruned) {
    return add(name,
               scatter_columns(pruned.weight(), kept_, config_.hidden_size),
               copy_of(pruned.bias()));
  }

 private:
  Status add(std::string_view name, Result<Tensor<float, 2>> weight,
             Result<Tensor<float, 1>> bias) {
    HEADWISE_TRY(weight);
    HEADWISE_TRY(bias);
    const auto full_name = [&](std::string_view part) {
      return attention_param_name(
          config_.family, std::string(name) + std::string(part), number_);
    };
    into_.weights.emplace(full_name(".weight"), *std::move(weight));
    into_.biases.emplace(full_name(".bias"), *std::move(bias));
    return ok();
  }

  const BertConfig& config_;
  std::size_t number_;
  std::vector<std::size_t> kept_;
  FullSizeAttention& into_;
};

}  // namespace

std::map<std::string, AnyView> FullSizeAttention::params() const {
  std::map<std::string, AnyView> views;
  for (const auto& [name, weight] : weights) {
    views.emplace(name, weight);
  }
  for (const auto& [name, bias] : biases) {
    views.emplace(name, bias);
  }
  return views;
}

Result<FullSizeAttention> full_size_attention(const BertEncoder& pruned) {
  return catching_out_of_memory([&]() -> Result<FullSizeAttention> {
    if (pruned.attention_params().empty()) {
      return value_error("full_size_attention", "encoder", "read for inference",
                         "one read for training", ErrorCode::unsupported);
    }
    FullSizeAttention whole;
    for (std::size_t n = 0; n < pruned.layers().size(); ++n) {
      const auto& params = *pruned.layers()[n].attention.params();
      FullSizeLayer layer(pruned.config(), n, whole);
      HEADWISE_TRY(layer.add_input("w_q", params.w_q));
      HEADWISE_TRY(layer.add_input("w_k", params.w_k));
      HEADWISE_TRY(layer.add_input("w_v", *params.w_v));
      HEADWISE_TRY(layer.add_output("w_o", *params.w_o));
    }
    return whole;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
