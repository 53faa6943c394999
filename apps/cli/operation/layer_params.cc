#include "layer_params.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "headwise/interop/model_heads.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

Result<Linear> linear_of(const NamedArrays& arrays, const std::string& name) {
  const std::string weight_name = name + ".weight";
  const std::string bias_name = name + ".bias";
  auto weight = to_float<2>(arrays.at(weight_name), "read_params", weight_name);
  HEADWISE_TRY(weight);
  Tensor<float, 1> bias;
  if (const auto given = arrays.find(bias_name); given != arrays.end()) {
    auto converted = to_float<1>(given->second, "read_params", bias_name);
    HEADWISE_TRY(converted);
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
       {std::tuple{"--num-heads", wanted.num_heads, read.num_heads},
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
      HEADWISE_TRY(linear);
      *place = *std::move(linear);
    }
  }
  if (const auto given = arrays.find("w_score.weight"); given != arrays.end()) {
    auto w_score = to_float<2>(given->second, "read_params", "w_score.weight");
    HEADWISE_TRY(w_score);
    params.w_score = *std::move(w_score);
  }
  return params;
}

Result<LayerParams> read_checked(const std::string& path,
                                 const LayerWanted& wanted) {
  ParamNames names{{"w_q.weight", "w_k.weight"},
                   {"w_v.weight", "w_q.bias", "w_k.bias", "w_v.bias",
                    "w_o.weight", "w_o.bias", "w_score.weight"}};
  // Whoever has the vectors may leave a model's embedding where it is.
  auto& list = wanted.with_embedding ? names.required : names.optional;
  list.insert(list.begin(), "embedding.weight");
  auto read = read_layer_params(path, names, wanted.choice);
  if (!read) {
    return read;
  }
  Status s = check_names(path, read->params, wanted.scoring);
  s = s ? check_heads(path, *read, wanted) : s;
  return s ? std::move(read) : s.error();
}

Result<std::size_t> head_count(const std::string& path, const LayerParams& read,
                               const LayerWanted& wanted) {
  if (wanted.num_heads || read.num_heads) {
    return wanted.num_heads ? *wanted.num_heads : *read.num_heads;
  }
  const ModelHeads beside = read_model_heads(path);
  if (beside.num_heads || wanted.otherwise_num_heads) {
    return beside.num_heads ? *beside.num_heads : *wanted.otherwise_num_heads;
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("--params {} needs --num-heads N: the "
                           "file does not say how many heads the layer has",
                           path)};
}

Result<LayerFromFiles> make_layer(const LayerParams& read,
                                  std::size_t num_heads,
                                  const LayerWanted& wanted) {
  std::optional<Embedding> embedding;
  if (wanted.with_embedding) {
    auto weight = to_float<2>(read.params.at("embedding.weight"), "read_params",
                              "embedding.weight");
    HEADWISE_TRY(weight);
    auto made = Embedding::from_weight(*std::move(weight));
    HEADWISE_TRY(made);
    embedding = *std::move(made);
  }
  auto params = params_of(read.params);
  HEADWISE_TRY(params);
  auto layer = MultiHeadAttention::from_params(
      *std::move(params), num_heads,
      wanted.num_kv_heads ? wanted.num_kv_heads : read.num_kv_heads,
      embedding ? embedding->embed_dim() : wanted.vdim);
  HEADWISE_TRY(layer);
  return LayerFromFiles{*std::move(layer), std::move(embedding)};
}

}  // namespace

Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted) {
  const auto read = read_checked(path, wanted);
  if (!read) {
    return as_data(read.error());
  }
  const auto num_heads = head_count(path, *read, wanted);
  HEADWISE_TRY(num_heads);
  auto layer = make_layer(*read, *num_heads, wanted);
  return layer ? std::move(layer) : as_data(layer.error());
}

}  // namespace headwise::cli
