#include "attention/packed_head.h"

#include <algorithm>
#include <cmath>

namespace headwise {

using kernels::kKeyBlock;
using kernels::kValuePanel;

PackedHead::PackedHead(std::size_t Lkv, std::size_t D, std::size_t Dv)
    : Lkv_(Lkv),
      D_(D),
      Dv_(Dv),
      Dv8_((Dv + kValuePanel - 1) / kValuePanel * kValuePanel),
      keys_(std::max<std::size_t>(Lkv * D, 1)),
      values_(std::max<std::size_t>(Lkv * Dv8_, 1)),
      not_finite_((Lkv + kKeyBlock - 1) / kKeyBlock) {}

void PackedHead::pack(TensorView<const float, 4> key,
                      TensorView<const float, 4> value, std::size_t b,
                      std::size_t g) {
  const std::ptrdiff_t step = key.stride(3);
  for (std::size_t j = 0; j < Lkv_; ++j) {
    const float* from = &key(b, j, g, 0);
    float* to = keys_.data() + j * D_;
    if (step == 1) {
      std::copy_n(from, D_, to);
      continue;
    }
    for (std::size_t d = 0; d < D_; ++d) {
      to[d] = from[static_cast<std::ptrdiff_t>(d) * step];
    }
  }
  for (std::size_t block = 0; block < not_finite_.size(); ++block) {
    pack_values(value, b, g, block);
  }
}

void PackedHead::pack_values(TensorView<const float, 4> value, std::size_t b,
                             std::size_t g, std::size_t block) {
  const std::size_t count = rows(block);
  const std::ptrdiff_t step = value.stride(3);
  float* to = values_.data() + block * kKeyBlock * Dv8_;
  float poison = 0;  // x * 0 is NaN for the x that are not finite
  for (std::size_t k = 0; k < count; ++k) {
    const float* from = &value(b, block * kKeyBlock + k, g, 0);
    for (std::size_t c = 0; c < Dv8_; ++c) {
      const float x =
          c < Dv_ ? from[static_cast<std::ptrdiff_t>(c) * step] : 0.0f;
      to[(c / kValuePanel * count + k) * kValuePanel + c % kValuePanel] = x;
      poison += x * 0.0f;
    }
  }
  not_finite_[block] = std::isnan(poison) ? 1 : 0;
}

}  // namespace headwise
