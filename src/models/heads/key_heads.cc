#include "heads/key_heads.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 4>> key_head_of_each(TensorView<const float, 4> x,
                                          const HeadGroups& groups) {
  const auto [B, L, Hkv, D] = x.extents();
  const auto first = groups.offsets();
  HEADWISE_ASSIGN(auto all,
                  Tensor<float, 4>::create_unset({B, L, first.back(), D}));
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t g = 0; g < Hkv; ++g) {
        for (std::size_t h = first[g]; h < first[g + 1]; ++h) {
          std::copy_n(&x(b, l, g, 0), D, &all(b, l, h, 0));
        }
      }
    }
  }
  return all;
}

}  // namespace headwise::inline HEADWISE_ABI
