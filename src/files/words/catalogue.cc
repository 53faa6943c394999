#include "words/catalogue.h"

namespace headwise::inline HEADWISE_ABI {

// Little endian, whatever the machine is: msgfmt is told so.
std::uint32_t Catalogue::number_at(std::size_t byte) const {
  std::uint32_t number = 0;
  for (std::size_t n = 0; n < sizeof(number); ++n) {
    number |= std::to_integer<std::uint32_t>(file_[byte + n]) << (8 * n);
  }
  return number;
}

std::string_view Catalogue::text_at(std::size_t byte, std::size_t n) const {
  const std::size_t row = number_at(byte) + 8 * n;  // length and place
  return {reinterpret_cast<const char*>(&file_[number_at(row + 4)]),
          number_at(row)};
}

std::size_t Catalogue::place_of(std::string_view id) const {
  std::size_t first = 0;
  std::size_t behind = size();
  while (first < behind) {
    const std::size_t middle = first + (behind - first) / 2;
    if (this->id(middle) < id) {
      first = middle + 1;
    } else {
      behind = middle;
    }
  }
  return first;
}

std::optional<std::string_view> Catalogue::find(std::string_view id) const {
  const std::size_t n = place_of(id);
  return n < size() && this->id(n) == id ? std::optional(text(n))
                                         : std::nullopt;
}

Catalogue catalogue_of(std::string_view code) {
  return Catalogue(catalogue_file(std::string(code) + ".mo"));
}

}  // namespace headwise::inline HEADWISE_ABI
