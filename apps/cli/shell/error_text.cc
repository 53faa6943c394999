#include "error_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/words/language.h"
#include "language.h"
#include "message_text.h"
#include "output.h"
#include "read_text.h"

namespace headwise::cli {
namespace {

// Places are texts alone: "line 3" is message("line {}", 3).
std::string clause_text(std::string_view clause) {
  const auto is_known = [](std::string_view form) {
    return translation_of(language(), form, "error").has_value();
  };
  std::size_t at = is_known(clause) ? 0 : clause.rfind(' ');
  for (; at != std::string_view::npos && at != 0;
       at = clause.rfind(' ', at - 1)) {
    const std::string form = std::string(clause.substr(0, at + 1)) + "{}";
    if (is_known(form)) {
      return in_language(message(form, clause.substr(at + 1)));
    }
  }
  // One word is a name.
  return at == 0 && clause.find(' ') != std::string_view::npos
             ? in_language(clause)
             : std::string(clause);
}

// "line 3: tokens[1]", "layer 3, element 5"
std::string place_text(std::string_view place) {
  for (const std::string_view separator : {": ", ", "}) {
    const std::size_t at = place.find(separator);
    if (at != std::string_view::npos) {
      return place_text(place.substr(0, at)) + std::string(separator) +
             place_text(place.substr(at + separator.size()));
    }
  }
  return clause_text(place);
}

// What an error is about: its last part. The parts before it are the place.
struct Subject {
  std::string place;  // "read_npz: q.npz: ", or empty
  std::string name;   // empty: nothing but the operation is known
};

Subject subject_of(const ErrorDetails& is) {
  Subject subject;
  for (const std::string& part :
       {place_text(is.operation),
        is.file == kStandardInput ? place_text(is.file) : is.file,
        place_text(is.entry), place_text(is.argument)}) {
    if (!part.empty()) {
      subject.place += subject.name + (subject.name.empty() ? "" : ": ");
      subject.name = part;
    }
  }
  const bool of_operation =
      is.file.empty() && is.entry.empty() && is.argument.empty();
  if (of_operation && !subject.name.empty()) {
    subject.place = std::exchange(subject.name, "") + ": ";
  }
  return subject;
}

std::string given_sentence(const Error& error, const std::string& subject) {
  const int number = error.details().system_error;
  const Message what = error.what();
  const bool has_words =
      number == 0 || translation_of(language(), what.form(), "error");
  const std::string text = in_language(
      has_words ? what : message("system error {}", number), subject);
  return text.starts_with(subject) ? text : subject + ": " + text;
}

// Whether a sentence says that something is missing: it ends in one of the
// words that the language has for that.
bool is_missing(std::string_view sentence) {
  std::string_view endings =
      translation_of(language(), "(endings of what is missing)", "error")
          .value_or("");
  while (!endings.empty()) {
    const std::size_t end = std::min(endings.find('|'), endings.size());
    if (sentence.ends_with(endings.substr(0, end))) {
      return true;
    }
    endings.remove_prefix(std::min(end + 1, endings.size()));
  }
  return false;
}

// What is missing is needed, what is wrong must be otherwise. What ends in a
// full stop is a sentence of its own.
std::string expected_sentence(std::string_view given, const Message& expected) {
  std::string words = in_language(expected);
  if (words.ends_with('.')) {
    words.pop_back();
    return ". " + words;
  }
  return in_language(is_missing(given) ? message("; {} is needed", expected)
                                       : message(", expected {}", expected));
}

std::string translated_error(const Error& error) {
  const ErrorDetails& is = error.details();
  const auto [place, name] = subject_of(is);
  const std::string given = given_sentence(error, name);
  std::string text = place + given;
  if (is.byte) {
    text += in_language(message(" at byte {}", *is.byte));
  }
  if (!is.expected.empty()) {
    text += expected_sentence(given, is.expected);
  }
  if (!is.hint.empty()) {
    text += in_language(message("; {}", is.hint));
  }
  return text;
}

}  // namespace

std::string error_text(const Error& error) {
  return one_line(language() == Language::en ? error.message()
                                             : translated_error(error));
}

}  // namespace headwise::cli
