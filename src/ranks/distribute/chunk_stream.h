// Chunks on their way through the ranks. A rank has two in memory: one that it
// computes with, and the next one, which arrives meanwhile. Where a rank needs
// few chunks of others it receives them first (arrive_first()).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "distribute/chunks.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// The memory of two chunks. The streams of a call use the same: what one of
// them frees need not become free for the next one.
using ChunkRoom = std::array<Tensor<std::byte, 2>, 2>;

// Cargo is the memory of a chunk: cargo.bytes(rows) is what travels.
template <class SomeChunk, class Cargo>
class ChunkStream {
 public:
  // make(rows, memory) -> Result<Cargo>, with room for chunks of up to `rows`
  // rows, in that memory if it is large enough. Errors: those of make().
  template <class Make>
  static Result<ChunkStream> create(Communicator& group,
                                    std::span<const SomeChunk> chunks,
                                    ChunkRoom& room, const Make& make) {
    ChunkStream stream(group, room);
    std::size_t most = 0;
    for (const SomeChunk& chunk : chunks) {
      if (std::ranges::find(chunk.route, group.rank()) != chunk.route.end()) {
        stream.chunks_.push_back(&chunk);
        most = std::max(most, chunk.rows);
      }
    }
    for (std::size_t n = 0; n < room.size(); ++n) {
      HEADWISE_ASSIGN(stream.slots_[n].cargo, make(most, std::move(room[n])));
    }
    if (arrive_first(chunks, group.ranks())) {
      HEADWISE_TRY(stream.make_room(make));
    }
    return stream;
  }

  // Passes the chunks on whose route the rank is to take(chunk, cargo), in
  // their order, and on to other ranks; load(chunk, cargo) copies one of the
  // rank's own. A chunk is passed on before the next one is started, so that
  // two ranks send each other chunks in their order. Called once. After an
  // error no transfer has the memory of the cargoes any more.
  template <class Load, class Take>
  Status run(std::string_view operation, const Load& load, const Take& take) {
    Status status =
        catching_out_of_memory([&] { return pass_all(operation, load, take); });
    if (!status) {
      group_->abort(status.error());
    }
    for (std::size_t n = 0; n < slots_.size(); ++n) {
      (*room_)[n] = slots_[n].cargo.release();
    }
    return status;
  }

 private:
  // Where a chunk is while this rank has it.
  struct Slot {
    Cargo cargo;
    Communicator::Transfer arrival;
    std::array<Communicator::Transfer, kFanOut> departures;
  };

  ChunkStream(Communicator& group, ChunkRoom& room)
      : group_(&group), room_(&room) {}

  template <class Make>
  Status make_room(const Make& make) {
    arrived_.resize(chunks_.size());
    for (std::size_t n = 0; n < chunks_.size(); ++n) {
      if (!owns(*chunks_[n])) {
        HEADWISE_ASSIGN(arrived_[n].cargo,
                        make(chunks_[n]->rows, Tensor<std::byte, 2>()));
      }
    }
    return ok();
  }

  template <class Load, class Take>
  Status pass_all(std::string_view operation, const Load& load,
                  const Take& take) {
    if (arrived_.empty()) {
      return stream_all(operation, load, take);
    }
    HEADWISE_TRY(receive_first(operation, load));
    return take_arrived(operation, load, take);
  }

  // ---- As a stream. ----

  template <class Load, class Take>
  Status stream_all(std::string_view operation, const Load& load,
                    const Take& take) {
    if (!chunks_.empty()) {
      HEADWISE_TRY(start(0, load));
    }
    for (std::size_t n = 0; n < chunks_.size(); ++n) {
      const SomeChunk& chunk = *chunks_[n];
      group_->set_step(operation, name_of(chunk));
      if (!owns(chunk)) {
        HEADWISE_TRY(group_->finish(slot(n).arrival));
        HEADWISE_TRY(pass_on(chunk, slot(n)));
      }
      if (n + 1 < chunks_.size()) {
        HEADWISE_TRY(start(n + 1, load));
      }
      HEADWISE_TRY(take_visibly(chunk, slot(n), take));
    }
    for (Slot& slot : slots_) {
      HEADWISE_TRY(free(slot));
    }
    return ok();
  }

