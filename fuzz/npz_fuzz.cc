// Any bytes give arrays or an error.
#include <cstdint>
#include <cstdlib>

#include "headwise/interop/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto arrays =
      headwise::parse_npz(std::as_bytes(std::span(data, size)), "fuzz");
  if (!arrays && arrays.error().message().empty()) {
    std::abort();
  }
  return 0;
}
