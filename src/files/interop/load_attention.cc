#include "headwise/interop/load_attention.h"

#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/params.h"
#include "interop/model_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kReader = "load_attention";
constexpr std::string_view kEmbedding = "embedding.weight";

enum class WithEmbedding { no, yes };

// What errors about the file are about.
FileSubject file_at(const std::string& path) {
  return {std::string(kReader), path};
}

// `path`: of the file that the arrays come from.
template <std::size_t Rank>
Result<Tensor<float, Rank>> param_of(const NamedArrays& arrays,
                                     const std::string& path,
                                     const std::string& name) {
  auto param = to_float<Rank>(arrays.at(name), kReader, name);
  return param ? std::move(param) : file_at(path).blame(param.error());
}

Result<Linear> linear_of(const NamedArrays& arrays, const std::string& path,
                         const std::string& name) {
  const std::string weight_name = name + ".weight";
  const std::string bias_name = name + ".bias";
  HEADWISE_ASSIGN(auto weight, param_of<2>(arrays, path, weight_name));
  Tensor<float, 1> bias;
  if (arrays.contains(bias_name)) {
    HEADWISE_ASSIGN(auto converted, param_of<1>(arrays, path, bias_name));
    if (converted.size() != weight.extent(0)) {
      return file_at(path).of_entry(bias_name).error(
          ErrorCode::shape_mismatch,
          message("has shape ({})", converted.size()),
          message("({}), the rows of {}", weight.extent(0), weight_name));
    }
    bias = std::move(converted);
  }
  auto linear = Linear::from_params(std::move(weight), std::move(bias));
  return linear
             ? std::move(linear)
             : file_at(path).of_entry(weight_name).blame_here(linear.error());
}

// Whether the parameters that are there make a layer.
Status check_array_names(const std::string& path, const NamedArrays& arrays) {
  if (!arrays.contains("w_v.weight") &&
      (!arrays.contains("w_score.weight") || arrays.contains("w_v.bias") ||
       arrays.contains("w_o.weight"))) {
    return file_at(path).bad_data("has no w_v.weight");
  }
  if (arrays.contains("w_o.bias") && !arrays.contains("w_o.weight")) {
    return file_at(path).bad_data("has w_o.bias and no w_o.weight",
                                  "both or neither");
  }
  // Of a norm both sides, and no bias without a weight; of an added key its
  // value, too.
  for (const auto& [there, missing] :
       {std::pair<std::string, std::string>{"q_norm.weight", "k_norm.weight"},
        {"k_norm.weight", "q_norm.weight"},
        {"q_norm.bias", "k_norm.bias"},
        {"k_norm.bias", "q_norm.bias"},
        {"q_norm.bias", "q_norm.weight"},
        {"bias_k", "bias_v"},
        {"bias_v", "bias_k"}}) {
    if (arrays.contains(there) && !arrays.contains(missing)) {
      return file_at(path).bad_data(message("has {} and no {}", there, missing),
                                    "both or neither");
    }
  }
  return ok();
}

// Whether the options and the file say the same.
Status check_heads(const std::string& path, const LayerParams& read,
                   const LoadAttentionOptions& options) {
  for (const auto& [name, given, said] :
       {std::tuple{"num_heads", options.num_heads, read.num_heads},
        {"num_kv_heads", options.num_kv_heads, read.num_kv_heads}}) {
    if (given && said && given != said) {
      return value_error(kReader, name, std::to_string(*given),
                         message("{} as in {}", *said, path),
                         ErrorCode::shape_mismatch);
    }
  }
  return ok();
}

