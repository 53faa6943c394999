#include "train_task.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "headwise/module/loss.h"

namespace headwise::cli {

class Draws {
 public:
  Draws(Seed seed, std::uint64_t sequence) : seed_(seed), sequence_(sequence) {}

  // From 0 to limit - 1.
  std::size_t below(std::size_t limit) {
    // The last word tells these numbers from those of parameters and dropout.
    constexpr std::uint32_t kSequences = 2;
    if (drawn_ % words_.size() == 0) {
      words_ = philox4x32({static_cast<std::uint32_t>(sequence_),
                           static_cast<std::uint32_t>(sequence_ >> 32),
                           static_cast<std::uint32_t>(drawn_), kSequences},
                          {static_cast<std::uint32_t>(seed_.value),
                           static_cast<std::uint32_t>(seed_.value >> 32)});
    }
    const std::uint64_t word = words_[drawn_++ % words_.size()];
    return static_cast<std::size_t>((word * limit) >> 32);
  }

  // `Count` different numbers from 0 to Limit - 1.
  template <std::size_t Count, std::size_t Limit>
  std::array<std::size_t, Count> different() {
    std::array<std::size_t, Limit> all{};
    std::iota(all.begin(), all.end(), 0);
    std::array<std::size_t, Count> chosen{};
    for (std::size_t n = 0; n < Count; ++n) {
      std::swap(all[n], all[n + below(Limit - n)]);
      chosen[n] = all[n];
    }
    return chosen;
  }

 private:
  Seed seed_;
  std::uint64_t sequence_;
  std::size_t drawn_ = 0;
  PhiloxCounter words_{};
};

namespace {

constexpr std::size_t kSymbols = kClasses;
constexpr std::size_t kFirstQuestion = kSymbols * kSymbols;
constexpr std::size_t kPairs = 8;
constexpr std::size_t kQuestions = 4;
constexpr std::size_t kLength = 10;

void fill_recall(Draws& draws, const TaskSequence& sequence) {
  const auto keys = draws.different<kPairs, kSymbols>();
  std::array<std::size_t, kPairs> values{};
  for (std::size_t n = 0; n < kPairs; ++n) {
    values[n] = draws.below(kSymbols);
    sequence.tokens[n] = static_cast<TokenId>(kSymbols * keys[n] + values[n]);
    sequence.answers[n] = kIgnoredTarget;
    sequence.places[n] = 0;
  }
  const auto asked = draws.different<kQuestions, kPairs>();
  for (std::size_t n = 0; n < kQuestions; ++n) {
    const std::size_t at = kPairs + n;
    sequence.tokens[at] = static_cast<TokenId>(kFirstQuestion + keys[asked[n]]);
    sequence.answers[at] = static_cast<std::int64_t>(values[asked[n]]);
    sequence.places[at] = static_cast<std::int64_t>(asked[n]);
  }
}

void fill_reverse(Draws& draws, const TaskSequence& sequence) {
  for (std::size_t n = 0; n < kLength; ++n) {
    const std::size_t symbol = draws.below(kSymbols);
    const std::size_t asked_at = kLength - 1 - n;
    sequence.tokens[n] = static_cast<TokenId>(kSymbols * n + symbol);
    sequence.target_tokens[n] = static_cast<TokenId>(kFirstQuestion + n);
    sequence.answers[asked_at] = static_cast<std::int64_t>(symbol);
    sequence.places[asked_at] = static_cast<std::int64_t>(n);
  }
}

constexpr std::array<TrainTask, 2> kTasks = {
    {{"recall",
      {"8 pairs, then 4 questions: a pair is the token 10 * key + value, a "
       "question 100 + key",
       "쌍 8개와 질문 4개. 쌍은 토큰 10 * 키 + 값이고, 질문은 100 + 키입니다"},
      {"question 103 attends to the pair of key 3, 30 to 39",
       "질문 103이 키 3의 쌍(30~39)에 주목합니다"},
      false,
      kPairs + kQuestions,
      kPairs + kQuestions,
      fill_recall},
     {"reverse",
      {"10 symbols to be given in reverse: a token is 10 * place + symbol, the "
       "decoder's 100 + place",
       "기호 10개를 거꾸로 출력합니다. 토큰은 10 * 위치 + 기호이고, 디코더의 "
       "토큰은 100 + 위치입니다"},
      {"the query 100 attends to the last key, 109 to the first",
       "쿼리 100이 마지막 키에, 109가 첫 키에 주목합니다"},
      true,
      kLength,
      kLength,
      fill_reverse}}};

}  // namespace

std::span<const TrainTask> train_tasks() { return kTasks; }

std::vector<std::string> train_task_names() {
  std::vector<std::string> names(kTasks.size());
  std::ranges::transform(kTasks, names.begin(), &TrainTask::name);
  return names;
}

const TrainTask* find_train_task(std::string_view name) {
  for (const TrainTask& task : kTasks) {
    if (task.name == name) {
      return &task;
    }
  }
  return nullptr;
}

Result<TrainBatch> make_batch(const TrainTask& task, Seed seed,
                              std::uint64_t first, std::size_t count) {
  const std::size_t Lq = task.query_length;
  const std::size_t Lkv = task.key_length;
  auto tokens = Tensor<TokenId, 2>::create({count, Lkv});
  auto targets = Tensor<TokenId, 2>::create({task.cross ? count : 0, Lq});
  auto answers = Tensor<std::int64_t, 1>::create({count * Lq});
  auto places = Tensor<std::int64_t, 1>::create({count * Lq});
  if (!tokens || !targets) {
    return tokens ? targets.error() : tokens.error();
  }
  if (!answers || !places) {
    return answers ? places.error() : answers.error();
  }
  for (std::size_t b = 0; b < count; ++b) {
    Draws draws(seed, first + b);
    task.fill(draws, {tokens->elements().subspan(b * Lkv, Lkv),
                      task.cross ? targets->elements().subspan(b * Lq, Lq)
                                 : std::span<TokenId>(),
                      answers->elements().subspan(b * Lq, Lq),
                      places->elements().subspan(b * Lq, Lq)});
  }
  return TrainBatch{*std::move(tokens), *std::move(targets),
                    *std::move(answers), *std::move(places)};
}

}  // namespace headwise::cli
