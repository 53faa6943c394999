#include "headwise/interop/param_inspection.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/sha256.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/laid_out.h"
#include "interop/layout_names.h"
#include "interop/model_heads.h"
#include "interop/param_file.h"
#include "interop/said_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kParamInspection = "inspect";

Result<InspectedFile> inspect_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return io_error({std::string(kParamInspection), path}, errno);
  }
  InspectedFile file{path, static_cast<std::size_t>(status.st_size), ""};
  if (S_ISREG(status.st_mode)) {  // the bytes of a pipe are gone by now
    HEADWISE_ASSIGN(file.sha256, sha256_of_file(path));
  }
  return file;
}

// Why a layer cannot have this number of heads; nothing if it can.
std::optional<Error> why_not_converted(std::string_view from,
                                       std::size_t num_heads,
                                       const LayerShapes& shapes) {
  const std::size_t q_features = shapes.params.at("w_q.weight")[0];
  const std::size_t k_features = shapes.params.at("w_k.weight")[0];
  const std::size_t head = num_heads == 0 ? 0 : q_features / num_heads;
  const bool fits = head == 0
                        ? q_features == 0 && k_features == 0
                        : q_features % num_heads == 0 && k_features % head == 0;
  if (fits) {
    return {};
  }
  return argument_error("", from,
                        message("says {}, which does not divide the {} "
                                "features of queries and {} of keys",
                                num_heads, q_features, k_features),
                        "", ErrorCode::bad_data);
}

// Takes the heads that the file says, or else config.json, if they fit the
// layer.
void add_heads(const SaidHeads& said, const ModelHeads& model,
               InspectedLayer& layer) {
  if (layer.shapes.num_heads) {
    layer.heads_from = "shapes";
    return;
  }
  auto num_heads = said.num_heads;
  if (!num_heads) {
    const auto of_model = model.heads_of_layer(
        layer.number, layer.shapes.params.at("w_q.weight")[0]);
    if (!of_model) {
      layer.why_no_heads = of_model.error();
      return;
    }
    num_heads = *of_model;
  }
  if (!num_heads) {
    layer.why_no_heads = model.why_not;
    return;
  }
  const std::string_view from = said.num_heads ? "file" : "config.json";
  layer.why_no_heads = why_not_converted(
      said.num_heads ? "its num_heads" : from, *num_heads, layer.shapes);
  if (layer.why_no_heads) {
    return;
  }
  layer.shapes.num_heads = num_heads;
  const std::size_t k_features = layer.shapes.params.at("w_k.weight")[0];
  const std::size_t q_features = layer.shapes.params.at("w_q.weight")[0];
  layer.shapes.num_kv_heads =
      q_features == 0 ? 0 : k_features / (q_features / *num_heads);
  layer.heads_from = from;
}

Status add_layers(const ParamFile& file, const ShapesByName& shapes,
                  ParamInspection& inspection) {
  const ModelHeads model = read_model_heads(file.path());
  for (const std::size_t number : inspection.layout->layers) {
    HEADWISE_ASSIGN(auto layer,
                    layer_shapes(*inspection.layout, shapes, number));
    const auto said = said_heads(kParamInspection, file, number);
    inspection.layers.push_back({number, std::move(layer), "", {}});
    InspectedLayer& added = inspection.layers.back();
    if (said) {
      add_heads(*said, model, added);
    } else {
      added.why_no_heads = said.error();
    }
  }
  return ok();
}

// Elements of a floating-point tensor; ids and flags are not parameters.
std::size_t parameters_in(const ParamEntry& entry) {
  const bool floating =
      entry.dtype == DType::float16 || entry.dtype == DType::bfloat16 ||
      entry.dtype == DType::float32 || entry.dtype == DType::float64;
  return floating ? entry.bytes / size_of(entry.dtype) : 0;
}

std::size_t attention_parameters(const ParamInspection& inspection) {
  const LayoutMatch& match = *inspection.layout;
  std::size_t sum = 0;
  for (const std::size_t number : match.layers) {
    for (const LayoutRow& row : match.layout->rows) {
      const auto found =
          inspection.tensors.find(name_in(match.prefix, row.name, number));
      if (row.part == 0 && found != inspection.tensors.end()) {
        sum += parameters_in(found->second);
      }
    }
  }
  return sum;
}

// What is wrong with the file, without its name.
Error without_file(const Error& error) {
  ErrorDetails details = error.details();
  details.operation.clear();
  details.file.clear();
  return {error.code(), std::move(details)};
}

void add_layout(const ParamFile& file, std::string_view layout,
                const std::optional<std::string_view>& prefix,
                ParamInspection& inspection) {
  const std::string& path = file.path();
  const ShapesByName shapes = shapes_of(inspection.tensors);
  auto match = find_layout(shapes, {"", path}, layout, prefix);
  if (match) {
    inspection.layout = *std::move(match);
    const Status added = add_layers(file, shapes, inspection);
    if (added) {
      inspection.attention_parameters = attention_parameters(inspection);
      return;
    }
    match = added.error();  // heads that disagree
    inspection.layout.reset();
    inspection.layers.clear();
  }
  inspection.why_no_layout = without_file(match.error());
}

Result<ParamInspection> inspect_found(
    const std::string& path, std::string_view layout,
    const std::optional<std::string_view>& prefix) {
  // Of a mapped file no more is read than its headers.
  HEADWISE_ASSIGN(const auto file,
                  ParamFile::open(kParamInspection, path, FileAccess::mapped));
  ParamInspection inspection;
  inspection.metadata = file.metadata();
  inspection.skipped = file.skipped();
  HEADWISE_ASSIGN(inspection.tensors, file.entries());
  for (const auto& [name, entry] : inspection.tensors) {
    inspection.file_of.push_back(file.file_of(name));
    inspection.tensor_bytes += entry.bytes;
    inspection.parameters += parameters_in(entry);
  }
  for (const std::string& each : file.files()) {
    HEADWISE_ASSIGN(auto inspected, inspect_file(each));
    inspection.files.push_back(std::move(inspected));
  }
  add_layout(file, layout, prefix, inspection);
  return inspection;
}

}  // namespace

Result<ParamInspection> inspect_params(const std::string& path,
                                       std::string_view layout,
                                       std::optional<std::string_view> prefix) {
  return catching_out_of_memory([&]() -> Result<ParamInspection> {
    HEADWISE_ASSIGN(const auto found, find_params(kParamInspection, path));
    return inspect_found(found, layout, prefix);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
