#include "heads/one_sequence.h"

#include "attention/call_part.h"
#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Result<AttentionSpec> spec_of(std::string_view operation,
                              const AttentionInputsOf<float>& heads,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options) {
  HEADWISE_ASSIGN(const auto tensors,
                  attention_shape(heads.query.extents(), heads.key.extents(),
                                  heads.value.extents()));
  return AttentionSpec::create(tensors, options, operation_options, operation);
}

TensorView<const float, 4> rows_of(TensorView<const float, 4> heads,
                                   std::size_t first, std::size_t count) {
  return internal::part_along(1, heads, {first, count});
}

Status for_each_sequence(std::string_view operation,
                         const AttentionInputsOf<float>& heads,
                         const AttentionOptions& options,
                         const OperationOptions& operation_options,
                         FunctionRef<Status(const OneSequence&)> see) {
  if (options.offsets.batched_queries()) {
    return value_error(operation, "offsets", "given", "none",
                       ErrorCode::unsupported);
  }
  OperationOptions without_statistics = operation_options;
  without_statistics.statistics = {};
  HEADWISE_ASSIGN(const auto spec,
                  spec_of(operation, heads, options, without_statistics));
  internal::CallPart part = internal::whole_call(spec.shape);
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    const SequencePlace place = spec.shape.sequence(b);
    part.sequences = {b, 1};
    part.queries = {0, place.Lq};
    part.keys = {0, place.Lkv};
    HEADWISE_ASSIGN(const auto cut, internal::options_of_part(
                                        spec.shape, options, without_statistics,
                                        part, operation));
    HEADWISE_TRY(see({b,
                      place,
                      {rows_of(heads.query, place.first_query, place.Lq),
                       rows_of(heads.key, place.first_key, place.Lkv),
                       rows_of(heads.value, place.first_key, place.Lkv)},
                      cut.options,
                      cut.operation_options}));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
