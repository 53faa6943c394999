#include "heads/weight_tiles.h"

#include <algorithm>
#include <utility>

#include "attention/call_part.h"
#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 4>> weights_of_queries(const WeighedHeads& heads,
                                            std::size_t first,
                                            std::size_t count,
                                            Tensor<float, 4> memory) {
  // The weights do not depend on the values: a single 0 is all of them.
  constexpr float kZero = 0;
  Extents<4> of_values = heads.key.extents();
  of_values[3] = 1;
  const TensorView<const float, 4> value(&kZero, of_values, Strides<4>{});
  HEADWISE_ASSIGN(auto shape, attention_shape(heads.query.extents(),
                                              heads.key.extents(), of_values));
  shape.kv_groups = heads.operation_options.kv_groups;
  const AddedKeys& added = heads.operation_options.added_keys;
  const std::size_t columns = shape.Lkv +
                              (added.bias_k.data() != nullptr ? 1U : 0U) +
                              (added.zero_attn ? 1U : 0U);
  AttentionOptions options = heads.options;
  options.attn_weights = AttnWeights::per_head;
  OperationOptions operation_options = heads.operation_options;
  operation_options.statistics = {};
  if (added.bias_k.data() != nullptr) {
    operation_options.added_keys.bias_v = {
        &kZero, {shape.Hkv, 1}, Strides<2>{}};
  }
  internal::CallPart part = internal::whole_call(shape);
  part.queries = {first, count};
  HEADWISE_ASSIGN(const auto cut, internal::options_of_part(
                                      shape, options, operation_options, part));
  HEADWISE_ASSIGN(auto weights,
                  Tensor<float, 4>::create_unset_in(
                      std::move(memory), {shape.B, shape.Hq, count, columns}));
  HEADWISE_ASSIGN(auto unused, Tensor<float, 4>::create_unset(
                                   {shape.B, count, shape.Hq, 1}));
  HEADWISE_TRY(attention(internal::part_along(1, heads.query, part.queries),
                         heads.key, value,
                         {.output = unused, .attn_weights = weights},
                         cut.options, cut.operation_options));
  return weights;
}

Status for_weight_rows(
    const WeighedHeads& heads,
    FunctionRef<Status(std::size_t first, TensorView<const float, 4> weights)>
        see) {
  const std::size_t L = heads.query.extent(1);
  Tensor<float, 4> weights;
  for (std::size_t first = 0; first < L; first += kTileQueries) {
    HEADWISE_ASSIGN(
        weights,
        weights_of_queries(heads, first, std::min(kTileQueries, L - first),
                           std::move(weights)));
    HEADWISE_TRY(see(first, std::as_const(weights)));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
