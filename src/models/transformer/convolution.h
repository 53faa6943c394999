// DeBERTa's convolution behind its first layer: of the embeddings of the tokens
// around each, added to what the layer gives.
//
//   x = norm(x + f(w [e[t - 1] e[t] e[t + 1]] + b))
//
// f is tanh, or the activation that is given.
#pragma once

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// x = f(x). Errors: out_of_memory.
Status activate_convolution(const ConvolutionSpec& spec, Rows& x,
                            const Executor& executor);
// d becomes the gradient by x, where y = f(x).
Status activate_convolution_backward(const ConvolutionSpec& spec, const Rows& x,
                                     const Rows& y, Rows& d,
                                     const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI::transformer
