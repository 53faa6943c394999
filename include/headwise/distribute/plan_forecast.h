// What a plan costs each rank in work, memory and traffic, and how long a call
// takes for given rates: a cluster can be planned before it is rented.
//
// The model of time. A rank computes `multiply_adds_per_second`, and each link
// moves `bytes_per_second` in each direction.
//
//   pipelined  Keys and values travel in chunks of at most 3,072 tokens (larger
//              if that makes more than 4,096 chunks), as in
//              context_attention(): in key order, from their owner to the ranks
//              whose queries see one of the keys, at most eight copies from a
//              rank. A rank holds two chunks. When it begins to compute one it
//              receives the next. It sends its own chunk when it begins to
//              compute the one before, and passes on another's when it begins
//              to compute that. A copy takes its bytes / bandwidth on the
//              sender's link and a latency. Where each rank needs few keys of
//              others, it receives them before it computes.
//   gathered   Every rank receives all keys and values, then computes.
//   by heads   Tokens are exchanged for heads, the rank computes, and outputs
//              are exchanged for tokens. The backward pass does this
//              again, also with the outputs, their gradients and two numbers
//              per query and head; gradients are exchanged for tokens.
//
// By context, the backward pass adds two passes: the gradient of the queries,
// with keys and values as above, and that of keys and values at their owner,
// with queries, outputs, their gradients and two numbers per query and head in
// the order of the queries. Both compute the scores again, so a call by
// context has 2 + 7 products of tokens and features where one process, or a
// rank by heads, has 2 + 5.
//
// Left out: everything around attention (projections, reading, writing), masks
// other than bands, the softmax, traffic of others on the links, what sending
// costs the processor, differences between ranks, and the size of the tiles: a
// kernel is slower on a few tokens than on many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// How a rank gets the keys of others, by context.
enum class Transfer : std::uint8_t { pipelined, gathered };

struct ForecastOptions {
  Transfer transfer = Transfer::pipelined;
  bool backward = false;          // forward and backward; else forward alone
  std::size_t head_dim = 128;     // of queries, keys and values
  std::size_t element_bytes = 4;  // 4, or 2 for 16-bit tensors
  double multiply_adds_per_second = 5e11;
  double bytes_per_second = 12.5e9;
  double latency_seconds = 1e-5;
};

struct RankForecast {
  double multiply_adds = 0;
  // Its tokens and heads, and what it holds of others at the same time. In
  // bytes, as are all.
  double memory = 0;
  double received = 0;  // from other ranks, over all passes
};

struct Forecast {
  std::vector<RankForecast> ranks{};
  std::size_t chunk_tokens = 0;  // the most tokens of a chunk
  double imbalance = 0;          // of multiply_adds
  double seconds = 0;
  double one_rank_seconds = 0;  // the whole call on one rank
  double one_rank_memory = 0;
  // one_rank_seconds / (ranks * seconds); 1 without work.
  double efficiency = 1;
};

// For a plan of the request. Errors: out_of_range for a size of 0 or more than
// 2^20, a rate that is not positive and finite, or a latency that is negative
// or not finite; out_of_memory.
Result<Forecast> forecast(const ShardRequest& request, const ShardPlan& plan,
                          const ForecastOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
