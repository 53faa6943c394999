#include "interop/gguf.h"

#include <array>
#include <bit>
#include <limits>
#include <set>

#include "interop/error_text.h"
#include "interop/utf8.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr int kDeepestGgufArray = 4;
constexpr std::size_t kMostGgufDims = 4;
constexpr std::uint64_t kLeastGgufPair = 8 + 4 + 1;
constexpr std::uint64_t kLeastGgufTensor = 8 + 4 + 4 + 8;

// Of a text and of an array: the bytes of its length.
constexpr std::array<std::uint8_t, 13> kGgufSizes = {1, 1, 2,  2, 4, 4, 4,
                                                     1, 8, 12, 8, 8, 8};

std::uint64_t number_at(std::string_view bytes, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t n = size; n-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[n]);
  }
  return number;
}

double as_double(GgufType type, std::string_view bytes) {
  const std::size_t size = kGgufSizes[static_cast<std::size_t>(type)];
  const std::uint64_t bits = number_at(bytes, size);
  switch (type) {
    case GgufType::float32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case GgufType::float64:
      return std::bit_cast<double>(bits);
    case GgufType::int8:
    case GgufType::int16:
    case GgufType::int32:
    case GgufType::int64: {
      const auto shift = static_cast<unsigned>(64 - 8 * size);
      return static_cast<double>(static_cast<std::int64_t>(bits << shift) >>
                                 shift);
    }
    default:
      return static_cast<double>(bits);
  }
}

// Takes the parts of a file one after another; each says where it fails.
class GgufReader {
 public:
  GgufReader(std::string_view bytes, const FileSubject& subject)
      : all_(bytes), subject_(subject) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return all_.size() - at_; }

  Result<std::uint64_t> number(std::size_t size) {
    HEADWISE_ASSIGN(const auto bytes, take(size));
    return number_at(bytes, size);
  }
  Result<std::string_view> text() {
    HEADWISE_ASSIGN(const auto size, number(8));
    HEADWISE_ASSIGN(const auto bytes, take(size));
    if (find_invalid_utf8(bytes)) {
      return bad("holds a text that is not UTF-8");
    }
    return bytes;
  }
  // A count of things that take at least `least` bytes each.
  Result<std::uint64_t> count(std::uint64_t least) {
    HEADWISE_ASSIGN(const auto count, number(8));
    if (count > left() / least) {
      return bad(message("ends before {} entries", count));
    }
    return count;
  }
  Result<GgufType> type() {
    HEADWISE_ASSIGN(const auto type, number(4));
    if (type >= kGgufSizes.size()) {
      return bad(message("holds the type {}", type),
                 message("0 to {}", kGgufSizes.size() - 1));
    }
    return static_cast<GgufType>(type);
  }
  Result<GgufValue> value(GgufType type) {
    GgufValue value;
    value.type = type;
    if (type == GgufType::array) {
      HEADWISE_ASSIGN(value.element, this->type());
      HEADWISE_ASSIGN(
          value.count,
          count(kGgufSizes[static_cast<std::size_t>(value.element)]));
      const std::uint64_t begin = at_;
      HEADWISE_TRY(skip_elements(value.element, value.count, 1));
      value.bytes = all_.substr(begin, at_ - begin);
      return value;
    }
    if (type == GgufType::text) {
      HEADWISE_ASSIGN(value.bytes, text());
      return value;
    }
    HEADWISE_ASSIGN(value.bytes,
                    take(kGgufSizes[static_cast<std::size_t>(type)]));
    return value;
  }

  Error bad(Message given, Message expected = {}) const {
    return subject_.bad_data(std::move(given), std::move(expected), at_);
  }

 private:
  Result<std::string_view> take(std::uint64_t size) {
    if (size > left()) {
      return bad(message("ends before the {} bytes that must follow", size));
    }
    const std::string_view bytes = all_.substr(at_, size);
    at_ += size;
    return bytes;
  }
  // The recursion is as deep as arrays may be.
  Status skip_elements(GgufType element, std::uint64_t count, int depth) {
    if (element != GgufType::text && element != GgufType::array) {
      // count() has checked that they are there.
      HEADWISE_TRY(take(count * kGgufSizes[static_cast<std::size_t>(element)]));
      return ok();
    }
    if (depth == kDeepestGgufArray) {
      return bad(message("nests arrays deeper than {}", kDeepestGgufArray));
    }
    for (; count > 0; --count) {
      if (element == GgufType::text) {
        HEADWISE_TRY(text());
        continue;
      }
      HEADWISE_ASSIGN(const auto inner, type());
      HEADWISE_ASSIGN(const auto inner_count,
                      this->count(kGgufSizes[static_cast<std::size_t>(inner)]));
      HEADWISE_TRY(skip_elements(inner, inner_count, depth + 1));
    }
    return ok();
  }

  std::string_view all_;
  const FileSubject& subject_;
  std::uint64_t at_ = 0;
};

