#include "layer_params.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/interop/load_attention.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// The option of an argument of load_attention(); empty: none.
std::string_view params_option(std::string_view argument) {
  return argument == "num_heads"      ? "--num-heads"
         : argument == "num_kv_heads" ? "--num-kv-heads"
         : argument == "qk_norm"      ? "--qk-norm"
                                      : "";
}

// An error of load_attention() in the words of the command.
Error in_options(const Error& error, const std::string& path) {
  const ErrorDetails& details = error.details();
  const std::string_view option = params_option(details.argument);
  if (option.empty() || details.operation != "load_attention") {
    return error;
  }
  if (details.argument == "qk_norm") {
    return option_error(
        "--params " + path,
        "needs --qk-norm rms or --qk-norm layer: the file does not say which "
        "norm q_norm.weight is of");
  }
  if (error.code() == ErrorCode::invalid_argument) {
    return option_error(
        "--params " + path,
        message(
            "needs {} N: the file does not say how many heads the layer has",
            option));
  }
  return option_error(option, details.given, details.expected, error.code());
}

// Whether the layer has the scoring that was asked for.
Status check_scoring(const std::string& path, const MultiHeadAttention& layer,
                     const std::string& wanted) {
  const bool additive = layer.config().scoring == Scoring::additive;
  if (wanted == "additive" && !additive) {
    return FileSubject{"read_params", path}.bad_data(
        "has no w_score.weight, which --scoring additive needs");
  }
  if (wanted == "dot" && additive) {
    return option_error("--scoring", "is dot",
                        message("additive: {} has a w_score.weight", path),
                        ErrorCode::bad_data);
  }
  return ok();
}

Result<LayerFromFiles> load(const std::string& path, const LayerWanted& wanted,
                            std::optional<std::size_t> number) {
  const LoadAttentionOptions options{
      .layer = number,
      .layout = wanted.choice.layout,
      .prefix = wanted.choice.prefix,
      .num_heads = wanted.num_heads,
      .num_kv_heads = wanted.num_kv_heads,
      .default_num_heads = wanted.otherwise_num_heads,
      .vdim = wanted.vdim,
      .qk_norm = wanted.qk_norm,
      .add_zero_attn = wanted.add_zero_attn};
  if (!wanted.with_embedding) {
    HEADWISE_ASSIGN(auto layer, load_attention(path, options));
    return LayerFromFiles{std::move(layer), std::nullopt};
  }
  HEADWISE_ASSIGN(auto loaded, load_embedded_attention(path, options));
  return LayerFromFiles{std::move(loaded.layer), std::move(loaded.embedding)};
}

}  // namespace

Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted) {
  auto read = load(path, wanted, wanted.choice.number);
  if (!read && !wanted.choice.number &&
      read.error().details().argument == "layer") {
    read = load(path, wanted, 0);  // of several
  }
  if (!read) {
    return in_options(read.error(), path);
  }
  HEADWISE_TRY(check_scoring(path, read->layer, wanted.scoring));
  return read;
}

}  // namespace headwise::cli
