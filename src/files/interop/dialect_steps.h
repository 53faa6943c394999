// The steps of one call as a library computes them, by plain loops.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/dialect_diff.h"
#include "headwise/interop/dialects.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Each over (B, Hq, Lq, Lkv), in C order.
struct DialectSteps {
  std::vector<char> allowed;  // by masks, padding and lengths
  std::vector<float> added;   // by a float mask
  std::vector<char> causal;   // allowed by the causal mask
  std::vector<float> scores;  // masked, as the softmax takes them
  std::vector<double> weights;

  bool may_attend(std::size_t n) const {
    return allowed[n] != 0 && causal[n] != 0;
  }
  // Whether a float mask adds -inf in the row of `keys` pairs from n on.
  bool adds_minus_inf(std::size_t n, std::size_t keys) const;
};

// Errors: those of read_mask().
Result<DialectSteps> dialect_steps(const Dialect& dialect,
                                   const DialectInput& input,
                                   const AttentionShape& shape);

// "(B, H, Lq, Lkv)"
std::string axes_text(const MaskForm& form);
// What elements of this type mean.
MaskReading reading_of(const MaskForm& form, DType type);
// Whether numbers of it have no fraction; a bool is no number.
bool holds_integers(DType type);

// What a fully masked row gives, in words.
Message empty_row_text(const Dialect& dialect, const DialectCall& call);

}  // namespace headwise::inline HEADWISE_ABI