Status check_gguf_version(GgufReader& reader, const FileSubject& subject) {
  constexpr std::uint64_t kOldest = 2;
  constexpr std::uint64_t kNewest = 3;
  HEADWISE_ASSIGN(const auto magic, reader.number(4));
  HEADWISE_ASSIGN(const auto version, reader.number(4));
  if (magic != number_at(kGgufMagic, 4)) {
    return subject.bad_data("is no GGUF file");
  }
  if (version >= kOldest && version <= kNewest) {
    return ok();
  }
  if ((version & 0xFFFFU) == 0) {
    return subject.error(ErrorCode::unsupported, "is big-endian",
                         "little-endian");
  }
  return subject.error(ErrorCode::unsupported,
                       message("has version {}", version),
                       message("{} or {}", kOldest, kNewest));
}

Result<GgufTensor> read_gguf_tensor(GgufReader& reader) {
  GgufTensor tensor;
  HEADWISE_ASSIGN(tensor.name, reader.text());
  HEADWISE_ASSIGN(const auto dims, reader.number(4));
  if (dims > kMostGgufDims) {
    return reader.bad(message("has a tensor with {} axes", dims),
                      message("at most {}", kMostGgufDims));
  }
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t n = 0; n < dims; ++n) {
    HEADWISE_ASSIGN(const auto size, reader.number(8));
    if (size > left) {
      return reader.bad("has a tensor with too many elements to count");
    }
    left = size == 0 ? left : left / size;
    tensor.dims.push_back(size);
  }
  HEADWISE_ASSIGN(const auto type, reader.number(4));
  tensor.type = static_cast<std::uint32_t>(type);
  HEADWISE_ASSIGN(tensor.offset, reader.number(8));
  return tensor;
}

}  // namespace

std::optional<std::string_view> GgufValue::text() const {
  return type == GgufType::text ? std::optional(bytes) : std::nullopt;
}

std::optional<bool> GgufValue::boolean() const {
  return type == GgufType::boolean ? std::optional(bytes[0] != 0)
                                   : std::nullopt;
}

std::optional<std::uint64_t> GgufValue::natural() const {
  const bool whole = type != GgufType::float32 && type != GgufType::float64 &&
                     type != GgufType::boolean && type != GgufType::text &&
                     type != GgufType::array;
  if (!whole || as_double(type, bytes) < 0) {
    return {};
  }
  return number_at(bytes, bytes.size());
}

std::optional<std::vector<std::string_view>> GgufValue::texts() const {
  if (type != GgufType::array || element != GgufType::text) {
    return {};
  }
  std::vector<std::string_view> texts;
  texts.reserve(count);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t size = number_at(bytes.substr(at), 8);
    texts.push_back(bytes.substr(at + 8, size));
    at += 8 + size;
  }
  return texts;
}

std::optional<std::vector<double>> GgufValue::numbers() const {
  if (type != GgufType::array || element == GgufType::text ||
      element == GgufType::array) {
    return {};
  }
  const std::size_t size = kGgufSizes[static_cast<std::size_t>(element)];
  std::vector<double> numbers;
  numbers.reserve(count);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    numbers.push_back(as_double(element, bytes.substr(at)));
  }
  return numbers;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

Result<GgufFile> GgufFile::parse(std::string_view bytes,
                                 const FileSubject& subject) {
  GgufReader reader(bytes, subject);
  HEADWISE_TRY(check_gguf_version(reader, subject));
  HEADWISE_ASSIGN(const auto tensors, reader.count(kLeastGgufTensor));
  HEADWISE_ASSIGN(const auto pairs, reader.count(kLeastGgufPair));
  GgufFile file;
  for (std::uint64_t n = 0; n < pairs; ++n) {
    HEADWISE_ASSIGN(const auto key, reader.text());
    HEADWISE_ASSIGN(const auto type, reader.type());
    HEADWISE_ASSIGN(const auto value, reader.value(type));
    if (!file.metadata_.emplace(key, value).second) {
      return reader.bad(message("has {} twice", printable(key)));
    }
  }
  std::set<std::string_view> names;
  for (std::uint64_t n = 0; n < tensors; ++n) {
    HEADWISE_ASSIGN(auto tensor, read_gguf_tensor(reader));
    if (!names.insert(tensor.name).second) {
      return reader.bad(
          message("has the tensor {} twice", printable(tensor.name)));
    }
    file.tensors_.push_back(std::move(tensor));
  }
  std::uint64_t alignment = 32;
  if (const GgufValue* const value = file.find("general.alignment")) {
    alignment = value->natural().value_or(0);
    if (!std::has_single_bit(alignment) || alignment > bytes.size()) {
      return subject.of_entry("general.alignment")
          .bad_data("is not a power of 2 that fits");
    }
  }
  file.data_begin_ = (reader.at() + alignment - 1) / alignment * alignment;
  for (const GgufTensor& tensor : file.tensors_) {
    if (tensor.offset % alignment != 0 || file.data_begin_ > bytes.size() ||
        tensor.offset > bytes.size() - file.data_begin_) {
      return subject.of_entry(printable(tensor.name))
          .bad_data(message("begins at byte {} of the data", tensor.offset),
                    message("a multiple of {} in the file", alignment));
    }
  }
  return file;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
