// What all ranks of a group do together, made of sends and receives.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/communicator_state.h"
#include "distribute/error_bytes.h"
#include "distribute/rank_error.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using std::chrono::milliseconds;

std::span<const std::byte> raw(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::span<std::byte> raw(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}
std::span<std::byte> raw(std::uint64_t& number) {
  return std::as_writable_bytes(std::span(&number, 1));
}

std::string first_error(std::span<const std::string> statuses) {
  for (const std::string& status : statuses) {
    if (!status.empty()) {
      return status;
    }
  }
  return {};
}

Status check_texts(std::string_view operation, std::string_view what,
                   std::span<const std::string> texts) {
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0]) {
      return value_error(operation, what,
                         texts[rank] + " on rank " + std::to_string(rank),
                         texts[0] + ", as on rank 0");
    }
  }
  return ok();
}

}  // namespace

milliseconds Communicator::patience(std::size_t others,
                                    std::size_t most) const {
  if (most == 0) {
    return deadline_;
  }
  const double more =
      0.5 * static_cast<double>(others) / static_cast<double>(most);
  return deadline_ + std::chrono::duration_cast<milliseconds>(deadline_ * more);
}

Status Communicator::finish_within(const Result<Transfer>& started,
                                   milliseconds patience) {
  HEADWISE_TRY(started);
  Transfer transfer = *started;
  return finish_within(transfer, patience);
}

Status Communicator::barrier() try {
  if (rank_ != 0) {
    HEADWISE_TRY(finish_within(start_send({}, 0), patience(1, 1)));
    return finish_within(start_receive({}, 0), patience(1, 1));
  }
  for (std::size_t other = 1; other < ranks_; ++other) {
    HEADWISE_TRY(receive({}, other));
  }
  for (std::size_t other = 1; other < ranks_; ++other) {
    HEADWISE_TRY(send({}, other));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

// A binomial tree: with ranks counted from `from`, the parent of one is the one
// without its lowest bit.
Status Communicator::broadcast(std::span<std::byte> bytes,
                               std::size_t from) try {
  HEADWISE_TRY(check_rank("broadcast", "from", from));
  const auto rank_of = [&](std::size_t place) {
    return (place + from) % ranks_;
  };
  const std::size_t place = (rank_ + ranks_ - from) % ranks_;
  std::size_t step = std::bit_ceil(ranks_);
  if (place != 0) {
    const auto hops = static_cast<std::size_t>(std::popcount(place));
    const auto most = static_cast<std::size_t>(std::bit_width(ranks_ - 1));
    step = place & (~place + 1);
    HEADWISE_TRY(finish_within(start_receive(bytes, rank_of(place - step)),
                               patience(hops - 1, most)));
  }
  std::vector<Transfer> sends;
  for (step /= 2; step > 0; step /= 2) {
    if (place + step < ranks_) {
      auto started = start_send(bytes, rank_of(place + step));
      HEADWISE_TRY(started);
      sends.push_back(*started);
    }
  }
  for (Transfer& transfer : sends) {
    HEADWISE_TRY(finish(transfer));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::gather(std::span<const std::byte> own,
                            std::span<const std::span<std::byte>> parts,
                            std::size_t to) try {
  HEADWISE_TRY(check_rank("gather", "to", to));
  if (rank_ != to) {
    return send(own, to);
  }
  HEADWISE_TRY(
      check_shape("gather", "parts", {{parts.size()}}, "(ranks)", {{ranks_}}));
  std::vector<Transfer> transfers;
  const auto add = [&](const Result<Transfer>& started) -> Status {
    HEADWISE_TRY(started);
    transfers.push_back(*started);
    return ok();
  };
  for (std::size_t from = 0; from < ranks_; ++from) {
    HEADWISE_TRY(add(start_receive(parts[from], from)));
  }
  HEADWISE_TRY(add(start_send(own, to)));
  for (Transfer& transfer : transfers) {
    HEADWISE_TRY(finish(transfer));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::exchange(std::span<const std::span<const std::byte>> out,
                              std::span<const std::span<std::byte>> in) try {
  HEADWISE_TRY(
      check_shape("exchange", "out", {{out.size()}}, "(ranks)", {{ranks_}}));
  HEADWISE_TRY(
      check_shape("exchange", "in", {{in.size()}}, "(ranks)", {{ranks_}}));
  std::vector<Transfer> transfers;
  // Each rank begins with its neighbour, so nobody has to serve all at once.
  for (std::size_t step = 0; step < ranks_; ++step) {
    const std::size_t from = (rank_ + ranks_ - step) % ranks_;
    const std::size_t to = (rank_ + step) % ranks_;
    const auto received = start_receive(in[from], from);
    HEADWISE_TRY(received);
    transfers.push_back(*received);
    const auto sent = start_send(out[to], to);
    HEADWISE_TRY(sent);
    transfers.push_back(*sent);
  }
  for (Transfer& transfer : transfers) {
    HEADWISE_TRY(finish(transfer));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::send_text(std::string_view text, std::size_t to,
                               milliseconds patience) {
  std::uint64_t size = text.size();
  HEADWISE_TRY(finish_within(start_send(raw(size), to), patience));
  return finish_within(start_send(raw(text), to), patience);
}

Result<std::string> Communicator::receive_text(std::size_t from,
                                               milliseconds patience) {
  std::uint64_t size = 0;
  HEADWISE_TRY(finish_within(start_receive(raw(size), from), patience));
  std::string text(size, '\0');
  HEADWISE_TRY(finish_within(start_receive(raw(text), from), patience));
  return text;
}

Result<std::string> Communicator::decide(
    std::string_view own,
    FunctionRef<std::string(std::span<const std::string>)> decision) {
  if (rank_ != 0) {
    HEADWISE_TRY(send_text(own, 0, patience(1, 1)));
    return receive_text(0, patience(1, 1));
  }
  std::vector<std::string> texts(ranks_);
  texts[0] = own;
  for (std::size_t other = 1; other < ranks_; ++other) {
    auto text = receive_text(other, deadline_);
    HEADWISE_TRY(text);
    texts[other] = *std::move(text);
  }
  const std::string decided = decision(texts);
  for (std::size_t other = 1; other < ranks_; ++other) {
    HEADWISE_TRY(send_text(decided, other, deadline_));
  }
  return decided;
}

Status Communicator::conclude(const Result<std::string>& decided) {
  if (!decided) {
    return decided.error();
  }
  const Status status = status_of(*decided);
  if (!status) {
    // A rank that hears of it first must not end the others' waits for it.
    state_->failed = status.error();
  }
  return status;
}

Status Communicator::check_same(std::string_view what,
                                std::string_view text) try {
  const auto decided = decide(text, [&](std::span<const std::string> texts) {
    return bytes_of(check_texts(state_->operation, what, texts));
  });
  return conclude(decided);
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::agree(const Status& own) try {
  const Status said = own ? own : Status(on_rank(own.error(), rank_));
  const auto decided =
      decide(bytes_of(said), [](std::span<const std::string> statuses) {
        return first_error(statuses);
      });
  return conclude(decided);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
