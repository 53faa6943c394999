#include "heads/weight_rows.h"

#include <algorithm>

#include "attention/call_part.h"
#include "headwise/attention/forward.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kRows = 48;  // a tile of the forward pass

}  // namespace

Status for_weight_rows(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    const AttentionOptions& options, const OperationOptions& operation_options,
    FunctionRef<Status(std::size_t first, TensorView<const float, 4> weights)>
        see) {
  // The weights do not depend on the values: a single 0 is all of them.
  constexpr float kZero = 0;
  Extents<4> of_values = key.extents();
  of_values[3] = 1;
  const TensorView<const float, 4> value(&kZero, of_values, Strides<4>{});
  HEADWISE_ASSIGN(auto shape,
                  attention_shape(query.extents(), key.extents(), of_values));
  shape.kv_groups = operation_options.kv_groups;
  const AddedKeys& added = operation_options.added_keys;
  const std::size_t columns = shape.Lkv +
                              (added.bias_k.data() != nullptr ? 1U : 0U) +
                              (added.zero_attn ? 1U : 0U);
  AttentionOptions of_rows = options;
  of_rows.attn_weights = AttnWeights::per_head;
  OperationOptions without_statistics = operation_options;
  without_statistics.statistics = {};
  if (added.bias_k.data() != nullptr) {
    without_statistics.added_keys.bias_v = {
        &kZero, {shape.Hkv, 1}, Strides<2>{}};
  }
  CallPart part = whole_call(shape);
  Tensor<float, 4> memory;
  for (std::size_t first = 0; first < shape.Lq; first += kRows) {
    part.queries = {first, std::min(kRows, shape.Lq - first)};
    HEADWISE_ASSIGN(const auto cut,
                    options_of_part(shape, of_rows, without_statistics, part));
    HEADWISE_ASSIGN(memory,
                    Tensor<float, 4>::create_unset_in(
                        std::move(memory),
                        {shape.B, shape.Hq, part.queries.count, columns}));
    HEADWISE_ASSIGN(auto unused,
                    Tensor<float, 4>::create_unset(
                        {shape.B, part.queries.count, shape.Hq, 1}));
    HEADWISE_TRY(attention(part_along(1, query, part.queries), key, value,
                           {.output = unused, .attn_weights = memory},
                           cut.options, cut.operation_options));
    HEADWISE_TRY(see(first, memory));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
