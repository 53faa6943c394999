#include "phrase.h"

#include <algorithm>

#include "headwise/words/translation.h"

#include "korean_particle.h"
#include "language.h"

namespace headwise::cli {
namespace {

using Values = std::vector<std::string_view>;
constexpr std::string_view kHole = "{}";

struct Match {
  std::optional<Translation> phrase{};
  Values values;
};

// How much of a form is not values.
std::size_t words_of_text(std::string_view form) {
  std::size_t length = form.size();
  for (std::size_t at = form.find(kHole); at != std::string_view::npos;
       at = form.find(kHole, at + kHole.size())) {
    length -= kHole.size();
  }
  return length;
}

Match best_match(std::string_view text) {
  Match best;
  for (const Translation& phrase : translations(language(), "error")) {
    if (best.phrase &&
        words_of_text(phrase.english) <= words_of_text(best.phrase->english)) {
      continue;
    }
    if (auto values = values_in(text, phrase.english)) {
      best = {phrase, *std::move(values)};
    }
  }
  return best;
}

// What is in a {} of Korean: "*0:이/가".
std::string value_at(std::string_view hole, const Values& values,
                     std::string_view subject) {
  const bool is_phrase = hole.front() == '*';
  hole.remove_prefix(is_phrase ? 1 : 0);
  const std::string_view plain =
      hole.front() == 's' ? subject
                          : values[static_cast<std::size_t>(hole[0] - '0')];
  const std::string value =
      is_phrase ? korean_parts(plain, "; ") : std::string(plain);
  return hole.size() > 1 ? with_particle(value, hole.substr(2)) : value;
}

std::string filled_phrase(std::string_view korean, const Values& values,
                          std::string_view subject) {
  if (subject.empty() && korean.starts_with("{s")) {
    korean.remove_prefix(korean.find(' ') + 1);
  }
  std::string text;
  while (!korean.empty()) {
    const std::size_t open = korean.find('{');
    text += korean.substr(0, open);
    if (open == std::string_view::npos) {
      break;
    }
    const std::size_t close = korean.find('}', open);
    text +=
        value_at(korean.substr(open + 1, close - open - 1), values, subject);
    korean.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace

std::optional<Values> values_in(std::string_view text, std::string_view form) {
  // Where a value may end in several places the first will do: what follows is
  // found after it as well, and the last words are those that end the text.
  const std::string_view begin = form.substr(0, form.find(kHole));
  if (!text.starts_with(begin)) {
    return std::nullopt;
  }
  text.remove_prefix(begin.size());
  form.remove_prefix(begin.size());
  Values values;
  while (!form.empty()) {
    form.remove_prefix(kHole.size());
    const std::string_view next = form.substr(0, form.find(kHole));
    form.remove_prefix(next.size());
    const std::size_t end = form.empty() && text.ends_with(next)
                                ? text.size() - next.size()
                            : form.empty() ? std::string_view::npos
                                           : text.find(next, 1);
    if (end == std::string_view::npos || end == 0) {
      return std::nullopt;
    }
    values.push_back(text.substr(0, end));
    text.remove_prefix(end + next.size());
  }
  return text.empty() ? std::optional(values) : std::nullopt;
}

std::optional<std::string> korean_phrase(std::string_view text,
                                         std::string_view subject) {
  const Match match = best_match(text);
  return !match.phrase
             ? std::nullopt
             : std::optional(
                   filled_phrase(match.phrase->text, match.values, subject));
}

std::string korean_parts(std::string_view text, std::string_view separator) {
  // A separator may be a phrase's own word. One within a value ends that part.
  const Match whole = best_match(text);
  if (whole.phrase &&
      std::ranges::none_of(whole.values, [&](std::string_view value) {
        return value.find(separator) != std::string_view::npos;
      })) {
    return filled_phrase(whole.phrase->text, whole.values, "");
  }
  const std::size_t end = text.find(separator);
  if (end == std::string_view::npos) {
    return std::string(text);
  }
  return korean_parts(text.substr(0, end), separator) + std::string(separator) +
         korean_parts(text.substr(end + separator.size()), separator);
}

}  // namespace headwise::cli
