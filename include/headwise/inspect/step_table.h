// What each step does, by the name that the trace gives it: its operation and
// its formula, in English and Korean.
#pragma once

#include <span>
#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Language { en, ko };

struct StepInfo {
  std::string_view name;
  std::string_view operation_en;
  std::string_view operation_ko;
  std::string_view formula;
  std::string_view formula_ko{};  // empty: the formula has no words

  std::string_view operation(Language language) const {
    return language == Language::ko ? operation_ko : operation_en;
  }
  std::string_view formula_in(Language language) const {
    return language == Language::ko && !formula_ko.empty() ? formula_ko
                                                           : formula;
  }
};

// Every step, in the order of the way.
std::span<const StepInfo> step_table();
// What the step "scores" does where the scoring is additive.
const StepInfo& additive_scores_step();
// Null for a name that is no step.
const StepInfo* find_step(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
