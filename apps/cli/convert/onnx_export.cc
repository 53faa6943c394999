#include "onnx_export.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "convert_errors.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/load_attention.h"
#include "headwise/onnx/write_layer.h"
#include "operation/rotary_inputs.h"
#include "shell/args.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

// Errors about the layer name the input file.
Failure of_file(const Error& error, const std::string& path) {
  ErrorDetails said = error.details();
  if (said.argument != "layer") {
    return error.code() == ErrorCode::unsupported ? failure_of(error)
                                                  : failure_to_write(error);
  }
  said.operation = "convert";
  said.argument.clear();
  said.file = path;
  return failure_of({error.code(), std::move(said)});
}

Result<MultiHeadAttention> read_layer(const LayerToExport& from,
                                      const OnnxExportFlags& flags,
                                      const RotaryInputs& rotary) {
  HEADWISE_ASSIGN(const auto qk_norm, flags.qk_norm.norm());
  auto layer = load_attention(from.in, {.layer = from.options.layer,
                                        .layout = from.options.from,
                                        .prefix = from.options.from_prefix,
                                        .num_heads = from.options.num_heads,
                                        .num_kv_heads_from_shapes = true,
                                        .qk_norm = qk_norm});
  if (!layer) {
    return in_convert_words(layer.error());
  }
  HEADWISE_ASSIGN(auto rotation, rotary.rotary(*layer->config().head_dim));
  HEADWISE_TRY(layer->set_rotary(std::move(rotation)));
  return layer;
}

OnnxLayerOptions options_of(const OnnxExportFlags& flags) {
  OnnxLayerOptions options{.cross_attention = flags.cross_attention,
                           .causal = flags.causal,
                           .scale = flags.scale,
                           .softcap = flags.softcap};
  options.mask = flags.mask == "bool"    ? OnnxMask::boolean
                 : flags.mask == "float" ? OnnxMask::added
                                         : OnnxMask::none;
  options.positions = flags.positions.value_or(options.positions);
  return options;
}

// "layer5.onnx: opset 23, a layer of 12 heads"
std::string export_summary(const std::string& out,
                           const MultiHeadAttentionConfig& config) {
  std::string text = say("{}: opset 23, a layer of {} head{}", out,
                         config.num_heads, config.num_heads == 1 ? "" : "s");
  if (config.num_kv_heads != config.num_heads) {
    text += say(", {} key/value head{}", *config.num_kv_heads,
                *config.num_kv_heads == 1 ? "" : "s");
  }
  return one_line(text) + "\n";
}

// Reading a pipe would wait for a writer.
Status check_in(const std::string& in) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(in, unknown).type();
  return kind == std::filesystem::file_type::regular ||
                 kind == std::filesystem::file_type::directory ||
                 kind == std::filesystem::file_type::not_found
             ? ok()
             : Status(FileSubject{"convert", in}.bad_data(
                   "is not a regular file or a folder"));
}

}  // namespace

void add_onnx_options(const Arguments& command, OnnxExportFlags& flags) {
  const Arguments onnx = command.under("ONNX model");
  onnx.add(
      {{"--cross-attention", &flags.cross_attention, flag(),
        "key and value are inputs of the model (default: only if their sizes "
        "differ)"},
       {"--causal", &flags.causal, flag(), "query i attends to keys 0 to i"},
       {"--mask", &flags.mask, choice({"bool", "float"}),
        "add an input attn_mask (1 or batch, 1 or heads, length, key length); "
        "bool: true = may attend; float: added to the scores"},
       {"--scale", &flags.scale,
        real("X", number_between(1e-37, 2e38, "a number from 1e-37 to 2e38")),
        "factor on q.k (default 1/sqrt(D))", advanced()},
       {"--softcap", &flags.softcap,
        real("X", number_between(1e-37, 2e38, "a number from 1e-37 to 2e38")),
        "replace scores by X * tanh(score / X), before any bias", advanced()}});
  add_qk_norm_options(command, flags.qk_norm);
  add_rotation_options(command, flags.rotary);
  command.under("Rotary positions")
      .add({{"--rotary-positions", &flags.positions, count(),
             "number of rotary positions stored in the model (default 2048)",
             advanced()}});
}

Outcome export_onnx(const LayerToExport& layer, const OnnxExportFlags& flags,
                    const FilePlan& files, const Streams& streams) {
  if (!layer.out.ends_with(".onnx")) {
    return usage("OUT", message("is {}", layer.out),
                 "a name that ends in .onnx");
  }
  if (flags.positions && flags.rotary.asked_for().empty()) {
    return usage("--rotary-positions needs --rotary-base or --rotary-tables");
  }
  HEADWISE_TRY(files.check());
  HEADWISE_ASSIGN(const auto rotary,
                  RotaryInputs::read(flags.rotary, /*batched=*/true));
  HEADWISE_TRY(check_in(layer.in));
  HEADWISE_ASSIGN(const auto read, read_layer(layer, flags, rotary));
  if (const Status s = write_onnx_layer(layer.out, read, options_of(flags));
      !s) {
    return of_file(s.error(), layer.in);
  }
  return files.print_summary(streams, export_summary(layer.out, read.config()));
}

}  // namespace headwise::cli
