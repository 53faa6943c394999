// A send or a receive over a channel of MPI, in pieces of which a few are on
// their way. The first one carries the size of the whole; a receive asks for
// the rest only if that is the size it has room for.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <span>

#include "distribute/mpi_channel.h"
#include "distribute/mpi_piece.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

class MpiTransfer : public Communicator::Pending {
 public:
  ~MpiTransfer() override;

  Result<bool> wait(std::chrono::steady_clock::time_point until) override;
  // Takes what has arrived, and starts what follows.
  void advance();
  // Whether it has ended, or its error.
  Result<bool> state() const;

 protected:
  MpiTransfer(std::shared_ptr<MpiChannel> channel, std::size_t other, int tag,
              std::size_t size);

  const MpiChannel& channel() const { return *channel_; }
  std::size_t other() const { return other_; }
  int tag() const { return tag_; }
  std::size_t size() const { return size_; }

 private:
  // A piece is started, and its `count` bytes from `begin` on are those of the
  // transfer. In the first one the size is before them.
  virtual Status start(MpiPiece& piece) = 0;
  virtual Status end(const MpiPiece& piece) = 0;
  // Whether others may start before the first one has ended.
  virtual bool is_send() const = 0;

  Status end_pieces();
  Status start_piece();
  bool may_start() const;
  Status try_to_advance();

  std::shared_ptr<MpiChannel> channel_;
  std::size_t other_;
  int tag_;
  std::size_t size_;
  std::size_t next_ = 0;  // bytes that were started
  bool has_first_started_ = false;
  bool has_first_ended_ = false;
  std::list<MpiPiece> pieces_;  // on their way, in their order
  Status status_;
};

class MpiSend final : public MpiTransfer {
 public:
  MpiSend(const std::shared_ptr<MpiChannel>& channel,
          std::span<const std::byte> bytes, std::size_t to);

 private:
  Status start(MpiPiece& piece) override;
  Status end(const MpiPiece& piece) override;
  bool is_send() const override { return true; }

  std::span<const std::byte> bytes_;
};

class MpiReceive final : public MpiTransfer {
 public:
  MpiReceive(const std::shared_ptr<MpiChannel>& channel,
             std::span<std::byte> bytes, std::size_t from);

 private:
  Status start(MpiPiece& piece) override;
  Status end(const MpiPiece& piece) override;
  bool is_send() const override { return false; }

  std::span<std::byte> bytes_;
};

}  // namespace headwise::inline HEADWISE_ABI
