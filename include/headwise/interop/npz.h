// NumPy's .npz files: a zip archive of .npy files, one a name.
//
// Read: stored and deflated entries, zip64; the CRC of each entry is checked,
// and its size against the header of the array. Names come without ".npy" and
// may contain '/' (`W_q/kernel`), which is a letter like any other: nothing is
// ever written to such a path. Refused: encryption, other compression, two
// entries of one name, names that are absolute or hold "..", '\' or control
// characters (a NUL has become a blank before), entries that are not arrays,
// and archives whose entries are said to unpack to more than 1000 times the
// archive: bombs, and arrays of almost nothing but zeros, for which .npy is the
// way. Memory grows with what is really unpacked, not with what a header
// promises.
//
// Written: stored entries in the order of their names, dated 1980-01-01: the
// same arrays give the same bytes.
//
// Errors: as npy.h; the message names the archive and the entry.
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
// The same of bytes in memory; messages say `name` for the file.
Result<NamedArrays> parse_npz(std::span<const std::byte> bytes,
                              std::string_view name);

// The file is replaced whole or not at all (atomic_file.h).
Status write_npz(const std::string& path,
                 const std::map<std::string, AnyView>& arrays);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
