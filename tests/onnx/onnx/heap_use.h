// How many bytes of the heap are in use: counted by the address sanitizer, so
// those of protobuf, too.
#pragma once

#include <cstdint>

namespace headwise::testing_support {

// The most bytes in use at a time while it lives, beyond those before it. One
// at a time.
class HeapUse {
 public:
  HeapUse();

  std::int64_t most() const;

 private:
  std::int64_t before_;
};

}  // namespace headwise::testing_support
