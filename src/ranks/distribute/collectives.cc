// What all ranks of a group do together, made of sends and receives.
#include <array>
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
      return argument_error(operation, what,
                            message("is {} on rank {}", texts[rank], rank),
                            message("{}, as on rank 0", texts[0]));
    }
  }
  return ok();
}

}  // namespace

Status Communicator::barrier() {
  return together([&]() -> Status {
    if (rank_ != 0) {
      HEADWISE_TRY(send({}, 0));
      return receive({}, 0);
    }
    for (std::size_t other = 1; other < ranks_; ++other) {
      HEADWISE_TRY(receive({}, other));
    }
    for (std::size_t other = 1; other < ranks_; ++other) {
      HEADWISE_TRY(send({}, other));
    }
    return ok();
  });
}

// A binomial tree: with ranks counted from `from`, the parent of one is the one
// without its lowest bit.
Status Communicator::broadcast(std::span<std::byte> bytes,
                               std::size_t from) try {
  HEADWISE_TRY(check_rank("broadcast", "from", from));
  return together([&]() -> Status {
    const auto rank_of = [&](std::size_t place) {
      return (place + from) % ranks_;
    };
    const std::size_t place = (rank_ + ranks_ - from) % ranks_;
    std::size_t step = std::bit_ceil(ranks_);
    if (place != 0) {
      step = place & (~place + 1);
      HEADWISE_TRY(receive(bytes, rank_of(place - step)));
    }
    std::vector<Transfer> sends;
    for (step /= 2; step > 0; step /= 2) {
      if (place + step < ranks_) {
        HEADWISE_ASSIGN(auto started, start_send(bytes, rank_of(place + step)));
        sends.push_back(started);
      }
    }
    for (Transfer& transfer : sends) {
      HEADWISE_TRY(finish(transfer));
    }
    return ok();
  });
} catch (...) {
  return caught_out_of_memory();
}

namespace {

// Transfers of which a few are on their way: each may have buffers of MPI.
class FewTransfers {
 public:
  explicit FewTransfers(Communicator& group) : group_(group) {}

  Status add(const Result<Communicator::Transfer>& started) {
    HEADWISE_TRY(started);
    HEADWISE_TRY(group_.finish(transfers_[next_]));
    transfers_[next_] = *started;
    next_ = (next_ + 1) % transfers_.size();
    return ok();
  }
  Status finish() {
    for (std::size_t n = 0; n < transfers_.size(); ++n) {
      HEADWISE_TRY(group_.finish(transfers_[next_]));
      next_ = (next_ + 1) % transfers_.size();
    }
    return ok();
  }

 private:
  Communicator& group_;
  std::array<Communicator::Transfer, 8> transfers_;
  std::size_t next_ = 0;  // the oldest
};

}  // namespace

Status Communicator::gather(std::span<const std::byte> own,
                            std::span<const std::span<std::byte>> parts,
                            std::size_t to) try {
  HEADWISE_TRY(check_rank("gather", "to", to));
  if (rank_ != to) {
    return send(own, to);
  }
  HEADWISE_TRY(
      check_shape("gather", "parts", {{parts.size()}}, "(ranks)", {{ranks_}}));
  return together([&]() -> Status {
    FewTransfers transfers(*this);
    for (std::size_t step = 0; step < ranks_; ++step) {
      const std::size_t from = (rank_ + step) % ranks_;
      HEADWISE_TRY(transfers.add(start_receive(parts[from], from)));
      if (step == 0) {
        HEADWISE_TRY(transfers.add(start_send(own, to)));
      }
    }
    return transfers.finish();
  });
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::exchange(std::span<const std::span<const std::byte>> out,
                              std::span<const std::span<std::byte>> in) try {
  HEADWISE_TRY(
      check_shape("exchange", "out", {{out.size()}}, "(ranks)", {{ranks_}}));
  HEADWISE_TRY(
      check_shape("exchange", "in", {{in.size()}}, "(ranks)", {{ranks_}}));
  return together([&]() -> Status {
    FewTransfers transfers(*this);
    // Each rank begins with its neighbour, so nobody has to serve all at once.
    for (std::size_t step = 0; step < ranks_; ++step) {
      const std::size_t from = (rank_ + ranks_ - step) % ranks_;
      const std::size_t to = (rank_ + step) % ranks_;
      HEADWISE_TRY(transfers.add(start_receive(in[from], from)));
      HEADWISE_TRY(transfers.add(start_send(out[to], to)));
    }
    return transfers.finish();
  });
} catch (...) {
  return caught_out_of_memory();
}

Status Communicator::send_text(std::string_view text, std::size_t to) {
  std::uint64_t size = text.size();
  HEADWISE_TRY(send(raw(size), to));
  return send(raw(text), to);
}

Result<std::string> Communicator::receive_text(std::size_t from) {
  std::uint64_t size = 0;
  HEADWISE_TRY(receive(raw(size), from));
  std::string text(size, '\0');
  HEADWISE_TRY(receive(raw(text), from));
  return text;
}

Result<std::string> Communicator::decide(
    std::string_view own,
    FunctionRef<std::string(std::span<const std::string>)> decision) {
  if (rank_ != 0) {
    HEADWISE_TRY(send_text(own, 0));
    return receive_text(0);
  }
  std::vector<std::string> texts(ranks_);
  texts[0] = own;
  for (std::size_t other = 1; other < ranks_; ++other) {
    HEADWISE_ASSIGN(texts[other], receive_text(other));
  }
  std::string decided = decision(texts);
  for (std::size_t other = 1; other < ranks_; ++other) {
    HEADWISE_TRY(send_text(decided, other));
  }
  return decided;
}

Status Communicator::conclude(const Result<std::string>& decided) {
  if (!decided) {
    return decided.error();
  }
  Status status = status_of(*decided);
  if (!status) {
    // A rank that hears of it first must not end the others' waits for it.
    state_->failed = status.error();
  }
  return status;
}

Status Communicator::check_same(std::string_view what, std::string_view text) {
  return together([&] {
    return conclude(decide(text, [&](std::span<const std::string> texts) {
      return bytes_of_status(check_texts(state_->operation, what, texts));
    }));
  });
}

Status Communicator::agree(const Status& own) {
  return together([&] {
    const Status said = own ? own : Status(on_rank(own.error(), rank_));
    return conclude(decide(bytes_of_status(said),
                           [](std::span<const std::string> statuses) {
                             return first_error(statuses);
                           }));
  });
}

}  // namespace headwise::inline HEADWISE_ABI
