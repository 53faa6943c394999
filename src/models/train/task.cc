#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/module/optimizer.h"
#include "headwise/train/task_run.h"
#include "train/draws.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// One sequence to be filled in.
struct Sequence {
  std::span<TokenId> tokens;         // (Lkv)
  std::span<TokenId> target_tokens;  // (Lq) of an encoder-decoder task
  std::span<std::int64_t> answers;   // (Lq)
  std::span<std::int64_t> places;    // (Lq)
};

constexpr std::size_t kSymbols = kTaskClasses;
constexpr std::size_t kFirstQuestion = kSymbols * kSymbols;
constexpr std::size_t kPairs = 8;
constexpr std::size_t kQuestions = 4;
constexpr std::size_t kLength = 10;

void fill_recall(Draws& draws, const Sequence& sequence) {
  const auto keys = draws.different(kPairs, kSymbols);
  std::array<std::size_t, kPairs> values{};
  for (std::size_t n = 0; n < kPairs; ++n) {
    values[n] = draws.below(kSymbols);
    sequence.tokens[n] = static_cast<TokenId>(kSymbols * keys[n] + values[n]);
    sequence.answers[n] = kIgnoredTarget;
    sequence.places[n] = 0;
  }
  const auto asked = draws.different(kQuestions, kPairs);
  for (std::size_t n = 0; n < kQuestions; ++n) {
    const std::size_t at = kPairs + n;
    sequence.tokens[at] = static_cast<TokenId>(kFirstQuestion + keys[asked[n]]);
    sequence.answers[at] = static_cast<std::int64_t>(values[asked[n]]);
    sequence.places[at] = static_cast<std::int64_t>(asked[n]);
  }
}

void fill_reverse(Draws& draws, const Sequence& sequence) {
  for (std::size_t n = 0; n < kLength; ++n) {
    const std::size_t symbol = draws.below(kSymbols);
    const std::size_t asked_at = kLength - 1 - n;
    sequence.tokens[n] = static_cast<TokenId>(kSymbols * n + symbol);
    sequence.target_tokens[n] = static_cast<TokenId>(kFirstQuestion + n);
    sequence.answers[asked_at] = static_cast<std::int64_t>(symbol);
    sequence.places[asked_at] = static_cast<std::int64_t>(n);
  }
}

struct Entry {
  TaskShape shape;
  void (*fill)(Draws& draws, const Sequence& sequence);
};

// In the order of the enum.
constexpr std::array kEntries = {
    Entry{{kPairs + kQuestions, kPairs + kQuestions, false}, fill_recall},
    Entry{{kLength, kLength, true}, fill_reverse}};

const Entry& entry_of(Task task) {
  return kEntries.at(static_cast<std::size_t>(task));
}

}  // namespace

TaskShape shape_of(Task task) { return entry_of(task).shape; }

Result<TaskBatch> make_task_batch(Task task, Seed seed, std::uint64_t first,
                                  std::size_t count) try {
  const auto [Lkv, Lq, cross] = shape_of(task);
  HEADWISE_ASSIGN(auto tokens, Tensor<TokenId, 2>::create({count, Lkv}));
  HEADWISE_ASSIGN(auto targets,
                  Tensor<TokenId, 2>::create({cross ? count : 0, Lq}));
  HEADWISE_ASSIGN(auto answers, Tensor<std::int64_t, 1>::create({count * Lq}));
  HEADWISE_ASSIGN(auto places, Tensor<std::int64_t, 1>::create({count * Lq}));
  for (std::size_t b = 0; b < count; ++b) {
    Draws draws(seed, first + b);
    entry_of(task).fill(draws, {tokens.elements().subspan(b * Lkv, Lkv),
                                cross ? targets.elements().subspan(b * Lq, Lq)
                                      : std::span<TokenId>(),
                                answers.elements().subspan(b * Lq, Lq),
                                places.elements().subspan(b * Lq, Lq)});
  }
  return TaskBatch{std::move(tokens), std::move(targets), std::move(answers),
                   std::move(places)};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
