#include <nanobind/nanobind.h>

#include "array_argument.h"
#include "bindings.h"
#include "error.h"
#include "headwise/heads/rollout.h"
#include "new_array.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "attention_flow";

nb::object flow(nb::handle weights, nb::handle token) {
  const ArrayArgument given(weights, {kOperation, "weights"});
  const auto capacities = given.view<float, 3>("(layers, L, L)");
  const std::size_t from = unsigned_integer(token, {kOperation, "token"});
  auto flows = [&] {
    const nb::gil_scoped_release others_run;
    return attention_flow(capacities, from);
  }();
  return NewArray(value_of(std::move(flows))).object();
}

}  // namespace

void bind_attention_flow(nb::module_& module) {
  module.def("attention_flow", &flow, nb::arg("weights"), nb::arg("token"),
             nb::sig("def attention_flow(weights: Any, token: int) -> Any"),
             R"(The most that can flow from an output token to each input token.

weights  (layers, L, L) float32: the attention weights of each layer, the mean over
         its heads, from the first layer to the last; at most 128 tokens
token    the output token

Returns (L), float64. The pipe from token i after a layer to token j before it has the
capacity (weights[i, j] + [i = j]) / (sum_j weights[i, j] + 1). The flow to each input
token is computed alone, so the flows do not add up to 1. Source: Abnar & Zuidema 2020,
arXiv:2005.00928.

Errors: TypeError and ValueError for an array of another type or shape; ValueError for
weights that are not finite or below 0, and for a token that does not exist;
NotImplementedError for more than 128 tokens.)");
}

}  // namespace headwise::python
