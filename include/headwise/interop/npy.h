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
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
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
// The same of (rows, columns) float32 of which some rows are there at a time:
// `make` gives `count` rows from `first` on, at most `at_once`, contiguous and
// valid until the next call. Its errors are returned.
using NpyRows = FunctionRef<Result<TensorView<const float, 2>>(
    std::size_t first, std::size_t count)>;
Status write_npy_rows(const std::string& path, const Extents<2>& shape,
                      std::size_t at_once, const NpyRows& make);
// The bytes that write_npy writes.
Result<std::vector<std::byte>> format_npy(const AnyView& view);

// Reads parts of a .npy file, for a process that needs only some of a large
// array. The file is checked as by read_npy(). If another program shortens it
// later, read() returns an error.
//
// An array in Fortran order, or from a pipe, is read as a whole by open().
//
// Errors: those of read_npy(); bad_data for elements that the file does not
// have.
//
// Example:
//   NpyFile file = NpyFile::open("query.npy").value();  // (L, H, D) float32
//   std::vector<float> row(H * D);
//   Status s = file.read(7 * H * D, std::as_writable_bytes(std::span(row)));

class NpyFile {
 public:
  static Result<NpyFile> open(const std::string& path);

  DType dtype() const;
  const std::vector<std::size_t>& shape() const;
  // Fills `elements` with the elements of the array from number `first` on, in
  // C order and native byte order, bools as 0 and 1. Its size is a multiple of
  // the size of an element.
  Status read(std::size_t first, std::span<std::byte> elements) const;

 private:
  struct HEADWISE_HIDDEN Open;
  explicit NpyFile(Hidden<Open> open) : open_(std::move(open)) {}

  Hidden<Open> open_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
