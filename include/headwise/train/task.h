// Tasks that only attention can solve: generated sequences of tokens with
// questions about them. There are ten keys (or places) and ten values (or
// symbols):
//
//   recall    tokens         8 pairs 10 * key + value, each key once, then 4
//                            questions 100 + key
//             answer         the value of the question's key
//             attends to     the pair with that key (self-attention)
//   reverse   tokens         10 * place + symbol at places 0 to 9
//             target tokens  100 + i, the place of the output: 0 to 9
//             answer         the symbol at place 9 - i
//             attends to     place 9 - i of the source (encoder-decoder)
//
// A token of a sequence contains its key or its place, since attention alone is
// blind to order. The mean of all tokens shows which values there are, but not
// which one is asked for.
//
// Example:
//   TaskBatch batch = make_task_batch(Task::recall, Seed{7}, 0, 32).value();
//   batch.queries();  // (32, 12)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Task { recall, reverse };

// "recall", ...
std::string_view name_of(Task task);
std::optional<Task> task_named(std::string_view name);
std::vector<Task> all_tasks();

struct TaskShape {
  std::size_t key_length = 0;    // Lkv
  std::size_t query_length = 0;  // Lq
  bool cross = false;            // encoder-decoder: target tokens are queries
};
TaskShape shape_of(Task task);

// The sizes of all tasks.
inline constexpr std::size_t kTaskVocabSize = 110;
inline constexpr std::size_t kTaskClasses = 10;

struct TaskBatch {
  Tensor<TokenId, 2> tokens;         // (B, Lkv)
  Tensor<TokenId, 2> target_tokens;  // (B, Lq); empty in self-attention
  // (B * Lq): the class, or kIgnoredTarget if nothing is asked here.
  Tensor<std::int64_t, 1> answers;
  Tensor<std::int64_t, 1> places;  // (B * Lq): the key that holds the answer

  TensorView<const TokenId, 2> queries() const {
    return target_tokens.size() != 0 ? target_tokens.view() : tokens.view();
  }
};

// `count` sequences of this seed, from number `first` on. Each depends only on
// the seed and on its number. Errors: out_of_memory.
Result<TaskBatch> make_task_batch(Task task, Seed seed, std::uint64_t first,
                                  std::size_t count);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
