// Compiled by tests/core/steps/CMakeLists.txt, whole and with a part left out.
#include "steps/stored_rule.h"

namespace headwise::internal {

struct FirstKeys {
#ifndef WITHOUT_WORDS
  static constexpr MaskWords kWords = {"first_keys_mask", "the first keys",
                                       "first_keys_mask = j < 4"};
#endif
#ifndef WITHOUT_AXES
  std::array<bool, 4> varies(bool /*starts_differ*/) const {
    return {false, false, false, true};
  }
#endif
#ifndef WITHOUT_CHECK
  Status check(const MaskCall& /*call*/) const { return ok(); }
#endif
#ifndef WITHOUT_PART
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
#endif
#ifndef WITHOUT_FORM
  Interval keys(const QueryRow& /*query*/) const { return {0, 4}; }
#endif
};

Mask first_keys() { return mask_of(FirstKeys{}); }

}  // namespace headwise::internal
