#include "distribute/mpi_channel.h"

#include <algorithm>
#include <string>
#include <thread>

#include "distribute/error_bytes.h"
#include "distribute/mpi_transfer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using std::chrono::steady_clock;

// MPI promises tags up to 32767.
constexpr int kAlarmTag = 32767;
constexpr int kSignTag = 32766;
constexpr std::size_t kTags = 32766;

constexpr std::size_t kLongestAlarm = 2048;  // bytes
// The time for the alarm to leave: a rank that has failed does not take it.
constexpr std::chrono::milliseconds kAlarmTime{200};

// Ranks may share cores: one that waits must not keep another from its work.
class Pause {
 public:
  void take() {
    if (short_ones_ > 0) {
      --short_ones_;
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  int short_ones_ = 200;
};

// While this rank computes: a piece of a message may take that long.
constexpr std::chrono::microseconds kPauseOfTransfers{1000};
constexpr std::chrono::microseconds kPauseOfSigns{2000};

// In the time that is left. The first question is early: what is then heard for
// the first time may be old.
class Questions {
 public:
  explicit Questions(steady_clock::time_point until)
      : period_(std::max<steady_clock::duration>(
            (until - steady_clock::now()) / 4, std::chrono::milliseconds(1))),
        next_(steady_clock::now() + period_ / 4) {}

  bool is_time(steady_clock::time_point now) {
    if (now < next_) {
      return false;
    }
    next_ = now + period_;
    return true;
  }

 private:
  steady_clock::duration period_;
  steady_clock::time_point next_;
};

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
int size_of(MPI_Comm communicator) {
  int ranks = 0;
  MPI_Comm_size(communicator, &ranks);
  return ranks;
}

std::string alarm_of(const Error& reason) {
  std::string bytes = bytes_of_status(reason);
  if (bytes.size() > kLongestAlarm) {
    bytes = bytes_of_status(
        Error(reason.code(),
              {.operation = reason.details().operation.substr(0, 100),
               .given = reason.message().substr(0, kLongestAlarm / 2)}));
  }
  return bytes;
}

}  // namespace

MpiChannel::MpiChannel(MPI_Comm communicator)
    : communicator_(communicator),
      rank_(static_cast<std::size_t>(rank_in(communicator))),
      sent_(static_cast<std::size_t>(size_of(communicator))),
      received_(sent_.size()),
      alarm_(communicator, kAlarmTag, kLongestAlarm),
      signs_(communicator, kSignTag, rank_, sent_.size()) {
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
}

MpiChannel::~MpiChannel() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  const bool has_failed = has_failed_ || is_finalized != 0;
  alarm_.close(has_failed);
  signs_.close(has_failed);
  if (!has_failed) {
    MPI_Comm_free(&communicator_);
  }
}

int MpiChannel::next_send_tag(std::size_t to) {
  return static_cast<int>(sent_[to]++ % kTags);
}

int MpiChannel::next_receive_tag(std::size_t from) {
  return static_cast<int>(received_[from]++ % kTags);
}

Result<bool> MpiChannel::wait(const MpiTransfer& transfer,
                              steady_clock::time_point until) {
  Questions questions(until);
  for (Pause pause;; pause.take()) {
    (void)advance();
    auto state = transfer.state();
    if (!state || *state) {
      return state;
    }
    if (told_) {
      return *told_;
    }
    const auto now = steady_clock::now();
    if (now >= until) {
      return false;
    }
    if (questions.is_time(now)) {
      signs_.ask();
    }
  }
}

std::chrono::microseconds MpiChannel::advance() {
  test_alarm();
  if (told_) {
    return kPauseOfSigns;
  }
  bool are_done = true;
  for (MpiTransfer* const transfer : transfers_) {
    transfer->advance();
    const auto state = transfer->state();
    are_done = are_done && (!state || *state);
  }
  signs_.poll();
  return are_done ? kPauseOfSigns : kPauseOfTransfers;
}

// ---- The alarm. ----

void MpiChannel::test_alarm() {
  if (told_) {
    return;
  }
  const auto come = alarm_.take();
  if (!come) {
    return;
  }
  has_failed_ = true;
  const Status reason = status_of(
      {reinterpret_cast<const char*>(come->bytes.data()), come->bytes.size()});
  told_ = reason ? Error(ErrorCode::rank_failure) : reason.error();
}

bool MpiChannel::tell(const Error& reason) noexcept {
  has_failed_ = true;
  try {
    test_alarm();
    if (told_) {
      return false;  // so are the others
    }
    send_alarm(reason);
  } catch (...) {
    send_empty_alarm();
  }
  return true;
}

void MpiChannel::send_alarm(const Error& reason) {
  const std::string alarm = alarm_of(reason);
  std::list<MpiPiece> pieces;
  for (std::size_t other = 0; other < ranks(); ++other) {
    if (other != rank_) {
      std::ranges::copy(std::as_bytes(std::span(alarm)),
                        pieces.emplace_back(alarm.size()).buffer.get());
    }
  }
  std::size_t other = 0;
  for (MpiPiece& piece : pieces) {
    other += other == rank_ ? 1 : 0;
    // One that cannot be reached waits for nothing.
    (void)start_send(piece, other++, kAlarmTag, communicator_);
  }
  const auto until = steady_clock::now() + kAlarmTime;
  for (Pause pause; !pieces.empty() && steady_clock::now() < until;
       pause.take()) {
    std::erase_if(pieces, [&](MpiPiece& piece) {
      const auto ended = has_ended(piece, rank_);
      return !ended || *ended;
    });
  }
  abandon(pieces);
}

// When memory has run out: it has no message, but ends the waits.
void MpiChannel::send_empty_alarm() noexcept {
  for (std::size_t other = 0; other < ranks(); ++other) {
    if (other != rank_) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(nullptr, 0, MPI_BYTE, static_cast<int>(other), kAlarmTag,
                communicator_, &request);
      MPI_Request_free(&request);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
