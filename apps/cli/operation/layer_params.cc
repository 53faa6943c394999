#include "layer_params.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "headwise/interop/load_attention.h"

namespace headwise::cli {
namespace {

// The option of an argument of load_attention(); empty: none.
std::string_view option_of(std::string_view argument) {
  return argument == "num_heads"      ? "--num-heads"
         : argument == "num_kv_heads" ? "--num-kv-heads"
                                      : "";
}

// An error of load_attention() in the words of the command.
Error in_options(const Error& error, const std::string& path) {
  const ErrorDetails& details = error.details();
  const std::string_view option = option_of(details.argument);
  if (option.empty() || details.operation != "load_attention") {
    return error;
  }
  if (error.code() == ErrorCode::invalid_argument) {
    return {error.code(),
            fmt::format("--params {} needs {} N: the file does not say how "
                        "many heads the layer has",
                        path, option)};
  }
  ErrorDetails changed = details;
  changed.operation.clear();
  changed.argument = option;
  return {error.code(), std::move(changed)};
}

// Whether the layer has the scoring that was asked for.
Status check_scoring(const std::string& path, const MultiHeadAttention& layer,
                     const std::string& wanted) {
  const bool additive = layer.config().scoring == Scoring::additive;
  if (wanted == "additive" && !additive) {
    return Error{ErrorCode::bad_data,
                 fmt::format("read_params: {} has no w_score.weight, which "
                             "--scoring additive needs",
                             path)};
  }
  if (wanted == "dot" && additive) {
    return Error{
        ErrorCode::bad_data,
        fmt::format(
            "--scoring is dot, expected additive: {} has a w_score.weight",
            path)};
  }
  return ok();
}

Result<LayerFromFiles> load(const std::string& path,
                            const LayerWanted& wanted) {
  const LoadAttentionOptions options{
      .layer = wanted.choice.number,
      .layout = wanted.choice.layout,
      .num_heads = wanted.num_heads,
      .num_kv_heads = wanted.num_kv_heads,
      .default_num_heads = wanted.otherwise_num_heads,
      .vdim = wanted.vdim};
  if (!wanted.with_embedding) {
    auto layer = load_attention(path, options);
    HEADWISE_TRY(layer);
    return LayerFromFiles{*std::move(layer), std::nullopt};
  }
  auto loaded = load_embedded_attention(path, options);
  HEADWISE_TRY(loaded);
  return LayerFromFiles{std::move(loaded->layer), std::move(loaded->embedding)};
}

}  // namespace

Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted) {
  auto read = load(path, wanted);
  if (!read) {
    return in_options(read.error(), path);
  }
  HEADWISE_TRY(check_scoring(path, read->layer, wanted.scoring));
  return read;
}

}  // namespace headwise::cli
