#include "steps/widen.h"

#include <algorithm>

#include "kernels/tile_layout.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using kernels::Rows;

// Calls body(b, l, count) for the rows [l, l + count) of sequence b, some rows
// at a time.
template <class Body>
void for_rows(const Extents<3>& extents, const Executor& executor,
              const Body& body) {
  const auto [B, L, E] = extents;
  if (E == 0) {
    return;
  }
  constexpr std::size_t kElementsAtLeast = 1 << 14;
  executor.parallel_for(B * L, std::max<std::size_t>(kElementsAtLeast / E, 1),
                        [&, length = L](std::size_t begin, std::size_t end) {
                          const FloatEnvironment environment;
                          while (begin < end) {
                            const std::size_t l = begin % length;
                            const std::size_t count =
                                std::min(length - l, end - begin);
                            body(begin / length, l, count);
                            begin += count;
                          }
                        });
}

template <class T>
Rows<T> tensor_rows(const TensorView<T, 3>& x, std::size_t b, std::size_t l,
                    std::size_t count) {
  return {&x(b, l, 0), count, x.stride(1), x.stride(2)};
}

template <class T>
Result<Tensor<float, 3>> widen_all(TensorView<const T, 3> x,
                                   const Executor& executor) {
  HEADWISE_ASSIGN(auto wide, Tensor<float, 3>::create_unset(x.extents()));
  const std::size_t features = x.extent(2);
  for_rows(x.extents(), executor,
           [&](std::size_t b, std::size_t l, std::size_t count) {
             kernels::tile_layout().pack_keys(tensor_rows(x, b, l, count),
                                              features, &wide(b, l, 0));
           });
  return wide;
}

template <class T>
void narrow_all(TensorView<const float, 3> x, TensorView<T, 3> to,
                const Executor& executor) {
  const std::size_t features = x.extent(2);
  for_rows(x.extents(), executor,
           [&](std::size_t b, std::size_t l, std::size_t count) {
             kernels::tile_layout().store_rows(&x(b, l, 0), 1, features,
                                               features,
                                               tensor_rows(to, b, l, count));
           });
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

#define HEADWISE_WIDEN(T)                                             \
  Result<Tensor<float, 3>> widen(TensorView<const T, 3> x,            \
                                 const Executor& executor) {          \
    return widen_all(x, executor);                                    \
  }                                                                   \
  void narrow_into(TensorView<const float, 3> x, TensorView<T, 3> to, \
                   const Executor& executor) {                        \
    narrow_all(x, to, executor);                                      \
  }
HEADWISE_WIDEN(BFloat16)
HEADWISE_WIDEN(Float16)
#undef HEADWISE_WIDEN

}  // namespace headwise::internal::inline HEADWISE_ABI
