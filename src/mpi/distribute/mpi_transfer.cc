#include "distribute/mpi_transfer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/out_of_memory.h"
#include "distribute/rank_error.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The first piece is small: most transfers are checks and sizes, which MPI
// sends without asking the other side.
constexpr std::size_t kInFirst = 2048;
// Larger pieces would leave the caches between their copies.
constexpr std::size_t kInPiece = std::size_t{512} << 10;
constexpr std::size_t kOnTheirWay = 4;
// Of all transfers of a process, but each has at least one: with many ranks the
// pieces take no more memory than with two. First pieces are small, and
// receives wait long for theirs: they do not count.
constexpr std::size_t kOfAll = 8;

using Size = std::uint64_t;

bool counts(const MpiPiece& piece) { return piece.begin != 0; }

}  // namespace

MpiTransfer::MpiTransfer(std::shared_ptr<MpiChannel> channel, std::size_t other,
                         int tag, std::size_t size)
    : channel_(std::move(channel)), other_(other), tag_(tag), size_(size) {
  channel_->add(*this);
}

MpiTransfer::~MpiTransfer() {
  channel_->remove(*this);
  channel_->remove_pieces(
      static_cast<std::size_t>(std::ranges::count_if(pieces_, counts)));
  abandon(pieces_);
}

Result<bool> MpiTransfer::wait(std::chrono::steady_clock::time_point until) {
  return channel_->wait(*this, until);
}

Result<bool> MpiTransfer::state() const {
  if (!status_) {
    return status_.error();
  }
  return has_first_ended_ && next_ == size_ && pieces_.empty();
}

void MpiTransfer::advance() {
  if (status_) {
    status_ = catching_out_of_memory([this] { return try_to_advance(); });
  }
}

Status MpiTransfer::try_to_advance() {
  HEADWISE_TRY(end_pieces());
  while (may_start()) {
    HEADWISE_TRY(start_piece());
    HEADWISE_TRY(end_pieces());
  }
  return ok();
}

Status MpiTransfer::end_pieces() {
  while (!pieces_.empty()) {
    HEADWISE_ASSIGN(const auto ended, has_ended(pieces_.front(), other_));
    if (!ended) {
      break;
    }
    HEADWISE_TRY(end(pieces_.front()));
    channel_->signs().moved_with(other_);
    channel_->remove_pieces(counts(pieces_.front()) ? 1 : 0);
    pieces_.pop_front();
    has_first_ended_ = true;
  }
  return ok();
}

bool MpiTransfer::may_start() const {
  return !has_first_started_ ||
         (next_ < size_ && (is_send() || has_first_ended_) &&
          (pieces_.empty() ||
           (pieces_.size() < kOnTheirWay && channel_->pieces() < kOfAll)));
}

Status MpiTransfer::start_piece() {
  const bool is_first = !std::exchange(has_first_started_, true);
  const std::size_t count =
      std::min(size_ - next_, is_first ? kInFirst : kInPiece);
  // A receive does not know yet how much comes in the first one.
  const std::size_t most = is_send() ? count : kInFirst;
  MpiPiece& piece =
      pieces_.emplace_back(is_first ? sizeof(Size) + most : count);
  piece.begin = next_;
  piece.count = count;
  channel_->add_pieces(counts(piece) ? 1 : 0);
  next_ += count;
  return start(piece);
}

// ---- Sends. ----

MpiSend::MpiSend(const std::shared_ptr<MpiChannel>& channel,
                 std::span<const std::byte> bytes, std::size_t to)
    : MpiTransfer(channel, to, channel->next_send_tag(to), bytes.size()),
      bytes_(bytes) {}

Status MpiSend::start(MpiPiece& piece) {
  std::byte* to = piece.buffer.get();
  if (piece.begin == 0) {
    const Size size = bytes_.size();
    std::memcpy(to, &size, sizeof(size));
    to += sizeof(size);
  }
  std::ranges::copy(bytes_.subspan(piece.begin, piece.count), to);
  return start_send(piece, other(), tag(), channel().communicator());
}

Status MpiSend::end(const MpiPiece& /*piece*/) { return ok(); }

// ---- Receives. ----

MpiReceive::MpiReceive(const std::shared_ptr<MpiChannel>& channel,
                       std::span<std::byte> bytes, std::size_t from)
    : MpiTransfer(channel, from, channel->next_receive_tag(from), bytes.size()),
      bytes_(bytes) {}

Status MpiReceive::start(MpiPiece& piece) {
  return start_receive(piece, other(), tag(), channel().communicator());
}

Status MpiReceive::end(const MpiPiece& piece) {
  const std::byte* from = piece.buffer.get();
  if (piece.begin == 0) {
    Size size = 0;
    std::memcpy(&size, from, sizeof(size));
    from += sizeof(size);
    if (size != bytes_.size()) {
      return wrong_size(other(), size, bytes_.size());
    }
  }
  std::ranges::copy(std::span(from, piece.count),
                    bytes_.subspan(piece.begin).begin());
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
