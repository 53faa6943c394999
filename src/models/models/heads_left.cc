#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/text_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using Numbers = std::vector<std::size_t>;

std::string layer_text(std::size_t layer, std::size_t head) {
  return std::to_string(layer) + "." + std::to_string(head);
}

// "0-3, 5, 6"
std::string numbers_text(const Numbers& numbers) {
  std::string text;
  for (std::size_t n = 0; n < numbers.size();) {
    std::size_t last = n;
    while (last + 1 < numbers.size() &&
           numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    if (last < n + 2) {  // two numbers are no range
      last = n;
    }
    text += (n == 0 ? "" : ", ") + std::to_string(numbers[n]);
    text += last == n ? "" : "-" + std::to_string(numbers[last]);
    n = last + 1;
  }
  return text;
}

Message what_there_is(std::size_t layer, const HeadsLeft& left) {
  const auto has_heads = [](const Numbers& heads) { return !heads.empty(); };
  const auto first = std::ranges::find_if(left, has_heads);
  if (first == left.end()) {
    return "a model that has heads";
  }
  if (layer >= left.size()) {
    std::size_t last = left.size() - 1;
    while (left[last].empty()) {
      --last;
    }
    return message("a head from {} to {}",
                   layer_text(static_cast<std::size_t>(first - left.begin()),
                              first->front()),
                   layer_text(last, left[last].back()));
  }
  if (left[layer].empty()) {
    return message("a head of another layer: layer {} has none left", layer);
  }
  return message("one of the heads of layer {}: {}", layer,
                 numbers_text(left[layer]));
}

}  // namespace

HeadsLeft heads_left(const Transformer& model) {
  HeadsLeft left;
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    left.push_back(model.heads_in(n));
  }
  return left;
}

HeadsLeft heads_left(const TextModel& model) {
  HeadsLeft left;
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    left.push_back(model.heads_in(n));
  }
  return left;
}

Result<std::size_t> place_of_head(std::string_view operation,
                                  std::string_view argument, const HeadId& head,
                                  const HeadsLeft& left) {
  return catching_out_of_memory([&]() -> Result<std::size_t> {
    if (head.layer < left.size()) {
      const Numbers& numbers = left[head.layer];
      const auto found = std::ranges::lower_bound(numbers, head.head);
      if (found != numbers.end() && *found == head.head) {
        return static_cast<std::size_t>(found - numbers.begin());
      }
    }
    return argument_error(operation, argument,
                          message("has {}", layer_text(head.layer, head.head)),
                          what_there_is(head.layer, left),
                          ErrorCode::out_of_range);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
