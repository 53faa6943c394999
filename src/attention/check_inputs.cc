#include "attention/check_inputs.h"

#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
Status check_inputs(const AttentionShape& shape,
                    const AttentionInputsOf<T>& inputs,
                    std::string_view operation) {
  const std::size_t B = shape.batches();
  const std::size_t queries = shape.query_rows();
  const std::size_t keys = shape.key_rows();
  const bool ragged = shape.offsets.ragged();
  HEADWISE_TRY(check_shape(operation, "query", inputs.query.extents(),
                           ragged ? "(1, queries, Hq, D)" : "(B, Lq, Hq, D)",
                           {{B, queries, shape.Hq, shape.D}}));
  HEADWISE_TRY(check_shape(operation, "key", inputs.key.extents(),
                           ragged ? "(1, keys, Hkv, D)" : "(B, Lkv, Hkv, D)",
                           {{B, keys, shape.Hkv, shape.D}}));
  if (Status s =
          check_shape(operation, "value", inputs.value.extents(),
                      ragged ? "(1, keys, Hkv, Dv)" : "(B, Lkv, Hkv, Dv)",
                      {{B, keys, shape.Hkv, shape.Dv}});
      !s || !ragged) {
    return s;
  }
  // The offsets are looked at in each run; they may have moved.
  if (Status s = shape.offsets.check(queries, keys, operation); !s) {
    return s;
  }
  if (longest(shape.offsets.query) > shape.Lq ||
      longest(shape.offsets.key) > shape.Lkv) {
    return argument_error(
        operation, "offsets", "have a longer sequence than the plan's",
        "at most " + std::to_string(shape.Lq) + " queries and " +
            std::to_string(shape.Lkv) + " keys",
        ErrorCode::out_of_range);
  }
  return ok();
}

template Status check_inputs(const AttentionShape&,
                             const AttentionInputsOf<float>&, std::string_view);
template Status check_inputs(const AttentionShape&,
                             const AttentionInputsOf<double>&,
                             std::string_view);

}  // namespace headwise::inline HEADWISE_ABI
