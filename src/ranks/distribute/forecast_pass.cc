#include "distribute/forecast_pass.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "distribute/chunks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kLeastChunk = 8 * kShardTokens;
constexpr std::size_t kMostChunks = 4096;

struct Share {
  std::size_t rank;
  double seconds;  // to compute its pairs with a chunk
};

struct Chunk {
  std::size_t owner;
  std::size_t tokens;
  double seconds;                 // on a link, without latency
  std::span<const Share> shares;  // of the ranks that need it
};

bool receives(const Share& share, const Chunk& chunk) {
  return share.rank != chunk.owner;
}

// The owner of a chunk, then the ranks that need it, in the order of their
// numbers from there on, and when it arrives at each.
class Route {
 public:
  explicit Route(std::size_t ranks) : ranks_(ranks) {}

  void find(const Chunk& chunk) {
    const auto from_owner = [&](const Share& share) {
      return (share.rank + ranks_ - chunk.owner) % ranks_;
    };
    stops_.assign(chunk.shares.begin(), chunk.shares.end());
    std::ranges::sort(stops_, {}, from_owner);
    if (!stops_.empty() && stops_.front().rank != chunk.owner) {
      stops_.insert(stops_.begin(), {chunk.owner, 0});
    }
    arrivals_.assign(stops_.size(), 0);
  }

  std::size_t size() const { return stops_.size(); }
  const Share& operator[](std::size_t n) const { return stops_[n]; }
  double& arrival(std::size_t n) { return arrivals_[n]; }
  // Those that the n-th sends to.
  static std::size_t targets_begin(std::size_t n) { return n * kFanOut + 1; }
  std::size_t targets_end(std::size_t n) const {
    return std::min(targets_begin(n) + kFanOut, size());
  }

 private:
  std::size_t ranks_;
  std::vector<Share> stops_;
  std::vector<double> arrivals_;
};

// The clocks of all ranks, as chunks come one after the other in a stream: a
// rank sends a chunk of its own when it begins to compute the one before, and
// passes on one that it receives when it begins to compute that.
class PipelinedClock {
 public:
  PipelinedClock(std::size_t ranks, double latency)
      : latency_(latency), ranks_(ranks), route_(ranks) {}

  void take(const Chunk& chunk) {
    route_.find(chunk);
    for (std::size_t n = 0; n < route_.size(); ++n) {
      Rank& rank = ranks_[route_[n].rank];
      const double begin = std::max({rank.ended, rank.sent, route_.arrival(n)});
      pass_on(chunk, n, n == 0 ? rank.begun : begin);
      rank.begun = begin;
      rank.ended = begin + route_[n].seconds;
    }
  }

  double seconds() const {
    return std::ranges::max_element(ranks_, {}, &Rank::ended)->ended;
  }

 private:
  struct Rank {
    double begun = 0;      // computing its last chunk
    double ended = 0;      // computing its last chunk
    double sent = 0;       // its last chunk, to all ranks
    double link_free = 0;  // for the next chunk to go out
  };

  // From the n-th of the route to kFanOut others, which receive when they have
  // begun to compute their chunk before.
  void pass_on(const Chunk& chunk, std::size_t n, double now) {
    Rank& rank = ranks_[route_[n].rank];
    for (std::size_t to = route_.targets_begin(n); to < route_.targets_end(n);
         ++to) {
      const double start =
          std::max({now, rank.link_free, ranks_[route_[to].rank].begun});
      rank.link_free = start + chunk.seconds;
      route_.arrival(to) = rank.link_free + latency_;
      rank.sent = std::max(rank.sent, route_.arrival(to));
    }
  }

  double latency_;
  std::vector<Rank> ranks_;
  Route route_;
};

// The same where the chunks that a rank needs arrive before it computes.
class ArrivalClock {
 public:
  ArrivalClock(std::size_t ranks, double latency)
      : latency_(latency), ranks_(ranks), route_(ranks) {}

  void take(const Chunk& chunk) {
    route_.find(chunk);
    for (std::size_t n = 0; n < route_.size(); ++n) {
      Rank& rank = ranks_[route_[n].rank];
      rank.computing += route_[n].seconds;
      rank.arrived = std::max(rank.arrived, route_.arrival(n));
      for (std::size_t to = route_.targets_begin(n); to < route_.targets_end(n);
           ++to) {
        rank.link_free =
            std::max(rank.link_free, route_.arrival(n)) + chunk.seconds;
        route_.arrival(to) = rank.link_free + latency_;
      }
    }
  }

  double seconds() const {
    double last = 0;
    for (const Rank& rank : ranks_) {
      last = std::max(last, rank.arrived + rank.computing);
    }
    return last;
  }

 private:
  struct Rank {
    double arrived = 0;    // the last chunk of another rank
    double computing = 0;  // all of them
    double link_free = 0;  // for the next chunk to go out
  };

  double latency_;
  std::vector<Rank> ranks_;
  Route route_;
};

// The same where every rank receives all keys.
class GatheredClock {
 public:
  GatheredClock(std::size_t ranks, double latency)
      : latency_(latency), receiving_(ranks), computing_(ranks) {}

  void take(const Chunk& chunk) {
    for (const Share& share : chunk.shares) {
      receiving_[share.rank] += receives(share, chunk) ? chunk.seconds : 0;
      computing_[share.rank] += share.seconds;
    }
  }

