#include "transformer/tensor_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "headwise/interop/array.h"
#include "interop/error_text.h"
#include "interop/gguf_types.h"
#include "transformer/fused_rows.h"

namespace headwise::inline HEADWISE_ABI::transformer {

const TensorName* TensorReader::find(Part part) const {
  const auto row = std::ranges::find(names_, part, &TensorName::part);
  return row == names_.end() ? nullptr : &*row;
}

std::string TensorReader::numbered_name(const TensorName& row,
                                        std::string_view end,
                                        std::size_t layer) const {
  std::string name(row.name);
  const auto put = [&name](std::string_view mark, std::size_t number) {
    if (const std::size_t at = name.find(mark); at != name.npos) {
      name.replace(at, mark.size(), std::to_string(number));
    }
  };
  if (layer != kNoLayer) {
    put("{N}", stack_.layers[layer].params);
    put("{K}", stack_.layers[layer].inner);
  }
  return name + std::string(row.whole_name ? "" : end);
}

std::string TensorReader::found_name(const TensorName& row,
                                     std::string_view end,
                                     std::size_t layer) const {
  const std::string name = numbered_name(row, end, layer);
  const std::string outer = std::string(prefix_) + name;
  return file_.names().contains(outer)  ? outer
         : file_.names().contains(name) ? name
                                        : "";
}

Result<std::string> TensorReader::name_of(const TensorName& row,
                                          std::string_view end,
                                          std::size_t layer) const {
  std::string name = found_name(row, end, layer);
  if (!name.empty()) {
    return name;
  }
  const std::string_view outer = row.part == Part::unembedding ? "" : prefix_;
  return subject().bad_data(
      message("has no {}",
              printable(std::string(outer) + numbered_name(row, end, layer))));
}

Status TensorReader::check_values(const std::string& name,
                                  const AnyView& view) const {
  Status s = check_finite(view, kReadTransformer, name);
  return s ? s : file_.subject_of(kReadTransformer, name).blame_here(s.error());
}

Status TensorReader::check_sizes(const std::string& name,
                                 std::span<const std::size_t> shape,
                                 std::span<const NamedSize> sizes) const {
  std::string words;
  std::vector<std::size_t> expected;
  for (const NamedSize& size : sizes) {
    words += (words.empty() ? "(" : ", ") + std::string(size.name);
    expected.push_back(size.size);
  }
  Status s = check_shape(kReadTransformer, name, shape, words + ")", expected);
  return s ? s : subject().blame(s.error());
}

template <std::size_t Rank>
Result<Tensor<float, Rank>> TensorReader::tensor(
    const std::string& name, const std::array<NamedSize, Rank>& sizes) const {
  HEADWISE_ASSIGN(const Array array, file_.read(name));
  HEADWISE_TRY(check_values(name, array.view()));
  HEADWISE_TRY(check_sizes(name, array.shape, sizes));
  return to_float<Rank>(array, kReadTransformer, name);
}
template Result<Tensor<float, 1>> TensorReader::tensor(
    const std::string& name, const std::array<NamedSize, 1>& sizes) const;
template Result<Tensor<float, 2>> TensorReader::tensor(
    const std::string& name, const std::array<NamedSize, 2>& sizes) const;
template Result<Tensor<float, 3>> TensorReader::tensor(
    const std::string& name, const std::array<NamedSize, 3>& sizes) const;

Result<ParamRows> TensorReader::rows(const std::string& name,
                                     std::span<const NamedSize> sizes) const {
  HEADWISE_ASSIGN(auto table, file_.rows(kReadTransformer, name));
  const std::array shape{table.rows, table.features};
  HEADWISE_TRY(check_sizes(name, shape, sizes));
  if (table.type->dtype) {
    HEADWISE_TRY(
        check_values(name, AnyView(table.data, *table.type->dtype, shape)));
    return table;
  }
  std::vector<float> row(table.features);
  const std::array one{table.features};
  for (std::size_t n = 0; n < table.rows; ++n) {
    table.copy_row(n, row.data());
    HEADWISE_TRY(check_values(name, AnyView(row.data(), DType::float32, one)));
  }
  return table;
}

Result<Tensor<float, 2>> TensorReader::matrix(const TensorName& row,
                                              NamedSize out, NamedSize in,
                                              std::size_t layer) const {
  HEADWISE_ASSIGN(const auto name, name_of(row, ".weight", layer));
  const bool is_transposed = row.form == Form::transposed;
  HEADWISE_ASSIGN(auto lying, is_transposed ? tensor<2>(name, {in, out})
                                            : tensor<2>(name, {out, in}));
  if (row.form != Form::transposed && row.form != Form::rotary_pairs) {
    return lying;
  }
  HEADWISE_ASSIGN(auto weight,
                  Tensor<float, 2>::create_unset({out.size, in.size}));
  for (std::size_t o = 0; o < out.size; ++o) {
    const std::size_t paired = paired_row(o, stack_.heads.head_dim);
    for (std::size_t i = 0; i < in.size; ++i) {
      weight(o, i) = is_transposed ? lying(i, o) : lying(paired, i);
    }
  }
  return weight;
}

Result<Tensor<float, 1>> TensorReader::bias(const TensorName& row,
                                            NamedSize size,
                                            std::size_t layer) const {
  if (!row.bias) {
    return Tensor<float, 1>();
  }
  HEADWISE_ASSIGN(const auto name, name_of(row, ".bias", layer));
  HEADWISE_ASSIGN(auto lying, tensor<1>(name, {size}));
  if (row.form != Form::rotary_pairs) {
    return lying;
  }
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create_unset({size.size}));
  for (std::size_t n = 0; n < size.size; ++n) {
    bias(n) = lying(paired_row(n, stack_.heads.head_dim));
  }
  return bias;
}

Result<Linear> TensorReader::packed(Tensor<float, 2> weight,
                                    Tensor<float, 1> bias) const {
  HEADWISE_ASSIGN(auto linear,
                  Linear::from_params(std::move(weight), std::move(bias)));
  if (arithmetic_ == Arithmetic::bf16) {
    HEADWISE_ASSIGN(linear, linear.in_bf16());
  }
  return std::move(linear).for_inference();
}

Result<Linear> TensorReader::linear(const TensorName& row, NamedSize out,
                                    NamedSize in, std::size_t layer) const {
  HEADWISE_ASSIGN(auto weight, matrix(row, out, in, layer));
  HEADWISE_ASSIGN(auto added, bias(row, out, layer));
  return packed(std::move(weight), std::move(added));
}

Result<HeadNormParams> TensorReader::norm(const TensorName& row, NamedSize size,
                                          std::size_t layer) const {
  HeadNormParams params;
  if (row.name.empty()) {
    HEADWISE_ASSIGN(params.weight, Tensor<float, 1>::create({size.size}));
    std::ranges::fill(params.weight.elements(), 1.0F);
    return params;
  }
  // Old files say gamma and beta.
  const bool is_old = !has(row, ".weight", layer) && has(row, ".gamma", layer);
  HEADWISE_ASSIGN(const auto weight,
                  name_of(row, is_old ? ".gamma" : ".weight", layer));
  HEADWISE_ASSIGN(params.weight, tensor<1>(weight, {size}));
  if (row.bias) {
    HEADWISE_ASSIGN(const auto bias,
                    name_of(row, is_old ? ".beta" : ".bias", layer));
    HEADWISE_ASSIGN(params.bias, tensor<1>(bias, {size}));
  }
  return params;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
