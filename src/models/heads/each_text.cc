#include "headwise/heads/each_text.h"

#include "heads/key_heads.h"
#include "heads/one_sequence.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

// Of even groups.
Status see_each(
    const HookedHeads& heads,
    FunctionRef<Status(std::size_t first_row, const HookedHeads& of_text)>
        see) {
  AttentionOptions options = heads.options;
  options.arithmetic = Arithmetic::exact;
  if (!options.offsets.ragged()) {
    return see(0, {heads.query, heads.key, heads.value, options});
  }
  return for_each_sequence("heads", {heads.query, heads.key, heads.value},
                           options, {}, [&](const OneSequence& at) {
                             return at.place.Lq == 0
                                        ? ok()
                                        : see(at.place.first_query,
                                              {at.heads.query, at.heads.key,
                                               at.heads.value, at.options});
                           });
}

}  // namespace

Status for_each_text(
    const HookedHeads& heads,
    FunctionRef<Status(std::size_t first_row, const HookedHeads& of_text)>
        see) {
  if (heads.kv_groups.even()) {
    return see_each(heads, see);
  }
  HEADWISE_ASSIGN(const auto key, key_head_of_each(heads.key, heads.kv_groups));
  HEADWISE_ASSIGN(const auto value,
                  key_head_of_each(heads.value, heads.kv_groups));
  return see_each({heads.query, key, value, heads.options}, see);
}

}  // namespace headwise::inline HEADWISE_ABI
