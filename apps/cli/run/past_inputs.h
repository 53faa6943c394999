// --past-key and --past-value: keys and values of tokens before those of --key
// and --value, as a cache of the caller's has them.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "operands.h"
#include "run_flags.h"
#include "run_inputs.h"

namespace headwise::cli {

class PastInputs {
 public:
  // `arrays`: the other tensors, whose layout the files must have. Errors:
  // those of the files; shape_mismatch, invalid_argument for another type than
  // --key or --value has.
  static Result<PastInputs> read(const RunFlags& flags,
                                 const InputArrays& arrays);

  bool given() const { return given_; }
  std::size_t length() const { return length_; }  // in tokens
  // `now` with the past tokens before its key and value. Errors: out_of_memory.
  Result<Operands<float, 4>> joined(const RunFlags& flags,
                                    Operands<float, 4> now) const;

 private:
  bool given_ = false;
  std::size_t length_ = 0;
  Tensor<float, 4> key_;  // in the layout of the files
  Tensor<float, 4> value_;
};

}  // namespace headwise::cli
