#include "tokenizer/protobuf_fields.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

bool ProtobufFields::take_number(std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return true;
    }
  }
  return false;
}

bool ProtobufFields::take_fixed(std::size_t bytes, std::uint64_t& number) {
  if (rest_.size() < bytes) {
    return false;
  }
  number = 0;
  for (std::size_t n = bytes; n-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(rest_[n]);
  }
  rest_.remove_prefix(bytes);
  return true;
}

bool ProtobufFields::next(Field& field) {
  std::uint64_t key = 0;
  if (!take_number(key) || key >> 3U == 0) {
    return false;
  }
  field.tag = key >> 3U;
  field.bytes = {};
  switch (key & 7U) {
    case 0:
      field.kind = Kind::number;
      return take_number(field.number);
    case 1:
      field.kind = Kind::fixed64;
      return take_fixed(8, field.number);
    case 2:
      field.kind = Kind::bytes;
      if (!take_number(field.number) || field.number > rest_.size()) {
        return false;
      }
      field.bytes = rest_.substr(0, field.number);
      rest_.remove_prefix(field.number);
      return true;
    case 5:
      field.kind = Kind::fixed32;
      return take_fixed(4, field.number);
    default:
      return false;
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
