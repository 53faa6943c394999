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

steady_clock::time_point after(milliseconds wait) {
  return steady_clock::now() + std::max(wait, milliseconds(0));
}

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
  void tell(const Error& /*reason*/) noexcept override {}
};

}  // namespace

std::unique_ptr<Communicator> Communicator::self() {
  return std::make_unique<Self>();
}

Communicator::Communicator(std::size_t rank, std::size_t ranks)
    : rank_(rank), ranks_(ranks), state_(std::make_unique<State>(rank)) {}

Communicator::~Communicator() = default;

Communicator::Pending::~Pending() = default;

void Communicator::set_step(std::string_view operation, std::string_view step) {
  try {
    state_->operation = operation;
    state_->step = step;
  } catch (const std::bad_alloc&) {  // messages are shorter then
    state_->operation.clear();
    state_->step.clear();
  }
}

Status Communicator::check_rank(std::string_view operation,
                                std::string_view argument,
                                std::size_t rank) const {
  return rank < ranks_
             ? ok()
             : Status(value_error(operation, argument, std::to_string(rank),
                                  "a rank below " + std::to_string(ranks_),
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
  return finish_within(transfer, deadline_);
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::finish_within(Transfer& transfer, milliseconds patience) {
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
  // While it waits it starts nothing that could meet the transfer.
  const bool is_alone = other == rank_;
  const auto ended =
      pending->wait(after(is_alone ? milliseconds(0) : patience));
  if (!ended) {
    return fail(ended.error());
  }
  if (!*ended) {
    return fail(is_alone ? waits_for_itself(rank_)
                         : no_answer(other, patience));
  }
  state_->started.erase(found);
  return ok();
}

Status Communicator::send(std::span<const std::byte> bytes, std::size_t to) {
  auto transfer = start_send(bytes, to);
  HEADWISE_TRY(transfer);
  return finish(*transfer);
}

Status Communicator::receive(std::span<std::byte> bytes, std::size_t from) {
  auto transfer = start_receive(bytes, from);
  HEADWISE_TRY(transfer);
  return finish(*transfer);
}

// ---- Failures. ----

Error Communicator::fail(const Error& error) {
  state_->failed = at_step(error, state_->operation, state_->step);
  // Before transfers are given up: a later one could take the place of an
  // earlier one.
  tell(state_->failed->with_code(ErrorCode::rank_failure));
  state_->started.clear();
  return *state_->failed;
}

void Communicator::abort(const Error& reason) noexcept {
  if (state_->failed) {
    return;
  }
  try {
    state_->failed = reason;
    tell(on_rank(at_step(reason, state_->operation, ""), rank_, state_->step)
             .with_code(ErrorCode::rank_failure));
  } catch (...) {
    tell(ErrorCode::rank_failure);  // which takes no memory
  }
  state_->started.clear();
}

}  // namespace headwise::inline HEADWISE_ABI
