// A feed-forward network of experts: of each row the best by a router, weighted
// by the softmax of their scores.
//
//   y = sum over the chosen e of share[e] * down[e](gated(up[e](x)))
//
// where gates are at most `limit` and what they are multiplied by is within it,
// plus 1. Source: gpt-oss (OpenAI 2025).
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

class Experts {
 public:
  // With `keep` back() may follow. Errors: out_of_memory.
  static Result<Experts> run(const FeedForward& network,
                             const FeedForwardSpec& spec, const Rows& x,
                             bool keep, const Executor& executor);

  Rows output;

  // The gradient by x, from that by the output. Which experts are chosen is
  // taken as fixed. Errors: out_of_memory.
  Result<Rows> back(const FeedForward& network, const FeedForwardSpec& spec,
                    const Rows& d_output, const Executor& executor) const;

 private:
  struct Choice {
    std::size_t row = 0;
    float share = 0;
  };
  // An expert, and the rows that chose it.
  struct Expert {
    std::size_t number = 0;
    std::vector<Choice> choices;
    Rows inner;  // gate, and what it is multiplied by, as projected
    Rows made;
  };

  static std::vector<Expert> choices_of(const Rows& scores, std::size_t chosen);

  std::vector<Expert> experts_{};
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
