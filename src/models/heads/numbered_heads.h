// All heads of some layers, in one list.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"

namespace headwise::inline HEADWISE_ABI {

class NumberedHeads {
 public:
  // `layers` ascend; empty: all.
  NumberedHeads(const TextModel& model, std::span<const std::size_t> layers)
      : first_(model.shape().num_layers) {
    std::vector<std::size_t> all(first_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const std::size_t layer : layers.empty() ? std::span(all) : layers) {
      first_[layer] = heads_.size();
      for (const std::size_t head : model.heads_in(layer)) {
        heads_.push_back({layer, head});
      }
    }
  }

  std::size_t size() const { return heads_.size(); }
  const HeadId& operator[](std::size_t n) const { return heads_[n]; }
  const std::vector<HeadId>& all() const { return heads_; }
  // The number in the list of the first head of a layer.
  std::size_t first_of(std::size_t layer) const { return first_[layer]; }

 private:
  std::vector<HeadId> heads_;
  std::vector<std::size_t> first_;  // by layer
};

}  // namespace headwise::inline HEADWISE_ABI
