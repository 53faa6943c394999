// Decoding by ranks that have whole sequences: each keeps a KvCache with some
// of them and computes their steps; then all ranks get all outputs.
//
// Example: who has which of the sequences, by the tokens that they hold.
//   const auto owners = deal_sequences({{9000, 100, 4000}}, group.ranks());
//   // add() and append() the own sequences to `cache`, make a `plan` on it
//   Status s = decode_sequences(group, plan, {*owners, own_ids}, q, k, v, out,
//                               workspace);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/distribute/communicator.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The rank of each sequence: the longest first, each to the rank with the
// fewest tokens so far. Depends on nothing else, so every rank finds the same.
// Errors: invalid_argument for no ranks; out_of_memory.
Result<std::vector<std::size_t>> deal_sequences(
    std::span<const std::size_t> lengths, std::size_t ranks);

struct DealtSequences {
  std::span<const std::size_t> owners;  // (B), the rank of each sequence
  // Those of this rank in its cache, in their order in the call.
  std::span<const SequenceId> own{};
};

// DecodePlan::run() on the tensors of all sequences, which are the same on
// every rank, as is the output. Errors, on every rank: those of
// DecodePlan::run(); shape_mismatch, out_of_range for owners that do not fit;
// invalid_argument for ranks that were given different calls; rank_failure.
// After an error the group and the caches of all ranks cannot be used, and
// outputs may be partly written.
Status decode_sequences(Communicator& group, const DecodePlan& plan,
                        const DealtSequences& sequences,
                        TensorView<const float, 4> query,
                        TensorView<const float, 4> key,
                        TensorView<const float, 4> value,
                        TensorView<float, 4> output, Workspace& workspace,
                        TensorView<const std::int64_t, 1> offsets = {});
#define HEADWISE_DECODE(T)                                           \
  Status decode_sequences(                                           \
      Communicator& group, const DecodePlan& plan,                   \
      const DealtSequences& sequences, TensorView<const T, 4> query, \
      TensorView<const T, 4> key, TensorView<const T, 4> value,      \
      TensorView<T, 4> output, Workspace& workspace,                 \
      TensorView<const std::int64_t, 1> offsets = {});
HEADWISE_DECODE(BFloat16)
HEADWISE_DECODE(Float16)
#undef HEADWISE_DECODE

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
