#include "inspect_text.h"
#include "shell/json.h"

namespace headwise::cli {
namespace {

// null where nothing says it.
Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json message_or_null(const std::optional<Error>& error) {
  return error ? Json(error->message()) : Json(nullptr);
}

Json layer_json(const InspectedLayer& layer) {
  Json params = Json::object();
  for (const auto& [name, shape] : layer.shapes.params) {
    params[name] = shape;
  }
  const auto size = [&](const char* name, std::size_t axis) {
    const auto found = layer.shapes.params.find(name);
    return found == layer.shapes.params.end() ? Json(nullptr)
                                              : Json(found->second[axis]);
  };
  return {{"number", layer.number},
          {"num_heads", layer.shapes.num_heads},
          {"num_kv_heads", layer.shapes.num_kv_heads},
          {"heads_from", text_or_null(layer.heads_from)},
          {"why_no_heads", message_or_null(layer.why_no_heads)},
          {"query_dim", size("w_q.weight", 1)},
          {"key_dim", size("w_k.weight", 1)},
          {"value_dim", size("w_v.weight", 1)},
          {"output_dim", layer.shapes.params.contains("w_o.weight")
                             ? size("w_o.weight", 0)
                             : size("w_v.weight", 0)},
          {"params", params}};
}

}  // namespace

std::string inspect_json(const ParamInspection& inspection) {
  Json json = with_schema("headwise.inspect");
  json["files"] = Json::array();
  for (const InspectedFile& file : inspection.files) {
    json["files"].push_back({{"path", file.path},
                             {"bytes", file.bytes},
                             {"sha256", text_or_null(file.sha256)}});
  }
  json["skipped"] = inspection.skipped;
  json["metadata"] = Json::object();
  for (const auto& [key, value] : inspection.metadata) {
    json["metadata"][key] = value;
  }
  json["layout"] = nullptr;
  json["why_no_layout"] = message_or_null(inspection.why_no_layout);
  if (inspection.layout) {
    json["layout"] = {{"name", inspection.layout->layout->name},
                      {"prefix", inspection.layout->prefix}};
  }
  json["layers"] = Json::array();
  for (const InspectedLayer& layer : inspection.layers) {
    json["layers"].push_back(layer_json(layer));
  }
  json["parameters"] = inspection.parameters;
  json["attention_parameters"] = inspection.attention_parameters;
  json["tensor_bytes"] = inspection.tensor_bytes;
  json["tensors"] = Json::array();
  std::size_t n = 0;
  for (const auto& [name, entry] : inspection.tensors) {
    json["tensors"].push_back({{"name", name},
                               {"dtype", name_of(entry.dtype)},
                               {"shape", entry.shape},
                               {"bytes", entry.bytes},
                               {"file", inspection.file_of[n++]}});
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
