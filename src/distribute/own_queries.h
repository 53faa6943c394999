// What a rank computes: its queries take the keys that come by, in the order of
// the keys, and then have their outputs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "distribute/key_rows.h"
#include "distribute/shards.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
class OwnQueries {
 public:
  // What is whole: the shape of its spec, and its options.
  struct Whole {
    const AttentionShape& shape;
    const AttentionOptions& options;
    const OperationOptions& operation_options;
  };

  OwnQueries(const Whole& whole, TensorView<const T, 4> query,
             const AttentionOutputsOf<T>& outputs)
      : whole_(whole), query_(query), outputs_(outputs) {}

  // The rank's shards; those of `keys`, in order, that will be passed to
  // take(). Errors: out_of_memory.
  Status expect(std::size_t rank, std::span<const QueryShard> queries,
                std::span<const Shard> keys);
  // The next keys, for all queries that may see one of them.
  Status take(const Shard& keys, const KeyViews<const T>& rows);
  // The outputs of queries that see no key.
  Status finish();

 private:
  struct Own {
    QueryShard shard;
    std::size_t parts = 0;  // shards of keys that it sees
    std::size_t taken = 0;
  };

  std::span<Own> of_sequence(std::size_t sequence);
  Status attend(const Own& own, const PartRange& keys,
                const KeyViews<const T>& rows, KeyPart key_part);

  Whole whole_;
  TensorView<const T, 4> query_;
  AttentionOutputsOf<T> outputs_;
  std::vector<Own> own_;
  Tensor<float, 4> softmax_rows_;  // of the state
  Tensor<float, 4> context_;
};

}  // namespace headwise::inline HEADWISE_ABI
