#include "kept_heads.h"

#include <algorithm>
#include <numeric>

namespace headwise::cli {

KeptHeads KeptHeads::all(std::size_t num_heads) {
  std::vector<std::size_t> numbers(num_heads);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return {std::move(numbers), num_heads};
}

bool KeptHeads::pruned(std::size_t number) const {
  return number < num_heads_ && !std::ranges::binary_search(numbers_, number);
}

std::vector<std::size_t> KeptHeads::pruned() const {
  std::vector<std::size_t> gone;
  for (std::size_t number = 0; number < num_heads_; ++number) {
    if (pruned(number)) {
      gone.push_back(number);
    }
  }
  return gone;
}

KeptHeads kept_heads(const Transformer& model, std::size_t layer) {
  return {model.heads_in(layer), model.shape().num_heads};
}

KeptHeads kept_heads(const TextModel& model, std::size_t layer) {
  return {model.heads_in(layer), model.shape().num_heads};
}

}  // namespace headwise::cli
