// The options of rotary positions with the files they name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/rotate_heads.h"
#include "rotary_flags.h"

namespace headwise::cli {

class RotaryInputs {
 public:
  // `batched`: whether files have an axis B. Errors: those of the files,
  // invalid_argument with the name of the option.
  static Result<RotaryInputs> read(const RotaryFlags& flags, bool batched);

  bool given() const { return !flags_.asked_for().empty(); }
  // The rotation of heads of this size; no value unless given().
  Result<std::optional<Rotary>> rotary(std::size_t head_dim) const;
  // They look into this object.
  HeadPositions positions() const;

 private:
  Result<Rotary> from_tables() const;

  RotaryFlags flags_;
  RotaryScaling scaling_;
  std::optional<Tensor<float, 2>> cos_;
  std::optional<Tensor<float, 2>> sin_;
  std::optional<Tensor<std::int64_t, 2>> query_positions_;
  std::optional<Tensor<std::int64_t, 2>> key_positions_;
};

// An error of the library's rotation, with the options in its arguments' place.
Error in_rotary_words(const Error& error);

}  // namespace headwise::cli
