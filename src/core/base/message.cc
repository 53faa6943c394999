#include "headwise/base/message.h"

#include <charconv>
#include <ostream>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kHole = "{}";

std::string filled(std::string_view form, std::span<const Message> values) {
  std::string text;
  for (const Message& value : values) {
    const std::size_t at = form.find(kHole);
    text.append(form.substr(0, at)).append(value.text());
    form.remove_prefix(at + kHole.size());
  }
  return text.append(form);
}

// Texts and numbers after the length of each: "8:is empty0:".
void add(std::string& bytes, std::string_view text) {
  bytes.append(std::to_string(text.size())).append(":").append(text);
}

std::optional<std::size_t> take_number(std::string_view& bytes) {
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
  const auto length = static_cast<std::size_t>(end - bytes.data());
  if (error != std::errc() || length == bytes.size() || *end != ':') {
    return std::nullopt;
  }
  bytes.remove_prefix(length + 1);
  return number;
}

std::optional<std::string> take(std::string_view& bytes) {
  const auto size = take_number(bytes);
  if (!size || *size > bytes.size()) {
    return std::nullopt;
  }
  std::string text(bytes.substr(0, *size));
  bytes.remove_prefix(*size);
  return text;
}

void pack(std::string& bytes, const Message& message) {
  const bool has_form = !message.form().empty();
  add(bytes, has_form ? message.form() : message.text());
  bytes += has_form ? 'f' : 't';
  bytes.append(std::to_string(message.values().size())).append(":");
  for (const Message& value : message.values()) {
    pack(bytes, value);
  }
}

std::size_t holes(std::string_view form) {
  std::size_t count = 0;
  for (std::size_t at = form.find(kHole); at != std::string_view::npos;
       at = form.find(kHole, at + kHole.size())) {
    ++count;
  }
  return count;
}

std::optional<Message> unpack(std::string_view& bytes, int deepest) {
  auto text = take(bytes);
  if (!text || bytes.empty() || deepest == 0) {
    return std::nullopt;
  }
  const bool has_form = bytes.front() == 'f';
  bytes.remove_prefix(1);
  const auto count = take_number(bytes);
  if (!count || (*count != 0 && (!has_form || *count != holes(*text)))) {
    return std::nullopt;
  }
  std::vector<Message> values;
  for (std::size_t n = 0; n < *count; ++n) {
    auto value = unpack(bytes, deepest - 1);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*std::move(value));
  }
  return has_form ? Message(*std::move(text), std::move(values))
                  : Message::verbatim(*std::move(text));
}

Message message_from(const detail::MessageValue& value) {
  using Kind = detail::MessageValue::Kind;
  switch (value.kind) {
    case Kind::message:
      return *value.message;
    case Kind::character:
      return Message::verbatim(std::string(1, static_cast<char>(value.number)));
    case Kind::number:
      return Message::verbatim(
          std::to_string(static_cast<std::int64_t>(value.number)));
    case Kind::size:
      return Message::verbatim(std::to_string(value.number));
    default:
      return Message::verbatim(std::string(value.name));
  }
}

}  // namespace

Message Message::verbatim(std::string text) {
  Message message;
  message.text_ = std::move(text);
  return message;
}

Message::Message(std::string form, std::vector<Message> values)
    : text_(filled(form, values)),
      form_(std::move(form)),
      values_(std::move(values)) {}

Message detail::message_of(std::string_view form,
                           std::span<const MessageValue> values) {
  std::vector<Message> messages;
  messages.reserve(values.size());
  for (const MessageValue& value : values) {
    messages.push_back(message_from(value));
  }
  return {std::string(form), std::move(messages)};
}

std::ostream& operator<<(std::ostream& out, const Message& message) {
  return out << message.text();
}

std::string Message::packed() const {
  std::string bytes;
  pack(bytes, *this);
  return bytes;
}

std::optional<Message> Message::unpacked(std::string_view bytes) {
  constexpr int kDeepest = 16;
  auto message = unpack(bytes, kDeepest);
  return bytes.empty() ? message : std::nullopt;
}

}  // namespace headwise::inline HEADWISE_ABI
