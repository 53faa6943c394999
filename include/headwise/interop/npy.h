// NumPy's .npy files: one array per file.
//
// Read: versions 1, 2 and 3; C and Fortran order, either byte order; float16,
// float32, float64, int8 .. int64, uint8 .. uint64, bool (any byte but 0 is
// true). Refused, with the type's name: Python objects (a pickle, which could
// run anything), complex numbers, text, records and raw bytes. A header may
// have at most 64 KiB, an array 32 axes. Memory is allocated only after the
// header was checked against the bytes in the file (a pipe is read piece by
// piece).
//
// Written: version 1.0, C order, little endian, the same bytes as numpy.save.
//
// Errors: io_error, with the path and the reason; bad_data, with what is wrong
// with the content; unsupported for an element type that is not read or
// written; out_of_memory.
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
// The same for bytes in memory; messages use `name` as the file.
Result<Array> parse_npy(std::span<const std::byte> bytes,
                        std::string_view name);

// The file is replaced completely or not at all (atomic_file.h).
Status write_npy(const std::string& path, const AnyView& view);
// The bytes that write_npy writes.
Result<std::vector<std::byte>> format_npy(const AnyView& view);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
