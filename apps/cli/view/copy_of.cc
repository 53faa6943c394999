#include "copy_of.h"

#include <cstddef>

namespace headwise::cli {

Result<Tensor<float, 4>> copy_of(TensorView<const float, 4> view) {
  HEADWISE_ASSIGN(auto copy, Tensor<float, 4>::create_unset(view.extents()));
  const auto [B, L, H, D] = view.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t d = 0; d < D; ++d) {
          copy(b, l, h, d) = view(b, l, h, d);
        }
      }
    }
  }
  return copy;
}

}  // namespace headwise::cli
