// query, key and value of a call from Python: (B, L, H, D), or (L, H, D) as a
// batch of one.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "array_argument.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/tensor_view.h"
#include "statistics_object.h"

namespace headwise::python {

// A tensor with a batch axis, or without one where `batched` is false.
template <class T>
TensorView<const T, 4> call_view(const ArrayArgument& array, bool batched,
                                 std::string_view axes) {
  return batched ? array.view<T, 4>(axes)
                 : as_batch_of_one(array.view<T, 3>(axes));
}
template <class T>
TensorView<T, 4> writable_call_view(const ArrayArgument& array, bool batched,
                                    std::string_view axes) {
  return batched ? array.writable_view<T, 4>(axes)
                 : as_batch_of_one(array.writable_view<T, 3>(axes));
}

class CallTensors {
 public:
  // ValueError for a query of another rank than 3 or 4, and for tensors of
  // heads_first with another rank than 4.
  CallTensors(nb::handle query, nb::handle key, nb::handle value,
              std::string_view operation, Graph graph,
              AxisOrder order = AxisOrder::rows_first);

  // Results come back as its library.
  const ArrayArgument& query() const { return query_; }
  const ArrayArgument& key() const { return key_; }
  const ArrayArgument& value() const { return value_; }
  bool batched() const { return query_.rank() == 4; }
  // TypeError unless all are on one GPU, or none is, as `gpu` says.
  void expect_together(bool gpu) const;
  // Errors: ValueError for sizes that do not fit together.
  AttentionShape shape() const;
  BatchAxes batch_axes(const AttentionSpec& spec) const {
    return {batched(), batched() || spec.shape.offsets.ragged()};
  }
  // TypeError unless all are T, ValueError unless all have the query's rank.
  template <class T>
  AttentionInputsOf<T> views() const {
    const bool four = batched();
    return {
        call_view<T>(query_, four, "(B, Lq, Hq, D)"),
        call_view<T>(key_, four, four ? "(B, Lkv, Hkv, D)" : "(Lkv, Hkv, D)"),
        call_view<T>(value_, four,
                     four ? "(B, Lkv, Hkv, Dv)" : "(Lkv, Hkv, Dv)")};
  }

 private:
  ArrayArgument query_;
  ArrayArgument key_;
  ArrayArgument value_;
};

}  // namespace headwise::python
