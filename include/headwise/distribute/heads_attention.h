// One call of attention by all ranks of a group, exchanged by heads: each rank
// has some tokens of all heads, receives all tokens of some heads, computes
// them in one call and sends the outputs back. The outputs have the bits of
// attention() on the whole tensors.
//
// It moves each element of query, key, value and output once, so it is cheap if
// there are enough heads; a rank without heads only takes part in the exchange.
// During the call a rank holds its heads of the whole tensors.
//
// The tensors of a rank, and what all ranks must be given alike, are those of
// distribute/context_attention.h. Attention weights and scores, where the
// options ask for them, do not travel: a rank gets those of the heads that it
// computes, (B, heads of the rank, Lq, Lkv), as from a call of attention() on
// these heads.
//
// Errors, on every rank: those of attention() for the whole call;
// invalid_argument for ranks that were given different calls, and for plans
// that do not fit the call; unsupported for the mean of attention weights
// (distribute/mean_of_heads.h) and for statistics; rank_failure. After an error
// the group cannot be used, and outputs may be partly written. Source: Jacobs
// et al. 2023, arXiv:2309.14509.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct HeadsCall {
  // The sizes of the whole call's tensors; of a ragged batch B is 1, and Lq and
  // Lkv are its rows.
  AttentionShape tensors{};
  ShardPlan tokens{};  // by context: the rows that a rank passes and gets
  ShardPlan heads{};   // by heads: what it computes
  AttentionOptions options{};
  OperationOptions operation_options{};
};

#define HEADWISE_HEADS_ATTENTION(T)                                  \
  Status heads_attention(Communicator& group, const HeadsCall& call, \
                         const AttentionInputsOf<T>& own,            \
                         const AttentionOutputsOf<T>& outputs);
HEADWISE_HEADS_ATTENTION(float)
HEADWISE_HEADS_ATTENTION(BFloat16)
HEADWISE_HEADS_ATTENTION(Float16)
#undef HEADWISE_HEADS_ATTENTION

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
