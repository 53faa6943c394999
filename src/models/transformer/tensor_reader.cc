#include "transformer/tensor_reader.h"

#include <algorithm>
#include <cmath>
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

std::string TensorReader::found_name(const TensorName& row,
                                     std::string_view end,
                                     std::size_t layer) const {
  const std::string name = numbered_name(row, stack_, end, layer);
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
  return subject().bad_data(message(
      "has no {}",
      printable(std::string(outer) + numbered_name(row, stack_, end, layer))));
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
  return tensor<2>(name, {out, in});
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

// A weight in the bytes of its file.
struct OpenWeight {
  std::string name{};
  ParamRows table{};
  Form form = Form::plain;
  std::size_t rows = 0;
};

namespace {

// Its rows `of(0)`, `of(1)`, ...; of a transposed one they follow one another.
void copy_rows(const OpenWeight& weight, std::size_t head_dim,
               FunctionRef<std::size_t(std::size_t)> of,
               TensorView<float, 2> to) {
  const auto [count, in] = to.extents();
  if (weight.form != Form::transposed) {
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t row = of(n);
      weight.table.copy_row(
          weight.form == Form::rotary_pairs ? paired_row(row, head_dim) : row,
          &to(n, 0));
    }
    return;
  }
  std::vector<float> columns(count);
  for (std::size_t i = 0; i < in; ++i) {
    weight.table.copy_part(i, of(0), count, columns.data());
    for (std::size_t n = 0; n < count; ++n) {
      to(n, i) = columns[n];
    }
  }
}

bool all_finite(TensorView<const float, 2> rows) {
  return std::all_of(rows.data(), rows.data() + rows.size(),
                     [](float e) { return std::isfinite(e); });
}

}  // namespace

Result<OpenWeight> TensorReader::open(const NamedRows& named, NamedSize in,
                                      std::size_t layer) const {
  const TensorName& row = *named.row;
  OpenWeight weight{.form = row.form, .rows = named.rows.size};
  HEADWISE_ASSIGN(weight.name, name_of(row, ".weight", layer));
  HEADWISE_ASSIGN(weight.table, file_.rows(kReadTransformer, weight.name));
  std::array sizes{named.rows, in};
  if (row.form == Form::transposed) {
    std::ranges::reverse(sizes);
  }
  HEADWISE_TRY(check_sizes(weight.name,
                           std::array{weight.table.rows, weight.table.features},
                           sizes));
  return weight;
}

Result<Linear> TensorReader::assembled(
    std::span<const OpenWeight> weights, std::size_t out,
    FunctionRef<std::size_t(std::size_t)> row_of, NamedSize in,
    Tensor<float, 1> bias) const {
  const auto fill = [&](std::size_t first,
                        TensorView<float, 2> rows) -> Status {
    if (in.size == 0) {  // without heads
      return ok();
    }
    std::size_t begin = 0;  // of a weight
    const std::size_t end = first + rows.extent(0);
    for (const OpenWeight& weight : weights) {
      const std::size_t from = std::max(first, begin);
      const std::size_t to =
          std::min(end, begin + (weights.size() == 1 ? out : weight.rows));
      if (from < to) {
        copy_rows(weight, stack_.heads.head_dim,
                  [&](std::size_t n) { return row_of(from - begin + n); },
                  {&rows(from - first, 0), {to - from, in.size}});
      }
      begin += weight.rows;
    }
    if (all_finite(rows)) {
      return ok();
    }
    for (const OpenWeight& weight : weights) {
      HEADWISE_ASSIGN(const Array whole, file_.read(weight.name));
      HEADWISE_TRY(check_values(weight.name, whole.view()));
    }
    return ok();
  };
  if (access_.use == ModelUse::training) {
    HEADWISE_ASSIGN(auto weight,
                    Tensor<float, 2>::create_unset({out, in.size}));
    HEADWISE_TRY(fill(0, weight.view()));
    return packed(std::move(weight), std::move(bias));
  }
  const bool has_bias = bias.size() != 0;
  return Linear::from_rows(
      {.in_features = in.size, .out_features = out, .bias = has_bias},
      std::move(bias), access_.arithmetic, fill);
}

Result<Linear> TensorReader::linear_of(std::initializer_list<NamedRows> parts,
                                       NamedSize in, std::size_t layer) const {
  std::vector<OpenWeight> weights;
  std::vector<float> biases;
  std::size_t out = 0;
  for (const NamedRows& part : parts) {
    HEADWISE_ASSIGN(weights.emplace_back(), open(part, in, layer));
    HEADWISE_ASSIGN(const auto added, bias(*part.row, part.rows, layer));
    biases.insert(biases.end(), added.data(), added.data() + added.size());
    out += part.rows.size;
  }
  HEADWISE_ASSIGN(auto all, Tensor<float, 1>::create_unset({biases.size()}));
  std::ranges::copy(biases, all.data());
  return assembled(
      weights, out, [](std::size_t n) { return n; }, in, std::move(all));
}

Result<Linear> TensorReader::linear_of_some(
    const NamedRows& all, std::size_t rows,
    FunctionRef<std::size_t(std::size_t)> row_of, NamedSize in,
    std::size_t layer) const {
  HEADWISE_ASSIGN(const auto weight, open(all, in, layer));
  HEADWISE_ASSIGN(const auto biases, bias(*all.row, all.rows, layer));
  HEADWISE_ASSIGN(auto some, Tensor<float, 1>::create_unset(
                                 {biases.size() == 0 ? 0 : rows}));
  for (std::size_t n = 0; n < some.size(); ++n) {
    some(n) = biases(row_of(n));
  }
  return assembled({&weight, 1}, rows, row_of, in, std::move(some));
}

Result<Linear> TensorReader::packed(Tensor<float, 2> weight,
                                    Tensor<float, 1> bias) const {
  HEADWISE_ASSIGN(auto linear,
                  Linear::from_params(std::move(weight), std::move(bias)));
  if (access_.arithmetic == Arithmetic::bf16) {
    HEADWISE_ASSIGN(linear, linear.in_bf16());
  }
  return access_.use == ModelUse::training ? std::move(linear)
                                           : std::move(linear).for_inference();
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
