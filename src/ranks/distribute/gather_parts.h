// Tensors of which each rank has a part along one axis.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "distribute/copy_rows.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// `parts[r]` are what rank r has along `axis`: consecutive, and all of it.
template <std::size_t Rank>
class PartGathering {
 public:
  PartGathering(Communicator& group, std::span<const internal::PartRange> parts,
                std::size_t axis)
      : group_(group), parts_(parts), axis_(axis) {}

  // The whole tensor on every rank. Errors: rank_failure, out_of_memory.
  Result<Tensor<float, Rank>> to_all(const Tensor<float, Rank>& own) const {
    HEADWISE_ASSIGN(auto received, make_parts(own));
    const std::vector<std::span<const std::byte>> out(
        group_.ranks(), bytes_of(own.data(), own.size()));
    HEADWISE_TRY(group_.exchange(out, writable_bytes_of(received)));
    return joined(own, received);
  }

  // The same on rank 0, which has a part of every tensor that there is; on the
  // others nothing.
  Result<Tensor<float, Rank>> to_first(const Tensor<float, Rank>& own) const {
    std::vector<Tensor<float, Rank>> received;
    const bool first = group_.rank() == 0;
    if (first && own.size() != 0) {
      HEADWISE_ASSIGN(received, make_parts(own));
    } else if (first) {
      received.resize(group_.ranks());
    }
    HEADWISE_TRY(group_.gather(bytes_of(own.data(), own.size()),
                               writable_bytes_of(received), 0));
    return first && own.size() != 0 ? joined(own, received)
                                    : Tensor<float, Rank>();
  }

 private:
  Extents<Rank> with_count(const Tensor<float, Rank>& own,
                           std::size_t count) const {
    Extents<Rank> extents = own.extents();
    extents[axis_] = count;
    return extents;
  }

  Result<std::vector<Tensor<float, Rank>>> make_parts(
      const Tensor<float, Rank>& own) const {
    std::vector<Tensor<float, Rank>> parts;
    for (const internal::PartRange& part : parts_) {
      HEADWISE_ASSIGN(auto made, Tensor<float, Rank>::create_unset(
                                     with_count(own, part.count)));
      parts.push_back(std::move(made));
    }
    return parts;
  }

  Result<Tensor<float, Rank>> joined(
      const Tensor<float, Rank>& own,
      const std::vector<Tensor<float, Rank>>& parts) const {
    const std::size_t count = parts_.back().first + parts_.back().count;
    HEADWISE_ASSIGN(auto whole,
                    Tensor<float, Rank>::create_unset(with_count(own, count)));
    const std::span<const std::size_t> extents = own.extents();
    const std::size_t outer = element_count(extents.first(axis_));
    const std::size_t inner = element_count(extents.subspan(axis_ + 1));
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const std::size_t length = parts_[r].count * inner;
      for (std::size_t n = 0; length != 0 && n < outer; ++n) {
        std::copy_n(parts[r].data() + n * length, length,
                    whole.data() + (n * count + parts_[r].first) * inner);
      }
    }
    return whole;
  }

  Communicator& group_;
  std::span<const internal::PartRange> parts_;
  std::size_t axis_;
};

}  // namespace headwise::inline HEADWISE_ABI
