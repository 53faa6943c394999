#include "headwise/distribute/communicator.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/communicator_state.h"
#include "distribute/rank_error.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// It has nobody to talk to.
class Self final : public Communicator {
 public:
  Self() : Communicator(0, 1) {}

 private:
  Result<std::unique_ptr<Pending>> begin_send(
      std::span<const std::byte> /*bytes*/, std::size_t to) override {
    return rank_has_ended(to);
  }
  Result<std::unique_ptr<Pending>> begin_receive(std::span<std::byte> /*bytes*/,
                                                 std::size_t from) override {
    return rank_has_ended(from);
  }
  bool tell(const Error& /*reason*/) noexcept override { return true; }
  void start_waiting(std::size_t /*other*/) override {}
  void stop_waiting() override {}
  SignsOfLife signs_of(std::size_t /*other*/) override { return {}; }
  Status work_visibly(FunctionRef<Status()> work) override { return work(); }
};

}  // namespace

std::unique_ptr<Communicator> Communicator::self() {
  return std::make_unique<Self>();
}

Communicator::Communicator(std::size_t rank, std::size_t ranks)
    : rank_(rank), ranks_(ranks), state_(std::make_unique<State>(rank)) {}

Communicator::~Communicator() = default;

Communicator::Pending::~Pending() = default;

void Communicator::set_step(std::string_view operation, Message step) {
  try {
    state_->operation = operation;
    state_->step = std::move(step);
  } catch (const std::bad_alloc&) {  // messages are shorter then
    state_->operation.clear();
    state_->step = {};
  }
}

Status Communicator::check_rank(std::string_view operation,
                                std::string_view argument,
                                std::size_t rank) const {
  return rank < ranks_
             ? ok()
             : Status(value_error(operation, argument, std::to_string(rank),
                                  message("a rank below {}", ranks_),
                                  ErrorCode::out_of_range));
}

// ---- Transfers. ----

Result<Communicator::Transfer> Communicator::start(
    Result<std::unique_ptr<Pending>> pending, std::size_t other) {
  if (!pending) {
    return fail(pending.error());
  }
  const std::size_t number = state_->last_number + 1;
  state_->started[number] = {*std::move(pending), other};
  state_->last_number = number;
  return Transfer(number);
}

Result<Communicator::Transfer> Communicator::start_send(
    std::span<const std::byte> bytes, std::size_t to) try {
  HEADWISE_TRY(check_rank("start_send", "to", to));
  if (state_->failed) {
    return *state_->failed;
  }
  return start(
      to == rank_ ? state_->to_itself.send(bytes) : begin_send(bytes, to), to);
} catch (...) {
  return caught_out_of_memory();
}

Result<Communicator::Transfer> Communicator::start_receive(
    std::span<std::byte> bytes, std::size_t from) try {
  HEADWISE_TRY(check_rank("start_receive", "from", from));
  if (state_->failed) {
    return *state_->failed;
  }
  return start(from == rank_ ? state_->to_itself.receive(bytes)
                             : begin_receive(bytes, from),
               from);
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::finish(Transfer& transfer) try {
  const std::size_t number = std::exchange(transfer.number_, 0);
  if (number == 0) {
    return ok();
  }
  if (state_->failed) {
    return *state_->failed;
  }
  const auto found = state_->started.find(number);
  if (found == state_->started.end()) {
    return argument_error("finish", "transfer", "was finished before",
                          "each transfer once");
  }
  const auto& [pending, other] = found->second;
  const Status status = wait(*pending, other);
  if (!status) {
    return fail(status.error());
  }
  state_->started.erase(found);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

// Until the transfer has ended, or the other rank has shown no life for too
// long. Errors: those of the transfer.
Status Communicator::wait(Pending& pending, std::size_t other) {
  const auto begin = steady_clock::now();
  if (other == rank_) {
    // While it waits it starts nothing that could meet the transfer.
    HEADWISE_ASSIGN(const auto ended, pending.wait(begin));
    return ended ? ok() : Status(waits_for_itself(rank_));
  }
  // Whoever waits for the failed rank itself speaks first.
  const milliseconds longest = deadline_ + deadline_ / 2;
  SignsOfLife last = {begin, begin};
  start_waiting(other);
  for (;;) {
    const auto ended =
        pending.wait(std::min(last.answered + deadline_, last.moved + longest));
    if (!ended || *ended) {
      stop_waiting();
      return ended ? ok() : Status(ended.error());
    }
    const SignsOfLife heard = signs_of(other);
    last = {std::max(last.answered, heard.answered),
            std::max(last.moved, heard.moved)};
    const auto now = steady_clock::now();
    if (last.answered + deadline_ <= now) {
      return no_answer(other, deadline_);
    }
    if (last.moved + longest <= now) {
      return no_answer(other, longest);
    }
  }
}

Status Communicator::busy_with(FunctionRef<Status()> work) {
  return state_->failed ? Status(*state_->failed) : work_visibly(work);
}

Status Communicator::send(std::span<const std::byte> bytes, std::size_t to) {
  HEADWISE_ASSIGN(auto transfer, start_send(bytes, to));
  return finish(transfer);
}

Status Communicator::receive(std::span<std::byte> bytes, std::size_t from) {
  HEADWISE_ASSIGN(auto transfer, start_receive(bytes, from));
  return finish(transfer);
}

// ---- Failures. ----

void Communicator::end(const Error& own, const Error& told) noexcept {
  if (state_->failed) {
    return;
  }
  state_->failed = own;
  // Before transfers are given up: a later one could take the place of an
  // earlier one.
  was_told_ = !tell(told);
  state_->started.clear();
}

Error Communicator::fail(const Error& error) noexcept {
  try {
    const Error at = at_step(error, state_->operation, state_->step);
    end(at, at.with_code(ErrorCode::rank_failure));
  } catch (...) {
    end(error, ErrorCode::rank_failure);  // which takes no memory
  }
  return *state_->failed;
}

void Communicator::abort(const Error& reason) noexcept {
  try {
    end(reason,
        on_rank(at_step(reason, state_->operation, ""), rank_, state_->step)
            .with_code(ErrorCode::rank_failure));
  } catch (...) {
    end(reason, ErrorCode::rank_failure);  // which takes no memory
  }
}

Status Communicator::together(FunctionRef<Status()> work) {
  Status status = catching_out_of_memory(work);
  if (!status) {
    abort(status.error());
  }
  return status;
}

}  // namespace headwise::inline HEADWISE_ABI
