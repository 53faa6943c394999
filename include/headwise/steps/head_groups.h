// Grouped queries: which query heads read which head of keys and values.
//
//   sizes  (Hkv)   number of query heads that read head g, in order; at least 1
//
// A layer whose query heads were pruned may have groups of different sizes.
//
// Source: Ainslie et al. 2023, arXiv:2305.13245.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Even groups of Hq / Hkv query heads, or groups of given sizes. Copies share
// the sizes, so copying allocates nothing.
//
// Example:
//   const std::vector<std::size_t> sizes = {1, 4, 2};
//   HeadGroups groups = HeadGroups::create(sizes).value();
class HeadGroups {
 public:
  HeadGroups() = default;  // even
  // No sizes: even. Errors: invalid_argument for a size of 0 or a sum beyond
  // std::size_t; out_of_memory.
  static Result<HeadGroups> create(std::span<const std::size_t> sizes);

  bool even() const { return offsets_ == nullptr; }
  // (Hkv + 1): the first query head of each group, then the number of query
  // heads. Empty: even.
  std::span<const std::size_t> offsets() const {
    return even() ? std::span<const std::size_t>() : *offsets_;
  }

  // Checks that the groups divide Hq query heads among Hkv heads. For even
  // groups the caller must check that Hkv divides Hq. Errors: shape_mismatch,
  // invalid_argument.
  Status check(std::size_t Hq, std::size_t Hkv,
               std::string_view operation) const;

 private:
  std::shared_ptr<const std::vector<std::size_t>> offsets_;
};

// The groups of a call with Hq query heads and Hkv key and value heads. Keeps a
// reference into `groups`.
class HeadMap {
 public:
  HeadMap(std::size_t Hq, std::size_t Hkv, const HeadGroups& groups)
      : Hkv_(Hkv),
        even_size_(Hkv == 0 ? 1 : Hq / Hkv),
        offsets_(groups.offsets()) {}

  // The first query head that reads head g; first(Hkv) is Hq.
  std::size_t first(std::size_t g) const {
    return even() ? g * even_size_ : offsets_[g];
  }
  std::size_t size(std::size_t g) const {
    return even() ? even_size_ : offsets_[g + 1] - offsets_[g];
  }
  std::size_t largest() const {
    std::size_t most = even() ? even_size_ : 0;
    for (std::size_t g = 0; !even() && g < Hkv_; ++g) {
      most = std::max(most, size(g));
    }
    return most;
  }
  // The head that query head h reads.
  std::size_t kv_head(std::size_t h) const {
    if (even()) {
      return h / even_size_;
    }
    std::size_t g = 0;
    while (offsets_[g + 1] <= h) {
      ++g;
    }
    return g;
  }

 private:
  bool even() const { return offsets_.empty(); }

  std::size_t Hkv_;
  std::size_t even_size_;
  std::span<const std::size_t> offsets_;
};

// Keys or values and the query heads that read them.
struct GroupedHeads {
  TensorView<const float, 4> heads;  // (B, Lkv, Hkv, D)
  HeadGroups kv_groups;

  template <class Heads>
  requires std::convertible_to<Heads, TensorView<const float, 4>>
  GroupedHeads(  // NOLINT(google-explicit-constructor): scores(query, key, ..)
      Heads&& all, HeadGroups groups = {})
      : heads(std::forward<Heads>(all)), kv_groups(std::move(groups)) {}

  HeadMap map(std::size_t Hq) const { return {Hq, heads.extent(2), kv_groups}; }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
