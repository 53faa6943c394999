// The rows of a rank in the forward pass.
#pragma once

#include "distribute/key_rows.h"
#include "distribute/shards.h"
#include "distribute/whole_options.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
class ForwardRows {
 public:
  // With a state only if some rows go through several calls: in the outputs
  // where they have its type, else in memory of its own. Errors: out_of_memory.
  static Result<ForwardRows> create(const WholeOptions& whole,
                                    TensorView<const T, 4> query,
                                    const AttentionOutputsOf<T>& outputs,
                                    bool with_state);

  // One call of attention(): the queries take these keys, `rows`.
  Status attend(const Shard& queries, const PartRange& keys,
                const KeyViews<const T>& rows, KeyPart key_part);
  // The same without a key.
  Status attend_to_none(const Shard& queries);

 private:
  ForwardRows(const WholeOptions& whole, TensorView<const T, 4> query,
              const AttentionOutputsOf<T>& outputs)
      : whole_(whole), query_(query), outputs_(outputs) {}

  Status make_state();

  WholeOptions whole_;
  TensorView<const T, 4> query_;
  AttentionOutputsOf<T> outputs_;
  AttentionState state_{};
  Tensor<float, 4> softmax_rows_;  // of the state, where no output has it
  Tensor<float, 4> context_;
};

}  // namespace headwise::inline HEADWISE_ABI
