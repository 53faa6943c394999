#include "inspect/page/view_block.h"

#include <zlib.h>

#include <new>

#include "inspect/pictures/base64.h"

namespace headwise::inline HEADWISE_ABI {

std::string deflated_base64(std::span<const std::byte> bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::byte> deflated(size);
  // The buffer is large enough for any input, so only memory can run out.
  if (compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
                reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()),
                Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw std::bad_alloc();
  }
  deflated.resize(size);
  return base64(deflated);
}

}  // namespace headwise::inline HEADWISE_ABI
