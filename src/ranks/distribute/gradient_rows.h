// The gradients of a rank: calls of attention_backward() on its queries, or on
// its keys and values.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "distribute/key_rows.h"
#include "distribute/query_rows.h"
#include "distribute/shards.h"
#include "distribute/whole_options.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

// Query heads that come at once, one of each group, and the key heads that read
// them. They are the `number`-th of their groups, which have `group` heads.
struct HeadTurn {
  PartRange heads;
  PartRange kv_heads;
  std::size_t number = 0;
  std::size_t group = 1;
};

// In the order in which a key head's sums take the heads of its group.
std::vector<HeadTurn> head_turns(const AttentionShape& shape);

// What the rank's rows give to gradients of the heads, (1, Hq, queries), where
// they are wanted.
struct RowShares {
  TensorView<float, 3> alibi{};
  TensorView<float, 3> sinks{};
};

template <class T>
class GradientRows {
 public:
  // Errors: out_of_memory.
  static Result<GradientRows> create(const WholeOptions& whole,
                                     const BackwardInputsOf<T>& own,
                                     const AttentionGradientsOf<T>& gradients,
                                     const RowShares& rows);

  // The gradient of the queries: they take these keys.
  Status take_keys(const Shard& queries, const PartRange& keys,
                   const KeyViews<const T>& rows, KeyPart key_part);
  Status take_no_keys(const Shard& queries);

  // The gradients of the keys, of a turn's heads: they take these queries.
  Status take_queries(const Shard& keys, const PartRange& queries,
                      const QueryViews<const T>& rows, const HeadTurn& turn,
                      QueryPart query_part);
  Status take_no_queries(const Shard& keys);

 private:
  GradientRows(const WholeOptions& whole, const BackwardInputsOf<T>& own,
               const AttentionGradientsOf<T>& gradients, const RowShares& rows)
      : whole_(whole),
        options_of_keys_(whole.operation_options),
        own_(own),
        gradients_(gradients),
        rows_(rows) {
    options_of_keys_.added_keys = {};
  }

  WholeOptions whole_;
  // Without added keys: the saved rows have their share, and gradients_by_heads
  // has their gradients.
  OperationOptions options_of_keys_;
  BackwardInputsOf<T> own_;
  AttentionGradientsOf<T> gradients_;
  RowShares rows_;
  // Before the last part.
  TensorView<float, 4> query_sums_{};
  TensorView<float, 4> key_sums_{};
  TensorView<float, 4> value_sums_{};
  std::array<Tensor<float, 4>, 3> memory_;  // of those that need it
};

}  // namespace headwise::inline HEADWISE_ABI
