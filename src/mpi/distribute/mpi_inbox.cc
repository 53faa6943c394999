#include "distribute/mpi_inbox.h"

namespace headwise::inline HEADWISE_ABI {

MpiInbox::MpiInbox(MPI_Comm communicator, int tag, std::size_t longest)
    : communicator_(communicator), tag_(tag) {
  piece_.emplace_back(longest);
  open();
}

void MpiInbox::open() {
  MpiPiece& piece = piece_.front();
  MPI_Irecv(piece.buffer.get(), static_cast<int>(piece.size), MPI_BYTE,
            MPI_ANY_SOURCE, tag_, communicator_, &piece.request);
  is_open_ = true;
}

std::optional<MpiInbox::Message> MpiInbox::take() {
  if (!is_open_) {
    open();
  }
  MpiPiece& piece = piece_.front();
  int has_come = 0;
  MPI_Status status{};
  MPI_Test(&piece.request, &has_come, &status);
  if (has_come == 0) {
    return std::nullopt;
  }
  is_open_ = false;
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  return Message{static_cast<std::size_t>(status.MPI_SOURCE),
                 {piece.buffer.get(), static_cast<std::size_t>(size)}};
}

void MpiInbox::close(bool has_failed) {
  if (has_failed) {
    abandon(piece_);
  } else if (is_open_) {
    MPI_Cancel(&piece_.front().request);
    MPI_Wait(&piece_.front().request, MPI_STATUS_IGNORE);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
