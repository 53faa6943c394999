// The attention of a pruned encoder with its original shapes, for programs that
// expect the same number of heads in every layer, such as transformers:
//
//   w_q, w_k, w_v  the rows and biases of a removed head are 0
//   w_o            its columns are 0; the bias stays
//
// So a removed head adds nothing, and the outputs are those of the pruned
// encoder except for the order of the sums in w_o. Nothing gets smaller or
// faster.
//
// Errors: unsupported for an encoder that was read for inference;
// out_of_memory.
//
// Example:
//   FullSizeAttention attention = full_size_attention(pruned).value();
//   Status s = write_model("model", "zeroed", {.params = attention.params(),
//                                              .kept_heads = HeadsLeft()});
#pragma once

#include <map>
#include <string>

#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// By the names that Transformer::attention_params() uses.
struct FullSizeAttention {
  std::map<std::string, Tensor<float, 2>> weights;
  std::map<std::string, Tensor<float, 1>> biases;

  // All of them; valid while this lives.
  std::map<std::string, AnyView> params() const;
};

Result<FullSizeAttention> full_size_attention(const Transformer& pruned);

}  // namespace headwise::inline HEADWISE_ABI
