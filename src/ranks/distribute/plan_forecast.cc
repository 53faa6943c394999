#include "headwise/distribute/plan_forecast.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/chunks.h"
#include "distribute/forecast_pass.h"
#include "distribute/rank_work.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kPlanForecast = "forecast";
constexpr std::size_t kMostSize = std::size_t{1} << 20;
constexpr double kStateBytes = 4;    // of a number that sums have
constexpr double kRowBytes = 2 * 4;  // of a query and head, backward

Status check_size(std::string_view argument, std::size_t size) {
  return size >= 1 && size <= kMostSize
             ? ok()
             : Status(value_error(kPlanForecast, argument, std::to_string(size),
                                  message("a number from 1 to {}", kMostSize),
                                  ErrorCode::out_of_range));
}

Status check_rate(std::string_view argument, double rate) {
  return rate > 0 && std::isfinite(rate)
             ? ok()
             : Status(value_error(kPlanForecast, argument, number_text(rate),
                                  "a positive number",
                                  ErrorCode::out_of_range));
}

Status check_forecast(const ForecastOptions& options) {
  HEADWISE_TRY(check_size("head_dim", options.head_dim));
  HEADWISE_TRY(check_size("element_bytes", options.element_bytes));
  HEADWISE_TRY(
      check_rate("multiply_adds_per_second", options.multiply_adds_per_second));
  HEADWISE_TRY(check_rate("bytes_per_second", options.bytes_per_second));
  return options.latency_seconds >= 0 && std::isfinite(options.latency_seconds)
             ? ok()
             : Status(value_error(kPlanForecast, "latency_seconds",
                                  number_text(options.latency_seconds),
                                  "a number, 0 or greater",
                                  ErrorCode::out_of_range));
}

// The numbers in the tensors of some tokens and heads.
struct Numbers {
  double query = 0;  // as many as in the output
  double key = 0;    // as many as in the value
  double rows = 0;   // queries times heads
};

double token_count(std::span<const TokenPiece> pieces) {
  double tokens = 0;
  for (const TokenPiece& piece : pieces) {
    tokens += static_cast<double>(piece.range.tokens);
  }
  return tokens;
}

Numbers share_numbers(const RankShare& share, const ForecastOptions& options) {
  const auto D = static_cast<double>(options.head_dim);
  const double rows =
      token_count(share.queries) * static_cast<double>(share.heads.count);
  const double keys =
      token_count(share.keys) * static_cast<double>(share.kv_heads.count);
  return {.query = rows * D, .key = keys * D, .rows = rows};
}

// One rank that has everything.
Numbers all_numbers(const ShardRequest& request,
                    const ForecastOptions& options) {
  RankShare all = {.heads = {0, request.heads},
                   .kv_heads = {0, request.kv_heads}};
  for (std::size_t s = 0; s < request.sequences.size(); ++s) {
    all.queries.push_back({s, request.sequences[s].all_queries()});
    all.keys.push_back({s, request.sequences[s].all_keys()});
  }
  return share_numbers(all, options);
}

// Of the tensors that a call reads and writes, without gradients.
double forward_bytes(const Numbers& own, const ForecastOptions& options) {
  return static_cast<double>(options.element_bytes) * 2 * (own.query + own.key);
}

// The same with gradients and the rows that the forward pass leaves.
double backward_bytes(const Numbers& own, const ForecastOptions& options) {
  return 2 * forward_bytes(own, options) + kRowBytes * own.rows;
}

double call_bytes(const Numbers& own, const ForecastOptions& options) {
  return options.backward ? backward_bytes(own, options)
                          : forward_bytes(own, options);
}

class ContextForecast {
 public:
  ContextForecast(const ShardRequest& request, const ShardPlan& plan,
                  const ForecastOptions& options)
      : request_(request),
        plan_(plan),
        options_(options),
        heads_(static_cast<double>(request.heads)),
        head_dim_(static_cast<double>(options.head_dim)),
        element_(static_cast<double>(options.element_bytes)) {
    forecast_.ranks.resize(plan.ranks.size());
    forecast_.chunk_tokens = chunk_tokens_of(request);
  }

  Forecast run() {
    const double keys =
        2 * static_cast<double>(request_.kv_heads) * head_dim_ * element_;
    const std::size_t most = forecast_.chunk_tokens;
    add({Moving::keys, 2 * heads_ * head_dim_, keys, keys, most},
        &forward_bytes, [&](const Numbers& own) {
          // Sums of each row, and its maximum and weights.
          return kStateBytes * (own.query + 2 * own.rows);
        });
    if (options_.backward) {
      add({Moving::keys, 3 * heads_ * head_dim_, keys, keys, most},
          &backward_bytes,
          [](const Numbers& own) { return kStateBytes * own.query; });
      // Query, output and its gradient; one head of each group at a time.
      const double queries = 3 * head_dim_ * element_ + kRowBytes;
      const double of_turn = static_cast<double>(request_.kv_heads) * queries;
      add({Moving::queries, 4 * heads_ * head_dim_, heads_ * queries, of_turn,
           queries_in_room_of(most, static_cast<std::size_t>(keys),
                              static_cast<std::size_t>(of_turn))},
          &backward_bytes,
          [](const Numbers& own) { return kStateBytes * 2 * own.key; });
    }
    return forecast_;
  }

