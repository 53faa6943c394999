#include "interop/npy_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kLargestCount =
    static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
constexpr bool kLittleEndian = std::endian::native == std::endian::little;

constexpr std::array<std::pair<std::string_view, DType>, 12> kNpyTypes{{
    {"f2", DType::float16},
    {"f4", DType::float32},
    {"f8", DType::float64},
    {"i1", DType::int8},
    {"i2", DType::int16},
    {"i4", DType::int32},
    {"i8", DType::int64},
    {"u1", DType::uint8},
    {"u2", DType::uint16},
    {"u4", DType::uint32},
    {"u8", DType::uint64},
    {"b1", DType::boolean},
}};

// The meaning of numpy's letter for a kind of element that is not read.
std::string_view refused_kind(char letter) {
  switch (letter) {
    case 'O':
      return "Python objects; they lie in the file as a pickle, which can run "
             "any program when it is read, so it never is";
    case 'S':
    case 'U':
    case 'a':
      return "text elements";
    case 'V':
      return "raw bytes (bfloat16 is written so: save it as float32)";
    case 'c':
      return "complex numbers";
    case 'm':
    case 'M':
      return "dates or times";
    default:
      return "elements of a type that is not read";
  }
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const FileSubject& subject,
               std::uint64_t begin)
      : text_(text), subject_(subject), begin_(begin) {}

  Result<NpyHeader> parse() {
    HEADWISE_TRY(parse_dict());
    const auto bytes = array_bytes(header_.shape, header_.dtype);
    if (!bytes) {
      return bad(
          message("has an array of {} {} in its header, which is more bytes "
                  "than there can be",
                  shape_text(header_.shape), name_of(header_.dtype)));
    }
    header_.data_bytes = *bytes;
    return std::move(header_);
  }

 private:
  Status parse_dict() {
    if (!take('{')) {
      return expected("'{'");
    }
    while (!take('}')) {
      HEADWISE_TRY(parse_entry());
      if (!take(',') && !(at_ < text_.size() && text_[at_] == '}')) {
        return expected("',' or '}'");
      }
    }
    skip_space();
    if (at_ != text_.size()) {
      return expected("nothing");
    }
    for (const auto& [name, seen] : {std::pair{"descr", seen_descr_},
                                     {"fortran_order", seen_order_},
                                     {"shape", seen_shape_}}) {
      if (!seen) {
        return bad(message("has no '{}' in its header", name));
      }
    }
    return ok();
  }

  Status parse_entry() {
    HEADWISE_ASSIGN(const auto key, parse_string());
    bool* const seen = key == "descr"           ? &seen_descr_
                       : key == "fortran_order" ? &seen_order_
                       : key == "shape"         ? &seen_shape_
                                                : nullptr;
    if (seen == nullptr) {
      return bad(
          message("has the unknown key '{}' in its header", printable(key)));
    }
    if (std::exchange(*seen, true)) {
      return bad(message("has '{}' twice in its header", key));
    }
    if (!take(':')) {
      return expected("':'");
    }
    return seen == &seen_descr_   ? parse_descr()
           : seen == &seen_order_ ? parse_order()
                                  : parse_shape();
  }

  Status parse_descr() {
    if (take('[') || take('(')) {
      return unsupported("records");
    }
    HEADWISE_ASSIGN(const auto descr, parse_string());
    std::string_view type = descr;
    char order = '=';
    if (!type.empty() &&
        std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
      order = type[0];
      type.remove_prefix(1);
    }
    const auto* const found = std::ranges::find(
        kNpyTypes, type, &decltype(kNpyTypes)::value_type::first);
    if (found == kNpyTypes.end()) {
      return unsupported(
          "'" + printable(descr) + "', " +
          std::string(refused_kind(type.empty() ? ' ' : type[0])));
    }
    header_.dtype = found->second;
    header_.other_byte_order = order == (kLittleEndian ? '>' : '<');
    return ok();
  }

  Status parse_order() {
    header_.fortran_order = take_word("True");
    if (!header_.fortran_order && !take_word("False")) {
      return expected("True or False");
    }
    return ok();
  }

  Status parse_shape() {
    if (!take('(')) {
      return expected("'('");
    }
    bool comma = true;
    while (!take(')')) {
      if (!comma) {
        return expected("',' or ')'");
      }
      if (header_.shape.size() == kMaxNpyRank) {
        return bad(message("has more than {} axes", kMaxNpyRank));
      }
      HEADWISE_ASSIGN(const auto size, parse_size());
      header_.shape.push_back(size);
      comma = take(',');
    }
    if (header_.shape.size() == 1 && !comma) {
      return bad("has a number for the shape in its header", "a tuple");
    }
    return ok();
  }

  Result<std::size_t> parse_size() {
    skip_space();
    const std::size_t first = at_;
    std::size_t size = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      if (size > (kLargestCount - digit) / 10) {
        return bad("has a size beyond 2^63 - 1 in its header");
      }
      size = size * 10 + digit;
      ++at_;
    }
    const std::size_t digits = at_ - first;
    if (digits == 0 || (digits > 1 && text_[first] == '0')) {
      at_ = first;
      return expected("a size");
    }
    if (at_ < text_.size() && text_[at_] == 'L') {  // Python 2 wrote 3L
      ++at_;
    }
    return size;
  }

  // Without the quotes; a backslash would need the rest of Python's rules.
  Result<std::string_view> parse_string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') {
      return expected("a string");
    }
    const std::size_t first = at_ + 1;
    const std::size_t last = text_.find(quote, first);
    const std::string_view inside = text_.substr(first, last - first);
    if (last == std::string_view::npos ||
        inside.find_first_of("\\\n\r") != std::string_view::npos) {
      return expected("a plain string");
    }
    at_ = last + 1;
    return inside;
  }

  void skip_space() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size());
  }
  bool take(char wanted) {
    skip_space();
    const bool there = at_ < text_.size() && text_[at_] == wanted;
    at_ += there ? 1 : 0;
    return there;
  }
  bool take_word(std::string_view word) {
    skip_space();
    const bool there = text_.substr(at_).starts_with(word);
    at_ += there ? word.size() : 0;
    return there;
  }

  Error bad(Message given, Message expected = {}) const {
    return subject_.bad_data(std::move(given), std::move(expected));
  }
  Error expected(Message what) const {
    return subject_.bad_data("has a malformed header", std::move(what),
                             begin_ + at_);
  }
  Error unsupported(Message what) const {
    return subject_.error(ErrorCode::unsupported, message("holds {}", what),
                          "one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1");
  }

  std::string_view text_;
  const FileSubject& subject_;
  std::uint64_t begin_;  // of the text, in the file
  std::size_t at_ = 0;
  NpyHeader header_;
  bool seen_descr_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