Result<std::size_t> head_count(const std::string& path, const LayerParams& read,
                               const LoadAttentionOptions& options) {
  if (options.num_heads || read.num_heads) {
    return options.num_heads ? *options.num_heads : *read.num_heads;
  }
  const ModelHeads model = read_model_heads(path);
  if (model.damaged) {
    return *model.why_not;
  }
  const auto& w_q = read.params.at("w_q.weight").shape;
  const auto of_model =
      model.heads_of_layer(read.number, w_q.empty() ? 0 : w_q[0]);
  if (!of_model) {
    return file_at(path).blame(of_model.error());
  }
  if (*of_model || options.default_num_heads) {
    return *of_model ? **of_model : *options.default_num_heads;
  }
  return Error{
      ErrorCode::invalid_argument,
      {.operation = std::string(kReader),
       .argument = "num_heads",
       .file = path,
       .given = "is not given",
       .expected =
           "a number: the file does not say how many heads the layer has"}};
}

Result<std::optional<QkNorm>> norm_kind(const std::string& path,
                                        const LayerParams& read,
                                        const LoadAttentionOptions& options) {
  if (!read.params.contains("q_norm.weight")) {
    return options.qk_norm
               ? Result<std::optional<QkNorm>>(file_at(path).bad_data(
                     "has no q_norm.weight, which a norm of queries needs"))
               : std::optional<QkNorm>();
  }
  if (options.qk_norm || read.qk_norm) {
    return options.qk_norm ? options.qk_norm : read.qk_norm;
  }
  return Error{ErrorCode::invalid_argument,
               {.operation = std::string(kReader),
                .argument = "qk_norm",
                .file = path,
                .given = "is not given",
                .expected = "a kind: the file does not say which norm "
                            "q_norm.weight is of"}};
}

// (D), (H * D) or, as some models have it, (H, D).
Result<Tensor<float, 1>> norm_param(const NamedArrays& arrays,
                                    const std::string& path,
                                    const std::string& name) {
  Array array = arrays.at(name);
  if (array.shape.size() == 2) {
    array.shape = {array.shape[0] * array.shape[1]};
  }
  auto param = to_float<1>(array, kReader, name);
  return param ? std::move(param) : file_at(path).blame(param.error());
}

Result<HeadNormParams> norm_of(const NamedArrays& arrays,
                               const std::string& path,
                               const std::string& name) {
  HEADWISE_ASSIGN(auto weight, norm_param(arrays, path, name + ".weight"));
  HeadNormParams norm{std::move(weight)};
  if (arrays.contains(name + ".bias")) {
    HEADWISE_ASSIGN(norm.bias, norm_param(arrays, path, name + ".bias"));
  }
  return norm;
}

Result<MultiHeadAttentionParams> params_of(const NamedArrays& arrays,
                                           const std::string& path) {
  HEADWISE_ASSIGN(auto w_q, linear_of(arrays, path, "w_q"));
  HEADWISE_ASSIGN(auto w_k, linear_of(arrays, path, "w_k"));
  MultiHeadAttentionParams params{std::move(w_q), std::move(w_k)};
  for (const auto& [name, place] :
       {std::pair{std::string("w_v"), &params.w_v}, {"w_o", &params.w_o}}) {
    if (arrays.contains(name + ".weight")) {
      HEADWISE_ASSIGN(*place, linear_of(arrays, path, name));
    }
  }
  if (arrays.contains("w_score.weight")) {
    HEADWISE_ASSIGN(params.w_score,
                    param_of<2>(arrays, path, "w_score.weight"));
  }
  for (const auto& [name, place] :
       {std::pair("bias_k", &params.bias_k), {"bias_v", &params.bias_v}}) {
    if (arrays.contains(name)) {
      HEADWISE_ASSIGN(*place, param_of<1>(arrays, path, name));
    }
  }
  for (const auto& [name, place] :
       {std::pair("q_norm", &params.q_norm), {"k_norm", &params.k_norm}}) {
    if (arrays.contains(std::string(name) + ".weight")) {
      HEADWISE_ASSIGN(*place, norm_of(arrays, path, name));
    }
  }
  return params;
}

