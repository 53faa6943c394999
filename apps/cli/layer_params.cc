#include "layer_params.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

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

// Whether the files hold the parameters that they must.
Status check_names(const std::string& path, const NamedArrays& arrays,
                   const std::string& scoring) {
  const auto bad = [](const std::string& message) {
    return Error{ErrorCode::bad_data, message};
  };
  const bool additive = arrays.contains("w_score.weight");
  if (!arrays.contains("w_v.weight") &&
      (!additive || arrays.contains("w_v.bias") ||
       arrays.contains("w_o.weight"))) {
    return bad(fmt::format("read_params: {} has no w_v.weight", path));
  }
  if (arrays.contains("w_o.bias") && !arrays.contains("w_o.weight")) {
    return bad(
        fmt::format("read_params: {} has w_o.bias and no w_o.weight, "
                    "expected both or neither",
                    path));
  }
  if (scoring == "additive" && !additive) {
    return bad(fmt::format(
        "read_params: {} has no w_score.weight, which --scoring additive needs",
        path));
  }
  if (scoring == "dot" && additive) {
    return bad(fmt::format(
        "--scoring is dot, expected additive: {} has a w_score.weight", path));
  }
  return ok();
}

// Whether the heads are those that the shapes of the file say, if they do.
Status check_heads(const std::string& path, const LayerParams& read,
                   const LayerWanted& wanted) {
  for (const auto& [option, given, said] :
       {std::tuple{"--num-heads", std::optional(wanted.num_heads),
                   read.num_heads},
        {"--num-kv-heads", wanted.num_kv_heads, read.num_kv_heads}}) {
    if (given && said && given != said) {
      return Error{ErrorCode::shape_mismatch,
                   fmt::format("{} is {}, expected {} as in {}", option, *given,
                               *said, path)};
    }
  }
  return ok();
}

Result<MultiHeadAttentionParams> params_of(const NamedArrays& arrays) {
  auto w_q = linear_of(arrays, "w_q");
  auto w_k = linear_of(arrays, "w_k");
  if (!w_q || !w_k) {
    return w_q ? w_k.error() : w_q.error();
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k)};
  for (const auto& [name, place] :
       {std::pair{"w_v", &params.w_v}, {"w_o", &params.w_o}}) {
    if (arrays.contains(fmt::format("{}.weight", name))) {
      auto linear = linear_of(arrays, name);
      if (!linear) {
        return linear.error();
      }
      *place = *std::move(linear);
    }
  }
  if (const auto given = arrays.find("w_score.weight"); given != arrays.end()) {
    auto w_score = to_float<2>(given->second, "read_params", "w_score.weight");
    if (!w_score) {
      return w_score.error();
    }
    params.w_score = *std::move(w_score);
  }
  return params;
}

}  // namespace

Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted) {
  ParamNames names{{"w_q.weight", "w_k.weight"},
                   {"w_v.weight", "w_q.bias", "w_k.bias", "w_v.bias",
                    "w_o.weight", "w_o.bias", "w_score.weight"}};
  // Whoever has the vectors may leave a model's embedding where it is.
  auto& list = wanted.with_embedding ? names.required : names.optional;
  list.insert(list.begin(), "embedding.weight");
  const auto read = read_layer_params(path, names, wanted.choice);
  if (!read) {
    return read.error();
  }
  const NamedArrays* const arrays = &read->params;
  if (Status s = check_names(path, *arrays, wanted.scoring); !s) {
    return s.error();
  }
  if (Status s = check_heads(path, *read, wanted); !s) {
    return s.error();
  }
  std::optional<Embedding> embedding;
  if (wanted.with_embedding) {
    auto weight = to_float<2>(arrays->at("embedding.weight"), "read_params",
                              "embedding.weight");
    if (!weight) {
      return weight.error();
    }
    auto made = Embedding::from_weight(*std::move(weight));
    if (!made) {
      return made.error();
    }
    embedding = *std::move(made);
  }
  auto params = params_of(*arrays);
  if (!params) {
    return params.error();
  }
  auto layer = MultiHeadAttention::from_params(
      *std::move(params), wanted.num_heads,
      wanted.num_kv_heads ? wanted.num_kv_heads : read->num_kv_heads,
      embedding ? embedding->embed_dim() : wanted.vdim);
  if (!layer) {
    return layer.error();
  }
  return LayerFromFiles{*std::move(layer), std::move(embedding)};
}

}  // namespace headwise::cli