// "(2, 3)", "(3,)", "()"
std::string tuple_text(std::span<const std::size_t> shape) {
  std::string text = shape_text(shape);
  if (shape.size() == 1) {
    text.insert(text.size() - 1, ",");
  }
  return text;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text,
                                   const FileSubject& subject,
                                   std::uint64_t begin) {
  return HeaderParser(text, subject, begin).parse();
}

Result<std::string> format_npy_header(const AnyView& view,
                                      const FileSubject& subject) {
  const std::span<const std::size_t> shape = view.extents();
  const auto* const type = std::ranges::find(
      kNpyTypes, view.dtype(), &decltype(kNpyTypes)::value_type::second);
  if (type == kNpyTypes.end()) {
    return subject.error(
        ErrorCode::unsupported,
        message("cannot hold {} elements", name_of(view.dtype())),
        "those of a .npy file: widen them to float32");
  }
  if (shape.size() > kMaxNpyRank || !array_bytes(shape, view.dtype())) {
    return subject.error(
        ErrorCode::invalid_argument,
        message("cannot hold an array of shape {}", shape_text(shape)));
  }
  std::string dict = "{'descr': '";
  dict += size_of(view.dtype()) == 1 ? '|' : '<';
  dict += type->first;
  dict += "', 'fortran_order': False, 'shape': " + tuple_text(shape) + ", }";
  // As numpy does: room for the first size to grow to 21 digits in place, then
  // blanks up to the next multiple of 64, at least one.
  constexpr std::size_t kGrowth = 21;
  constexpr std::size_t kBeforeDict = 10;
  if (!shape.empty()) {
    dict.append(kGrowth - std::to_string(shape[0]).size(), ' ');
  }
  dict.append(64 - (kBeforeDict + dict.size() + 1) % 64, ' ');
  dict += '\n';
  // At most 32 sizes of 21 characters: always short enough for version 1.0.
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace headwise::inline HEADWISE_ABI
