// The header of a .npy file: a dict as Python writes it, with exactly the keys
// descr, fortran_order and shape.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMaxNpyRank = 32;

struct NpyHeader {
  DType dtype = DType::float32;
  bool other_byte_order = false;  // than this machine's
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::size_t data_bytes = 0;
};

// Errors are about `subject`.
Result<NpyHeader> parse_npy_header(std::string_view text,
                                   const FileSubject& subject,
                                   std::uint64_t begin);

// Magic, version, length and dict of a file of version 1.0: a multiple of 64
// bytes. Errors are about `subject`.
Result<std::string> format_npy_header(const AnyView& view,
                                      const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI
