#include "gated_functions.h"

#include <string>
#include <vector>

#include "array_argument.h"
#include "error.h"
#include "new_array.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "importance";

void expect_callable(nb::handle function, std::string_view name) {
  if (PyCallable_Check(function.ptr()) == 0) {
    raise_kind(function, {kOperation, name},
               "a function of (begin, end, gates)");
  }
}

nb::object call(nb::handle function, std::size_t begin, std::size_t end,
                HeadGateSpan gates) {
  nb::list arrays;
  for (const Tensor<float, 1>& layer : gates) {
    arrays.append(NewArray(value_of(layer.clone())).object());
  }
  return nb::object(function(begin, end, arrays));
}

// A list or tuple of `count` entries.
nb::object sequence_of(nb::handle value, std::size_t count,
                       std::string_view function, const std::string& of) {
  const bool sequence =
      nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (!sequence || nb::len(value) != count) {
    raise_value({kOperation, function},
                sequence
                    ? "returned " + std::to_string(nb::len(value)) + " entries"
                    : std::string("returned a ") +
                          nb::str(value.type().attr("__name__")).c_str(),
                "a list of " + std::to_string(count) + ", " + of);
  }
  return nb::borrow(value);
}

Tensor<float, 2> matrix(nb::handle value, const Extents<2>& extents,
                        std::string_view function) {
  const ArrayArgument array(value, {kOperation, function});
  const auto copy = [&]<class T>(T) {
    const TensorView<const T, 2> from = array.view<T, 2>("(examples, heads)");
    if (from.extents() != extents) {
      array.raise_shape("(examples, heads) = " + shape_text(extents));
    }
    auto to = value_of(Tensor<float, 2>::create_unset(extents));
    for (std::size_t n = 0; n < extents[0]; ++n) {
      for (std::size_t h = 0; h < extents[1]; ++h) {
        to(n, h) = static_cast<float>(from(n, h));
      }
    }
    return to;
  };
  return array.dtype() == DType::float64 ? copy(double{}) : copy(float{});
}

std::vector<Tensor<float, 2>> matrices(nb::handle value, std::size_t examples,
                                       HeadGateSpan gates,
                                       std::string_view function) {
  const nb::object layers =
      sequence_of(value, gates.size(), function, "one array per layer");
  std::vector<Tensor<float, 2>> tensors;
  for (std::size_t n = 0; n < gates.size(); ++n) {
    const nb::object layer = layers[n];
    tensors.push_back(matrix(layer, {examples, gates[n].size()}, function));
  }
  return tensors;
}

}  // namespace

decltype(GatedModel::losses) losses_function(nb::handle function) {
  expect_callable(function, "losses");
  return [function](std::size_t begin, std::size_t end,
                    HeadGateSpan gates) -> Result<std::vector<double>> {
    const nb::object given = call(function, begin, end, gates);
    const nb::list numbers(given);
    if (nb::len(numbers) != end - begin) {
      raise_value({kOperation, "losses"},
                  "returned " + std::to_string(nb::len(numbers)) + " numbers",
                  std::to_string(end - begin) + ", one per example");
    }
    std::vector<double> losses;
    for (const nb::handle each : numbers) {
      losses.push_back(number(each, {kOperation, "losses"}));
    }
    return losses;
  };
}

decltype(GatedModel::gradients) gradients_function(nb::handle function) {
  expect_callable(function, "gradients");
  return
      [function](std::size_t begin, std::size_t end,
                 HeadGateSpan gates) -> Result<std::vector<Tensor<float, 2>>> {
        return matrices(call(function, begin, end, gates), end - begin, gates,
                        "gradients");
      };
}

decltype(GatedModel::means) means_function(nb::handle function) {
  expect_callable(function, "means");
  return [function](std::size_t begin, std::size_t end,
                    HeadGateSpan gates) -> Result<HeadMeans> {
    const nb::object pair =
        sequence_of(call(function, begin, end, gates), 2, "means",
                    "the entropy and the largest weight");
    HeadMeans means;
    means.entropy = matrices(nb::object(pair[0]), end - begin, gates, "means");
    means.largest = matrices(nb::object(pair[1]), end - begin, gates, "means");
    return means;
  };
}

}  // namespace headwise::python
