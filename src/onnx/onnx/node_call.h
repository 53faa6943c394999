// One node while it runs: its inputs, its attributes, and what errors about
// them say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/onnx/attention.h"
#include "headwise/run/executor.h"
#include "onnx/graph.h"

namespace headwise::inline HEADWISE_ABI {

using SeenAttention = std::unique_ptr<OnnxAttention::Parts>;

class NodeCall {
 public:
  // An input that the node leaves out is null. `seen`: see below.
  NodeCall(const OnnxGraph& graph, const OnnxNode& node,
           std::span<const Array* const> inputs, const Executor* executor,
           SeenAttention* seen = nullptr)
      : graph_(graph),
        node_(node),
        inputs_(inputs),
        executor_(executor),
        seen_(seen) {}

  std::string_view op() const { return node_.op; }
  std::int64_t opset() const { return graph_.opset; }
  const Executor* executor() const { return executor_; }
  // Where a node of attention leaves what it is given; null if not requested.
  SeenAttention* seen() const { return seen_; }

  bool has(std::size_t input) const {
    return input < inputs_.size() && inputs_[input] != nullptr;
  }
  // Only one that the node has; the table of operators says which it must.
  const Array& in(std::size_t input) const { return *inputs_[input]; }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  bool wants(std::size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }

  FileSubject subject() const { return graph_.subject("run_onnx", node_); }
  FileSubject input(std::size_t i) const;
  // As errors about another input name it.
  std::string input_name(std::size_t i) const;
  FileSubject attribute(std::string_view name) const {
    return subject().of_entry(std::string(name));
  }
  // shape_mismatch about an input: "has shape (2, 3), expected (2, 4)".
  Error wrong_shape(std::size_t i, Message expected) const;

  const OnnxAttribute* find(std::string_view name) const {
    return find_attribute(node_, name);
  }
  // Null unless the attribute is there and holds a T.
  template <class T>
  const T* find_as(std::string_view name) const {
    return attribute_as<T>(node_, name);
  }
  Result<std::int64_t> integer(std::string_view name,
                               std::int64_t otherwise) const;
  // 0 or 1.
  Result<bool> flag(std::string_view name, bool otherwise = false) const;
  Result<std::optional<double>> number(std::string_view name) const;
  Result<std::string> text(std::string_view name,
                           std::string_view otherwise) const;
  Result<std::optional<std::vector<std::int64_t>>> integers(
      std::string_view name) const;
  // An axis of a tensor with that many; negative ones count from the end.
  Result<std::size_t> axis(std::string_view name, std::int64_t otherwise,
                           std::size_t rank) const;
  // The same for a number from elsewhere.
  Result<std::size_t> axis_of(std::int64_t given, std::size_t rank,
                              const FileSubject& about) const;

 private:
  // Null if it is left out. Errors: bad_data if it is not `expected`.
  template <class T>
  Result<const T*> held(std::string_view name, const char* expected) const;

  const OnnxGraph& graph_;
  const OnnxNode& node_;
  std::span<const Array* const> inputs_;
  const Executor* executor_;
  SeenAttention* seen_;
};

// invalid_argument about an input: "holds int64 elements, expected ...".
Error wrong_type(const NodeCall& node, std::size_t input, Message expected);
Status check_floating(const NodeCall& node, std::size_t input);
// Any type but boolean.
Status check_numbers(const NodeCall& node, std::size_t input = 0);
Status check_type(const NodeCall& node, std::size_t input, DType dtype);
// The type of the first input.
Status check_same_type(const NodeCall& node, std::size_t input = 1);
// The same for one of any number of inputs, which must all be given.
Status check_each(const NodeCall& node, std::size_t input);

// Errors: invalid_argument about one that is given without the other. `both`:
// what is expected.
Status check_together(const NodeCall& node, std::size_t a, std::size_t b,
                      const char* both);

Status check_axes(const NodeCall& node, std::size_t input, std::size_t rank);
Status check_shape_of(const NodeCall& node, std::size_t input,
                      const std::vector<std::size_t>& expected);
Status check_one_element(const NodeCall& node, std::size_t input);
// Where an index is along an axis; negative ones count from the end.
Result<std::size_t> place_of_index(const NodeCall& node, std::size_t input,
                                   std::int64_t index, std::size_t extent);

// What a node makes: one array per output, in order. Outputs that the node does
// not name may be left empty.
using Outputs = std::vector<Array>;

// The one output of most operators.
inline Result<Outputs> one(Array array) {
  Outputs outputs;
  outputs.push_back(std::move(array));
  return outputs;
}
inline Result<Outputs> one(Result<Array> array) {
  HEADWISE_TRY(array);
  return one(*std::move(array));
}

}  // namespace headwise::inline HEADWISE_ABI
