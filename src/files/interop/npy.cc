#include "headwise/interop/npy.h"

#include <algorithm>
#include <array>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "interop/element_bytes.h"
#include "interop/input_file.h"
#include "interop/npy_header.h"
#include "interop/npy_stream.h"

namespace headwise::inline HEADWISE_ABI {

Result<Array> read_npy(const std::string& path) {
  return catching_out_of_memory([&]() -> Result<Array> {
    HEADWISE_ASSIGN(auto file, InputFile::open("read_npy", path));
    const SourceSize size{file.size(), file.size().has_value()};
    return NpyReader(file, size, file.subject()).read();
  });
}

Result<Array> parse_npy(std::span<const std::byte> bytes,
                        std::string_view name) {
  return catching_out_of_memory([&]() -> Result<Array> {
    MemorySource source(bytes);
    return NpyReader(source, {bytes.size(), true},
                     {"parse_npy", std::string(name)})
        .read();
  });
}

Status write_npy(const std::string& path, const AnyView& view) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_ASSIGN(const auto header,
                    format_npy_header(view, {"write_npy", path}));
    const std::size_t bytes = *array_bytes(view.extents(), view.dtype());
    std::vector<std::byte> copy;
    const std::span<const std::byte> data =
        little_endian_bytes(view, bytes, copy);
    const std::array pieces{std::as_bytes(std::span(header)), data};
    return write_file_atomically(path, pieces);
  });
}

Status write_npy_rows(const std::string& path, const Extents<2>& shape,
                      std::size_t at_once, const NpyRows& make) {
  return catching_out_of_memory([&]() -> Status {
    const std::size_t rows = shape[0];
    HEADWISE_ASSIGN(const auto header,
                    format_npy_header(AnyView(nullptr, DType::float32, shape),
                                      {"write_npy", path}));
    const std::size_t pieces = (rows + at_once - 1) / at_once;
    std::vector<std::byte> copy;
    const auto piece =
        [&](std::size_t n) -> Result<std::span<const std::byte>> {
      if (n == 0) {
        return std::as_bytes(std::span(header));
      }
      const std::size_t first = (n - 1) * at_once;
      HEADWISE_ASSIGN(const auto made,
                      make(first, std::min(at_once, rows - first)));
      return little_endian_bytes(AnyView(made), made.size() * sizeof(float),
                                 copy);
    };
    return write_file_atomically(path, 1 + pieces, piece);
  });
}

Result<std::vector<std::byte>> format_npy(const AnyView& view) {
  return catching_out_of_memory([&]() -> Result<std::vector<std::byte>> {
    HEADWISE_ASSIGN(const auto header, format_npy_header(view, {"format_npy"}));
    const auto start = std::as_bytes(std::span(header));
    std::vector<std::byte> bytes(start.begin(), start.end());
    const std::vector<std::byte> data =
        little_endian_data(view, *array_bytes(view.extents(), view.dtype()));
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
