// Layer normalisation, RMS norms and activations, there and back, as
// docs/arithmetic.md writes them, in scalar code: what every kernel's bits are
// held against. Nothing is shared with the kernels.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "attention/contract.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/activation.h"
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

struct ContractMoments {
  float mean;
  float rate;
};

// An RMS norm takes +0 for the mean.
inline ContractMoments contract_moments(const float* x, std::size_t E,
                                        double eps, bool centred = true) {
  const auto count = static_cast<float>(E);
  const auto from = [&](float start) {
    return [=](std::size_t i) { return x[i] - start; };
  };
  const float rough = contract_sum(E, from(0)) / count;
  const float mean = centred ? rough + contract_sum(E, from(rough)) / count : 0;
  const auto d = from(mean);
  const float var =
      contract_sum(E, [&](std::size_t i) { return d(i) * d(i); }) / count;
  return {mean, 1 / std::sqrt(var + static_cast<float>(eps))};
}

inline float contract_nan(float x) { return std::isnan(x) ? kNaN : x; }

inline Tensor<float, 2> contract_layer_norm(TensorView<const float, 2> x,
                                            const LayerNormParams& params,
                                            bool centred = true) {
  const FloatEnvironment environment;
  const auto [N, E] = x.extents();
  auto y = Tensor<float, 2>::create({N, E}).value();
  for (std::size_t n = 0; n < N; ++n) {
    const auto [mean, rate] =
        contract_moments(&x(n, 0), E, params.eps, centred);
    for (std::size_t i = 0; i < E; ++i) {
      const float scaled = (x(n, i) - mean) * rate * params.weight(i);
      y(n, i) = contract_nan(scaled + params.bias(i));
    }
  }
  return y;
}

struct ContractLayerNormGradients {
  Tensor<float, 2> d_x;
  Tensor<float, 1> weight;
  Tensor<float, 1> bias;
};

struct ContractNorm {
  bool centred = true;              // false: an RMS norm
  std::size_t rows_of_block = 128;  // more where a token has several rows
};

// `offsets`: where each sequence begins, and at last the number of rows.
inline ContractLayerNormGradients contract_layer_norm_backward(
    TensorView<const float, 2> x, const LayerNormParams& params,
    TensorView<const float, 2> d_y, const std::vector<std::int64_t>& offsets,
    const ContractNorm& norm = {}) {
  const FloatEnvironment environment;
  const auto [N, E] = x.extents();
  const auto count = static_cast<float>(E);
  auto d_x = Tensor<float, 2>::create({N, E}).value();
  auto weight = Tensor<float, 1>::create({E}).value();
  auto bias = Tensor<float, 1>::create({E}).value();
  std::vector<float> z(E), g(E), block_weight(E), block_bias(E);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    for (std::int64_t n = offsets[s]; n < offsets[s + 1]; ++n) {
      const float* d_row = &d_y(n, 0);
      if (std::any_of(d_row, d_row + E, [](float d) { return d != 0; })) {
        const auto [mean, rate] =
            contract_moments(&x(n, 0), E, params.eps, norm.centred);
        for (std::size_t i = 0; i < E; ++i) {
          z[i] = (x(n, i) - mean) * rate;
          g[i] = d_row[i] * params.weight(i);
          block_weight[i] += d_row[i] * z[i];
          block_bias[i] += d_row[i];
        }
        const auto of_g = [&](std::size_t i) { return g[i]; };
        const auto of_gz = [&](std::size_t i) { return g[i] * z[i]; };
        const float a = norm.centred ? contract_sum(E, of_g) / count : 0;
        const float b = contract_sum(E, of_gz) / count;
        for (std::size_t i = 0; i < E; ++i) {
          const float centred = g[i] - a;
          d_x(n, i) = contract_nan((centred - z[i] * b) * rate);
        }
      }
      const auto in_block =
          static_cast<std::size_t>(n - offsets[s]) % norm.rows_of_block;
      if (in_block + 1 == norm.rows_of_block || n + 1 == offsets[s + 1]) {
        for (std::size_t i = 0; i < E; ++i) {
          weight(i) += std::exchange(block_weight[i], 0.0f);
          bias(i) += std::exchange(block_bias[i], 0.0f);
        }
      }
    }
  }
  std::ranges::transform(weight.elements(), weight.data(), contract_nan);
  std::ranges::transform(bias.elements(), bias.data(), contract_nan);
  return {std::move(d_x), std::move(weight), std::move(bias)};
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

// Phi(-u), u at most kContractTailEnd.
constexpr float kContractTailEnd = 0x1.5449bap+3f;

inline float contract_tail(float u) {
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
  return q * std::bit_cast<float>(std::bit_cast<std::uint32_t>(t) << 23);
}

// 1 / (1 + exp(p(u))), u at most 128, p(u) being a u + b u^3.
struct ContractCubic {
  double a;
  double b;
};

inline ContractCubic contract_cubic(Activation activation) {
  constexpr double kTwoRoots = 0x1.9884533d43651p+0;  // 2 sqrt(2 / pi)
  return activation == Activation::gelu_tanh
             ? ContractCubic{kTwoRoots, 0.044715 * kTwoRoots}
         : activation == Activation::quick_gelu ? ContractCubic{1.702, 0}
                                                : ContractCubic{1, 0};
}

inline float contract_sigmoid_tail(const ContractCubic& p, float u) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  const float z = u * std::fma(u * u, static_cast<float>(-p.b * kLog2E),
                               static_cast<float>(-p.a * kLog2E));
  const float e = contract_exp2(z);
  return e / (e + 1);
}

inline float contract_activate(Activation activation, float x) {
  if (std::isnan(x)) {
    return kNaN;
  }
  if (activation == Activation::relu) {
    return x > 0 ? x : 0;
  }
  const float above = x > 0 ? x : 0.0f;
  if (activation == Activation::gelu) {
    const float u = std::min(std::abs(x), kContractTailEnd);
    return std::fma(-contract_tail(u), u, above);
  }
  const float u = std::min(std::abs(x), 128.0f);
  const float tail = contract_sigmoid_tail(contract_cubic(activation), u);
  return std::fma(-tail, u, above);
}

// The derivative at -|x|.
inline float contract_slope(Activation activation, float x) {
  if (activation == Activation::relu) {
    return 0;
  }
  if (activation == Activation::gelu) {
    const float tail = contract_tail(std::min(std::abs(x), kContractTailEnd));
    const float u = std::min(std::abs(x), 16.0f);
    const float bell = contract_exp2(u * u * -0x1.715476p-1f);
    return std::fma(-(u * 0x1.988454p-2f), bell, tail);
  }
  const float u = std::min(std::abs(x), 128.0f);
  const ContractCubic p = contract_cubic(activation);
  const float tail = contract_sigmoid_tail(p, u);
  const float slope =
      u * std::fma(u * u, static_cast<float>(3 * p.b), static_cast<float>(p.a));
  return std::fma(-(slope * (1 - tail)), tail, tail);
}

inline float contract_activate_backward(Activation activation, float x,
                                        float d_y, float up = 1) {
  if (d_y == 0) {
    return 0;
  }
  if (std::isnan(x)) {
    return kNaN;
  }
  const float h = contract_slope(activation, x);
  return contract_nan(d_y * (up * (x > 0 ? 1 - h : h)));
}

inline float contract_activate_gate(Activation activation, float gate,
                                    float up) {
  return contract_nan(contract_activate(activation, gate) * up);
}

}  // namespace headwise::testing_support