  Slot& slot(std::size_t n) { return slots_[n % slots_.size()]; }
  bool owns(const SomeChunk& chunk) const {
    return chunk.route.front() == group_->rank();
  }

  template <class Load>
  Status start(std::size_t n, const Load& load) {
    const SomeChunk& chunk = *chunks_[n];
    HEADWISE_TRY(free(slot(n)));
    if (owns(chunk)) {
      load(chunk, slot(n).cargo);
      return pass_on(chunk, slot(n));
    }
    return receive(chunk, slot(n));
  }

  // ---- All chunks of others first. ----

  // Every rank can receive before it waits for anything, so each send ends,
  // too.
  template <class Load>
  Status receive_first(std::string_view operation, const Load& load) {
    // From one rank come its own chunks and then those that it passes on.
    for (const bool of_owner : {true, false}) {
      for (std::size_t n = 0; n < chunks_.size(); ++n) {
        const SomeChunk& chunk = *chunks_[n];
        if (!owns(chunk) && (source_of(chunk.route, group_->rank()) ==
                             chunk.route.front()) == of_owner) {
          HEADWISE_TRY(receive(chunk, arrived_[n]));
        }
      }
    }
    std::size_t sent = 0;
    for (const SomeChunk* const chunk : chunks_) {
      if (owns(*chunk) && chunk->route.size() > 1) {
        group_->set_step(operation, name_of(*chunk));
        Slot& own = slot(sent++);
        HEADWISE_TRY(free(own));
        load(*chunk, own.cargo);
        HEADWISE_TRY(pass_on(*chunk, own));
      }
    }
    for (std::size_t n = 0; n < chunks_.size(); ++n) {
      if (!owns(*chunks_[n])) {
        group_->set_step(operation, name_of(*chunks_[n]));
        HEADWISE_TRY(group_->finish(arrived_[n].arrival));
        HEADWISE_TRY(pass_on(*chunks_[n], arrived_[n]));
      }
    }
    return ok();
  }

  template <class Load, class Take>
  Status take_arrived(std::string_view operation, const Load& load,
                      const Take& take) {
    for (std::size_t n = 0; n < chunks_.size(); ++n) {
      const SomeChunk& chunk = *chunks_[n];
      const bool is_own = owns(chunk);
      Slot& slot = is_own ? slots_.front() : arrived_[n];
      group_->set_step(operation, name_of(chunk));
      if (is_own) {
        HEADWISE_TRY(free(slot));
        load(chunk, slot.cargo);
      }
      HEADWISE_TRY(take_visibly(chunk, slot, take));
      HEADWISE_TRY(free(slot));
      if (!is_own) {
        slot.cargo = {};
      }
    }
    return free(slots_.back());
  }

  // ---- Either way. ----

  template <class Take>
  Status take_visibly(const SomeChunk& chunk, Slot& slot, const Take& take) {
    return group_->busy_with(
        [&]() -> Status { return take(chunk, slot.cargo); });
  }

  Status receive(const SomeChunk& chunk, Slot& slot) {
    HEADWISE_ASSIGN(slot.arrival, group_->start_receive(
                                      slot.cargo.bytes(chunk.rows),
                                      source_of(chunk.route, group_->rank())));
    return ok();
  }

  Status pass_on(const SomeChunk& chunk, Slot& slot) {
    const auto targets = targets_of(chunk.route, group_->rank());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      HEADWISE_ASSIGN(
          slot.departures[t],
          group_->start_send(slot.cargo.bytes(chunk.rows), targets[t]));
    }
    return ok();
  }

  // Once all of its copies have left.
  Status free(Slot& slot) {
    for (Communicator::Transfer& departure : slot.departures) {
      HEADWISE_TRY(group_->finish(departure));
    }
    return ok();
  }

  Communicator* group_;
  ChunkRoom* room_;
  std::vector<const SomeChunk*> chunks_;  // that come by here
  std::array<Slot, 2> slots_;
  std::vector<Slot> arrived_;  // for chunks_; empty: they come as a stream
};

}  // namespace headwise::inline HEADWISE_ABI
