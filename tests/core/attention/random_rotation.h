// The rotation of a random call's queries and keys by random positions and that
// of their gradients back, and the same in binary64.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "headwise/steps/rotate_heads.h"
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
      rotate_heads(*rotary_, {in.query, in.key}, shape_of(in), {}, positions())
          .value();
    }
  }
  // From the gradients by rotated queries and keys to those by the given ones.
  void rotate_back(Gradients<float>& gradients) const {
    if (rotates()) {
      rotate_heads_back(*rotary_, {gradients.query, gradients.key},
                        shape_of(given_), {}, positions())
          .value();
    }
  }

  // What rotate() comes near.
  Inputs<double> exact() const {
    Inputs<double> in = widened(given_);
    turn_exactly(in.query, queries_);
    turn_exactly(in.key, keys_);
    return in;
  }
  // Of what rotate_back() comes near: `bound` becomes that of the result.
  void rotate_back_exactly(Gradients<double>& gradients,
                           Gradients<double>& bound) const {
    if (rotates()) {
      turn_bound(gradients.query, bound.query);
      turn_bound(gradients.key, bound.key);
      turn_exactly(gradients.query, queries_, true);
      turn_exactly(gradients.key, keys_, true);
    }
  }

 private:
  static AttentionShape shape_of(const Inputs<float>& in) {
    return attention_shape(in.query.extents(), in.key.extents(),
                           in.value.extents())
        .value();
  }
  HeadPositions positions() const {
    return {.query_positions = queries_, .key_positions = keys_};
  }

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

  // pair(x1, x2, p) of each pair of each row of x (B, L, H, D).
  template <class Pair>
  void for_each_pair(const Tensor<double, 4>& x, const Pair& pair) const {
    const auto [B, L, H, D] = x.extents();
    const std::size_t pairs = rotary_->frequencies().size();
    const bool halves = rotary_->layout() == RotaryLayout::halves;
    for (std::size_t row = 0; row < B * L * H; ++row) {
      for (std::size_t p = 0; p < pairs; ++p) {
        const std::size_t first = row * D + (halves ? p : 2 * p);
        pair(first, first + (halves ? pairs : 1), row / H, p);
      }
    }
  }

  void turn_exactly(Tensor<double, 4>& x, const Tensor<std::int64_t, 2>& at,
                    bool back = false) const {
    for_each_pair(x, [&](std::size_t first, std::size_t second,
                         std::size_t token, std::size_t p) {
      double& x1 = x.data()[first];
      double& x2 = x.data()[second];
      const double angle = static_cast<double>(at.data()[token]) *
                           rotary_->frequencies()[p] * (back ? -1 : 1);
      const double cos = rotary_->attention_factor() * std::cos(angle);
      const double sin = rotary_->attention_factor() * std::sin(angle);
      const double y1 = x1 * cos - x2 * sin;
      x2 = x2 * cos + x1 * sin;
      x1 = y1;
    });
  }

  // How far the elements of a turned x may be from the exact ones when those of
  // x are within the bound.
  void turn_bound(const Tensor<double, 4>& x, Tensor<double, 4>& bound) const {
    for_each_pair(x, [&](std::size_t first, std::size_t second, std::size_t,
                         std::size_t) {
      double& b1 = bound.data()[first];
      double& b2 = bound.data()[second];
      const double within = std::hypot(b1, b2);
      const double length = std::hypot(x.data()[first], x.data()[second]);
      b1 = b2 = 1.01 * rotary_->attention_factor() *
                    (within + kError * 0x1p-24 * (length + within)) +
                0x1p-110;
    });
  }

  Inputs<float> given_;
  Tensor<std::int64_t, 2> queries_;
  Tensor<std::int64_t, 2> keys_;
  std::optional<Rotary> rotary_;
};

}  // namespace headwise::testing_support
