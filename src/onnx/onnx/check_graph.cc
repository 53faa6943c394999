#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "onnx/graph.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_operator(const OnnxGraph& graph, const OnnxNode& node,
                      const OnnxOperator& known) {
  const FileSubject subject = graph.subject("read_onnx", node);
  if (graph.opset < known.since) {
    return subject.error(ErrorCode::unsupported,
                         message("is in opset {}", graph.opset),
                         opsets_since(known.since));
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    const FileSubject about = subject.of_entry(shown(attribute.name));
    const std::int64_t since = first_opset_of(known, attribute.name);
    if (graph.opset < since) {
      return about.bad_data(message("is given in opset {}", graph.opset),
                            opsets_since(since));
    }
    if (std::ranges::count(node.attributes, attribute.name,
                           &OnnxAttribute::name) > 1) {
      return about.bad_data("is there twice", "one attribute of each name");
    }
  }
  return ok();
}

// Whether headwise runs the node; a model in which it does not can be looked
// at.
Status check_known(const OnnxGraph& graph, const OnnxNode& node) {
  const FileSubject subject = graph.subject("run_onnx", node);
  const OnnxOperator* known = find_operator(node);
  if (known == nullptr) {
    return subject.error(
        ErrorCode::unsupported,
        node.domain.empty()
            ? Message("is an operator that headwise does not run")
            : message("is an operator that headwise does not run, of domain {}",
                      shown(node.domain)),
        "an operator that headwise supports");
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    const FileSubject about = subject.of_entry(shown(attribute.name));
    if (const auto* unread = std::get_if<OnnxUnreadable>(&attribute.value)) {
      return about.error(ErrorCode::unsupported, std::string(unread->what),
                         "a number, text or tensor");
    }
    if (std::ranges::find(known->attributes, attribute.name) ==
        known->attributes.end()) {
      return about.error(ErrorCode::unsupported,
                         "is an attribute that headwise does not know");
    }
  }
  return ok();
}

Status check_value_counts(const OnnxGraph& graph, const OnnxNode& node,
                          const OnnxOperator& known) {
  const FileSubject subject = graph.subject("read_onnx", node);
  const auto check_most = [&](std::size_t count, std::size_t most,
                              const char* has) -> Status {
    return count <= most
               ? ok()
               : Status(subject.bad_data(message(has, count),
                                         message("at most {}", most)));
  };
  HEADWISE_TRY(check_most(node.inputs.size(), known.inputs, "has {} inputs"));
  for (std::size_t i = 0; i < known.needed; ++i) {
    if (i >= node.inputs.size() || node.inputs[i].empty()) {
      return subject.bad_data(message("has no input {}", i),
                              message("{} inputs", known.needed));
    }
  }
  return check_most(node.outputs.size(), known.outputs, "has {} outputs");
}

// Names of values: each is made once, before it is used.
class Names {
 public:
  explicit Names(const OnnxGraph& graph) : graph_(graph) {
    for (const auto& [name, array] : graph.initializers) {
      known_.insert(name);
    }
  }

  Status check() {
    const FileSubject file{.operation = "read_onnx", .file = graph_.file};
    for (const OnnxPort& input : graph_.inputs) {
      HEADWISE_TRY(add(input.name, file));
    }
    for (const OnnxNode& node : graph_.nodes) {
      HEADWISE_TRY(check_inputs(node));
      for (const std::string& output : node.outputs) {
        if (!output.empty()) {
          HEADWISE_TRY(add(output, graph_.subject("read_onnx", node)));
        }
      }
    }
    std::set<std::string_view> outputs;
    for (const OnnxPort& output : graph_.outputs) {
      const FileSubject subject = file.of_entry(shown(output.name));
      if (!outputs.insert(output.name).second) {
        return subject.bad_data("is there twice", "one output of each name");
      }
      if (!known_.contains(output.name)) {
        return subject.bad_data("is made by no node", "an output of a node");
      }
    }
    return ok();
  }

 private:
  Status add(const std::string& name, const FileSubject& about) {
    return known_.insert(name).second
               ? ok()
               : Status(about.of_entry(shown(name))
                            .bad_data("is there twice",
                                      "one tensor of each name"));
  }

  Status check_inputs(const OnnxNode& node) const {
    for (const std::string& input : node.inputs) {
      if (input.empty() || known_.contains(input)) {
        continue;
      }
      const FileSubject subject =
          graph_.subject("read_onnx", node).of_entry(shown(input));
      for (const OnnxNode& later : graph_.nodes) {
        if (std::ranges::find(later.outputs, input) != later.outputs.end()) {
          return subject.bad_data(
              message("is made by {}, which does not run before it",
                      later.label),
              "nodes in order, without a cycle");
        }
      }
      return subject.bad_data("is made by no node",
                              "an input, an initializer or an output of an "
                              "earlier node");
    }
    return ok();
  }

  const OnnxGraph& graph_;
  std::set<std::string_view> known_;
};

}  // namespace

Status check_graph(const OnnxGraph& graph) {
  if (graph.opset < kFirstOpset || graph.opset > kLastOpset) {
    return FileSubject{.operation = "read_onnx", .file = graph.file}.error(
        ErrorCode::unsupported, message("is of opset {}", graph.opset),
        opsets_since(kFirstOpset));
  }
  for (const OnnxNode& node : graph.nodes) {
    if (const OnnxOperator* known = find_operator(node)) {
      HEADWISE_TRY(check_operator(graph, node, *known));
      HEADWISE_TRY(check_value_counts(graph, node, *known));
    }
  }
  return Names(graph).check();
}

Status check_runs(const OnnxGraph& graph, std::size_t nodes) {
  for (std::size_t n = 0; n < nodes; ++n) {
    HEADWISE_TRY(check_known(graph, graph.nodes[n]));
  }
  return ok();
}

std::vector<std::string> operators_not_run(const OnnxGraph& graph) {
  std::set<std::string> names;
  for (const OnnxNode& node : graph.nodes) {
    if (!check_known(graph, node)) {
      names.insert((is_standard_domain(node.domain) ? "" : node.domain + " ") +
                   node.op);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace headwise::inline HEADWISE_ABI
