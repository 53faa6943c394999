#include "distribute/gather_keys.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "distribute/or_abort.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

// What is sent and received in a step, with two of them on their way.
template <class T>
struct Step {
  KeyRows<T> rows;
  std::size_t from = 0;
  Communicator::Transfer receive;
  Communicator::Transfer send;
};

template <class T>
class KeyGathering {
 public:
  KeyGathering(Communicator& group, std::span<const Shard> keys)
      : group_(group), keys_(keys) {
    for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
      rows_.push_back(rows_of_rank(keys, rank));
    }
  }

  Status make_room(const AttentionShape& shape) {
    for (Step<T>& step : steps_) {
      HEADWISE_TRY(make(shape, std::ranges::max(rows_), step.rows));
    }
    HEADWISE_TRY(make(shape, rows_[group_.rank()], own_));
    return make(shape, std::reduce(rows_.begin(), rows_.end()), all_);
  }

  // From the neighbour first, so nobody has to serve all at once.
  Status run(const KeyViews<const T>& own) {
    const std::size_t rank = group_.rank();
    if (rows_[rank] != 0) {
      copy_keys(own, own_.views(rows_[rank]));
      put(rank, own_);
    }
    for (std::size_t n = 1; n < group_.ranks(); ++n) {
      HEADWISE_TRY(start(n, steps_[n % 2]));
      if (n > 1) {
        HEADWISE_TRY(finish(steps_[(n - 1) % 2]));
      }
    }
    return group_.ranks() == 1 ? ok()
                               : finish(steps_[(group_.ranks() - 1) % 2]);
  }

  KeyRows<T> all() { return std::move(all_); }

 private:
  static Status make(const AttentionShape& shape, std::size_t count,
                     KeyRows<T>& rows) {
    HEADWISE_ASSIGN(rows, KeyRows<T>::create(shape, count));
    return ok();
  }

  Status start(std::size_t n, Step<T>& step) {
    const std::size_t ranks = group_.ranks();
    step.from = (group_.rank() + ranks - n) % ranks;
    HEADWISE_ASSIGN(
        step.receive,
        group_.start_receive(step.rows.bytes(rows_[step.from]), step.from));
    HEADWISE_ASSIGN(step.send,
                    group_.start_send(own_.bytes(rows_[group_.rank()]),
                                      (group_.rank() + n) % ranks));
    return ok();
  }

  Status finish(Step<T>& step) {
    HEADWISE_TRY(group_.finish(step.receive));
    put(step.from, step.rows);
    return group_.finish(step.send);
  }

  // A rank's rows to their places among all.
  void put(std::size_t rank, KeyRows<T>& rows) {
    std::size_t next = 0;
    for (const Shard& shard : keys_) {
      const std::size_t count = shard.tokens.count;
      if (shard.rank == rank) {
        copy_keys(read_only(rows.views(rows_[rank])).part({shard.row, count}),
                  all_.views(std::reduce(rows_.begin(), rows_.end()))
                      .part({next, count}));
      }
      next += count;
    }
  }

  Communicator& group_;
  std::span<const Shard> keys_;
  std::vector<std::size_t> rows_;  // of each rank
  KeyRows<T> own_;
  KeyRows<T> all_;
  std::array<Step<T>, 2> steps_;
};

}  // namespace

template <class T>
Result<KeyRows<T>> gather_keys(Communicator& group, const AttentionShape& shape,
                               std::span<const Shard> keys,
                               const KeyViews<const T>& own) {
  KeyGathering<T> gathering(group, keys);
  HEADWISE_TRY(gathering.make_room(shape));
  group.set_step("context_attention", "gathering keys");
  // After an error no transfer has the memory any more.
  HEADWISE_TRY(or_abort(group, [&] { return gathering.run(own); }));
  return gathering.all();
}

template Result<KeyRows<float>> gather_keys(Communicator&,
                                            const AttentionShape&,
                                            std::span<const Shard>,
                                            const KeyViews<const float>&);
template Result<KeyRows<BFloat16>> gather_keys(Communicator&,
                                               const AttentionShape&,
                                               std::span<const Shard>,
                                               const KeyViews<const BFloat16>&);
template Result<KeyRows<Float16>> gather_keys(Communicator&,
                                              const AttentionShape&,
                                              std::span<const Shard>,
                                              const KeyViews<const Float16>&);

}  // namespace headwise::inline HEADWISE_ABI
