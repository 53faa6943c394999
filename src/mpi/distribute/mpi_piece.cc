#include "distribute/mpi_piece.h"

#include <array>
#include <string>

namespace headwise::inline HEADWISE_ABI {
namespace {

// Of a call that concerns another rank.
Status status_of_call(int result, std::size_t other) {
  if (result == MPI_SUCCESS) {
    return ok();
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  return Error(
      ErrorCode::rank_failure,
      {.given = message("rank {} is out of reach: {}", other, text.data())});
}

}  // namespace

Status start_send(MpiPiece& piece, std::size_t to, int tag, MPI_Comm group) {
  return status_of_call(
      MPI_Isend(piece.buffer.get(), static_cast<int>(piece.size), MPI_BYTE,
                static_cast<int>(to), tag, group, &piece.request),
      to);
}

Status start_receive(MpiPiece& piece, std::size_t from, int tag,
                     MPI_Comm group) {
  return status_of_call(
      MPI_Irecv(piece.buffer.get(), static_cast<int>(piece.size), MPI_BYTE,
                static_cast<int>(from), tag, group, &piece.request),
      from);
}

Result<bool> has_ended(MpiPiece& piece, std::size_t other) {
  int ended = 0;
  HEADWISE_TRY(status_of_call(
      MPI_Test(&piece.request, &ended, MPI_STATUS_IGNORE), other));
  return ended != 0;
}

void abandon(std::list<MpiPiece>& pieces) noexcept {
  // Never destroyed: MPI may still use them while the process ends.
  alignas(
      std::list<MpiPiece>) static std::byte memory[sizeof(std::list<MpiPiece>)];
  static auto& abandoned = *new (memory) std::list<MpiPiece>;
  abandoned.splice(abandoned.end(), pieces);
}

}  // namespace headwise::inline HEADWISE_ABI
