#include "interop/json_part.h"

#include <utility>

#include "interop/error_text.h"
#include "interop/utf8.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

// A value as messages show it.
std::string shown_json(const Json& value) {
  constexpr std::size_t kLongestValue = 80;
  return printable(value.dump().substr(0, kLongestValue));
}

// Each takes a value, or says what it expected.
Message take_value(const Json& value, bool& into) {
  return value.get(into) ? "" : "true or false";
}
Message take_value(const Json& value, std::string& into) {
  return value.get(into) ? "" : "a text";
}
Message take_value(const Json& value, double& into) {
  return value.get(into) ? "" : "a number";
}
Message take_value(const Json& value, std::size_t& into) {
  std::uint64_t number = 0;
  const bool fits = value.get(number);
  into = number;
  return fits ? "" : "a whole number of at least 0";
}
template <class T>
Message take_value(const Json& value, std::optional<T>& into) {
  return take_value(value, into.emplace());
}
Message take_value(const Json& value, char32_t& into) {
  std::string text;
  if (!value.get(text)) {
    return "a text";
  }
  const auto first = decode_utf8(text);
  into = first ? first->code : 0;
  return first && first->bytes == text.size() ? "" : "one character";
}

}  // namespace

JsonPart JsonPart::at(std::string_view key) const {
  const Json* const value =
      exists() && json_->is_object() ? json_->find(key) : nullptr;
  return {value, subject_,
          path_ + (path_.empty() ? "" : ".") + std::string(key)};
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
Status JsonPart::get(std::string_view key, T& into) const {
  const JsonPart part = at(key);
  Message expected = part.exists() ? take_value(part.json(), into) : Message();
  return expected.empty() ? ok() : Status(unexpected(key, std::move(expected)));
}
template Status JsonPart::get(std::string_view, bool&) const;
template Status JsonPart::get(std::string_view, double&) const;
template Status JsonPart::get(std::string_view, std::size_t&) const;
template Status JsonPart::get(std::string_view, std::string&) const;
template Status JsonPart::get(std::string_view,
                              std::optional<std::string>&) const;
template Status JsonPart::get(std::string_view, std::optional<double>&) const;
template Status JsonPart::get(std::string_view,
                              std::optional<std::size_t>&) const;
template Status JsonPart::get(std::string_view, char32_t&) const;

Status JsonPart::get(std::string_view key,
                     std::span<const std::string_view> names,
                     std::size_t& into) const {
  std::optional<std::string> text;
  HEADWISE_TRY(get(key, text));
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (text == names[n]) {
      into = n;
      return ok();
    }
  }
  return text ? Status(
                    unexpected(key, Message::verbatim(list_text(names, ", "))))
              : ok();
}

Error JsonPart::unexpected(std::string_view key, Message expected,
                           ErrorCode code) const {
  const JsonPart part = at(key);
  return part.fault(message("is {}", shown_json(part.json())),
                    std::move(expected), code);
}

Error JsonPart::fault(Message given, Message expected, ErrorCode code) const {
  const FileSubject about = path_.empty() ? subject_ : subject_.of_entry(path_);
  return about.error(code, std::move(given), std::move(expected));
}

}  // namespace headwise::internal::inline HEADWISE_ABI
