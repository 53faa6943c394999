#include "interop/gguf.h"

#include <array>
#include <bit>

#include "interop/error_text.h"
#include "interop/little_endian.h"
#include "interop/utf8.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// Types are numbers in the file. Of a text and of a list: the size of its
// length.
constexpr std::array<std::uint8_t, 13> kGgufSizes = {1, 1, 2, 2, 4, 4, 4,
                                                     1, 8, 8, 8, 8, 8};
constexpr std::size_t kGgufFloat = 6;
constexpr std::size_t kGgufBoolean = 7;
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
    GgufValue value;
    HEADWISE_ASSIGN(value.type, type());
    if (value.type == kGgufList) {
      value.is_list = true;
      HEADWISE_ASSIGN(value.type, type());
      HEADWISE_ASSIGN(value.count, count(kGgufSizes[value.type]));
    }
    if (value.type == kGgufList) {
      return subject_.error(ErrorCode::unsupported, "has a list of lists", {},
                            at_);
    }
    if (value.type == kGgufText && !value.is_list) {
      HEADWISE_ASSIGN(value.bytes, text());
      return value;
    }
    const std::size_t begin = at_;
    if (value.type != kGgufText) {
      HEADWISE_TRY(take(value.count * kGgufSizes[value.type]));
    }
    for (auto n = value.count; value.type == kGgufText && n > 0; --n) {
      HEADWISE_TRY(text());
    }
    value.bytes = all_.substr(begin, at_ - begin);
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

Status check_gguf_version(GgufReader& reader, const FileSubject& subject) {
  HEADWISE_ASSIGN(const auto magic, reader.number(4));
  HEADWISE_ASSIGN(const auto version, reader.number(4));
  if (magic != little_endian_number(kGgufMagic)) {
    return subject.bad_data("is no GGUF file");
  }
  if ((version & 0xFFFFU) == 0) {
    return subject.error(ErrorCode::unsupported, "is big-endian",
                         "little-endian");
  }
  return version == 2 || version == 3
             ? ok()
             : Status(subject.error(ErrorCode::unsupported,
                                    message("has version {}", version),
                                    "2 or 3"));
}

}  // namespace

std::optional<std::string_view> GgufValue::text() const {
  return !is_list && type == kGgufText ? std::optional(bytes) : std::nullopt;
}

std::optional<bool> GgufValue::boolean() const {
  return !is_list && type == kGgufBoolean ? std::optional(bytes[0] != 0)
                                          : std::nullopt;
}

std::optional<std::uint64_t> GgufValue::natural() const {
  const bool whole = !is_list && !bytes.empty() && type != kGgufFloat &&
                     type != kGgufBoolean && type != kGgufText &&
                     type != kGgufDouble;
  return whole && gguf_number(type, bytes) >= 0
             ? std::optional(little_endian_number(bytes))
             : std::nullopt;
}

std::optional<std::vector<std::string_view>> GgufValue::texts() const {
  if (!is_list || type != kGgufText) {
    return {};
  }
  std::vector<std::string_view> texts;
  texts.reserve(count);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t size = little_endian_number(bytes.substr(at, 8));
    texts.push_back(bytes.substr(at + 8, size));
    at += 8 + size;
  }
  return texts;
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  if (!is_list || type == kGgufText) {
    return {};
  }
  const std::size_t size = kGgufSizes[type];
  std::vector<double> numbers;
  numbers.reserve(count);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    numbers.push_back(gguf_number(type, bytes.substr(at, size)));
  }
  return numbers;
}

Result<GgufMetadata> read_gguf_metadata(std::string_view bytes,
                                        const FileSubject& subject) {
  constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8;
  constexpr std::uint64_t kLeastPair = 8 + 4 + 1;
  GgufReader reader(bytes, subject);
  HEADWISE_TRY(check_gguf_version(reader, subject));
  HEADWISE_TRY(reader.count(kLeastTensor));
  HEADWISE_ASSIGN(const auto pairs, reader.count(kLeastPair));
  GgufMetadata metadata;
  for (std::uint64_t n = 0; n < pairs; ++n) {
    HEADWISE_ASSIGN(const auto key, reader.text());
    HEADWISE_ASSIGN(const auto value, reader.value());
    if (!metadata.emplace(key, value).second) {
      return reader.bad(message("has {} twice", printable(key)));
    }
  }
  return metadata;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
