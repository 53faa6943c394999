// What headwise::io shows of a mask.
#pragma once

#include <span>
#include <string_view>

#include "headwise/steps/mask.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// How a rule is shown: its step in a trace and in the page. The operation and a
// formula with words are in the catalogues (headwise/words/language.h).
struct MaskWords {
  std::string_view name;  // of the step: "causal_mask"
  std::string_view operation;
  std::string_view formula;  // begins with the name

  constexpr bool complete() const {
    return name.ends_with("_mask") && !operation.empty() &&
           formula.starts_with(name);
  }
};

// Of every rule, in the order in which the table of steps has them.
std::span<const MaskWords> mask_words();

// Whether the mask's rules let each query see all keys of one interval. A bias
// is not a rule.
bool sees_one_interval(const BoundMask& mask);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
