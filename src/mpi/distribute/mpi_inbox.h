// Short messages of one tag, from any rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <list>
#include <optional>
#include <span>

#include "distribute/mpi_piece.h"

namespace headwise::inline HEADWISE_ABI {

class MpiInbox {
 public:
  MpiInbox(MPI_Comm communicator, int tag, std::size_t longest);

  struct Message {
    std::size_t from;
    std::span<const std::byte> bytes;  // until the next call
  };
  // The next one, if it has come.
  std::optional<Message> take();
  // Called once, at the end. After a failure MPI keeps the memory.
  void close(bool has_failed);

 private:
  void open();

  MPI_Comm communicator_;
  int tag_;
  std::list<MpiPiece> piece_;  // one
  bool is_open_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
