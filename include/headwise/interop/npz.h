// NumPy's .npz files: a zip archive with one .npy file per name.
//
// Read: stored and deflated entries, zip64; the CRC of each entry is checked,
// and its size against the header of the array. Names come without ".npy" and
// may contain '/' (`W_q/kernel`), which has no special meaning: nothing is ever
// written to such a path. Entries whose names do not end in .npy are skipped.
// Refused: encryption, other compression, two entries
// with one name, names that are absolute or contain "..", '\' or control
// characters (libzip turns a NUL into a blank), entries NAME.npy that are not
// arrays, and archives that claim to unpack to more than 1000 times their size:
// bombs, and arrays of almost only zeros, for which .npy can be used. Memory
// grows with what is really unpacked, not with what a header promises.
//
// Written: stored entries in the order of their names, dated 1980-01-01, so
// that the same arrays give the same bytes.
//
// Errors: those of npy.h; the message names the archive and the entry.
//   read_npz: params.npz: entry w_q.npy: the header promises 48 bytes of data
//   for (3, 4) float32, but 40 are there
//
// Source: numpy.savez; PKWARE APPNOTE.TXT.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

using NamedArrays = std::map<std::string, Array>;

Result<NamedArrays> read_npz(const std::string& path);
// The same for bytes in memory; messages use `name` as the file.
Result<NamedArrays> parse_npz(std::span<const std::byte> bytes,
                              std::string_view name);

// The file is replaced completely or not at all (atomic_file.h).
Status write_npz(const std::string& path,
                 const std::map<std::string, AnyView>& arrays);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
