// What a rank computes: its shards take what comes by, in order, and are done
// with the last of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distribute/shards.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// KeyPart or QueryPart of call n of `count`.
template <class Part>
Part part_of_calls(std::size_t n, std::size_t count) {
  return count == 1       ? Part::all
         : n == 0         ? Part::first
         : n + 1 == count ? Part::last
                          : Part::middle;
}

inline bool meet(const QueryShard& queries, const Shard& keys) {
  return sees(queries, keys);
}
inline bool meet(const Shard& keys, const QueryShard& queries) {
  return sees(queries, keys);
}

template <class Mine, class Theirs>
class OwnShards {
 public:
  // `theirs`, in order, will be passed to take().
  OwnShards(std::size_t rank, std::span<const Mine> mine,
            std::span<const Theirs> theirs) {
    for (const Mine& shard : mine) {
      if (shard.rank == rank) {
        own_.push_back({shard});
      }
    }
    for (const Theirs& shard : theirs) {
      for (Own& own : of_sequence(shard.sequence)) {
        own.expected += meet(own.shard, shard) ? 1 : 0;
      }
    }
  }

  // Whether a shard goes through several calls.
  bool any_in_parts() const {
    return std::ranges::any_of(own_,
                               [](const Own& own) { return own.expected > 1; });
  }

  // attend(own, n, expected) for each shard that meets these: call n of so
  // many.
  template <class Attend>
  Status take(const Theirs& theirs, const Attend& attend) {
    for (Own& own : of_sequence(theirs.sequence)) {
      if (meet(own.shard, theirs)) {
        HEADWISE_TRY(attend(own.shard, own.taken++, own.expected));
      }
    }
    return ok();
  }
  // The same for several shards, whose rows are one after the other in `views`:
  // attend(own, shard, its views, n, expected).
  template <class Views, class Attend>
  Status take_all(std::span<const Theirs> theirs, const Views& views,
                  const Attend& attend) {
    std::size_t first = 0;
    for (const Theirs& shard : theirs) {
      const Views view = views.part({first, shard.tokens.count});
      HEADWISE_TRY(take(
          shard, [&](const Mine& own, std::size_t n, std::size_t expected) {
            return attend(own, shard, view, n, expected);
          }));
      first += shard.tokens.count;
    }
    return ok();
  }
  // From the first call on.
  void restart() {
    for (Own& own : own_) {
      own.taken = 0;
    }
  }

  // attend(own) for each shard that meets none.
  template <class Attend>
  Status finish(const Attend& attend) {
    for (const Own& own : own_) {
      if (own.expected == 0) {
        HEADWISE_TRY(attend(own.shard));
      }
    }
    return ok();
  }

 private:
  struct Own {
    Mine shard;
    std::size_t expected = 0;
    std::size_t taken = 0;
  };

  std::span<Own> of_sequence(std::size_t sequence) {
    const auto of = [](const Own& own) { return own.shard.sequence; };
    return {std::ranges::lower_bound(own_, sequence, {}, of),
            std::ranges::upper_bound(own_, sequence, {}, of)};
  }

  std::vector<Own> own_;
};

using OwnQueries = OwnShards<QueryShard, Shard>;
using OwnKeys = OwnShards<Shard, QueryShard>;

}  // namespace headwise::inline HEADWISE_ABI
