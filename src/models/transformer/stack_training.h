// A pass through a decoder's or an encoder's layers that keeps what gradients
// need, and the way back.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"
#include "transformer/gradient_sums.h"
#include "transformer/params.h"
#include "transformer/stack_run.h"

namespace headwise::inline HEADWISE_ABI::transformer {

class StackTraining {
 public:
  // All must outlive it.
  StackTraining(const StackSpec& stack, const StackParams& params,
                const StackInput& input);
  ~StackTraining();
  StackTraining(const StackTraining&) = delete;
  StackTraining& operator=(const StackTraining&) = delete;

  // (1, rows, hidden_size), after the last norm: the bits of run_stack().
  // Errors: those of the pass; out_of_memory.
  Result<Rows> forward();
  // Once. `sums` must be given the offsets of the sequences. Errors: those of
  // hooks and of terms; out_of_memory.
  Status backward(Rows d_hidden, GradientSums& sums);

 private:
  class Pass;
  std::unique_ptr<Pass> pass_;
};

}  // namespace headwise::inline HEADWISE_ABI::transformer
