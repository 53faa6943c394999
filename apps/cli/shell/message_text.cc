#include "message_text.h"

#include "headwise/words/language.h"
#include "korean_particle.h"
#include "language.h"

namespace headwise::cli {
namespace {

// What is in the braces of a translation: "0", "0:이/가", "s".
std::string value_at(std::string_view hole, const Message& message,
                     std::string_view subject) {
  const std::string value =
      hole.front() == 's'
          ? std::string(subject)
          : in_language(
                message.values()[static_cast<std::size_t>(hole[0] - '0')]);
  return hole.size() > 1 ? with_particle(value, hole.substr(2)) : value;
}

std::string filled(std::string_view translation, const Message& message,
                   std::string_view subject) {
  if (subject.empty() && translation.starts_with("{s")) {
    translation.remove_prefix(translation.find(' ') + 1);
  }
  std::string text;
  while (!translation.empty()) {
    const std::size_t open = translation.find('{');
    text += translation.substr(0, open);
    if (open == std::string_view::npos) {
      break;
    }
    const std::size_t close = translation.find('}', open);
    text += value_at(translation.substr(open + 1, close - open - 1), message,
                     subject);
    translation.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace

std::string in_language(const Message& message, std::string_view subject) {
  const auto translation = translation_of(language(), message.form(), "error");
  return translation ? filled(*translation, message, subject) : message.text();
}

}  // namespace headwise::cli
