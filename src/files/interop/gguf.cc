#include "interop/gguf.h"

#include <array>
#include <bit>
#include <utility>

#include "interop/error_text.h"
#include "interop/little_endian.h"
#include "interop/utf8.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// Types are numbers in the file. Of a text and of a list: the size of its
// length.
constexpr std::array<std::uint8_t, 13> kGgufSizes = {1, 1, 2, 2, 4, 4, 4,
                                                     1, 8, 8, 8, 8, 8};
constexpr std::size_t kGgufList = 9;
// Lists of tokens are shorter, and files have fewer keys.
constexpr std::uint64_t kLongestList = std::uint64_t{1} << 24U;
constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 12U;

// Takes the parts of a file one after another; each says where it fails.
class GgufReader {
 public:
  GgufReader(std::string_view bytes, const FileSubject& subject)
      : all_(bytes), subject_(subject) {}

  Error bad(Message given, Message expected = {}) const {
    return subject_.bad_data(std::move(given), std::move(expected), at_);
  }
  Result<std::uint64_t> number(std::size_t size) {
    HEADWISE_ASSIGN(const auto bytes, take(size));
    return little_endian_number(bytes);
  }
  Result<std::string_view> text() {
    HEADWISE_ASSIGN(const auto size, number(8));
    HEADWISE_ASSIGN(const auto bytes, take(size));
    return find_invalid_utf8(bytes)
               ? Result<std::string_view>(bad("holds a text that is not UTF-8"))
               : bytes;
  }
  // A count of things that take at least `least` bytes each.
  Result<std::uint64_t> count(std::uint64_t least, std::uint64_t most) {
    HEADWISE_ASSIGN(const auto count, number(8));
    return count > (all_.size() - at_) / least
               ? bad(message("ends before {} entries", count))
           : count > most ? unsupported("has a list that is too long")
                          : Result(count);
  }
  Result<Json> value() {
    HEADWISE_ASSIGN(auto type, this->type());
    if (type != kGgufList) {
      return value_of(type);
    }
    HEADWISE_ASSIGN(type, this->type());
    HEADWISE_ASSIGN(auto left, count(kGgufSizes[type], kLongestList));
    if (type == kGgufList) {
      return unsupported("has a list of lists");
    }
    Json list = Json::array();
    for (; left > 0; --left) {
      HEADWISE_ASSIGN(auto value, value_of(type));
      list.push_back(std::move(value));
    }
    return list;
  }

 private:
  Result<std::string_view> take(std::uint64_t size) {
    if (size > all_.size() - at_) {
      return bad(message("ends before the {} bytes that must follow", size));
    }
    at_ += size;
    return all_.substr(at_ - size, size);
  }
  Error unsupported(Message given) const {
    return subject_.error(ErrorCode::unsupported, std::move(given), {}, at_);
  }
  Result<std::size_t> type() {
    HEADWISE_ASSIGN(const auto type, number(4));
    if (type >= kGgufSizes.size()) {
      return bad(message("holds the type {}", type),
                 message("0 to {}", kGgufSizes.size() - 1));
    }
    return type;
  }

  Result<Json> value_of(std::size_t type) {
    if (type == 8) {
      HEADWISE_ASSIGN(const auto text, this->text());
      return Json(text);
    }
    HEADWISE_ASSIGN(const auto bits, number(kGgufSizes[type]));
    const auto shift = 64 - 8 * kGgufSizes[type];
    switch (type) {
      case 1:
      case 3:
      case 5:
      case 11:  // may be negative
        return Json(static_cast<std::int64_t>(bits << shift) >> shift);
      case 6:
        return Json(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      case 7:
        return Json(bits != 0);
      case 12:
        return Json(std::bit_cast<double>(bits));
      default:
        return Json(bits);
    }
  }

  std::string_view all_;
  const FileSubject& subject_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Json> read_gguf_metadata(std::string_view bytes,
                                const FileSubject& subject) {
  constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8;
  constexpr std::uint64_t kLeastPair = 8 + 4 + 1;
  GgufReader reader(bytes, subject);
  HEADWISE_ASSIGN(const auto magic, reader.number(4));
  HEADWISE_ASSIGN(const auto version, reader.number(4));
  if (magic != little_endian_number(kGgufMagic)) {
    return subject.bad_data("is no GGUF file");
  }
  if (version != 2 && version != 3) {
    const bool is_big_endian = (version & 0xFFFFU) == 0;
    return subject.error(ErrorCode::unsupported,
                         is_big_endian ? Message("is big-endian")
                                       : message("has version {}", version),
                         is_big_endian ? "little-endian" : "2 or 3");
  }
  HEADWISE_TRY(reader.count(kLeastTensor, kLongestList));
  HEADWISE_ASSIGN(const auto pairs, reader.count(kLeastPair, kMostKeys));
  Json metadata = Json::object();
  for (std::uint64_t n = 0; n < pairs; ++n) {
    HEADWISE_ASSIGN(const auto key, reader.text());
    if (metadata.find(key) != nullptr) {
      return reader.bad(message("has {} twice", printable(key)));
    }
    HEADWISE_ASSIGN(metadata[key], reader.value());
  }
  return metadata;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
