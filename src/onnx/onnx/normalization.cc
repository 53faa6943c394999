// Softmax, LogSoftmax, LayerNormalization and RMSNormalization: along an axis,
// or along all axes from one on.
#include <cmath>
#include <span>
#include <string>

#include "base/check.h"
#include "onnx/broadcast.h"
#include "onnx/lines.h"
#include "onnx/node_memory.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"
#include "onnx/softmax.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Rows that are normalised: all elements from an axis on.
struct Rows {
  std::vector<std::size_t> outer;  // the axes before
  std::vector<std::size_t> inner;
  std::size_t length = 1;
  std::size_t count = 1;

  Rows(const std::vector<std::size_t>& shape, std::size_t axis)
      : outer(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)),
        inner(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()),
        length(element_count(inner)),
        count(element_count(outer)) {}
};

// The type of the intermediate results.
Result<DType> stash_type(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto number, node.integer("stash_type", 1));
  const auto dtype = dtype_of_onnx(number);
  if (!dtype || !is_floating(*dtype)) {
    return node.attribute("stash_type")
        .bad_data(message("is {}", number),
                  "1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16)");
  }
  return *dtype;
}

double mean(std::span<const double> row) {
  double sum = 0;
  for (const double x : row) {
    sum += x;
  }
  return sum / static_cast<double>(row.size());
}

double mean_square(std::span<const double> row) {
  double sum = 0;
  for (const double x : row) {
    sum += x * x;
  }
  return sum / static_cast<double>(row.size());
}

// An input along the normalised axes, one number per element of a row.
Result<std::vector<double>> per_element(const NodeCall& node, std::size_t input,
                                        const std::vector<std::size_t>& shape,
                                        std::vector<std::size_t>& steps) {
  if (!broadcasts_to(node.in(input).shape, shape)) {
    return node.wrong_shape(
        input, message("axes that are broadcast to {}", shape_text(shape)));
  }
  steps = broadcast_strides(node.in(input).shape, shape);
  return doubles_of(node.in(input));
}

// What the two normalisations have in common: how a row is centred, its mean
// and the inverse of its spread, then the scale and, where it is given, the
// bias. `centred`: the mean is subtracted.
// The result has the type of the scale.
Result<Outputs> normalise_rows(const NodeCall& node, bool centred) {
  HEADWISE_TRY(check_floating(node, 0));
  HEADWISE_TRY(check_floating(node, 1));
  const Array& x = node.in(0);
  const DType made_type = node.in(1).dtype;
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", -1, x.shape.size()));
  HEADWISE_ASSIGN(const auto stash, stash_type(node));
  HEADWISE_ASSIGN(const auto epsilon, node.number("epsilon"));
  const Rows rows(x.shape, axis);
  std::vector<std::size_t> scale_steps;
  HEADWISE_ASSIGN(const auto scale, per_element(node, 1, x.shape, scale_steps));
  std::vector<std::size_t> bias_steps;
  Result<std::vector<double>> bias = std::vector<double>();
  if (node.has(2)) {
    bias = per_element(node, 2, x.shape, bias_steps);
    HEADWISE_TRY(bias);
  }
  std::vector<double> numbers = doubles_of(x);
  auto means = NodeMemory::numbers<double>(rows.count);
  auto inverses = NodeMemory::numbers<double>(rows.count);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::span<double> row =
        std::span(numbers).subspan(i * rows.length, rows.length);
    means[i] = centred ? mean(row) : 0;
    for (double& number : row) {
      number -= means[i];
    }
    inverses[i] = 1 / std::sqrt(mean_square(row) + epsilon.value_or(1e-5F));
    for (double& number : row) {
      number = rounded(number * inverses[i], x.dtype);
    }
  }
  std::size_t i = 0;
  for (Odometer at(x.shape); !at.done(); at.next(), ++i) {
    numbers[i] = rounded(numbers[i] * scale[at.offset(scale_steps)], made_type);
    if (node.has(2)) {
      numbers[i] += (*bias)[at.offset(bias_steps)];
    }
  }
  std::vector<std::size_t> per_row = rows.outer;
  per_row.resize(x.shape.size(), 1);
  Outputs outputs;
  const auto add = [&outputs](Result<Array> made) -> Status {
    HEADWISE_TRY(made);
    outputs.push_back(*std::move(made));
    return ok();
  };
  HEADWISE_TRY(add(array_from(numbers, x.shape, made_type)));
  HEADWISE_TRY(add(array_from(means, per_row, stash)));
  HEADWISE_TRY(add(array_from(inverses, per_row, stash)));
  return outputs;
}

// Each row along an axis, changed by `change`.
template <class Change>
Result<Outputs> along_axis(const NodeCall& node, Change change) {
  HEADWISE_TRY(check_floating(node, 0));
  const Array& x = node.in(0);
  HEADWISE_ASSIGN(const auto axis, node.axis("axis", -1, x.shape.size()));
  const Lines lines(x.shape, axis);
  std::vector<double> numbers = doubles_of(x);
  std::vector<double> row(lines.length);
  for (std::size_t i = 0; i < (row.empty() ? 0 : lines.count); ++i) {
    double* const first = numbers.data() + lines.first(i);
    for (std::size_t j = 0; j < lines.length; ++j) {
      row[j] = first[j * lines.step];
    }
    change(std::span(row));
    for (std::size_t j = 0; j < lines.length; ++j) {
      first[j * lines.step] = row[j];
    }
  }
  return one(array_from(numbers, x.shape, x.dtype));
}

Result<Outputs> run_layer_normalization(const NodeCall& node) {
  HEADWISE_TRY(check_same_type(node, 1));
  if (node.has(2)) {
    HEADWISE_TRY(check_same_type(node, 2));
  }
  return normalise_rows(node, /*centred=*/true);
}

Result<Outputs> run_rms_normalization(const NodeCall& node) {
  return normalise_rows(node, /*centred=*/false);
}

Result<Outputs> run_softmax(const NodeCall& node) {
  // The standard defines it by its steps; the steps matter only for 16-bit
  // types.
  return along_axis(node, [&](std::span<double> row) {
    const DType type = node.in(0).dtype;
    softmax_in_steps(row, size_of(type) == 2 ? type : DType::float64);
  });
}

Result<Outputs> run_log_softmax(const NodeCall& node) {
  return along_axis(node, log_softmax);
}

}  // namespace

std::vector<OnnxOperator> normalization_operators() {
  const std::vector<std::string_view> of_norms = {"axis", "epsilon",
                                                  "stash_type"};
  return {
      // ONNX Runtime has had it, and its optimiser writes it, in older opsets.
      {"LayerNormalization", 13, 2, 3, 3, of_norms, run_layer_normalization},
      {"LogSoftmax", 13, 1, 1, 1, {"axis"}, run_log_softmax},
      {"RMSNormalization", 23, 2, 2, 1, of_norms, run_rms_normalization},
      // Written by ONNX Runtime's optimiser, which has it in this domain.
      {"SimplifiedLayerNormalization", 13, 2, 2, 1, of_norms,
       run_rms_normalization},
      {"Softmax", 13, 1, 1, 1, {"axis"}, run_softmax},
  };
}

}  // namespace headwise::inline HEADWISE_ABI
