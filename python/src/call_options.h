// The options of a call from its keyword arguments, which have the names of
// AttentionOptions, OperationOptions and AttentionOutputs. An option that is a
// struct in C++ is a dict: dropout={"p": 0.1, "training": True}. None: not
// given.
//
// Example:
//   CallOptions options("attention");
//   options.read(kwargs, {kAttentionOptions, kOperationOptions});
//   attention(q, k, v, outputs, options.attention, options.operation);
#pragma once

#include <nanobind/nanobind.h>

#include <forward_list>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "argument_memory.h"
#include "array_argument.h"
#include "headwise/attention/spec.h"
#include "mask_object.h"

namespace headwise::python {

class CallOptions;

// One keyword argument, or one entry of a dict, and what it does.
struct OptionField {
  std::string_view name;
  void (*set)(CallOptions& options, nb::handle value, ArgumentName name);
  // Of a keyword argument: its type besides None, and what it does.
  std::string_view type{};
  std::string_view about{};
};
using OptionFields = std::span<const OptionField>;

// Of AttentionOptions and of OperationOptions.
extern const OptionFields kAttentionOptions;
extern const OptionFields kOperationOptions;
// The stream of the GPU that has the tensors: of headwise.torch only.
extern const OptionFields kDeviceOptions;
// Which of AttentionOutputs a call returns in addition to the output.
extern const OptionFields kOutputOptions;

// The keyword arguments of these tables, in a signature and as a list in a
// documentation.
std::string parameters_of(std::span<const OptionFields> tables);
std::string list_of(std::span<const OptionFields> tables);

// Offsets (B + 1) of a ragged batch, or a tuple of those of queries and of
// keys. Copied into `memory`. Errors: those of integers().
Offsets offsets_argument(nb::handle value, std::string_view operation,
                         ArgumentMemory& memory);

// What the views of the options look at, too. A call that keeps views longer
// than itself keeps the whole object, which does not move.
class CallOptions {
 public:
  CallOptions(std::string_view operation_name, Graph graph = Graph::refused)
      : operation_(operation_name), graph_(graph) {}
  CallOptions(const CallOptions&) = delete;
  CallOptions& operator=(const CallOptions&) = delete;

  AttentionOptions attention;
  OperationOptions operation;
  bool lse = false;
  bool softmax_rows = false;
  nb::object out;    // an array for the output
  nb::object state;  // (softmax_rows, context), read and written

  // Errors: TypeError for a name in none of the tables; those of the arguments.
  void read(nb::handle keywords, std::initializer_list<OptionFields> tables);
  // An option that is a dict. TypeError for another type.
  void read_fields(nb::handle dict, ArgumentName name, OptionFields fields);

  std::string_view operation_name() const { return operation_; }
  Graph graph() const { return graph_; }
  ArgumentMemory& memory() { return memory_; }
  // Whether the tensors are on a GPU.
  bool on_gpu() const { return operation.device.kind != Device::Kind::cpu; }
  // TypeError unless the arrays of the options are there.
  void expect_on(int gpu) const;
  // ValueError if memory that the options look at is gone.
  void expect_in_place() const;
  // The name of an argument in an error.
  ArgumentName named(std::string_view argument) const {
    return {operation_, argument};
  }
  // That of an entry of a dict.
  ArgumentName named(std::string_view dict, std::string_view entry) {
    names_.push_front(std::string(dict) + "." + std::string(entry));
    return named(names_.front());
  }
  // An array of float32 that stays where it is.
  template <std::size_t Rank>
  TensorView<const float, Rank> floats(nb::handle value, ArgumentName name,
                                       std::string_view axes) {
    return memory_.keep(ArrayArgument(value, name, graph_))
        .template view<float, Rank>(axes);
  }
  void set_bias(nb::handle value, ArgumentName name);
  // If a bias was given.
  const std::optional<BiasObject>& bias() const { return bias_; }

 private:
  std::string_view operation_;
  Graph graph_;
  std::forward_list<std::string> names_;  // of entries of dicts
  ArgumentMemory memory_;
  std::optional<BiasObject> bias_;
};

}  // namespace headwise::python
