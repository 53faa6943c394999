// Where the readers take their bytes from: memory, a file or a pipe, an entry
// of an archive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills the front of `into` and says how much of it; less than all of it
  // only where the bytes end.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : rest_(bytes) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t count = std::min(into.size(), rest_.size());
    std::copy_n(rest_.begin(), count, into.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace headwise::inline HEADWISE_ABI
