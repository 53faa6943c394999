// A .npy file of which parts are read, for arrays that are larger than what a
// process needs of them. The file is checked as by read_npy(), and other
// programs may change it meanwhile: a file that has become shorter is an error.
//
// An array in Fortran order, or of a pipe, is read as a whole when it is
// opened.
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
  // Fills `elements`, whole ones, with those from the `first`-th on: in C order
  // and native byte order, bools as 0 and 1.
  Status read(std::size_t first, std::span<std::byte> elements) const;

 private:
  struct Open;
  explicit NpyFile(std::unique_ptr<Open> open);

  std::unique_ptr<Open> open_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
