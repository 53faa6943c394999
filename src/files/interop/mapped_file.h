// A regular file as memory, read as its bytes are used. Where somebody shortens
// the file meanwhile, using them raises SIGBUS (atomic_file.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "interop/input_file.h"

namespace headwise::inline HEADWISE_ABI {

struct MappedRange;  // what mapped_file_at() finds
struct RemoveRange {
  void operator()(MappedRange* range) const;
};

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
  MappedFile(std::span<std::byte> bytes, const std::string& path);

  std::span<std::byte> bytes_;
  std::unique_ptr<MappedRange, RemoveRange> range_;
};

}  // namespace headwise::inline HEADWISE_ABI

// For other components.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Calls `use` with all bytes of `file`, which has a size. They are there until
// it returns.
Status with_mapped_bytes(InputFile file,
                         FunctionRef<void(std::span<const std::byte>)> use);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
