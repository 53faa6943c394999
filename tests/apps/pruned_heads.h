// Heads of a model from which some were pruned, as a command sees them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "view/viewed_heads.h"

namespace headwise::cli {

// Layers 0, 2 and 5 of a model of four heads each: none is left of the first,
// heads 1 and 3 of the second, all of the third.
class PrunedHeads : public ViewedHeads {
 public:
  PrunedHeads() {
    text_.query_labels = text_.key_labels = {"one", "two", "three"};
    layers_ = {0, 2, 5};
    add({});
    add({1, 3});
    add({0, 1, 2, 3});
  }

  AttentionOptions options() const override { return {}; }
  OperationOptions operation_options() const override { return {}; }

  Status visit(SeenParts /*parts*/, const SeeLayer& see) const override {
    for (std::size_t n = 0; n < layers_.size(); ++n) {
      NumberedLayer layer{{.number = layers_[n]}, kept_[n]};
      if (!layer.heads.none()) {
        layer.query = query_[n].view();
        layer.key = key_[n].view();
      }
      HEADWISE_TRY(see(layer));
    }
    return ok();
  }

 private:
  void add(std::vector<std::size_t> numbers) {
    const Extents<4> extents = {1, 3, numbers.size(), 4};
    const Seed seed{query_.size()};
    query_.push_back(Tensor<float, 4>::create(extents).value());
    key_.push_back(Tensor<float, 4>::create(extents).value());
    RandomStream(seed, 0).fill_uniform(query_.back().elements(), -2, 2);
    RandomStream(seed, 1).fill_uniform(key_.back().elements(), -2, 2);
    kept_.emplace_back(std::move(numbers), 4);
  }

  std::vector<KeptHeads> kept_;
  std::vector<Tensor<float, 4>> query_;
  std::vector<Tensor<float, 4>> key_;
};

}  // namespace headwise::cli
