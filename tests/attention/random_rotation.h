// The rotation of a random call's queries and keys by random positions, and the
// same in binary64.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "attention/attention_call.h"
#include "headwise/steps/rotary.h"
#include "support/tensors.h"

namespace headwise::testing_support {

class RandomRotation {
 public:
  // How far a rotated vector is from the exact one, in 2^-24 of its length:
  // cosine and sine are off by half a last place, and each element has two
  // roundings.
  static constexpr double kError = 4;

  RandomRotation() = default;  // none
  // Bit 0 of `form`: interleaved; bit 1: only half of the features; bit 2:
  // YaRN, which scales the vectors, too.
  RandomRotation(std::size_t D, std::size_t form, const Inputs<float>& in,
                 std::uint32_t stream)
      : given_(clone(in)),
        queries_(positions(in.query, stream)),
        keys_(positions(in.key, stream + 1)) {
    RotaryConfig config{.rotary_dim = D / ((form & 2) != 0 ? 4 : 2) * 2,
                        .layout = (form & 1) != 0 ? RotaryLayout::interleaved
                                                  : RotaryLayout::halves};
    if ((form & 4) != 0) {
      config.scaling = YarnScaling{.factor = 4, .original_length = 4096};
    }
    if (config.rotary_dim != 0) {
      rotary_ = Rotary::create(config).value();
    }
  }

  bool rotates() const { return rotary_.has_value(); }

  void rotate(Inputs<float>& in) const {
    if (rotates()) {
      rotary_->rotate(in.query, in.query, {.positions = queries_}).value();
      rotary_->rotate(in.key, in.key, {.positions = keys_}).value();
    }
  }

  // What rotate() comes near.
  Inputs<double> exact() const {
    Inputs<double> in = widened(given_);
    rotate_exactly(in.query, queries_);
    rotate_exactly(in.key, keys_);
    return in;
  }

 private:
  static Tensor<std::int64_t, 2> positions(const Tensor<float, 4>& of,
                                           std::uint32_t stream) {
    constexpr double kBeyond = 100'000;
    const auto drawn =
        uniform<2>({of.extent(0), of.extent(1)}, stream, 0, kBeyond);
    auto at = filled<std::int64_t, 2>(drawn.extents(), 0);
    for (std::size_t n = 0; n < at.size(); ++n) {
      at.data()[n] = static_cast<std::int64_t>(drawn.data()[n]);
    }
    return at;
  }

  void rotate_exactly(Tensor<double, 4>& x,
                      const Tensor<std::int64_t, 2>& at) const {
    const auto [B, L, H, D] = x.extents();
    const auto frequencies = rotary_->frequencies();
    const std::size_t pairs = frequencies.size();
    const bool halves = rotary_->layout() == RotaryLayout::halves;
    for (std::size_t row = 0; row < B * L * H; ++row) {
      double* const features = x.data() + row * D;
      const auto position = static_cast<double>(at.data()[row / H]);
      for (std::size_t p = 0; p < pairs; ++p) {
        double& x1 = features[halves ? p : 2 * p];
        double& x2 = features[halves ? p + pairs : 2 * p + 1];
        const double angle = position * frequencies[p];
        const double cos = rotary_->attention_factor() * std::cos(angle);
        const double sin = rotary_->attention_factor() * std::sin(angle);
        const double y1 = x1 * cos - x2 * sin;
        x2 = x2 * cos + x1 * sin;
        x1 = y1;
      }
    }
  }

  Inputs<float> given_;
  Tensor<std::int64_t, 2> queries_;
  Tensor<std::int64_t, 2> keys_;
  std::optional<Rotary> rotary_;
};

}  // namespace headwise::testing_support
