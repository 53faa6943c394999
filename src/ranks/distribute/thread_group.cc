#include "distribute/thread_group.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "distribute/rank_error.h"

namespace headwise::inline HEADWISE_ABI {

using std::chrono::steady_clock;

ThreadGroup::ThreadGroup(std::size_t ranks)
    : ranks_(ranks), runs_(ranks, true), activities_(ranks) {
  for (std::size_t from = 0; from < ranks; ++from) {
    ended_.push_back(rank_has_ended(from));
    for (std::size_t to = 0; to < ranks; ++to) {
      links_.emplace_back(from);
    }
  }
  for (std::size_t lost = 0; lost < 2 * ranks; ++lost) {
    links_.emplace_back(lost / 2);
  }
}

Link& ThreadGroup::link(std::size_t from, std::size_t to) {
  return links_[from * ranks_ + to];
}

Link& ThreadGroup::lost_sends(std::size_t rank) {
  return links_[ranks_ * ranks_ + 2 * rank];
}

Link& ThreadGroup::lost_receives(std::size_t rank) {
  return links_[ranks_ * ranks_ + 2 * rank + 1];
}

bool ThreadGroup::close(const Error& reason) {
  bool was_closed = false;
  {
    const std::lock_guard lock(mutex_);
    was_closed = std::exchange(is_closed_, true);
  }
  // Even then: the other rank may not have come to all links, and this one may
  // end before that.
  for (Link& link : links_) {
    link.close(reason);
  }
  return !was_closed;
}

void ThreadGroup::end(std::size_t rank) {
  for (std::size_t other = 0; other < ranks_; ++other) {
    link(rank, other).close(ended_[rank]);
    link(other, rank).close(ended_[rank]);
  }
  const std::lock_guard lock(mutex_);
  runs_[rank] = false;
  changed_.notify_all();
}

void ThreadGroup::hang(std::size_t rank) {
  std::unique_lock lock(mutex_);
  runs_[rank] = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::ranges::count(runs_, true) == 0; });
}

void ThreadGroup::set_activity(std::size_t rank, const RankActivity& activity) {
  const std::lock_guard lock(mutex_);
  activities_[rank] = activity;
}

Communicator::SignsOfLife ThreadGroup::signs_of(std::size_t rank) {
  using enum RankActivity::Kind;
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  const RankActivity* activity = &activities_[rank];
  Communicator::SignsOfLife signs = {
      activity->kind == silent ? activity->since : now, activity->since};
  // Along those that wait, which may be a circle.
  for (std::size_t n = 0; n < ranks_ && activity->kind == waits; ++n) {
    activity = &activities_[activity->waits_for];
    signs.moved = std::max(signs.moved, activity->since);
  }
  if (activity->kind == busy) {
    signs.moved = now;
  }
  return signs;
}

// ---- A rank of it. ----

namespace {

// While it lives, the rank computes, as the others see it.
class BusyRank {
 public:
  BusyRank(ThreadGroup& group, std::size_t rank) : group_(group), rank_(rank) {
    group_.set_activity(rank_, {.kind = RankActivity::Kind::busy});
  }
  BusyRank(const BusyRank&) = delete;
  BusyRank& operator=(const BusyRank&) = delete;
  ~BusyRank() { group_.set_activity(rank_, {}); }

 private:
  ThreadGroup& group_;
  std::size_t rank_;
};

}  // namespace

Result<ThreadCommunicator::Outcome> ThreadCommunicator::next_operation(
    std::size_t other) {
  const std::size_t operation = operation_++;
  Outcome outcome;
  for (const RankFault& fault : faults_) {
    if (fault.rank != rank() || operation < fault.at) {
      continue;
    }
    switch (fault.kind) {
      case RankFault::Kind::ends:
        is_silent_ = true;
        group_.end(rank());
        return rank_has_ended(rank());
      case RankFault::Kind::hangs:
        is_silent_ = true;
        group_.hang(rank());
        return rank_has_ended(rank());
      case RankFault::Kind::is_slow:
        std::this_thread::sleep_for(fault.delay);
        break;
      case RankFault::Kind::loses_link:
        outcome.is_lost |= other == fault.other;
        break;
      case RankFault::Kind::sends_short:
        outcome.is_short = true;
        break;
    }
  }
  return outcome;
}

Result<std::unique_ptr<Communicator::Pending>> ThreadCommunicator::begin_send(
    std::span<const std::byte> bytes, std::size_t to) {
  HEADWISE_ASSIGN(const auto outcome, next_operation(to));
  static constexpr std::array<std::byte, 1> kOne{};
  if (outcome.is_short) {
    bytes = bytes.empty() ? std::span<const std::byte>(kOne)
                          : bytes.first(bytes.size() - 1);
  }
  Link& link =
      outcome.is_lost ? group_.lost_sends(rank()) : group_.link(rank(), to);
  return link.send(bytes);
}

Result<std::unique_ptr<Communicator::Pending>>
ThreadCommunicator::begin_receive(std::span<std::byte> bytes,
                                  std::size_t from) {
  HEADWISE_ASSIGN(const auto outcome, next_operation(from));
  Link& link = outcome.is_lost ? group_.lost_receives(rank())
                               : group_.link(from, rank());
  return link.receive(bytes);
}

bool ThreadCommunicator::tell(const Error& reason) noexcept {
  return is_silent_ || group_.close(reason);
}

void ThreadCommunicator::start_waiting(std::size_t other) {
  group_.set_activity(rank(),
                      {.kind = RankActivity::Kind::waits, .waits_for = other});
}

void ThreadCommunicator::stop_waiting() { group_.set_activity(rank(), {}); }

Communicator::SignsOfLife ThreadCommunicator::signs_of(std::size_t other) {
  return group_.signs_of(other);
}

// Links need nobody to advance them.
Status ThreadCommunicator::work_visibly(FunctionRef<Status()> work) {
  const BusyRank busy(group_, rank());
  return work();
}

}  // namespace headwise::inline HEADWISE_ABI
