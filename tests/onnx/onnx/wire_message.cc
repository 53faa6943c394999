#include "onnx/wire_message.h"

#include <cstring>

namespace headwise::testing_support {
namespace {

void put_varint(std::uint64_t number, std::string& into) {
  for (; number > 0x7f; number >>= 7) {
    into += static_cast<char>((number & 0x7f) | 0x80);
  }
  into += static_cast<char>(number);
}

void put(const WireMessage& message, std::string& into);

void put(const WireField& field, std::string& into) {
  const auto put_key = [&](unsigned type) {
    put_varint(std::uint64_t{field.number} << 3 | type, into);
  };
  if (const auto* number = std::get_if<std::uint64_t>(&field.value)) {
    put_key(0);
    put_varint(*number, into);
  } else if (const auto* real = std::get_if<float>(&field.value)) {
    put_key(5);
    char bytes[sizeof(float)];
    std::memcpy(bytes, real, sizeof(float));
    into.append(bytes, sizeof(float));
  } else {
    put_key(2);
    std::string bytes;
    if (const auto* message = std::get_if<WireMessage>(&field.value)) {
      put(*message, bytes);
    } else {
      bytes = std::get<std::string>(field.value);
    }
    put_varint(bytes.size(), into);
    into += bytes;
  }
}

void put(const WireMessage& message, std::string& into) {
  for (const WireField& field : message.fields) {
    put(field, into);
  }
}

}  // namespace

void WireMessage::add(std::uint32_t number, std::uint64_t value) {
  fields.push_back({number, value});
}
void WireMessage::add(std::uint32_t number, float value) {
  fields.push_back({number, value});
}
void WireMessage::add(std::uint32_t number, std::string bytes) {
  fields.push_back({number, std::move(bytes)});
}
void WireMessage::add(std::uint32_t number, WireMessage message) {
  fields.push_back({number, std::move(message)});
}

std::string WireMessage::bytes() const {
  std::string bytes;
  put(*this, bytes);
  return bytes;
}

std::string varints(const std::vector<std::int64_t>& numbers) {
  std::string bytes;
  for (const std::int64_t number : numbers) {
    put_varint(static_cast<std::uint64_t>(number), bytes);
  }
  return bytes;
}

}  // namespace headwise::testing_support
