#include "prune/full_size.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "distribute/copy_rows.h"
#include "models/bert_names.h"
#include "steps/call_part.h"

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

// What is at n along `axis` goes to kept[n] of `size`; all else is 0.
template <std::size_t Rank>
Result<Tensor<float, Rank>> scatter(std::size_t axis,
                                    TensorView<const float, Rank> pruned,
                                    const std::vector<std::size_t>& kept,
                                    std::size_t size) {
  Extents<Rank> extents = pruned.extents();
  extents[axis] = size;
  auto whole = Tensor<float, Rank>::create(extents);
  for (std::size_t n = 0; whole && n < kept.size(); ++n) {
    copy_rows<float>(
        as_rank_4(internal::part_along(axis, pruned, {n, 1})),
        as_rank_4(internal::part_along(axis, whole->view(), {kept[n], 1})));
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
    return add(name, scatter(0, pruned.weight(), kept_, features),
               scatter(0, pruned.bias(), kept_, features));
  }
  Status add_output(std::string_view name, const Linear& pruned) {
    return add(name, scatter(1, pruned.weight(), kept_, config_.hidden_size),
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
