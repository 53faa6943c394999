// Which heads of a layer stay, where others were pruned. A head keeps the
// number that it had before, everywhere that a person reads one.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headwise/models/model_settings.h"
#include "headwise/models/text_model.h"

namespace headwise::cli {

class KeptHeads {
 public:
  // `numbers` ascend and are less than num_heads, the heads before.
  KeptHeads(std::vector<std::size_t> numbers, std::size_t num_heads)
      : numbers_(std::move(numbers)), num_heads_(num_heads) {}
  static KeptHeads all(std::size_t num_heads);

  std::size_t num_heads() const { return num_heads_; }
  // Of the layer's tensors, head by head.
  std::span<const std::size_t> numbers() const { return numbers_; }
  bool none() const { return numbers_.empty(); }
  // Whether the layer had a head of that number, and it is gone.
  bool pruned(std::size_t number) const;
  // The numbers that are gone, ascending.
  std::vector<std::size_t> pruned() const;

 private:
  std::vector<std::size_t> numbers_;
  std::size_t num_heads_;
};

// Of a layer of a model.
KeptHeads kept_heads(const Transformer& model, std::size_t layer);
KeptHeads kept_heads(const TextModel& model, std::size_t layer);

}  // namespace headwise::cli
