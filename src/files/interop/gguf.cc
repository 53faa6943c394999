#include "interop/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "interop/error_text.h"
#include "interop/gguf_types.h"
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

  std::size_t at() const { return at_; }
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

constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8;
constexpr std::uint64_t kLeastPair = 8 + 4 + 1;

// A file up to its metadata, and the number of its tensors.
struct GgufHead {
  GgufMetadata metadata;
  std::uint64_t tensors = 0;
};
Result<GgufHead> read_gguf_head(GgufReader& reader,
                                const FileSubject& subject) {
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
  GgufHead head;
  HEADWISE_ASSIGN(head.tensors, reader.count(kLeastTensor));
  HEADWISE_ASSIGN(const auto pairs, reader.count(kLeastPair));
  for (std::uint64_t n = 0; n < pairs; ++n) {
    HEADWISE_ASSIGN(const auto key, reader.text());
    HEADWISE_ASSIGN(auto value, reader.value());
    if (!head.metadata.emplace(key, std::move(value)).second) {
      return reader.bad(message("has {} twice", printable(key)));
    }
  }
  return head;
}

// A tensor as the file lists it.
struct GgufEntry {
  std::string_view name;
  GgufTensor tensor;
  std::uint64_t offset = 0;
};
Result<GgufEntry> read_gguf_entry(GgufReader& reader) {
  constexpr std::uint64_t kMostAxes = 4;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40U;
  GgufEntry entry;
  HEADWISE_ASSIGN(entry.name, reader.text());
  HEADWISE_ASSIGN(const auto axes, reader.number(4));
  if (axes > kMostAxes) {
    return reader.bad(message("has a tensor with {} axes", axes),
                      message("at most {}", kMostAxes));
  }
  std::uint64_t elements = 1;
  for (std::uint64_t n = 0; n < axes; ++n) {
    HEADWISE_ASSIGN(const auto size, reader.number(8));
    if (size == 0 || size > kLargest / elements) {
      return reader.bad(message("has a tensor with an axis of {}", size));
    }
    elements *= size;
    entry.tensor.shape.insert(entry.tensor.shape.begin(), size);
  }
  HEADWISE_ASSIGN(const auto type, reader.number(4));
  entry.tensor.type = static_cast<std::uint32_t>(type);
  HEADWISE_ASSIGN(entry.offset, reader.number(8));
  return entry;
}

// The bytes of a tensor in `data`, which begins where the tensors do.
Status find_gguf_bytes(std::string_view data, std::uint64_t alignment,
                       const FileSubject& subject, GgufEntry& entry) {
  const GgufType* const type = find_gguf_type(entry.tensor.type);
  const auto& shape = entry.tensor.shape;
  const FileSubject about = subject.of_entry(printable(entry.name));
  if (entry.offset % alignment != 0 || entry.offset > data.size()) {
    return about.bad_data(
        message("begins at byte {} of the data", entry.offset),
        message("a multiple of {} in the file", alignment));
  }
  if (type == nullptr) {
    return ok();  // an error only where somebody reads it
  }
  std::uint64_t elements = 1;
  for (const std::size_t size : shape) {
    elements *= size;
  }
  if ((shape.empty() ? 1 : shape.back()) % type->elements != 0) {
    return about.bad_data(message("has rows of {} elements", shape.back()),
                          message("a multiple of {} as {}", type->elements,
                                  Message::verbatim(std::string(type->name))));
  }
  const std::uint64_t bytes = elements / type->elements * type->bytes;
  if (bytes > data.size() - entry.offset) {
    return about.bad_data(
        message("takes {} bytes", bytes),
        message("at most {}, which the file has", data.size() - entry.offset));
  }
  entry.tensor.bytes = data.substr(entry.offset, bytes);
  return ok();
}

Result<std::uint64_t> gguf_alignment(const GgufMetadata& metadata,
                                     const FileSubject& subject) {
  constexpr double kDefault = 32;
  constexpr double kMost = 1 << 20;
  const auto found = metadata.find("general.alignment");
  const double number = found == metadata.end() ? kDefault
                        : found->second.numbers.size() == 1
                            ? found->second.numbers[0]
                            : 0;
  if (!(number >= 1 && number <= kMost) ||
      !std::has_single_bit(static_cast<std::uint64_t>(number))) {
    return subject.of_entry("general.alignment")
        .bad_data("is not a power of 2 that fits");
  }
  return static_cast<std::uint64_t>(number);
}

}  // namespace

Result<GgufMetadata> read_gguf_metadata(std::string_view bytes,
                                        const FileSubject& subject) {
  GgufReader reader(bytes, subject);
  HEADWISE_ASSIGN(auto head, read_gguf_head(reader, subject));
  return std::move(head.metadata);
}

Result<GgufContents> read_gguf(std::string_view bytes,
                               const FileSubject& subject) {
  GgufReader reader(bytes, subject);
  HEADWISE_ASSIGN(auto head, read_gguf_head(reader, subject));
  HEADWISE_ASSIGN(const auto alignment, gguf_alignment(head.metadata, subject));
  std::vector<GgufEntry> entries;
  for (std::uint64_t n = 0; n < head.tensors; ++n) {
    HEADWISE_ASSIGN(entries.emplace_back(), read_gguf_entry(reader));
  }
  const std::uint64_t begin =
      (reader.at() + alignment - 1) / alignment * alignment;
  const std::string_view data =
      bytes.substr(std::min<std::uint64_t>(begin, bytes.size()));
  GgufContents contents{std::move(head.metadata)};
  for (GgufEntry& entry : entries) {
    HEADWISE_TRY(find_gguf_bytes(data, alignment, subject, entry));
    if (!contents.tensors.emplace(entry.name, std::move(entry.tensor)).second) {
      return subject.bad_data(
          message("has the tensor {} twice", printable(entry.name)));
    }
  }
  return contents;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
