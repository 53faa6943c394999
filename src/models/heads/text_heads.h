// The heads of a model on one text: what they compare, and their statistics.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "heads/kept_inputs.h"
#include "heads/map_overlap.h"
#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"

namespace headwise::inline HEADWISE_ABI {

struct TextHeads {
  std::vector<TokenId> ids;
  std::size_t cut = 0;  // tokens that were left out
  // Those that have heads; none without ids.
  std::vector<std::shared_ptr<const KeptInputs>> layers{};
  std::vector<float> statistics{};  // (heads, kStatistics); NaN without ids

  std::vector<ComparedLayer> compared() const;
};

// Errors: those of TextModel::encode(), TextModel::run() and
// attention_statistics().
Result<TextHeads> text_heads(const TextModel& model, std::string_view text,
                             std::size_t max_tokens, HeadGateSpan gates,
                             const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
