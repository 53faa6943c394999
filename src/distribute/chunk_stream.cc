#include "distribute/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
Result<ChunkStream<T>> ChunkStream<T>::create(Communicator& group,
                                              std::span<const KeyChunk> chunks,
                                              const AttentionShape& shape,
                                              const KeyViews<const T>& own) {
  ChunkStream stream(group);
  std::size_t most = 0;
  for (const KeyChunk& chunk : chunks) {
    if (std::ranges::find(chunk.route, group.rank()) != chunk.route.end()) {
      stream.chunks_.push_back(&chunk);
      most = std::max(most, chunk.rows);
    }
  }
  stream.own_ = own;
  for (Slot& slot : stream.slots_) {
    auto rows = KeyRows<T>::create(shape, most);
    HEADWISE_TRY(rows);
    slot.rows = *std::move(rows);
  }
  return stream;
}

// A chunk is passed on before the next one is started, so that two ranks send
// each other their chunks in the order of the keys.
template <class T>
Status ChunkStream<T>::run(
    FunctionRef<Status(const KeyChunk&, const KeyViews<const T>&)> take) {
  if (!chunks_.empty()) {
    HEADWISE_TRY(start(0));
  }
  for (std::size_t n = 0; n < chunks_.size(); ++n) {
    const KeyChunk& chunk = *chunks_[n];
    group_->set_step("attention", name_of(chunk));
    if (!owns(chunk)) {
      HEADWISE_TRY(group_->finish(slot(n).arrival));
      HEADWISE_TRY(pass_on(n));
    }
    if (n + 1 < chunks_.size()) {
      HEADWISE_TRY(start(n + 1));
    }
    HEADWISE_TRY(take(chunk, read_only(slot(n).rows.views(chunk.rows))));
  }
  for (Slot& slot : slots_) {
    HEADWISE_TRY(free(slot));
  }
  return ok();
}

template <class T>
Status ChunkStream<T>::start(std::size_t n) {
  const KeyChunk& chunk = *chunks_[n];
  Slot& slot = this->slot(n);
  HEADWISE_TRY(free(slot));
  if (owns(chunk)) {
    copy_keys(own_.part({chunk.row, chunk.rows}), slot.rows.views(chunk.rows));
    return pass_on(n);
  }
  auto arrival = group_->start_receive(slot.rows.bytes(chunk.rows),
                                       source_of(chunk, group_->rank()));
  HEADWISE_TRY(arrival);
  slot.arrival = *std::move(arrival);
  return ok();
}

template <class T>
Status ChunkStream<T>::pass_on(std::size_t n) {
  const KeyChunk& chunk = *chunks_[n];
  Slot& slot = this->slot(n);
  const auto targets = targets_of(chunk, group_->rank());
  for (std::size_t t = 0; t < targets.size(); ++t) {
    auto departure =
        group_->start_send(slot.rows.bytes(chunk.rows), targets[t]);
    HEADWISE_TRY(departure);
    slot.departures[t] = *std::move(departure);
  }
  return ok();
}

// Once all of its copies have left.
template <class T>
Status ChunkStream<T>::free(Slot& slot) {
  for (Communicator::Transfer& departure : slot.departures) {
    HEADWISE_TRY(group_->finish(departure));
  }
  return ok();
}

template class ChunkStream<float>;
template class ChunkStream<BFloat16>;
template class ChunkStream<Float16>;

}  // namespace headwise::inline HEADWISE_ABI
