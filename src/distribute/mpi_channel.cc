#include "distribute/mpi_channel.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "distribute/error_bytes.h"
#include "distribute/mpi_transfer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using std::chrono::steady_clock;

// MPI promises tags up to 32767.
constexpr int kAlarmTag = 32767;
constexpr std::size_t kTags = 32767;

constexpr std::size_t kLongestAlarm = 2048;  // bytes
// The time for the alarm to leave: a rank that has failed does not take it.
constexpr std::chrono::milliseconds kAlarmTime{200};

// Ranks may share cores: one that waits must not keep another from its work.
constexpr int kShortPolls = 200;
constexpr std::chrono::microseconds kPause{50};

void pause(int polls) {
  if (polls < kShortPolls) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kPause);
  }
}

std::string alarm_of(const Error& reason) {
  std::string bytes = bytes_of(reason);
  if (bytes.size() > kLongestAlarm) {
    bytes = bytes_of(
        Error(reason.code(),
              {.operation = reason.details().operation.substr(0, 100),
               .given = reason.message().substr(0, kLongestAlarm / 2)}));
  }
  return bytes;
}

}  // namespace

MpiChannel::MpiChannel(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(communicator_, &rank);
  MPI_Comm_size(communicator_, &ranks);
  rank_ = static_cast<std::size_t>(rank);
  sent_.resize(static_cast<std::size_t>(ranks));
  received_.resize(sent_.size());
  listen();
}

MpiChannel::~MpiChannel() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (has_failed_ || is_finalized != 0) {
    abandon(alarm_);
    return;
  }
  MPI_Cancel(&alarm_.front().request);
  MPI_Wait(&alarm_.front().request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&communicator_);
}

int MpiChannel::next_send_tag(std::size_t to) {
  return static_cast<int>(sent_[to]++ % kTags);
}

int MpiChannel::next_receive_tag(std::size_t from) {
  return static_cast<int>(received_[from]++ % kTags);
}

Result<bool> MpiChannel::wait(const MpiTransfer& transfer,
                              steady_clock::time_point until) {
  for (int polls = 0;; ++polls) {
    test_alarm();
    for (MpiTransfer* const other : transfers_) {
      other->advance();
    }
    const auto state = transfer.state();
    if (!state || *state) {
      return state;
    }
    if (told_) {
      return *told_;
    }
    if (steady_clock::now() >= until) {
      return false;
    }
    pause(polls);
  }
}

// ---- The alarm. ----

void MpiChannel::listen() {
  MpiPiece& piece = alarm_.emplace_back(kLongestAlarm);
  MPI_Irecv(piece.buffer.get(), static_cast<int>(piece.size), MPI_BYTE,
            MPI_ANY_SOURCE, kAlarmTag, communicator_, &piece.request);
}

void MpiChannel::test_alarm() {
  if (told_) {
    return;
  }
  MpiPiece& piece = alarm_.front();
  int has_come = 0;
  MPI_Status status{};
  MPI_Test(&piece.request, &has_come, &status);
  if (has_come == 0) {
    return;
  }
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  has_failed_ = true;
  const Status reason =
      status_of({reinterpret_cast<const char*>(piece.buffer.get()),
                 static_cast<std::size_t>(size)});
  told_ = reason ? Error(ErrorCode::rank_failure) : reason.error();
}

void MpiChannel::tell(const Error& reason) {
  has_failed_ = true;
  if (told_) {
    return;  // so are the others
  }
  const std::string alarm = alarm_of(reason);
  std::list<MpiPiece> pieces;
  for (std::size_t other = 0; other < ranks(); ++other) {
    if (other != rank_) {
      MpiPiece& piece = pieces.emplace_back(alarm.size());
      std::ranges::copy(std::as_bytes(std::span(alarm)), piece.buffer.get());
      // One that cannot be reached waits for nothing.
      (void)start_send(piece, other, kAlarmTag, communicator_);
    }
  }
  const auto until = steady_clock::now() + kAlarmTime;
  for (int polls = 0; !pieces.empty() && steady_clock::now() < until; ++polls) {
    std::erase_if(pieces, [&](MpiPiece& piece) {
      const auto ended = has_ended(piece, rank_);
      return !ended || *ended;
    });
    pause(polls);
  }
  abandon(pieces);
}

}  // namespace headwise::inline HEADWISE_ABI
