// Shapes whose products of sizes wrap round, and what they really are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headwise {

using Sizes = std::vector<std::uint64_t>;

// Any two sizes of {0, 1, 2^31 - 1, 2^32, 2^63 - 1, 2^64 - 1} at any two places
// of each rank from 1 to 8, and 1 elsewhere.
inline std::vector<Sizes> hostile_shapes() {
  constexpr std::array<std::uint64_t, 6> kSizes = {
      0,
      1,
      (1ull << 31) - 1,
      1ull << 32,
      (1ull << 63) - 1,
      std::numeric_limits<std::uint64_t>::max()};
  std::vector<Sizes> shapes;
  for (std::size_t rank = 1; rank <= 8; ++rank) {
    for (std::size_t place = 0; place < rank * rank; ++place) {
      for (const std::uint64_t first : kSizes) {
        for (const std::uint64_t second : kSizes) {
          Sizes& shape = shapes.emplace_back(rank, 1);
          shape[place / rank] = first;
          shape[place % rank] = second;
        }
      }
    }
  }
  return shapes;
}

// The product of the sizes and of 4 bytes, as far as 2^63 - 1; zeros apart.
inline std::optional<std::uint64_t> product_of(
    std::span<const std::uint64_t> sizes) {
  __extension__ using Wide = unsigned __int128;
  Wide bytes = 4;
  for (const std::uint64_t size : sizes) {
    bytes *= size == 0 ? 1 : size;
    if (bytes > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
  }
  return static_cast<std::uint64_t>(bytes);
}

// "2,3,"
inline std::string sizes_text(std::span<const std::uint64_t> sizes) {
  std::string text;
  for (const std::uint64_t size : sizes) {
    text += std::to_string(size) + ",";
  }
  return text;
}

}  // namespace headwise
