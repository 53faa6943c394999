// A tensor that owns its elements: 64-byte-aligned memory in C order. It can be
// moved, but is never copied silently (clone() copies).
//
// A Tensor converts to a view of its elements, so that functions that take a
// TensorView take the Tensor itself. A view of a temporary does not compile.
//
// Example:
//   Result<Tensor<float, 3>> x = Tensor<float, 3>::create({B, L, E});
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "headwise/base/checked_product.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kTensorAlignment = 64;

namespace detail {
struct AlignedDelete {
  void operator()(void* memory) const {
    ::operator delete (memory, std::align_val_t{kTensorAlignment});
  }
};

// out_of_memory, with the number of bytes that such a tensor needs.
Error too_large(std::span<const std::size_t> extents,
                std::size_t element_bytes);
}  // namespace detail

template <class T, std::size_t Rank>
class Tensor {
 public:
  Tensor() = default;  // every extent 0

  // Every element is 0 (false). Errors: out_of_memory, also if the product of
  // the extents overflows.
  static Result<Tensor> create(const Extents<Rank>& extents) {
    Result<Tensor> tensor = create_unset(extents);
    if (tensor) {
      std::uninitialized_value_construct_n(tensor->data(), tensor->size());
    }
    return tensor;
  }
  // The same with uninitialised elements; the caller must write all of them.
  static Result<Tensor> create_unset(const Extents<Rank>& extents) {
    return create_unset_in({}, extents);
  }
  // The same, in the memory of `old` if that is large enough.
  static Result<Tensor> create_unset_in(Tensor old,
                                        const Extents<Rank>& extents) {
    static_assert(std::is_trivially_default_constructible_v<T>);
    const auto count = checked_product(extents);
    const auto bytes = checked_product(
        std::array<std::size_t, 2>{count.value_or(~std::size_t{0}), sizeof(T)});
    if (!count || !bytes) {
      return detail::too_large(extents, sizeof(T));
    }
    Tensor tensor = std::move(old);
    tensor.extents_ = extents;
    tensor.count_ = *count;
    if (!tensor.memory_ || tensor.capacity_ < *count) {
      tensor.memory_.reset();
      tensor.memory_.reset(static_cast<T*>(
          ::operator new (std::max<std::size_t>(*bytes, 1),
                          std::align_val_t{kTensorAlignment}, std::nothrow)));
      tensor.capacity_ = *count;
    }
    if (!tensor.memory_) {
      return detail::too_large(extents, sizeof(T));
    }
    std::uninitialized_default_construct_n(tensor.memory_.get(), *count);
    return tensor;
  }

  Result<Tensor> clone() const {
    Result<Tensor> copy = create(extents_);
    if (copy) {
      std::copy_n(data(), count_, copy->data());
    }
    return copy;
  }

  // The same memory with other extents, whose product must be size().
  template <std::size_t OtherRank>
  Tensor<T, OtherRank> with_extents(const Extents<OtherRank>& extents) && {
    Tensor<T, OtherRank> other;
    other.extents_ = extents;
    other.count_ = std::exchange(count_, 0);
    other.capacity_ = std::exchange(capacity_, 0);
    other.memory_ = std::move(memory_);
    extents_ = {};
    return other;
  }
  // The same memory without the batch axis, which must have extent 1.
  Tensor<T, Rank - 1> without_batch() && requires(Rank > 1) {
    Extents<Rank - 1> inner;
    std::copy(extents_.begin() + 1, extents_.end(), inner.begin());
    return std::move(*this).with_extents(inner);
  }

  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return count_; }
  const Extents<Rank>& extents() const { return extents_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }

  TensorView<T, Rank> view() & { return {data(), extents_}; }
  TensorView<const T, Rank> view() const& { return {data(), extents_}; }
  void view() const&& = delete;
  // NOLINTBEGIN(google-explicit-constructor): functions take views
  operator TensorView<T, Rank>() & { return view(); }
  operator TensorView<T, Rank>() && = delete;
  operator TensorView<const T, Rank>() const& { return view(); }
  operator TensorView<const T, Rank>() const&& = delete;
  // NOLINTEND(google-explicit-constructor)
  std::span<T> elements() { return {data(), count_}; }
  std::span<const T> elements() const { return {data(), count_}; }

  template <class... Index>
  T& operator()(Index... index) {
    return view()(index...);
  }
  template <class... Index>
  const T& operator()(Index... index) const {
    return view()(index...);
  }

 private:
  template <class, std::size_t>
  friend class Tensor;

  std::unique_ptr<T, detail::AlignedDelete> memory_;
  Extents<Rank> extents_{};
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;  // elements that the memory holds
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
