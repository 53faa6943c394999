// Chunks of keys and values on their way through the ranks. A rank has two in
// memory: one that its queries take, and the next one, which arrives meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "distribute/key_chunks.h"
#include "distribute/key_rows.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
class ChunkStream {
 public:
  // `own` are the rank's keys and values. Errors: out_of_memory.
  static Result<ChunkStream> create(Communicator& group,
                                    std::span<const KeyChunk> chunks,
                                    const AttentionShape& shape,
                                    const KeyViews<const T>& own);

  // Passes the chunks on whose route the rank is to `take`, in their order, and
  // on to other ranks.
  Status run(
      FunctionRef<Status(const KeyChunk&, const KeyViews<const T>&)> take);

 private:
  // Where a chunk is while this rank has it.
  struct Slot {
    KeyRows<T> rows;
    Communicator::Transfer arrival;
    std::array<Communicator::Transfer, kFanOut> departures;
  };

  explicit ChunkStream(Communicator& group) : group_(&group) {}

  Slot& slot(std::size_t n) { return slots_[n % slots_.size()]; }
  bool owns(const KeyChunk& chunk) const {
    return chunk.route.front() == group_->rank();
  }
  Status start(std::size_t n);
  Status pass_on(std::size_t n);
  Status free(Slot& slot);

  Communicator* group_;
  std::vector<const KeyChunk*> chunks_;  // that come by here
  KeyViews<const T> own_;
  std::array<Slot, 2> slots_;
};

}  // namespace headwise::inline HEADWISE_ABI
