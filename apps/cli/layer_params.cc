#include "layer_params.h"

#include <fmt/format.h>

#include <utility>

#include "headwise/interop/params.h"

namespace headwise::cli {
namespace {

Result<Linear> linear_of(const NamedArrays& arrays, const std::string& name) {
  const std::string weight_name = name + ".weight";
  const std::string bias_name = name + ".bias";
  auto weight = to_float<2>(arrays.at(weight_name), "read_params", weight_name);
  if (!weight) {
    return weight.error();
  }
  Tensor<float, 1> bias;
  if (const auto given = arrays.find(bias_name); given != arrays.end()) {
    auto converted = to_float<1>(given->second, "read_params", bias_name);
    if (!converted) {
      return converted.error();
    }
    if (converted->size() != weight->extent(0)) {
      return Error{ErrorCode::shape_mismatch,
                   fmt::format("read_params: {} has shape ({}), expected ({}), "
                               "the rows of {}",
                               bias_name, converted->size(), weight->extent(0),
                               weight_name)};
    }
    bias = *std::move(converted);
  }
  return Linear::from_params(*std::move(weight), std::move(bias));
}

}  // namespace

Result<LayerFromFiles> read_layer(const std::string& path,
                                  std::size_t num_heads,
                                  std::optional<std::size_t> num_kv_heads,
                                  bool with_embedding) {
  ParamNames names{
      {"w_q.weight", "w_k.weight", "w_v.weight"},
      {"w_q.bias", "w_k.bias", "w_v.bias", "w_o.weight", "w_o.bias"}};
  if (with_embedding) {
    names.required.insert(names.required.begin(), "embedding.weight");
  }
  const auto arrays = read_params(path, names);
  if (!arrays) {
    return arrays.error();
  }
  if (arrays->contains("w_o.bias") && !arrays->contains("w_o.weight")) {
    return Error{ErrorCode::bad_data,
                 fmt::format("read_params: {} has w_o.bias and no w_o.weight, "
                             "expected both or neither",
                             path)};
  }
  auto w_q = linear_of(*arrays, "w_q");
  auto w_k = linear_of(*arrays, "w_k");
  auto w_v = linear_of(*arrays, "w_v");
  if (!w_q || !w_k || !w_v) {
    return !w_q ? w_q.error() : !w_k ? w_k.error() : w_v.error();
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k),
                                  *std::move(w_v), std::nullopt};
  if (arrays->contains("w_o.weight")) {
    auto w_o = linear_of(*arrays, "w_o");
    if (!w_o) {
      return w_o.error();
    }
    params.w_o = *std::move(w_o);
  }
  auto layer = MultiHeadAttention::from_params(std::move(params), num_heads,
                                               num_kv_heads);
  if (!layer) {
    return layer.error();
  }
  LayerFromFiles result{*std::move(layer), std::nullopt};
  if (with_embedding) {
    auto weight = to_float<2>(arrays->at("embedding.weight"), "read_params",
                              "embedding.weight");
    if (!weight) {
      return weight.error();
    }
    auto embedding = Embedding::from_weight(*std::move(weight));
    if (!embedding) {
      return embedding.error();
    }
    result.embedding = *std::move(embedding);
  }
  return result;
}

}  // namespace headwise::cli
