#include <array>
#include <cstdint>
#include <span>

#include "base/out_of_memory.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

Result<std::string> share_text(Communicator& group, std::string text,
                               std::size_t from) {
  return catching_out_of_memory([&]() -> Result<std::string> {
    std::array<std::uint64_t, 1> size = {text.size()};
    HEADWISE_TRY(
        group.broadcast(std::as_writable_bytes(std::span(size)), from));
    text.resize(size[0]);
    HEADWISE_TRY(
        group.broadcast(std::as_writable_bytes(std::span(text)), from));
    return std::move(text);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
