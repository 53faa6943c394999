// A protobuf message as a tree of fields, written as protobuf writes it. It
// holds what no class of protobuf would: any number, any type, any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headwise::testing_support {

struct WireField;

struct WireMessage {
  std::vector<WireField> fields;

  void add(std::uint32_t number, std::uint64_t value);
  void add(std::uint32_t number, float value);
  void add(std::uint32_t number, std::string bytes);
  void add(std::uint32_t number, WireMessage message);

  std::string bytes() const;
};

struct WireField {
  std::uint32_t number = 0;
  std::variant<std::uint64_t, float, std::string, WireMessage> value;
};

// Numbers one after another, as packed fields have them.
std::string varints(const std::vector<std::int64_t>& numbers);

}  // namespace headwise::testing_support
