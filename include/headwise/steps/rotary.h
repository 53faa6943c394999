// Rotary positions: each pair of features of a query or key is rotated by an
// angle that grows with the token's position, so that q . k depends on how far
// apart the two are. Between the projections and the scores:
//
//   x  (B, L, H, D)  in   queries or keys
//   y  (B, L, H, D)  out  may be x itself
//
//   y1 = x1 * cos - x2 * sin     angle = position * frequency[p],
//   y2 = x2 * cos + x1 * sin     p < rotary_dim / 2
//
// (x1, x2) is pair p of the first rotary_dim features: features p and p +
// rotary_dim / 2 (RotaryLayout::halves) or 2p and 2p + 1 (interleaved). The
// other features stay as they are. frequency[p] = base^(-2p / rotary_dim),
// changed by a scaling rule.
//
// Frequencies and angles are formed in binary64; sine and cosine are taken in
// binary64 and rounded once, so they are within 3.0e-8 of those of the angle at
// every position below 2^31 (RotaryTest.SineAndCosineAreThoseOfTheAngle). The
// arithmetic is in docs/arithmetic.md; results are bit-identical for any number
// of threads and any instruction set that has a fused multiply-add. To match a
// library that computes angles in float32, pass its tables to from_tables().
//
// Backward is the rotation by the negative angle: rotate_back().
//
// Source: Su et al. 2021, arXiv:2104.09864, equations 14, 15 and 34; scaling:
// Chen et al. 2023, arXiv:2306.15595 (linear); Peng et al. 2023,
// arXiv:2309.00071 (NTK-aware, YaRN); Ding et al. 2024, arXiv:2402.13753
// (LongRoPE); Grattafiori et al. 2024, arXiv:2407.21783 and the Llama 3.1 model
// card (llama3).
//
// Example:
//   auto rotary = Rotary::create({.rotary_dim = 64, .base = 500000}).value();
//   Status s = rotary.rotate(q, q, {.start = 12});  // tokens 12, 13, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Which features are a pair. Llama as transformers stores it and GPT-NeoX have
// halves; GPT-J, GLM and the original Llama are interleaved.
enum class RotaryLayout { halves, interleaved };

// frequency / factor: positions are interpolated.
struct LinearScaling {
  double factor = 1;
};

// The base becomes base * factor^(rotary_dim / (rotary_dim - 2)).
struct NtkScaling {
  double factor = 1;
};

// Pairs that turn often within the original length keep their frequency, those
// that turn rarely are divided by the factor, with a ramp between the two.
struct YarnScaling {
  double factor = 1;
  std::size_t original_length = 0;  // of the training, in tokens
  double beta_fast = 32;            // turns above which a pair is kept
  double beta_slow = 1;             // turns below which it is divided
  bool truncate = true;             // the ramp begins and ends at whole pairs
  // On sine and cosine; not given: 0.1 ln(factor) + 1.
  std::optional<double> attention_factor{};
};

// Wavelengths above original_length / low_freq_factor are divided by the
// factor, those below original_length / high_freq_factor stay; between the two
// the frequencies are blended.
struct Llama3Scaling {
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::size_t original_length = 0;
};

// Each frequency is divided by a factor of its own.
struct LongRopeScaling {
  // (rotary_dim / 2); no frequency may become larger than 1.
  std::vector<double> factors{};
  double attention_factor = 1;  // on sine and cosine
};

using RotaryScaling = std::variant<std::monostate, LinearScaling, NtkScaling,
                                   YarnScaling, Llama3Scaling, LongRopeScaling>;

struct RotaryConfig {
  std::size_t rotary_dim = 0;  // features that rotate, even; at most head_dim
  double base = 10000;         // at least 1
  RotaryLayout layout = RotaryLayout::halves;
  RotaryScaling scaling{};
};

// Where the tokens of a call stand.
struct RotaryPositions {
  // (B, L), from 0 to 2^31 - 1 or to the rows of the tables. A stride of 0
  // along B says that all sequences have the same. No view: row numbers from
  // `start` on.
  TensorView<const std::int64_t, 2> positions{};
  std::int64_t start = 0;
};

// Copies share what was computed once.
class Rotary {
 public:
  // Errors: invalid_argument for a rotary_dim that is 0 or odd, a base or a
  // factor below 1, a missing original_length, factors of llama3 or turns of
  // YaRN that do not ascend, an NTK factor with a rotary_dim of 2, factors of
  // LongRoPE that are not rotary_dim / 2 or too small; out_of_memory.
  static Result<Rotary> create(const RotaryConfig& config);
  // The caller's own cosines and sines, (positions, rotary_dim / 2) each, which
  // are copied. Errors: shape_mismatch, invalid_argument, out_of_memory.
  static Result<Rotary> from_tables(TensorView<const float, 2> cos,
                                    TensorView<const float, 2> sin,
                                    RotaryLayout layout = RotaryLayout::halves);

  std::size_t rotary_dim() const;
  RotaryLayout layout() const;
  // Radians per position, (rotary_dim / 2); empty for tables.
  std::span<const double> frequencies() const;
  // The factor on sine and cosine; 1 but for YaRN and LongRoPE.
  double attention_factor() const;
  // The number of positions; 2^31 but for tables.
  std::uint64_t positions() const;

  // cos and sin (rotary_dim / 2) at a position. Errors: out_of_range,
  // shape_mismatch.
  Status angles(std::int64_t position, std::span<float> cos,
                std::span<float> sin) const;

  // The errors of rotate(x, x, positions), which is not done.
  Status check(TensorView<const float, 4> x,
               const RotaryPositions& positions = {}) const;

  // The features of a head are contiguous; y is x or does not overlap it.
  // Errors, before anything is written: shape_mismatch; invalid_argument if the
  // stride along D is not 1, or D is below rotary_dim; out_of_range for a
  // position that is negative or too large; unsupported for a HEADWISE_TARGET
  // that is not available.
  Status rotate(TensorView<const float, 4> x, TensorView<float, 4> y,
                const RotaryPositions& positions = {},
                const Executor& executor = Executor::default_executor()) const;
  // d_x from d_y, the gradients of a loss with respect to x and y. d_x is d_y
  // or does not overlap it. Errors as above.
  Status rotate_back(
      TensorView<const float, 4> d_y, TensorView<float, 4> d_x,
      const RotaryPositions& positions = {},
      const Executor& executor = Executor::default_executor()) const;

 private:
  struct State;
  HEADWISE_HIDDEN explicit Rotary(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
