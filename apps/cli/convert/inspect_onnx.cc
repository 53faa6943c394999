// Where an ONNX model computes attention.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "inspect_text.h"
#include "shell/aligned_columns.h"
#include "shell/json.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

std::string text_or_unknown(std::optional<double> number) {
  return number ? fmt::format("{:.6g}", *number) : "?";
}

std::string count_or_unknown(std::optional<std::size_t> count) {
  return count ? std::to_string(*count) : "?";
}

std::string mask_text(const OnnxAttentionNode& node) {
  if (node.causal) {
    return node.mask ? say("causal, input") : say("causal");
  }
  return node.mask ? say("input") : say("none");
}

std::vector<std::string> row_of(const OnnxAttentionNode& node) {
  const std::string size = node.head_size == node.value_size
                               ? count_or_unknown(node.head_size)
                               : count_or_unknown(node.head_size) + ", " +
                                     count_or_unknown(node.value_size);
  return {"  " + shown(node.name),
          node.pattern,
          count_or_unknown(node.query_heads),
          count_or_unknown(node.key_heads),
          size,
          text_or_unknown(node.scale),
          mask_text(node)};
}

template <class T>
Json number_or_null(const std::optional<T>& number) {
  return number ? Json(*number) : Json(nullptr);
}

}  // namespace

std::string inspect_onnx_text(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run) {
  const std::string head = say("File: {}\nAttention: {} node{}\n", shown(path),
                               nodes.size(), nodes.size() == 1 ? "" : "s");
  const std::string tail =
      not_run.empty() ? ""
                      : say("Operators that headwise does not run: {}\n",
                            shown(fmt::format("{}", fmt::join(not_run, ", "))));
  if (nodes.empty()) {
    return head + tail;
  }
  std::vector<std::vector<std::string>> rows = {
      {say("  node"), say("pattern"), say("heads"), say("key heads"),
       say("head size"), say("scale"), say("mask")}};
  for (const OnnxAttentionNode& node : nodes) {
    rows.push_back(row_of(node));
  }
  return head + aligned_columns(rows, kUnfolded) + tail;
}

std::string inspect_onnx_json(const std::string& path,
                              const std::vector<OnnxAttentionNode>& nodes,
                              const std::vector<std::string>& not_run) {
  Json list = Json::array();
  for (const OnnxAttentionNode& node : nodes) {
    list.push_back({{"name", node.name},
                    {"pattern", node.pattern},
                    {"num_heads", number_or_null(node.query_heads)},
                    {"num_kv_heads", number_or_null(node.key_heads)},
                    {"head_size", number_or_null(node.head_size)},
                    {"value_size", number_or_null(node.value_size)},
                    {"scale", number_or_null(node.scale)},
                    {"causal", node.causal},
                    {"mask", node.mask}});
  }
  return json_text(
      with_schema("headwise.inspect_onnx", {{"file", path},
                                            {"attention", std::move(list)},
                                            {"operators_not_run", not_run}}),
      2);
}

}  // namespace headwise::cli
