// A model as headwise runs it: what its file says, in plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/onnx/model.h"
#include "onnx/fusion.h"

namespace headwise::inline HEADWISE_ABI {

// What an attribute holds that no operator of headwise takes: a subgraph, a
// sparse tensor, a type. `what`: "is a subgraph".
struct OnnxUnreadable {
  std::string_view what;
};

struct OnnxAttribute {
  std::string name;
  std::variant<OnnxUnreadable, std::int64_t, float, std::string, Array,
               std::vector<std::int64_t>, std::vector<float>,
               std::vector<std::string>>
      value;
};

inline bool is_standard_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

// Whether an operator has one of these names.
template <class... Names>
bool is_one_of(std::string_view op, const Names&... names) {
  return ((op == names) || ...);
}

struct OnnxNode {
  std::string name;
  std::string op;
  std::string domain;
  std::vector<std::string> inputs;  // "": left out
  std::vector<std::string> outputs;
  std::vector<OnnxAttribute> attributes;
  std::string label;  // how errors name it: "attn (Attention)", "#3 (Add)"
};

// The attribute with this name; null if the node has none.
const OnnxAttribute* find_attribute(const OnnxNode& node,
                                    std::string_view name);
// The T that it holds; null if it holds none.
template <class T>
const T* attribute_as(const OnnxNode& node, std::string_view name) {
  const OnnxAttribute* found = find_attribute(node, name);
  return found == nullptr ? nullptr : std::get_if<T>(&found->value);
}
template <class T>
T attribute_or(const OnnxNode& node, std::string_view name, T otherwise) {
  const T* held = attribute_as<T>(node, name);
  return held == nullptr ? otherwise : *held;
}

struct OnnxGraph {
  std::string file{};
  std::int64_t opset = 0;  // of the standard operators
  std::vector<OnnxNode> nodes{};
  std::vector<OnnxPort> inputs{};  // those without an initializer
  std::vector<OnnxPort> outputs{};
  std::map<std::string, Array> initializers{};
  std::vector<OnnxFusion> fusions{};  // find_fusions()

  // What errors about a node are about.
  FileSubject subject(std::string_view operation, const OnnxNode& node) const {
    return {
        .operation = std::string(operation), .file = file, .entry = node.label};
  }
};

// What must hold of any model: names, order, and operators that headwise knows.
Status check_graph(const OnnxGraph& graph);

// Whether headwise runs the first `nodes` nodes.
Status check_runs(const OnnxGraph& graph, std::size_t nodes);

// Of the nodes that it does not run: "LSTM", "com.microsoft QAttention",
// sorted.
std::vector<std::string> operators_not_run(const OnnxGraph& graph);

}  // namespace headwise::inline HEADWISE_ABI
