// A regular file as memory, read as its bytes are used.
#pragma once

#include <cstddef>
#include <span>

#include "headwise/base/result.h"
#include "interop/input_file.h"

namespace headwise::inline HEADWISE_ABI {

class MappedFile {
 public:
  // All of `file`, which has a size.
  static Result<MappedFile> map(InputFile file);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace headwise::inline HEADWISE_ABI
