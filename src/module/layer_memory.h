// What a forward pass of the layer computes in, kept for the next one: taking
// megabytes anew in each call costs more than their arithmetic saves.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/workspace.h"

namespace headwise {

// The three projected inputs.
struct Projected {
  Tensor<float, 3> query;  // (B, Lq, H * D)
  Tensor<float, 3> key;    // (B, Lkv, Hkv * D)
  Tensor<float, 3> value;  // (B, Lkv, Hkv * Dv); empty without w_v
};

struct LayerMemory {
  Projected projected{};
  Tensor<float, 3> merged{};  // (B, Lq, H * Dv)
  std::optional<Workspace> workspace{};
};

// Holds the memory of one call between calls. Who comes while it is out gets
// none and takes its own. No lock.
class MultiHeadAttention::MemorySlot {
 public:
  MemorySlot() = default;
  ~MemorySlot() { take(); }
  MemorySlot(const MemorySlot&) = delete;
  MemorySlot& operator=(const MemorySlot&) = delete;

  LayerMemory take() {
    const std::unique_ptr<LayerMemory> kept(kept_.exchange(nullptr));
    return kept ? std::move(*kept) : LayerMemory{};
  }
  void give(LayerMemory memory) {
    const std::unique_ptr<LayerMemory> before(kept_.exchange(
        std::make_unique<LayerMemory>(std::move(memory)).release()));
  }

 private:
  std::atomic<LayerMemory*> kept_ = nullptr;
};

}  // namespace headwise
