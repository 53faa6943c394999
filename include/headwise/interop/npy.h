// NumPy's .npy files: one array a file.
//
// Read: versions 1, 2 and 3; C and Fortran order, either byte order; float16,
// float32, float64, int8 .. int64, uint8 .. uint64, bool (any byte but 0 is
// true). Refused: Python objects (a pickle, which could run anything), complex
// numbers, text, records and raw bytes, by name. A header may have 64 KiB, an
// array 32 axes. Memory is taken only after the header was found to agree with
// the bytes that are there (a pipe is read piece by piece).
//
// Written: version 1.0, C order, little endian, the bytes that numpy.save
// writes.
//
// Errors: io_error names the path and the reason; bad_data what is wrong with
// the content; unsupported an element type that is not read or written;
// out_of_memory.
//   read_npy: x.npy: the header promises 48 bytes of data for (3, 4) float32,
//   but 40 are there
//
// Source: numpy.lib.format, "NPY format".
//
// Example:
//   Result<Array> x = read_npy("x.npy");
//   Status s = write_npy("y.npy", y.view());
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

Result<Array> read_npy(const std::string& path);
// The same of bytes in memory; messages say `name` for the file.
Result<Array> parse_npy(std::span<const std::byte> bytes,
                        std::string_view name);

// The file is replaced whole or not at all (atomic_file.h).
Status write_npy(const std::string& path, const AnyView& view);
// The bytes that write_npy writes.
Result<std::vector<std::byte>> format_npy(const AnyView& view);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
