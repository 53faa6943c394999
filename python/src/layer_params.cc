#include "layer_params.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "error.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::array<std::string_view, 15> kNames = {
    "w_q.weight",     "w_q.bias",      "w_k.weight",  "w_k.bias",
    "w_v.weight",     "w_v.bias",      "w_o.weight",  "w_o.bias",
    "w_score.weight", "q_norm.weight", "q_norm.bias", "k_norm.weight",
    "k_norm.bias",    "bias_k",        "bias_v"};

void show_linear(
    const std::array<std::string_view, 2>& names, const Linear& linear,
    FunctionRef<void(std::string_view name, const AnyView& values)> show) {
  show(names[0], linear.weight());
  if (linear.has_bias()) {
    show(names[1], linear.bias());
  }
}

void show_norm(
    const std::array<std::string_view, 2>& names,
    const std::optional<HeadNormParams>& norm,
    FunctionRef<void(std::string_view name, const AnyView& values)> show) {
  if (norm) {
    show(names[0], norm->weight.view());
    if (norm->bias.size() != 0) {
      show(names[1], norm->bias.view());
    }
  }
}

// Rows of one axis or two, in C order, widened.
void copy_floats(const ArrayArgument& array, float* to) {
  const bool matrix = array.rank() == 2;
  const std::size_t rows = matrix ? array.extents()[0] : 1;
  const std::size_t columns = array.extents()[matrix ? 1 : 0];
  const std::ptrdiff_t row_stride = matrix ? array.strides()[0] : 0;
  const std::ptrdiff_t stride = array.strides()[matrix ? 1 : 0];
  with_element_type(array, [&]<class T>(T) {
    const T* row = static_cast<const T*>(array.data());
    for (std::size_t r = 0; r < rows; ++r, row += row_stride) {
      for (std::size_t c = 0; c < columns; ++c) {
        *to++ = widened(row[static_cast<std::ptrdiff_t>(c) * stride]);
      }
    }
  });
}

}  // namespace

void for_each_param(
    const MultiHeadAttentionParams& params,
    FunctionRef<void(std::string_view name, const AnyView& values)> show) {
  show_linear({"w_q.weight", "w_q.bias"}, params.w_q, show);
  show_linear({"w_k.weight", "w_k.bias"}, params.w_k, show);
  if (params.w_v) {
    show_linear({"w_v.weight", "w_v.bias"}, *params.w_v, show);
  }
  if (params.w_o) {
    show_linear({"w_o.weight", "w_o.bias"}, *params.w_o, show);
  }
  if (params.w_score) {
    show("w_score.weight", params.w_score->view());
  }
  show_norm({"q_norm.weight", "q_norm.bias"}, params.q_norm, show);
  show_norm({"k_norm.weight", "k_norm.bias"}, params.k_norm, show);
  if (params.bias_k) {
    show("bias_k", params.bias_k->view());
  }
  if (params.bias_v) {
    show("bias_v", params.bias_v->view());
  }
}

NamedParams::NamedParams(nb::handle params, std::string_view operation)
    : operation_(operation) {
  if (!nb::hasattr(params, "keys")) {
    raise_type(
        {operation, "params"},
        std::string("is a ") + nb::str(params.type().attr("__name__")).c_str(),
        "a dict of arrays by name");
  }
  nb::dict given;
  if (PyDict_Update(given.ptr(), params.ptr()) != 0) {
    nb::raise_python_error();
  }
  for (const auto& [key, value] : given) {
    const std::string_view name = word(key, {operation, "params"});
    const auto known = std::ranges::find(kNames, name);
    if (known == kNames.end()) {
      std::string expected;
      for (const std::string_view each : kNames) {
        expected += (expected.empty() ? "" : ", ") + std::string(each);
      }
      raise_type({operation, "params"}, "has '" + std::string(name) + "'",
                 expected);
    }
    // The name in errors is a literal, which outlives the array.
    arrays_.emplace(name, ArrayArgument(value, {operation, *known}));
  }
}

const ArrayArgument* NamedParams::find(std::string_view name) const {
  const auto found = arrays_.find(name);
  return found == arrays_.end() ? nullptr : &found->second;
}

// Without elements where it is not given.
template <std::size_t Rank>
Tensor<float, Rank> NamedParams::tensor(std::string_view name) const {
  const ArrayArgument* array = find(name);
  if (array == nullptr) {
    return {};
  }
  if (array->rank() != Rank) {
    array->raise_shape(Rank == 1 ? "one axis" : "(out, in)");
  }
  Extents<Rank> extents;
  std::ranges::copy(array->extents(), extents.begin());
  auto copy = value_of(Tensor<float, Rank>::create_unset(extents));
  copy_floats(*array, copy.data());
  return copy;
}

Linear NamedParams::linear(const std::string& name) const {
  return value_of(Linear::from_params(tensor<2>(name + ".weight"),
                                      tensor<1>(name + ".bias")));
}

MultiHeadAttentionParams NamedParams::params() const {
  for (const std::string_view required : {"w_q.weight", "w_k.weight"}) {
    if (find(required) == nullptr) {
      raise_value({operation_, "params"}, "has no " + std::string(required),
                  "a dict with it");
    }
  }
  MultiHeadAttentionParams params{linear("w_q"), linear("w_k")};
  if (find("w_v.weight") != nullptr) {
    params.w_v = linear("w_v");
  }
  if (find("w_o.weight") != nullptr) {
    params.w_o = linear("w_o");
  }
  if (find("w_score.weight") != nullptr) {
    params.w_score = tensor<2>("w_score.weight");
  }
  for (const auto& [name, place] :
       {std::pair(std::string("q_norm"), &params.q_norm),
        {"k_norm", &params.k_norm}}) {
    if (find(name + ".weight") != nullptr) {
      *place = HeadNormParams{tensor<1>(name + ".weight"),
                              tensor<1>(name + ".bias")};
    }
  }
  for (const auto& [name, place] :
       {std::pair("bias_k", &params.bias_k), {"bias_v", &params.bias_v}}) {
    if (find(name) != nullptr) {
      *place = tensor<1>(name);
    }
  }
  // A bias without its weight is in no place.
  check_against(params);
  return params;
}

void NamedParams::check_against(const MultiHeadAttentionParams& params) const {
  std::size_t found = 0;
  for_each_param(params, [&](std::string_view name, const AnyView& values) {
    const ArrayArgument* given = find(name);
    if (given == nullptr) {
      return;
    }
    ++found;
    if (!std::ranges::equal(given->extents(), values.extents())) {
      given->raise_shape(shape_text(values.extents()));
    }
    with_element_type(*given, [](auto) {});  // TypeError for other types
  });
  if (found == arrays_.size()) {
    return;
  }
  for (const auto& entry : arrays_) {
    const std::string& name = entry.first;
    bool there = false;
    for_each_param(params, [&](std::string_view each, const AnyView&) {
      there |= each == name;
    });
    if (!there) {
      raise_value({operation_, "params"},
                  "has " + name + ", which the layer does not have",
                  "the layer's parameters");
    }
  }
}

void NamedParams::write(std::string_view name, std::span<float> values) const {
  if (const ArrayArgument* given = find(name)) {
    copy_floats(*given, values.data());
  }
}

}  // namespace headwise::python
