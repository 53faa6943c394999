#include "inspect/page/view_block.h"

#include <zlib.h>

#include <limits>
#include <memory>
#include <new>

#include "inspect/pictures/base64.h"

namespace headwise::inline HEADWISE_ABI {

std::string deflated_base64(std::span<const std::byte> bytes, Repeats repeats) {
  constexpr int kWindowBits = 15;
  constexpr int kMemory = 8;  // zlib's default
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() ||
      deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits,
                   kMemory,
                   repeats == Repeats::yes ? Z_DEFAULT_STRATEGY
                                           : Z_HUFFMAN_ONLY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, deflateEnd);
  std::vector<std::byte> deflated(
      deflateBound(&stream, static_cast<uLong>(bytes.size())));
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(deflated.data());
  stream.avail_out = static_cast<uInt>(deflated.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
    throw std::bad_alloc();
  }
  deflated.resize(stream.total_out);
  return base64(deflated);
}

}  // namespace headwise::inline HEADWISE_ABI
