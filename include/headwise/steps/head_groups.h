// Grouped queries: which query heads read which head of keys and values.
//
//   offsets  (Hkv + 1)   head g is read by the query heads
//                        [offsets[g], offsets[g + 1])
//
//   offsets[0] = 0, each is more than the one before, offsets[Hkv] = Hq
//
// No offsets: by Hq / Hkv query heads each. A layer whose query heads were
// pruned may have groups of different sizes.
//
// Source: Ainslie et al. 2023, arXiv:2305.13245.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class HeadGroups {
 public:
  HeadGroups(std::size_t Hq, std::size_t Hkv,
             TensorView<const std::int64_t, 1> offsets = {})
      : Hq_(Hq), Hkv_(Hkv), offsets_(offsets) {}

  // Whether the offsets, where they are given, cut Hq heads into Hkv groups;
  // without them: that Hkv divides Hq is for the caller to see. Errors:
  // shape_mismatch, out_of_range.
  Status check(std::string_view operation) const;

  // The first query head that reads head g; of Hkv: Hq.
  std::size_t first(std::size_t g) const {
    return given() ? static_cast<std::size_t>(offsets_(g)) : g * even();
  }
  std::size_t size(std::size_t g) const {
    return given() ? first(g + 1) - first(g) : even();
  }
  std::size_t largest() const {
    std::size_t most = given() ? 0 : even();
    for (std::size_t g = 0; given() && g < Hkv_; ++g) {
      most = std::max(most, size(g));
    }
    return most;
  }
  // The head that query head h reads.
  std::size_t kv_head(std::size_t h) const {
    if (!given()) {
      return h / even();
    }
    std::size_t g = 0;
    while (first(g + 1) <= h) {
      ++g;
    }
    return g;
  }

 private:
  bool given() const { return offsets_.data() != nullptr; }
  std::size_t even() const { return Hkv_ == 0 ? 1 : Hq_ / Hkv_; }

  std::size_t Hq_;
  std::size_t Hkv_;
  TensorView<const std::int64_t, 1> offsets_;
};

// Keys or values and who reads them: evenly, or as `kv_groups` says.
struct GroupedHeads {
  TensorView<const float, 4> heads;  // (B, Lkv, Hkv, D)
  TensorView<const std::int64_t, 1> kv_groups;

  template <class Heads>
  requires std::convertible_to<Heads, TensorView<const float, 4>>
  GroupedHeads(  // NOLINT(google-explicit-constructor): scores(query, key, ..)
      Heads&& all, TensorView<const std::int64_t, 1> groups = {})
      : heads(std::forward<Heads>(all)), kv_groups(groups) {}

  HeadGroups groups(std::size_t Hq) const {
    return {Hq, heads.extent(2), kv_groups};
  }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
