// Layer normalisation and GELU as docs/arithmetic.md writes them, in scalar
// code: what every kernel's bits are held against. Nothing is shared with the
// kernels.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"

namespace headwise::testing_support {

// The sum of z(i), i < E, in sixteen parts.
inline float contract_sum(std::size_t E,
                          const std::function<float(std::size_t)>& z) {
  std::array<float, 16> part{};
  for (std::size_t i = 0; i < E; ++i) {
    part[i % 16] += z(i);
  }
  std::array<float, 8> eight{};
  std::array<float, 4> four{};
  for (std::size_t j = 0; j < 8; ++j) {
    eight[j] = part[j] + part[j + 8];
  }
  for (std::size_t j = 0; j < 4; ++j) {
    four[j] = eight[j] + eight[j + 4];
  }
  return (four[0] + four[2]) + (four[1] + four[3]);
}

inline Tensor<float, 2> contract_layer_norm(TensorView<const float, 2> x,
                                            const LayerNormParams& params) {
  const FloatEnvironment environment;
  const auto [N, E] = x.extents();
  const auto count = static_cast<float>(E);
  auto y = Tensor<float, 2>::create({N, E}).value();
  for (std::size_t n = 0; n < N; ++n) {
    const auto from = [&, n = n](float start) {
      return [&, n, start](std::size_t i) { return x(n, i) - start; };
    };
    const float rough = contract_sum(E, from(0)) / count;
    const float mean = rough + contract_sum(E, from(rough)) / count;
    const auto d = from(mean);
    const float var =
        contract_sum(E, [&](std::size_t i) { return d(i) * d(i); }) / count;
    const float rate = 1 / std::sqrt(var + static_cast<float>(params.eps));
    for (std::size_t i = 0; i < E; ++i) {
      const float scaled = d(i) * rate * params.weight(i);
      const float shifted = scaled + params.bias(i);
      y(n, i) = std::isnan(shifted) ? kNaN : shifted;
    }
  }
  return y;
}

// Horner's rule with fused multiply-adds, the highest power first.
template <std::size_t kTerms>
float contract_horner(const std::array<float, kTerms>& terms, float x) {
  float y = terms[0];
  for (std::size_t i = 1; i < kTerms; ++i) {
    y = std::fma(y, x, terms[i]);
  }
  return y;
}

inline float contract_gelu(float x) {
  if (std::isnan(x)) {
    return kNaN;
  }
  const float u = std::min(std::abs(x), 0x1.5449bap+3f);
  const float r = u * contract_horner<8>(
                          {-0x1.c56e0ep-20f, 0x1.be5b7ep-16f, -0x1.110fa4p-13f,
                           -0x1.110a22p-12f, 0x1.d873fcp-8f, -0x1.aec8dap-5f,
                           -0x1.d633eap-2f, -0x1.26aefep+0f},
                          u);
  constexpr float kMagic = 0x1.8p23f + 126;
  const float t = r + kMagic;
  const float f = r - (t - kMagic);
  const float q =
      contract_horner<6>({0x1.5bda40p-10f, 0x1.3ce8acp-7f, 0x1.c6b6d8p-5f,
                          0x1.ebf9c2p-3f, 0x1.62e42ap-1f, 1.0f},
                         f);
  const auto w = std::bit_cast<float>(std::bit_cast<std::uint32_t>(t) << 23);
  return std::fma(-(q * w), u, x > 0 ? x : 0.0f);
}

}  // namespace headwise::testing_support
