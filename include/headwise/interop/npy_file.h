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
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class NpyFile {
 public:
  static Result<NpyFile> open(const std::string& path);
  NpyFile(NpyFile&&) noexcept;
  NpyFile& operator=(NpyFile&&) noexcept;
  ~NpyFile();

  DType dtype() const;
  const std::vector<std::size_t>& shape() const;
  // Fills `elements` with the elements of the array from number `first` on, in
  // C order and native byte order, bools as 0 and 1. Its size is a multiple of
  // the size of an element.
  Status read(std::size_t first, std::span<std::byte> elements) const;

 private:
  struct Open;
  explicit NpyFile(std::unique_ptr<Open> open);

  std::unique_ptr<Open> open_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
