#include "headwise/heads/mean_interval.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings.h"

namespace headwise::python {
namespace {

std::pair<double, double> mean_with_interval(
    const std::vector<double>& values) {
  const MeanInterval interval = mean_interval(values);
  return {interval.mean, (interval.high - interval.low) / 2};
}

}  // namespace

void bind_mean_interval(nb::module_& module) {
  module.def("mean_with_interval", &mean_with_interval, nb::arg("values"),
             nb::sig("def mean_with_interval(values: list[float]) -> "
                     "tuple[float, float]"),
             R"(The mean, and half the width of its 95% confidence interval.

The interval is that of Student's t distribution, over examples. NaN among the
values is left out. The mean of no values is NaN, the interval of fewer than two
as well.

    >>> mean, half = headwise._core.mean_with_interval([0.4, 0.5, 0.6])
    >>> f"{mean:.2f} +- {half:.3f}"
    '0.50 +- 0.248')");
}

}  // namespace headwise::python
