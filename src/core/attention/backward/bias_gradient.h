// The gradient of a dense bias: that of the scores, summed over what the bias
// is broadcast over. The scores' gradients are computed once more for it, so
// that each element is summed in order by one worker.
#pragma once

#include <cstddef>

#include "attention/backward/gradient_block.h"
#include "attention/backward/gradient_head.h"

namespace headwise::inline HEADWISE_ABI {

// How the elements of the bias are shared out: a task has those of one sequence
// and head (all of them where the bias is broadcast) and of some queries.
std::size_t bias_tasks(const AttentionSpec& spec,
                       const TensorView<float, 4>& d_bias);

// Computes the task's elements of d_bias in the memory given.
void bias_gradient(const AttentionSpec& spec, const CallTensors& tensors,
                   std::size_t task, GradientHead& head, GradientBlock& block,
                   const GradientScratch& scratch);

}  // namespace headwise::inline HEADWISE_ABI
