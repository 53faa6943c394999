// Atomic writes besides those of write_file_atomically().
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Of files whose names the library chooses: a symbolic link that has such a
// name is replaced and never followed, for it is not the user's. Errors: those
// of write_file_atomically(), and for a pipe or a device.
Status write_own_file(const std::string& path, std::string_view text);

// The same in a folder to which other machines write, too. Leaves the leftovers
// there: where locks are local to a machine, the file that another one is
// writing looks like one.
Status write_file_among_others(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces);

// The bytes of the n-th piece, valid until the next call.
using PieceInTurn =
    std::function<Result<std::span<const std::byte>>(std::size_t n)>;

// write_file_atomically() of `count` pieces, each asked for when it is written:
// more bytes than a process holds at a time. Errors: also those of `piece`,
// which must not throw.
Status write_file_in_turn(const std::string& path, std::size_t count,
                          const PieceInTurn& piece);

}  // namespace headwise::inline HEADWISE_ABI
