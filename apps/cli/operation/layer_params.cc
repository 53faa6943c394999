#include "layer_params.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "model_heads.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// `path`: of the file that the arrays come from.
template <std::size_t Rank>
Result<Tensor<float, Rank>> param_of(const NamedArrays& arrays,
                                     const std::string& path,
                                     const std::string& name) {
  auto param = to_float<Rank>(arrays.at(name), "read_params", name);
  return param ? std::move(param)
               : FileSubject{"read_params", path}.blame(param.error());
}

Result<Linear> linear_of(const NamedArrays& arrays, const std::string& path,
                         const std::string& name) {
  const std::string weight_name = name + ".weight";
  const std::string bias_name = name + ".bias";
  auto weight = param_of<2>(arrays, path, weight_name);
  HEADWISE_TRY(weight);
  Tensor<float, 1> bias;
  if (const auto given = arrays.find(bias_name); given != arrays.end()) {
    auto converted = param_of<1>(arrays, path, bias_name);
    HEADWISE_TRY(converted);
    if (converted->size() != weight->extent(0)) {
      return FileSubject{"read_params", path, bias_name}.error(
          ErrorCode::shape_mismatch,
          fmt::format("has shape ({})", converted->size()),
          fmt::format("({}), the rows of {}", weight->extent(0), weight_name));
    }
    bias = *std::move(converted);
  }
  return Linear::from_params(*std::move(weight), std::move(bias));
}

// Whether the files hold the parameters that they must.
Status check_names(const std::string& path, const NamedArrays& arrays,
                   const std::string& scoring) {
  const FileSubject subject{"read_params", path};
  const bool additive = arrays.contains("w_score.weight");
  if (!arrays.contains("w_v.weight") &&
      (!additive || arrays.contains("w_v.bias") ||
       arrays.contains("w_o.weight"))) {
    return subject.bad_data("has no w_v.weight");
  }
  if (arrays.contains("w_o.bias") && !arrays.contains("w_o.weight")) {
    return subject.bad_data("has w_o.bias and no w_o.weight",
                            "both or neither");
  }
  if (scoring == "additive" && !additive) {
    return subject.bad_data(
        "has no w_score.weight, which --scoring additive needs");
  }
  if (scoring == "dot" && additive) {
    return option_error("--scoring", "is dot",
                        fmt::format("additive: {} has a w_score.weight", path),
                        ErrorCode::bad_data);
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
      return option_error(option, fmt::format("is {}", *given),
                          fmt::format("{} as in {}", *said, path),
                          ErrorCode::shape_mismatch);
    }
  }
  return ok();
}

Result<MultiHeadAttentionParams> params_of(const NamedArrays& arrays,
                                           const std::string& path) {
  auto w_q = linear_of(arrays, path, "w_q");
  auto w_k = linear_of(arrays, path, "w_k");
  if (!w_q || !w_k) {
    return w_q ? w_k.error() : w_q.error();
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k)};
  for (const auto& [name, place] :
       {std::pair{"w_v", &params.w_v}, {"w_o", &params.w_o}}) {
    if (arrays.contains(fmt::format("{}.weight", name))) {
      auto linear = linear_of(arrays, path, name);
      HEADWISE_TRY(linear);
      *place = *std::move(linear);
    }
  }
  if (const auto given = arrays.find("w_score.weight"); given != arrays.end()) {
    auto w_score = param_of<2>(arrays, path, "w_score.weight");
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
  return option_error(
      "--params",
      fmt::format("{} needs --num-heads N: the file does not say how many "
                  "heads the layer has",
                  path));
}

Result<LayerFromFiles> make_layer(const std::string& path,
                                  const LayerParams& read,
                                  std::size_t num_heads,
                                  const LayerWanted& wanted) {
  std::optional<Embedding> embedding;
  if (wanted.with_embedding) {
    auto weight = param_of<2>(read.params, path, "embedding.weight");
    HEADWISE_TRY(weight);
    auto made = Embedding::from_weight(*std::move(weight));
    HEADWISE_TRY(made);
    embedding = *std::move(made);
  }
  auto params = params_of(read.params, path);
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
    return read.error();
  }
  const auto num_heads = head_count(path, *read, wanted);
  HEADWISE_TRY(num_heads);
  auto layer = make_layer(path, *read, *num_heads, wanted);
  if (!layer && layer.error().details().file.empty()) {
    return FileSubject{"read_params", path}.blame(layer.error());
  }
  return layer;
}

}  // namespace headwise::cli
