// The tasks of `headwise train`: generated sequences with questions that only
// attention can answer. Ten keys (or places) and ten values (or symbols):
//
//   recall    tokens         8 pairs 10 * key + value, each key once, then 4
//                            questions 100 + key
//             answer         the value of the question's key
//             attends to     the pair that has the key (self-attention)
//   reverse   tokens         10 * place + symbol at places 0 to 9
//             target tokens  100 + i, the place of the output: 0 to 9
//             answer         the symbol at place 9 - i
//             attends to     place 9 - i of the source (encoder-decoder)
//
// A token says where it stands, since attention alone does not know. Whoever
// averages over all tokens knows which values there are, and not which of them
// is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/tokens.h"
#include "shell/say.h"

namespace headwise::cli {

// One sequence to be filled in.
struct TaskSequence {
  std::span<TokenId> tokens;         // (Lkv)
  std::span<TokenId> target_tokens;  // (Lq), of an encoder-decoder task
  std::span<std::int64_t> answers;   // (Lq)
  std::span<std::int64_t> places;    // (Lq)
};

// Random whole numbers of one sequence.
class Draws;

struct TrainTask {
  std::string_view name;
  Sentence<> about;    // one line
  Sentence<> pattern;  // what a head that has learned it does
  bool cross;          // encoder-decoder: target tokens ask
  std::size_t key_length;
  std::size_t query_length;
  void (*fill)(Draws& draws, const TaskSequence& sequence);
};

// Of every task.
inline constexpr std::size_t kVocabSize = 110;
inline constexpr std::size_t kClasses = 10;

// The default is the first.
std::span<const TrainTask> train_tasks();
std::vector<std::string> train_task_names();
// Null when there is none of this name.
const TrainTask* find_train_task(std::string_view name);

struct TrainBatch {
  Tensor<TokenId, 2> tokens;         // (B, Lkv)
  Tensor<TokenId, 2> target_tokens;  // (B, Lq); empty: tokens ask themselves
  // (B * Lq): the class, or kIgnoredTarget where nothing is asked, and which
  // key holds the answer.
  Tensor<std::int64_t, 1> answers;
  Tensor<std::int64_t, 1> places;

  TensorView<const TokenId, 2> queries() const {
    return target_tokens.size() != 0 ? target_tokens.view() : tokens.view();
  }
};

// Sequences first, ..., first + count - 1 of this seed. Each depends on the
// seed and on its number alone. Errors: out_of_memory.
Result<TrainBatch> make_batch(const TrainTask& task, Seed seed,
                              std::uint64_t first, std::size_t count);

}  // namespace headwise::cli
