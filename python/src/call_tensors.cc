#include "call_tensors.h"

#include <algorithm>

#include "error.h"

namespace headwise::python {
namespace {

Extents<4> extents_of(const ArrayArgument& array, bool batched,
                      std::string_view axes) {
  if (array.rank() != (batched ? 4U : 3U)) {
    array.raise_shape(axes);
  }
  Extents<4> extents;
  extents.fill(1);
  const auto given = array.extents();
  std::copy(given.begin(), given.end(), extents.end() - given.size());
  return extents;
}

}  // namespace

CallTensors::CallTensors(nb::handle query, nb::handle key, nb::handle value,
                         std::string_view operation, Graph graph,
                         AxisOrder order)
    : query_(query, {operation, "query"}, graph),
      key_(key, {operation, "key"}, graph),
      value_(value, {operation, "value"}, graph) {
  if (order == AxisOrder::heads_first) {
    query_.put_rows_first("(B, Hq, Lq, D)");
    key_.put_rows_first("(B, Hkv, Lkv, D)");
    value_.put_rows_first("(B, Hkv, Lkv, Dv)");
  }
  if (query_.rank() != 3 && query_.rank() != 4) {
    query_.raise_shape("(B, Lq, Hq, D) or (Lq, Hq, D)");
  }
}

void CallTensors::expect_together(bool gpu) const {
  const int place = gpu ? std::max(query_.gpu(), 0) : ArrayArgument::kCpu;
  for (const ArrayArgument* tensor : {&query_, &key_, &value_}) {
    tensor->expect_on(place);
  }
}

// One after another: the error names the first that is wrong.
AttentionShape CallTensors::shape() const {
  const bool four = batched();
  const Extents<4> query = extents_of(query_, four, "");
  const Extents<4> key =
      extents_of(key_, four, four ? "(B, Lkv, Hkv, D)" : "(Lkv, Hkv, D)");
  const Extents<4> value =
      extents_of(value_, four, four ? "(B, Lkv, Hkv, Dv)" : "(Lkv, Hkv, Dv)");
  return value_of(attention_shape(query, key, value));
}

}  // namespace headwise::python
