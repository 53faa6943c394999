#include "distribute/mpi_signs.h"

#include <cstring>
#include <new>
#include <utility>

namespace headwise::inline HEADWISE_ABI {

using std::chrono::steady_clock;

MpiSigns::MpiSigns(MPI_Comm communicator, int tag, std::size_t rank,
                   std::size_t ranks)
    : communicator_(communicator),
      tag_(tag),
      rank_(rank),
      others_(ranks),
      waits_for_(rank),
      inbox_(communicator, tag, sizeof(Message)) {
  to_tell_.reserve(ranks);
}

// ---- What this rank does. ----

void MpiSigns::start_waiting(std::size_t other) {
  waits_for_ = other;
  move();
}

void MpiSigns::stop_waiting() { waits_for_ = rank_; }

void MpiSigns::set_busy(bool is_busy) {
  is_busy_ = is_busy;
  move();
}

void MpiSigns::moved_with(std::size_t other) {
  others_[other].answered = steady_clock::now();
  if (other == waits_for_) {
    move();
  }
}

void MpiSigns::move() {
  moved_ = steady_clock::now();
  newest_ = {rank_,
             static_cast<std::uint64_t>(moved_.time_since_epoch().count())};
}

Communicator::SignsOfLife MpiSigns::of(std::size_t other) const {
  return {others_[other].answered, moved_};
}

// ---- What ranks tell one another. ----

void MpiSigns::ask() {
  Other& other = others_[waits_for_];
  if (!other.owes_answer) {
    other.owes_answer = send(waits_for_, true);
  }
}

void MpiSigns::poll() {
  std::erase_if(sent_, [&](MpiPiece& piece) {
    const auto ended = has_ended(piece, rank_);
    return !ended || *ended;
  });
  while (const auto come = inbox_.take()) {
    Message message{};
    if (come->bytes.size() == sizeof(message)) {
      std::memcpy(&message, come->bytes.data(), sizeof(message));
      take(come->from, message);
    }
  }
}

void MpiSigns::take(std::size_t from, const Message& message) {
  Other& other = others_[from];
  other.answered = steady_clock::now();
  if (message.asks != 0) {
    if (is_busy_) {
      move();
    }
    if (send(from, false) && !std::exchange(other.wants_next, true)) {
      to_tell_.push_back(from);
    }
    return;
  }
  other.owes_answer = false;
  const Move& newest = message.newest;
  if (from != waits_for_ || newest.rank == rank_ ||
      newest.rank >= others_.size() ||
      newest.at <= others_[newest.rank].moved_at) {
    return;
  }
  others_[newest.rank].moved_at = newest.at;
  newest_ = newest;
  moved_ = other.answered;
  for (const std::size_t to : to_tell_) {
    others_[to].wants_next = false;
    (void)send(to, false);
  }
  to_tell_.clear();
}

bool MpiSigns::send(std::size_t to, bool asks) try {
  const Message message = {asks ? 1u : 0u, newest_};
  MpiPiece& piece = sent_.emplace_back(sizeof(message));
  std::memcpy(piece.buffer.get(), &message, sizeof(message));
  if (start_send(piece, to, tag_, communicator_)) {
    return true;
  }
  sent_.pop_back();
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

void MpiSigns::close(bool has_failed) {
  inbox_.close(has_failed);
  abandon(sent_);
}

}  // namespace headwise::inline HEADWISE_ABI
