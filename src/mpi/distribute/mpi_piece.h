// A message of MPI in a buffer of its own.
//
// When the other side has failed, MPI may read or write a message for as long
// as it likes: a send cannot be cancelled, and a receive only before it has met
// its send. The caller's memory must not wait for that, so bytes are copied,
// and the buffers of messages without an end are kept until the process ends.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <list>
#include <memory>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

struct MpiPiece {
  explicit MpiPiece(std::size_t bytes)
      : buffer(std::make_unique_for_overwrite<std::byte[]>(bytes)),
        size(bytes) {}

  std::unique_ptr<std::byte[]> buffer;
  std::size_t size;
  std::size_t begin = 0;  // of the transfer's bytes
  std::size_t count = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

Status start_send(MpiPiece& piece, std::size_t to, int tag, MPI_Comm group);
Status start_receive(MpiPiece& piece, std::size_t from, int tag,
                     MPI_Comm group);
// Whether MPI has done with it.
Result<bool> has_ended(MpiPiece& piece, std::size_t other);
// Keeps the buffers of those that have not ended.
void abandon(std::list<MpiPiece>& pieces) noexcept;

}  // namespace headwise::inline HEADWISE_ABI
