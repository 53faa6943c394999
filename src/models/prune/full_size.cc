#include "prune/full_size.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "distribute/copy_rows.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Where the features of the heads that stayed were before pruning.
std::vector<std::size_t> kept_features(const std::vector<std::size_t>& heads,
                                       std::size_t size) {
  std::vector<std::size_t> features;
  for (const std::size_t head : heads) {
    for (std::size_t d = 0; d < size; ++d) {
      features.push_back(head * size + d);
    }
  }
  return features;
}

// The key heads of which a query head is there.
std::vector<std::size_t> key_heads(const std::vector<std::size_t>& heads,
                                   std::size_t group) {
  std::vector<std::size_t> found;
  for (const std::size_t head : heads) {
    if (found.empty() || found.back() != head / group) {
      found.push_back(head / group);
    }
  }
  return found;
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
  FullSizeLayer(const Transformer& pruned, std::size_t number,
                FullSizeAttention& into)
      : pruned_(pruned), number_(number), into_(into) {}

  Status add_all() {
    const MultiHeadAttention& attention = pruned_.attention(number_);
    const MultiHeadAttentionParams& params = *attention.params();
    const TransformerShape& shape = pruned_.shape();
    const std::size_t size = shape.head_dim;
    const auto& heads = pruned_.heads_in(number_);
    const auto queries = kept_features(heads, size);
    const auto keys = kept_features(
        key_heads(heads, shape.num_heads / shape.num_kv_heads), size);
    const std::size_t of_queries = shape.num_heads * size;
    const std::size_t of_keys = shape.num_kv_heads * size;
    HEADWISE_TRY(add_input("w_q", params.w_q, queries, of_queries));
    HEADWISE_TRY(add_input("w_k", params.w_k, keys, of_keys));
    HEADWISE_TRY(add_input("w_v", *params.w_v, keys, of_keys));
    HEADWISE_TRY(add("w_o.weight", into_.weights,
                     scatter(1, params.w_o->weight(), queries, of_queries)));
    if (const auto sinks = pruned_.sinks(number_); sinks.data() != nullptr) {
      HEADWISE_TRY(add("sinks", into_.biases,
                       scatter(0, sinks, heads, shape.num_heads)));
    }
    return params.w_o->has_bias()
               ? add("w_o.bias", into_.biases, copy_of(params.w_o->bias()))
               : ok();
  }

 private:
  Status add_input(const std::string& name, const Linear& pruned,
                   const std::vector<std::size_t>& kept, std::size_t features) {
    HEADWISE_TRY(add(name + ".weight", into_.weights,
                     scatter(0, pruned.weight(), kept, features)));
    return pruned_.attention_name(number_, name + ".bias").empty()
               ? ok()
               : add(name + ".bias", into_.biases,
                     scatter(0, pruned.bias(), kept, features));
  }
  template <std::size_t Rank>
  Status add(std::string_view param,
             std::map<std::string, Tensor<float, Rank>>& into,
             Result<Tensor<float, Rank>> whole) {
    HEADWISE_TRY(whole);
    into.emplace(pruned_.attention_name(number_, param), *std::move(whole));
    return ok();
  }

  const Transformer& pruned_;
  std::size_t number_;
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

Result<FullSizeAttention> full_size_attention(const Transformer& pruned) {
  return catching_out_of_memory([&]() -> Result<FullSizeAttention> {
    if (pruned.attention_params().empty()) {
      return value_error("full_size_attention", "encoder", "read for inference",
                         "one read for training", ErrorCode::unsupported);
    }
    FullSizeAttention whole;
    for (std::size_t n = 0; n < pruned.shape().num_layers; ++n) {
      HEADWISE_TRY(FullSizeLayer(pruned, n, whole).add_all());
    }
    return whole;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
