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
// Lists of tokens are shorter.
constexpr std::uint64_t kLongestList = std::uint64_t{1} << 24U;
constexpr std::size_t kGgufFloat = 6;
constexpr std::size_t kGgufText = 8;
constexpr std::size_t kGgufList = 9;
constexpr std::size_t kGgufDouble = 12;

double gguf_number(std::size_t type, std::string_view bytes) {
  const std::uint64_t bits = little_endian_number(bytes);
  const auto shift = static_cast<unsigned>(64 - 8 * bytes.size());
  switch (type) {
    case kGgufFloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case kGgufDouble:
      return std::bit_cast<double>(bits);
    case 1:
    case 3:
    case 5:
    case 11:  // may be negative
      return static_cast<double>(static_cast<std::int64_t>(bits << shift) >>
                                 shift);
    default:
      return static_cast<double>(bits);
  }
}

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
  Result<std::uint64_t> count(std::uint64_t least) {
    HEADWISE_ASSIGN(const auto count, number(8));
    if (count > (all_.size() - at_) / least) {
      return bad(message("ends before {} entries", count));
    }
    return count;
  }
  Result<GgufValue> value() {
    std::uint64_t count = 1;
    HEADWISE_ASSIGN(auto type, this->type());
    if (type == kGgufList) {
      HEADWISE_ASSIGN(type, this->type());
      HEADWISE_ASSIGN(count, this->count(kGgufSizes[type]));
    }
    if (type == kGgufList || count > kLongestList) {
      return subject_.error(ErrorCode::unsupported,
                            type == kGgufList ? "has a list of lists"
                                              : "has a list that is too long",
                            {}, at_);
    }
    GgufValue value;
    for (; count > 0; --count) {
      if (type == kGgufText) {
        HEADWISE_ASSIGN(value.texts.emplace_back(), text());
      } else {
        HEADWISE_ASSIGN(const auto bytes, take(kGgufSizes[type]));
        value.numbers.push_back(gguf_number(type, bytes));
      }
    }
    return value;
  }

 private:
  Result<std::string_view> take(std::uint64_t size) {
    if (size > all_.size() - at_) {
      return bad(message("ends before the {} bytes that must follow", size));
    }
    at_ += size;
    return all_.substr(at_ - size, size);
  }
  Result<std::size_t> type() {
    HEADWISE_ASSIGN(const auto type, number(4));
    if (type >= kGgufSizes.size()) {
      return bad(message("holds the type {}", type),
                 message("0 to {}", kGgufSizes.size() - 1));
    }
    return type;
  }

  std::string_view all_;
  const FileSubject& subject_;
  std::size_t at_ = 0;
};

}  // namespace

Result<GgufMetadata> read_gguf_metadata(std::string_view bytes,
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
  HEADWISE_TRY(reader.count(kLeastTensor));
  HEADWISE_ASSIGN(const auto pairs, reader.count(kLeastPair));
  GgufMetadata metadata;
  for (std::uint64_t n = 0; n < pairs; ++n) {
    HEADWISE_ASSIGN(const auto key, reader.text());
    HEADWISE_ASSIGN(auto value, reader.value());
    if (!metadata.emplace(key, std::move(value)).second) {
      return reader.bad(message("has {} twice", printable(key)));
    }
  }
  return metadata;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
