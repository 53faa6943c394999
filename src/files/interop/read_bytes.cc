#include "interop/read_bytes.h"

#include <algorithm>
#include <string>

namespace headwise::internal::inline HEADWISE_ABI {

Result<AlignedBytes> read_bytes(ByteSource& source, std::size_t count,
                                bool certain) {
  constexpr std::size_t kFirstPiece = std::size_t{1} << 16;
  AlignedBytes data;
  while (data.size() < count) {
    const std::size_t before = data.size();
    const std::size_t left = count - before;
    const std::size_t piece =
        certain ? left : std::min(left, std::max(kFirstPiece, before));
    data.resize(before + piece);
    HEADWISE_ASSIGN(const auto got,
                    source.read(std::span(data).subspan(before)));
    if (got != piece) {
      data.resize(before + got);
      break;
    }
  }
  return data;
}

Result<AlignedBytes> read_at_most(InputFile& file, std::size_t most) {
  auto bytes = read_bytes(file, most + 1, /*certain=*/false);
  if (bytes && bytes->size() > most) {
    return file.subject().bad_data(message("has more than {} bytes", most));
  }
  return bytes;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
