// The memory that a forward pass of the layer computes in, kept for the next
// one: allocating megabytes in each call would cost more time than a short
// sequence takes to compute.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "headwise/base/tensor.h"
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

// Keeps the memory of up to 16 calls between calls, without a lock. A call that
// finds none allocates its own; memory that finds no room is freed.
class LayerMemoryShelf {
 public:
  LayerMemoryShelf() = default;
  ~LayerMemoryShelf() {
    for (auto& place : kept_) {
      const std::unique_ptr<LayerMemory> last(place.exchange(nullptr));
    }
  }
  LayerMemoryShelf(const LayerMemoryShelf&) = delete;
  LayerMemoryShelf& operator=(const LayerMemoryShelf&) = delete;

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
    // If even this allocation fails, the memory is freed.
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
