// The parameters of a layer by name, and from arrays by name.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "array_argument.h"
#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/module/multi_head_attention.h"

namespace headwise::python {

// With the names and in the order of MultiHeadAttention::update().
void for_each_param(
    const MultiHeadAttentionParams& params,
    FunctionRef<void(std::string_view name, const AnyView& values)> show);

// Arrays of float32, bfloat16 or float16, by name.
class NamedParams {
 public:
  // Errors: TypeError for anything but a mapping of names to arrays.
  NamedParams(nb::handle params, std::string_view operation);

  // Parameters of their own, widened. Errors: TypeError for an unknown name;
  // ValueError for a missing one and for shapes that make no layer.
  MultiHeadAttentionParams params() const;

  // ValueError unless each is a parameter of the layer and has its shape.
  void check_against(const MultiHeadAttentionParams& params) const;
  // Writes the parameter of this name; leaves one that is not given as it is.
  void write(std::string_view name, std::span<float> values) const;

 private:
  template <std::size_t Rank>
  Tensor<float, Rank> tensor(std::string_view name) const;
  const ArrayArgument* find(std::string_view name) const;
  Linear linear(const std::string& name) const;

  std::string_view operation_;
  std::map<std::string, ArrayArgument, std::less<>> arrays_;
};

}  // namespace headwise::python
