// How well the heads of a layer match a pattern in one text. With the attention
// weights w[i,j] of a head and a set K(i) of keys for each query i:
//
//   score = mean over the queries i in Q of sum of w[i,j] over j in K(i)
//
//   pattern    K(i)                                      Q
//   previous   i - 1                                     all queries
//   next       i + 1                                     all queries
//   self       i                                         all queries
//   first      0                                         all queries
//   separator  the separators                            all queries
//   duplicate  j != i with token[j] = token[i]           with a visible K(i)
//   induction  j <= i with token[j - 1] = token[i],      with a K(i)
//              j - 1 < i
//
// In a causal model query i sees the keys up to i only. The first five are the
// means of attention_statistics(), bit by bit; the others are sums in binary64
// of the attention weights of 48 queries at a time, so the memory is O(L) per
// head. The bits do not depend on the threads.
//
// Example:
//   auto scores = pattern_scores(HeadPattern::induction, {.ids = ids}, query,
//                                key, /*causal=*/true, executor);
//   double head_3 = scores.value()[3];
#pragma once

#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/pattern.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct PatternText {
  std::span<const TokenId> ids;
  std::span<const bool> separators{};  // as long, or empty: none
};

// For each head; NaN if Q is empty. query (1, L, Hq, D), key (1, L, Hkv, D),
// of the text's L tokens. Errors: those of attention_statistics();
// shape_mismatch for a text of another length; invalid_argument for
// HeadPattern::positional, which several texts define.
Result<std::vector<double>> pattern_scores(HeadPattern pattern,
                                           const PatternText& text,
                                           TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           bool causal,
                                           const Executor& executor);

// The score of a head that gives every key it sees the same attention: what a
// score is compared with. 0 for positional; NaN if Q is empty.
double uniform_score(HeadPattern pattern, const PatternText& text, bool causal);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
