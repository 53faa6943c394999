// The arguments of a step of a ContextCache, checked.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/context_step.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// The numbers that the spec of a step looks at.
struct StepNumbers {
  std::vector<std::int64_t> queries = {0};  // offsets (B + 1)
  std::vector<std::int64_t> keys = {0};     // offsets (B + 1)
  std::vector<std::int64_t> starts{};       // the lengths before the step (B)
};

struct CheckedStep {
  StepNumbers numbers;
  AttentionOptions options;  // with views of the numbers
  AttentionSpec spec;
};

// Errors: those of ContextCache::step() that one rank finds alone.
template <class T>
Result<CheckedStep> checked_step(const Communicator& group,
                                 const ContextCacheState& state,
                                 const ContextStep<T>& step);

}  // namespace headwise::inline HEADWISE_ABI
