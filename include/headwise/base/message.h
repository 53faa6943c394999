// A text of an error that can be translated: its English form, "has {} heads",
// and the values that take the place of each {}. A catalogue knows a message by
// its form, so translations neither read nor repeat what is in the values.
//
// Example:
//   hw::Message a = "is empty";
//   hw::Message b = hw::message("a multiple of {} = {}", "num_heads", 8);
//   std::cerr << b;  // a multiple of num_heads = 8
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Message {
 public:
  Message() = default;  // no text
  // A form without values: a text that no catalogue has stays as it is.
  // NOLINTBEGIN(google-explicit-constructor): `return "is empty"`
  Message(const char* form) : text_(form), form_(form) {}
  Message(std::string_view form) : text_(form), form_(form) {}
  Message(std::string form) : text_(std::move(form)), form_(text_) {}
  // NOLINTEND(google-explicit-constructor)
  // A form with a value for each {}.
  HEADWISE_HIDDEN Message(std::string form, std::vector<Message> values);
  // A name, a number, or a list of them: the same in every language.
  static Message verbatim(std::string text);

  // In English.
  const std::string& text() const { return text_; }
  explicit operator const std::string&() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Empty if the text is the same in every language.
  const std::string& form() const { return form_; }
  std::span<const Message> values() const { return values_; }

  // As bytes, and from them: nothing if they are others.
  std::string packed() const;
  static std::optional<Message> unpacked(std::string_view bytes);

  // Whether the English is the same.
  friend bool operator==(const Message& a, const Message& b) {
    return a.text_ == b.text_;
  }
  // In English.
  friend std::ostream& operator<<(std::ostream& out, const Message& message);

 private:
  std::string text_;
  std::string form_;
  std::vector<Message> values_;
};

namespace detail {

// What takes the place of a {}. It is cheap to compile: there are 800 messages.
struct MessageValue {
  enum class Kind : std::uint8_t { message, character, number, size, name };

  Kind kind;
  std::uint64_t number = 0;
  const Message* message = nullptr;
  std::string_view name{};
};

template <class Value>
MessageValue message_value(const Value& value) {
  using Kind = MessageValue::Kind;
  if constexpr (std::same_as<Value, Message>) {
    return {.kind = Kind::message, .message = &value};
  } else if constexpr (std::integral<Value>) {
    return {.kind = std::same_as<Value, char>     ? Kind::character
                    : std::signed_integral<Value> ? Kind::number
                                                  : Kind::size,
            .number = static_cast<std::uint64_t>(value)};
  } else {  // "num_heads" is a name here, not a form
    return {.kind = Kind::name, .name = value};
  }
}

Message message_of(std::string_view form, std::span<const MessageValue> values);

}  // namespace detail

// Values are numbers, names, and messages, which are translated, too.
template <class... Values>
Message message(std::string_view form, const Values&... values) {
  const std::array<detail::MessageValue, sizeof...(Values)> all = {
      detail::message_value(values)...};
  return detail::message_of(form, all);
}

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
