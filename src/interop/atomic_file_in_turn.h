// Atomic writes of more bytes than a process holds at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The bytes of the n-th piece, valid until the next call.
using PieceInTurn =
    std::function<Result<std::span<const std::byte>>(std::size_t n)>;

// write_file_atomically() of `count` pieces, each asked for when it is written.
// Errors: also those of `piece`, which must not throw.
Status write_file_in_turn(const std::string& path, std::size_t count,
                          const PieceInTurn& piece);

}  // namespace headwise::inline HEADWISE_ABI
