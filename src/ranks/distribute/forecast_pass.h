// The time and traffic of one pass over all pairs of a query and a key, where
// one side stays at its ranks and the other moves to them.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/distribute/plan_forecast.h"

namespace headwise::inline HEADWISE_ABI {

enum class Moving : std::uint8_t { keys, queries };

struct Pass {
  Moving moving;
  double multiply_adds;      // per pair, all heads
  double token_bytes;        // of a token that moves, all heads
  double chunk_bytes;        // of a token of a chunk: of the heads that it has
  std::size_t chunk_tokens;  // the most of a chunk
};

struct PassForecast {
  std::vector<double> multiply_adds;  // of each rank
  std::vector<double> received;       // bytes of each rank
  double seconds;
  bool arrives_first;  // all that a rank receives, before it computes
};

// The most keys of a chunk.
std::size_t chunk_tokens_of(const ShardRequest& request);

// For a plan by context.
PassForecast forecast_pass(const ShardRequest& request, const ShardPlan& plan,
                           const ForecastOptions& options, const Pass& pass);

}  // namespace headwise::inline HEADWISE_ABI
