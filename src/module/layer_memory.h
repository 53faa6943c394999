// What a forward pass of the layer computes in, kept for the next one: taking
// megabytes anew in each call costs more than their arithmetic saves.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

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

// Holds the memory of some calls between calls: that of so many threads as
// compute at a time. Who finds none takes its own, and what finds no room is
// let go. No lock.
class MultiHeadAttention::MemoryShelf {
 public:
  MemoryShelf() = default;
  ~MemoryShelf() {
    for (auto& place : kept_) {
      const std::unique_ptr<LayerMemory> last(place.exchange(nullptr));
    }
  }
  MemoryShelf(const MemoryShelf&) = delete;
  MemoryShelf& operator=(const MemoryShelf&) = delete;

  LayerMemory take() {
    for (auto& place : kept_) {
      if (const std::unique_ptr<LayerMemory> kept(place.exchange(nullptr));
          kept) {
        return std::move(*kept);
      }
    }
    return {};
  }
  void give(LayerMemory memory) noexcept {
    // Without memory for it, it is let go.
    std::unique_ptr<LayerMemory> kept(new (std::nothrow)
                                          LayerMemory(std::move(memory)));
    if (!kept) {
      return;
    }
    for (auto& place : kept_) {
      kept.reset(place.exchange(kept.release()));
      if (!kept) {
        return;
      }
    }
  }

 private:
  std::array<std::atomic<LayerMemory*>, 16> kept_{};
};

}  // namespace headwise::inline HEADWISE_ABI
