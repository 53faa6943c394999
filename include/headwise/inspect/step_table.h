// What each step does, in words: its operation in English and Korean and its
// formula, by the name that the trace gives it.
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

  std::string_view operation(Language language) const {
    return language == Language::ko ? operation_ko : operation_en;
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
