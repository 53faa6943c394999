// The fields of a protobuf message, one by one, in the order of its bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class ProtobufFields {
 public:
  enum class Kind : std::uint8_t { number, bytes, fixed32, fixed64 };
  struct Field {
    std::uint64_t tag = 0;  // the field's number
    Kind kind = Kind::number;
    std::uint64_t number = 0;  // of all kinds but bytes
    std::string_view bytes;

    bool is(std::uint64_t wanted, Kind of) const {
      return tag == wanted && kind == of;
    }
  };

  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  bool done() const { return rest_.empty(); }
  // False if the bytes are no field; groups are none.
  bool next(Field& field);

 private:
  bool take_number(std::uint64_t& number);
  bool take_fixed(std::size_t bytes, std::uint64_t& number);

  std::string_view rest_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
