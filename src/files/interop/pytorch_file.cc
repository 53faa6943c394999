#include "interop/pytorch_file.h"

namespace headwise::inline HEADWISE_ABI {

bool is_pytorch_file(std::span<const std::byte> start) {
  constexpr std::string_view kZip("PK\x03\x04");
  const std::string_view text(reinterpret_cast<const char*>(start.data()),
                              start.size());
  return text.starts_with(kZip) ||
         (text.size() > 1 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5);
}

}  // namespace headwise::inline HEADWISE_ABI
