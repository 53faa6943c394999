// The blocks of a page: numbers as little-endian bytes, or a document's JSON,
// deflated, in base64.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Whether bytes repeat: numbers in floating point do not, so that looking for
// what repeats only takes time.
enum class Repeats { yes, no };
// Throws std::bad_alloc.
std::string deflated_base64(std::span<const std::byte> bytes,
                            Repeats repeats = Repeats::yes);

inline std::string encoded_text(std::string_view text) {
  return deflated_base64(std::as_bytes(std::span(text)));
}

// Arrays, one after another.
class BlockBytes {
 public:
  template <class T>
  void add(std::span<const T> numbers) {
    static_assert(std::endian::native == std::endian::little);
    const auto bytes = std::as_bytes(numbers);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::string encoded(Repeats repeats = Repeats::yes) const {
    return deflated_base64(bytes_, repeats);
  }

 private:
  std::vector<std::byte> bytes_;
};

// `of(x)` of each element, row by row.
template <class Of>
auto each_of(TensorView<const float, 2> rows, Of of) {
  std::vector<decltype(of(0.0F))> made;
  made.reserve(rows.size());
  for (std::size_t i = 0; i < rows.extent(0); ++i) {
    for (std::size_t j = 0; j < rows.extent(1); ++j) {
      made.push_back(of(rows(i, j)));
    }
  }
  return made;
}

template <class T>
std::string encoded_block(const std::vector<T>& numbers,
                          Repeats repeats = Repeats::yes) {
  BlockBytes bytes;
  bytes.add(std::span<const T>(numbers));
  return bytes.encoded(repeats);
}

}  // namespace headwise::inline HEADWISE_ABI