  double seconds() const {
    double last = 0;
    for (std::size_t r = 0; r < receiving_.size(); ++r) {
      const double waiting =
          receiving_[r] == 0
              ? 0
              : static_cast<double>(receiving_.size() - 1) * latency_;
      last = std::max(last, waiting + receiving_[r] + computing_[r]);
    }
    return last;
  }
  static bool arrives_first() { return true; }

 private:
  double latency_;
  std::vector<double> receiving_;
  std::vector<double> computing_;
};

// As ChunkStream decides.
class StreamClock {
 public:
  StreamClock(std::size_t ranks, double latency)
      : pipelined_(ranks, latency), arrivals_(ranks, latency), rows_(ranks) {}

  void take(const Chunk& chunk) {
    pipelined_.take(chunk);
    arrivals_.take(chunk);
    rows_.add_chunk(chunk.owner, chunk.tokens);
    for (const Share& share : chunk.shares) {
      if (receives(share, chunk)) {
        rows_.add_need(share.rank, chunk.tokens);
      }
    }
  }

  double seconds() const {
    return arrives_first() ? arrivals_.seconds() : pipelined_.seconds();
  }
  bool arrives_first() const { return rows_.arrive_first(); }

 private:
  PipelinedClock pipelined_;
  ArrivalClock arrivals_;
  RowsOfOthers rows_;
};

// One pass, chunk by chunk in the order of sequences and tokens.
class PassWalk {
 public:
  PassWalk(const ShardRequest& request, const ShardPlan& plan,
           const ForecastOptions& options, const Pass& pass)
      : request_(request),
        options_(options),
        pass_(pass),
        keys_move_(pass.moving == Moving::keys),
        moving_(keys_move_ ? plan.keys : plan.queries),
        resting_(keys_move_ ? plan.queries : plan.keys),
        pairs_(plan.ranks.size()) {
    forecast_.multiply_adds.resize(plan.ranks.size());
    forecast_.received.resize(plan.ranks.size());
  }

  template <class Clock>
  PassForecast run(Clock clock) {
    const std::size_t most = pass_.chunk_tokens;
    for (const auto& [piece, owner] : moving_) {
      const std::size_t end = piece.range.end();
      for (std::size_t first = piece.range.first; first < end; first += most) {
        take({piece.sequence, {first, std::min(most, end - first)}}, owner,
             clock);
      }
    }
    forecast_.seconds = clock.seconds();
    forecast_.arrives_first = clock.arrives_first();
    return std::move(forecast_);
  }

 private:
  template <class Clock>
  void take(const TokenPiece& chunk, std::size_t owner, Clock& clock) {
    count_pairs(chunk);
    const double bytes =
        static_cast<double>(chunk.range.tokens) * pass_.token_bytes;
    shares_.clear();
    for (std::size_t r = 0; r < pairs_.size(); ++r) {
      if (pairs_[r] != 0 || options_.transfer == Transfer::gathered) {
        const double multiply_adds =
            static_cast<double>(pairs_[r]) * pass_.multiply_adds;
        shares_.push_back(
            {r, multiply_adds / options_.multiply_adds_per_second});
        forecast_.multiply_adds[r] += multiply_adds;
        forecast_.received[r] += r == owner ? 0 : bytes;
      }
    }
    clock.take({owner, chunk.range.tokens, bytes / options_.bytes_per_second,
                shares_});
  }

  // Of each rank with the chunk.
  void count_pairs(const TokenPiece& chunk) {
    std::ranges::fill(pairs_, 0);
    const auto of = [](const OwnedPiece& one) { return one.piece.sequence; };
    const std::span<const OwnedPiece> pieces = {
        std::ranges::lower_bound(resting_, chunk.sequence, {}, of),
        std::ranges::upper_bound(resting_, chunk.sequence, {}, of)};
    const std::int64_t start = request_.sequences[chunk.sequence].query_start;
    for (const auto& [piece, rank] : pieces) {
      pairs_[rank] +=
          keys_move_ ? request_.band.pairs(piece.range, chunk.range, start)
                     : request_.band.pairs(chunk.range, piece.range, start);
    }
  }

  const ShardRequest& request_;
  const ForecastOptions& options_;
  const Pass& pass_;
  bool keys_move_;
  std::span<const OwnedPiece> moving_;
  std::span<const OwnedPiece> resting_;
  std::vector<std::uint64_t> pairs_;  // of each rank with a chunk
  std::vector<Share> shares_;
  PassForecast forecast_{};
};

}  // namespace

std::size_t chunk_tokens_of(const ShardRequest& request) {
  double tokens = 0;
  for (const PlannedSequence& sequence : request.sequences) {
    tokens += static_cast<double>(std::max(sequence.queries, sequence.keys));
  }
  const auto shards =
      static_cast<std::size_t>(tokens / (kMostChunks * kShardTokens));
  return std::max(kLeastChunk, (shards + 1) * kShardTokens);
}

PassForecast forecast_pass(const ShardRequest& request, const ShardPlan& plan,
                           const ForecastOptions& options, const Pass& pass) {
  PassWalk walk(request, plan, options, pass);
  const std::size_t ranks = plan.ranks.size();
  return options.transfer == Transfer::pipelined
             ? walk.run(StreamClock(ranks, options.latency_seconds))
             : walk.run(GatheredClock(ranks, options.latency_seconds));
}

}  // namespace headwise::inline HEADWISE_ABI
