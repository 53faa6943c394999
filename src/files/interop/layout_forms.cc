#include "interop/layout_forms.h"

#include <algorithm>
#include <array>

#include "interop/gather.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Whether the input features come before the output features.
bool is_transposed(ParamForm form) {
  return form == ParamForm::transposed || form == ParamForm::head_outputs ||
         form == ParamForm::head_inputs;
}

// `array` is (rows, columns) in C order; the result is (columns, rows).
AlignedBytes transposed_data(const Array& array, std::size_t rows,
                             std::size_t columns) {
  AlignedBytes data(array.data.size());
  const std::array extents = {columns, rows};
  const std::array strides = {std::ptrdiff_t{1},
                              static_cast<std::ptrdiff_t>(columns)};
  gather(array.data.data(), size_of(array.dtype), extents, strides,
         data.data());
  return data;
}

}  // namespace

std::size_t rank_of(ParamForm form) {
  switch (form) {
    case ParamForm::bias:
      return 1;
    case ParamForm::weight:
    case ParamForm::transposed:
    case ParamForm::head_bias:
      return 2;
    case ParamForm::head_outputs:
    case ParamForm::head_inputs:
    case ParamForm::added_key:
      break;
  }
  return 3;
}

bool is_bias(ParamForm form) {
  return form == ParamForm::bias || form == ParamForm::head_bias ||
         form == ParamForm::added_key;
}

bool has_heads(ParamForm form) {
  return form == ParamForm::head_outputs || form == ParamForm::head_inputs ||
         form == ParamForm::head_bias;
}

ParamSizes sizes_of(ParamForm form, std::span<const std::size_t> shape) {
  switch (form) {
    case ParamForm::weight:
      return {shape[0], shape[1]};
    case ParamForm::transposed:
      return {shape[1], shape[0]};
    case ParamForm::head_outputs:
      return {shape[1] * shape[2], shape[0], shape[1]};
    case ParamForm::head_inputs:
      return {shape[2], shape[0] * shape[1], shape[0]};
    case ParamForm::bias:
      return {shape[0]};
    case ParamForm::added_key:
      return {shape[2]};
    case ParamForm::head_bias:
      break;
  }
  return {shape[0] * shape[1], 1, shape[0]};
}

Array from_form(ParamForm form, const Array& array, std::size_t part,
                std::size_t parts) {
  const auto [out, in, heads] = sizes_of(form, array.shape);
  const std::size_t rows = out / parts;
  Array param{array.dtype, {rows}, {}};
  if (!is_bias(form)) {
    param.shape.push_back(in);
  }
  AlignedBytes turned;
  std::span<const std::byte> data = array.data;
  if (is_transposed(form)) {
    turned = transposed_data(array, in, out);
    data = turned;
  }
  const std::size_t bytes = data.size() / parts;
  param.data.resize(bytes);
  std::ranges::copy(data.subspan(part * bytes, bytes), param.data.begin());
  return param;
}

Array to_form(ParamForm form, const Array& param, std::size_t heads) {
  const std::size_t out = param.shape[0];
  const std::size_t in = is_bias(form) ? 1 : param.shape[1];
  Array array{param.dtype, {}, {}};
  array.data =
      is_transposed(form) ? transposed_data(param, out, in) : param.data;
  switch (form) {
    case ParamForm::weight:
    case ParamForm::bias:
      array.shape = param.shape;
      break;
    case ParamForm::transposed:
      array.shape = {in, out};
      break;
    case ParamForm::head_outputs:
      array.shape = {in, heads, out / heads};
      break;
    case ParamForm::head_inputs:
      array.shape = {heads, in / heads, out};
      break;
    case ParamForm::added_key:
      array.shape = {1, 1, out};
      break;
    case ParamForm::head_bias:
      array.shape = {heads, out / heads};
      break;
  }
  return array;
}

}  // namespace headwise::inline HEADWISE_ABI
