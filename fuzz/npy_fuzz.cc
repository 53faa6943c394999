// Any bytes give an array or an error; what an array is written as is read as
// the same array.
#include <cstdint>
#include <cstdlib>

#include "headwise/interop/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto array =
      headwise::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
  if (!array) {
    return 0;
  }
  const auto bytes = headwise::format_npy(array->view());
  if (!bytes) {
    std::abort();
  }
  const auto again = headwise::parse_npy(*bytes, "again");
  if (!again || again->dtype != array->dtype || again->shape != array->shape ||
      again->data != array->data) {
    std::abort();
  }
  return 0;
}
