#include "headwise/heads/each_text.h"

#include "heads/one_sequence.h"

namespace headwise::inline HEADWISE_ABI {

Status for_each_text(
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

}  // namespace headwise::inline HEADWISE_ABI
