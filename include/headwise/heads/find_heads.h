// The heads of a model, ranked by how well they match a pattern, each with the
// interval of its score over texts.
//
// Example:
//   RaggedTokens texts = repeated_random_tokens(model, {}).value();
//   FoundHeads found =
//       find_heads(model, texts, HeadPattern::induction).value();
//   found.heads[0].score.mean;  // of the best head
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/mean_interval.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What a head may do: the patterns that heads are searched for. Each has a
// score from 0 to 1 for one head and one text (docs/patterns.md).
//
//   previous, next, self, first, separator
//                the statistics of these names (attention/statistics.h): the
//                share of attention on that key, averaged over all queries
//   duplicate    the share on other occurrences of the query's token, averaged
//                over the queries that see one
//   induction    the share on the token that followed an earlier occurrence of
//                the query's token, averaged over the queries that have one
//   positional   the attention that depends on the distance alone, in the same
//                way in every text (docs/patterns.md)
//
// Source: Olsson et al. 2022, arXiv:2209.11895 (induction, "prefix matching");
// Voita et al. 2019, arXiv:1905.09418 (positional); Wang et al. 2022,
// arXiv:2211.00593 (duplicate token heads).

enum class HeadPattern {
  previous,
  next,
  self,
  first,
  separator,
  duplicate,
  positional,
  induction,
};
inline constexpr std::size_t kHeadPatterns = 8;

// In the order of the enum.
inline constexpr std::array<std::string_view, kHeadPatterns> kHeadPatternNames =
    {"previous",  "next",      "self",       "first",
     "separator", "duplicate", "positional", "induction"};
constexpr std::string_view name_of(HeadPattern pattern) {
  return kHeadPatternNames[static_cast<std::size_t>(pattern)];
}

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
//                                key, /*causal=*/true, {.mask = causal()});
//   double head_3 = scores.value()[3];

struct PatternText {
  std::span<const TokenId> ids;
  std::span<const bool> separators{};  // as long, or empty: none
};

// For each head; NaN if Q is empty. query (1, L, Hq, D), key (1, L, Hkv, D),
// of the text's L tokens; `causal`: whether a query sees only itself and the
// keys before it. Errors: those of attention_statistics();
// shape_mismatch for a text of another length; invalid_argument for
// HeadPattern::positional, which several texts define.
Result<std::vector<double>> pattern_scores(HeadPattern pattern,
                                           const PatternText& text,
                                           TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           bool causal,
                                           const AttentionOptions& options);

// How several texts are searched.
struct TextsPass {
  std::span<const std::size_t> layers{};  // ascending; empty: all
  Progress progress{};                    // counts texts with tokens
  const Executor* executor = nullptr;     // null: Executor::default_executor()
};

struct FoundHead {
  std::size_t layer = 0;
  std::size_t head = 0;  // its number before pruning
  // Over the texts in which its attention weights are finite; without an
  // interval for HeadPattern::positional.
  MeanInterval score;
};

struct FoundHeads {
  // The largest mean first, NaN last; among equals by layer and head. A mean is
  // NaN if `texts` is 0 or no text has finite attention weights.
  std::vector<FoundHead> heads;
  // The mean over the texts of the score of a head that gives every key it sees
  // the same attention.
  double uniform = 0;
  std::size_t texts = 0;     // to which the pattern applies
  std::size_t left_out = 0;  // the other texts
};

// The bits depend neither on the threads nor on the order of the other texts.
// Errors: those of TextModel::run() and pattern_scores().
Result<FoundHeads> find_heads(const TextModel& model, const RaggedTokens& texts,
                              HeadPattern pattern, const TextsPass& pass = {});

// The statistics of heads (attention/statistics.h), averaged over texts. A text
// counts once, whatever its length, so the interval is over texts like it; a
// mean over all tokens is inspect/weights_statistics.h.
//
// Example:
//   auto heads = statistics_over_texts(model, texts).value();
//   heads[0].of(Statistic::entropy).mean;

struct AveragedHead {
  std::size_t layer = 0;
  std::size_t head = 0;  // its number before pruning
  std::array<MeanInterval, kStatistics> means{};

  const MeanInterval& of(Statistic statistic) const {
    return means[index_of(statistic)];
  }
};

// All heads of the layers of `pass`, in their order. Texts without tokens are
// left out, as is a share that no head can have (leave_out_unknown() in
// inspect/weights_statistics.h). The bits do not depend on the threads.
// Errors: those of TextModel::run() and attention_statistics().
Result<std::vector<AveragedHead>> statistics_over_texts(
    const TextModel& model, const RaggedTokens& texts,
    const TextsPass& pass = {});

// Texts of random tokens that are repeated once. Only the first half predicts
// the second, so heads that copy from it stand out.
//
//   [CLS] r1 r2 .. rn r1 r2 .. rn [SEP]
//
// The n tokens of a text are drawn without replacement from the tokens of the
// vocabulary that begin a word: no special tokens, nothing in brackets such as
// [unused7], no continuations such as ##ing. In front and behind come the
// tokens that the model adds to any text.
//
// Source: Olsson et al. 2022, arXiv:2209.11895, "Key concepts".
//
// Example:
//   RaggedTokens texts =
//       repeated_random_tokens(model, {.seed = Seed{7}}).value();

struct RepeatedTokens {
  std::size_t texts = 50;
  // n; fewer if the model has too few positions or tokens.
  std::size_t length = 25;
  Seed seed{};
};

// Texts depend on the model and `wanted` alone, not on the machine. Errors:
// unsupported for a model that has fewer than 2 such tokens, or positions for
// fewer than 2 of them twice; out_of_memory.
Result<RaggedTokens> repeated_random_tokens(const TextModel& model,
                                            const RepeatedTokens& wanted);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