// Key heads have the size of query heads. Empty if w_k is not a multiple of it:
// from_params() then reports the mismatch.
std::optional<std::size_t> kv_heads_in(const MultiHeadAttentionParams& params,
                                       std::size_t num_heads) {
  const std::size_t queries = params.w_q.out_features();
  const std::size_t head = num_heads == 0 ? 0 : queries / num_heads;
  if (head == 0 || queries % num_heads != 0 ||
      params.w_k.out_features() % head != 0) {
    return std::nullopt;
  }
  return params.w_k.out_features() / head;
}

// The caller knows none of the functions that found the error.
Error of_reader(const Error& error) {
  ErrorDetails details = error.details();
  if (details.operation.empty()) {
    return error;
  }
  details.operation = kReader;
  return {error.code(), std::move(details)};
}

Result<LayerParams> read_checked(const std::string& path,
                                 const LoadAttentionOptions& options,
                                 WithEmbedding with_embedding) {
  ParamNames names{
      {"w_q.weight", "w_k.weight"},
      {"w_v.weight", "w_q.bias", "w_k.bias", "w_v.bias", "w_o.weight",
       "w_o.bias", "w_score.weight", "q_norm.weight", "q_norm.bias",
       "k_norm.weight", "k_norm.bias", "bias_k", "bias_v"}};
  auto& list =
      with_embedding == WithEmbedding::yes ? names.required : names.optional;
  list.emplace(list.begin(), kEmbedding);
  auto read = read_layer_params(
      path, names, {options.layer, options.layout, options.prefix});
  if (!read) {
    return of_reader(read.error());
  }
  HEADWISE_TRY(check_array_names(path, read->params));
  HEADWISE_TRY(check_heads(path, *read, options));
  return read;
}

Result<Embedding> embedding_of(const NamedArrays& arrays,
                               const std::string& path) {
  const std::string name(kEmbedding);
  HEADWISE_ASSIGN(auto weight, param_of<2>(arrays, path, name));
  auto embedding = Embedding::from_weight(std::move(weight));
  return embedding ? std::move(embedding)
                   : file_at(path).of_entry(name).blame_here(embedding.error());
}

Result<MultiHeadAttention> layer_of(const std::string& path,
                                    const LayerParams& read,
                                    const LoadAttentionOptions& options,
                                    std::optional<std::size_t> vdim) {
  HEADWISE_ASSIGN(const auto num_heads, head_count(path, read, options));
  HEADWISE_ASSIGN(const auto qk_norm, norm_kind(path, read, options));
  HEADWISE_ASSIGN(auto params, params_of(read.params, path));
  auto num_kv_heads =
      options.num_kv_heads ? options.num_kv_heads : read.num_kv_heads;
  if (!num_kv_heads && options.num_kv_heads_from_shapes) {
    num_kv_heads = kv_heads_in(params, num_heads);
  }
  auto layer = MultiHeadAttention::from_params(
      std::move(params), {.num_heads = num_heads,
                          .num_kv_heads = num_kv_heads,
                          .vdim = vdim,
                          .qk_norm = qk_norm,
                          .add_zero_attn = options.add_zero_attn});
  return layer ? std::move(layer) : file_at(path).blame(layer.error());
}

}  // namespace

Result<MultiHeadAttention> load_attention(const std::string& path,
                                          const LoadAttentionOptions& options) {
  return catching_out_of_memory([&]() -> Result<MultiHeadAttention> {
    HEADWISE_ASSIGN(const auto read,
                    read_checked(path, options, WithEmbedding::no));
    return layer_of(path, read, options, options.vdim);
  });
}

Result<EmbeddedAttention> load_embedded_attention(
    const std::string& path, const LoadAttentionOptions& options) {
  return catching_out_of_memory([&]() -> Result<EmbeddedAttention> {
    HEADWISE_ASSIGN(const auto read,
                    read_checked(path, options, WithEmbedding::yes));
    HEADWISE_ASSIGN(auto embedding, embedding_of(read.params, path));
    HEADWISE_ASSIGN(auto layer,
                    layer_of(path, read, options, embedding.embed_dim()));
    return EmbeddedAttention{std::move(embedding), std::move(layer)};
  });
}

}  // namespace headwise::inline HEADWISE_ABI