 private:
  // `sums` has the bytes of what a rank keeps between two chunks.
  template <class Sums>
  void add(const Pass& pass,
           double (*tensors)(const Numbers&, const ForecastOptions&),
           const Sums& sums) {
    const PassForecast cost = forecast_pass(request_, plan_, options_, pass);
    forecast_.seconds += cost.seconds;
    for (std::size_t r = 0; r < plan_.ranks.size(); ++r) {
      RankForecast& rank = forecast_.ranks[r];
      const Numbers own = share_numbers(plan_.ranks[r], options_);
      double memory = tensors(own, options_);
      if (options_.transfer == Transfer::gathered) {
        memory += cost.received[r];
      } else if (cost.received[r] > 0) {
        memory += sums(own) + bytes_of_others(pass, cost, r);
      }
      rank.memory = std::max(rank.memory, memory);
      rank.multiply_adds += cost.multiply_adds[r];
      rank.received += cost.received[r];
    }
  }

  // What a rank holds of other ranks at a time.
  double bytes_of_others(const Pass& pass, const PassForecast& cost,
                         std::size_t rank) const {
    return cost.arrives_first
               ? cost.received[rank] * pass.chunk_bytes / pass.token_bytes
               : std::min(cost.received[rank],
                          2 * static_cast<double>(pass.chunk_tokens) *
                              pass.chunk_bytes);
  }

  const ShardRequest& request_;
  const ShardPlan& plan_;
  const ForecastOptions& options_;
  double heads_;
  double head_dim_;
  double element_;
  Forecast forecast_{};
};

// Multiply-adds of a pair of query and key in one head of a rank that has all
// keys of its queries and all queries of its keys.
double products_of_one_rank(const ForecastOptions& options) {
  return (options.backward ? 2 + 5 : 2) * static_cast<double>(options.head_dim);
}

Forecast forecast_heads(const ShardRequest& request, const ShardPlan& plan,
                        const ForecastOptions& options) {
  Forecast forecast;
  const auto ranks = static_cast<double>(plan.ranks.size());
  const auto element = static_cast<double>(options.element_bytes);
  const Numbers all = all_numbers(request, options);
  const std::vector<double> work = work_of_ranks(request, plan);
  double slowest = 0;
  double most_received = 0;
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const Numbers own = share_numbers(plan.ranks[r], options);
    const double others = (ranks - 1) / ranks;
    // Inputs of its heads from the tokens of others, outputs of its tokens from
    // the heads of others.
    const double in = others * (own.query + 2 * own.key);
    const double out = (all.query - own.query) / ranks;
    double received = element * (in + out);
    if (options.backward) {
      // The same inputs with the outputs, their gradients and the rows, for the
      // gradients of the inputs.
      received += element * (in + others * 2 * own.query + out +
                             2 * (all.key - own.key) / ranks);
      received +=
          kRowBytes * (others * own.rows + (all.rows - own.rows) / ranks);
    }
    RankForecast& rank = forecast.ranks.emplace_back();
    rank.multiply_adds = work[r] * products_of_one_rank(options);
    rank.received = received;
    rank.memory = call_bytes(own, options) +
                  (ranks == 1 ? 0 : call_bytes(all, options) / ranks);
    slowest = std::max(slowest, rank.multiply_adds);
    most_received = std::max(most_received, rank.received);
  }
  const double exchanges = options.backward ? 4 : 2;
  forecast.seconds = slowest / options.multiply_adds_per_second +
                     most_received / options.bytes_per_second +
                     exchanges * (ranks - 1) * options.latency_seconds;
  return forecast;
}

// What one rank would take, and how the ranks compare with that.
void compare_with_one_rank(const ShardRequest& request, const ShardPlan& plan,
                           const ForecastOptions& options, Forecast& forecast) {
  const std::vector<double> work = work_of_ranks(request, plan);
  forecast.one_rank_seconds = std::accumulate(work.begin(), work.end(), 0.0) *
                              products_of_one_rank(options) /
                              options.multiply_adds_per_second;
  forecast.one_rank_memory = call_bytes(all_numbers(request, options), options);
  if (forecast.seconds > 0) {
    forecast.efficiency =
        forecast.one_rank_seconds /
        (static_cast<double>(plan.ranks.size()) * forecast.seconds);
  }
  std::vector<double> multiply_adds;
  for (const RankForecast& rank : forecast.ranks) {
    multiply_adds.push_back(rank.multiply_adds);
  }
  forecast.imbalance = imbalance_of(multiply_adds);
}

}  // namespace

Result<Forecast> forecast(const ShardRequest& request, const ShardPlan& plan,
                          const ForecastOptions& options) try {
  HEADWISE_TRY(check_forecast(options));
  Forecast result = plan.parallel == Parallel::heads
                        ? forecast_heads(request, plan, options)
                        : ContextForecast(request, plan, options).run();
  compare_with_one_rank(request, plan, options, result);
  return result;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
