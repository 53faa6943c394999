#include "tokenizer/json_part.h"

#include <algorithm>
#include <utility>

#include "interop/error_text.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kLongestValue = 80;

// A value as messages show it.
std::string shown_value(const Json& value) {
  std::string text;
  if (!value.get(text)) {
    text = value.dump();
  }
  return printable(std::string_view(text).substr(0, kLongestValue));
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

}  // namespace

JsonPart JsonPart::at(std::string_view key) const {
  const Json* const value =
      exists() && json_->is_object() ? json_->find(key) : nullptr;
  return {value, subject_, joined(path_, key)};
}

Result<std::vector<JsonPart>> JsonPart::list(std::string_view key) const {
  const JsonPart part = at(key);
  if (!part.exists()) {
    return missing(key);
  }
  if (!part.json().is_array()) {
    return unexpected(key, "a list");
  }
  std::vector<JsonPart> parts;
  for (std::size_t n = 0; n < part.json().size(); ++n) {
    parts.emplace_back(&part.json()[n], subject_,
                       part.path() + "[" + std::to_string(n) + "]");
  }
  return parts;
}

template <class T>
Status JsonPart::get_as(std::string_view key, Message expected, T& into) const {
  const JsonPart part = at(key);
  return !part.exists() || part.json().get(into)
             ? ok()
             : Status(unexpected(key, std::move(expected)));
}

Status JsonPart::get(std::string_view key, bool& into) const {
  return get_as(key, "true or false", into);
}

Status JsonPart::get(std::string_view key, std::string& into) const {
  return get_as(key, "a text", into);
}

Status JsonPart::get(std::string_view key, double& into) const {
  return get_as(key, "a number", into);
}

Status JsonPart::get(std::string_view key, std::size_t& into) const {
  std::uint64_t number = into;
  HEADWISE_TRY(get_as(key, "a whole number of at least 0", number));
  into = number;
  return ok();
}

Status JsonPart::get(std::string_view key,
                     std::optional<std::string>& into) const {
  std::string text;
  HEADWISE_TRY(get(key, text));
  if (at(key).exists()) {
    into = std::move(text);
  }
  return ok();
}

Status JsonPart::get(std::string_view key, char32_t& into) const {
  std::string text;
  HEADWISE_TRY(get(key, text));
  if (!at(key).exists()) {
    return ok();
  }
  if (text.empty() || first_character(text).bytes != text.size()) {
    return unexpected(key, "one character");
  }
  into = first_character(text).code;
  return ok();
}

Status JsonPart::get(std::string_view key,
                     std::span<const std::string_view> names,
                     std::size_t& into) const {
  std::string text;
  HEADWISE_TRY(get(key, text));
  if (!at(key).exists()) {
    return ok();
  }
  const auto found = std::ranges::find(names, std::string_view(text));
  if (found == names.end()) {
    return unexpected(key, Message::verbatim(list_text(names, ", ")));
  }
  into = static_cast<std::size_t>(found - names.begin());
  return ok();
}

Result<std::string> JsonPart::type() const {
  std::string type;
  HEADWISE_TRY(require("type", type));
  return type;
}

Error JsonPart::unexpected(std::string_view key, Message expected,
                           ErrorCode code) const {
  const JsonPart part = at(key);
  return part.fault(message("is {}", shown_value(part.json())),
                    std::move(expected), code);
}

Error JsonPart::fault(Message given, Message expected, ErrorCode code) const {
  const FileSubject about = path_.empty() ? subject_ : subject_.of_entry(path_);
  return about.error(code, std::move(given), std::move(expected));
}

Error JsonPart::missing(std::string_view key) const {
  return fault(message("has no {}", key));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
