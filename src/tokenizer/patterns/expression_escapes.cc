// Escapes and classes in brackets.
#include "patterns/class_expression.h"
#include "patterns/expression_writer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The escape of a character by its number: \x41 \x{41} \u0041 \o{101} \0101.
std::size_t ExpressionWriter::size_of_number() const {
  const char letter = in_[at_ + 1];
  const std::string_view digits = rest().substr(2);
  if (digits.starts_with('{') && (letter == 'x' || letter == 'o')) {
    return size_to('}', 3);
  }
  const std::size_t most = letter == 'u' ? 4 : letter == 'o' ? 0 : 2;
  const std::size_t end = digits.find_first_not_of(
      letter == '0' ? "01234567" : "0123456789abcdefABCDEF");
  return 2 + std::min({end, digits.size(), most});
}

Status ExpressionWriter::escape() {
  begin_atom();
  if (at_ + 1 == in_.size()) {
    copy(1);
    return ok();
  }
  const char letter = in_[at_ + 1];
  switch (letter) {
    case 'p':
    case 'P':
      if (rest().substr(2).starts_with('{')) {
        return property();
      }
      break;
    case 'x':
    case 'o':
    case 'u':
    case '0':
      copy(size_of_number());
      return ok();
    case 'c':
    case 'C':
    case 'M':
      control_character();
      return ok();
    default:
      break;
  }
  if (std::string_view("wWdDsS").find(letter) != std::string_view::npos ||
      !in_bracket_) {
    return shorthand();
  }
  copy(2);
  return ok();
}

// \p{Lu} \P{Lu} \p{^Lu}
Status ExpressionWriter::property() {
  const std::size_t size = size_to('}', 3);
  std::string_view name = in_.substr(at_ + 3, size - 4);
  bool negated = in_[at_ + 1] == 'P';
  if (name.starts_with('^')) {
    negated = !negated;
    name.remove_prefix(1);
  }
  const std::string text = class_expression(name, negated, in_bracket_);
  if (text.empty()) {
    return Error(ErrorCode::invalid_argument,
                 {.given = message("has an unknown property, {}", name)});
  }
  put_class(text, size);
  return ok();
}

// The classes of one letter, word boundaries and what has no class.
Status ExpressionWriter::shorthand() {
  const char letter = in_[at_ + 1];
  switch (letter) {
    case 'w':
    case 'W':
      put_class(class_expression("word", letter == 'W', in_bracket_), 2);
      return ok();
    case 'd':
    case 'D':
      put_class(class_expression("digit", letter == 'D', in_bracket_), 2);
      return ok();
    case 's':
    case 'S':
      put_class(class_expression("space", letter == 'S', in_bracket_), 2);
      return ok();
    case 'b':
    case 'B':
      replace(2, word_boundary_expression(letter == 'B'));
      return ok();
    case 'R':  // not as the library says it, which a loop would skip
      replace(2, R"((?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]))");
      return ok();
    case 'X':
    case 'y':
    case 'Y':
      return unsupported(
          "has \\X, \\y or \\Y (whole letters), which is not supported");
    case 'g':
      return unsupported("calls a group (\\g), which is not supported");
    case 'k':
      return backreference();
    default:
      break;
  }
  if (letter >= '1' && letter <= '9') {
    return backreference();
  }
  copy(2);
  return ok();
}

// \1 or \k<name>. How long the comparison takes depends on the text, so that
// something has to count it.
Status ExpressionWriter::backreference() {
  std::size_t size = 2;
  if (in_[at_ + 1] == 'k') {
    const char open = at_ + 2 < in_.size() ? in_[at_ + 2] : '\0';
    if (open != '<' && open != '\'') {
      copy(2);
      return ok();
    }
    size = size_to(open == '<' ? '>' : '\'', 3);
  } else if (at_ + 2 < in_.size() && in_[at_ + 2] >= '0' &&
             in_[at_ + 2] <= '9') {
    return unsupported("has a number of two digits after a backslash");
  }
  result_.text += "(?:";
  result_.text += kCountComparison;
  copy(size);
  result_.text += ')';
  return ok();
}

// \cX \C-X \M-X, where X may itself be escaped.
void ExpressionWriter::control_character() {
  while (rest().size() > 1 && in_[at_] == '\\') {
    const char letter = in_[at_ + 1];
    copy(letter == 'C' || letter == 'M' ? 3 : 2);
    if (letter != 'C' && letter != 'M' && letter != 'c') {
      return;
    }
  }
  copy(1);
}

Status ExpressionWriter::bracket() {
  begin_atom();
  in_bracket_ = true;
  std::size_t depth = 0;
  const std::size_t begin = *atom_;
  do {
    HEADWISE_TRY(bracket_step(depth));
  } while (depth > 0 && at_ < in_.size());
  in_bracket_ = false;
  atom_ = begin;
  return ok();
}

Status ExpressionWriter::bracket_step(std::size_t& depth) {
  const std::string_view text = rest();
  if (text.starts_with('\\')) {
    return escape();
  }
  if (text.starts_with("[:") && depth > 0) {
    const std::size_t end =
        text.find_first_not_of("^abcdefghijklmnopqrstuvwxyz", 2);
    if (end != std::string_view::npos && text.substr(end).starts_with(":]")) {
      posix_class(end + 2);
      return ok();
    }
  }
  if (!text.starts_with('[')) {
    depth -= text.starts_with(']') ? 1 : 0;
    copy(1);
    return ok();
  }
  if (++depth > kDeepestExpression) {
    return unsupported("has too many brackets in each other");
  }
  copy(text.starts_with("[^") ? 2 : 1);
  if (rest().starts_with(']')) {  // a literal
    copy(1);
  }
  return ok();
}

// [:alpha:] or [:^alpha:], in brackets.
void ExpressionWriter::posix_class(std::size_t size) {
  std::string_view name = in_.substr(at_ + 2, size - 4);
  const bool negated = name.starts_with('^');
  name.remove_prefix(negated ? 1 : 0);
  if (name == "punct") {
    name = "posixpunct";
  }
  // An unknown name stays, for Oniguruma to refuse it.
  const std::string text = class_expression(name, negated, true);
  replace(size, text.empty() ? in_.substr(at_, size) : text);
}

// The library may not know the name of a property that the reference knows.
void ExpressionWriter::put_class(std::string_view text, std::size_t count) {
  const bool is_property = count > 2;
  // Only brackets of the expression itself ignore the case.
  const bool keeps_case = !in_bracket_ && groups_.back().ignores_case;
  result_.text += keeps_case ? "(?-i:" : "";
  result_.text += text;
  result_.text += keeps_case ? ")" : "";
  result_.to_check += is_property ? "\\p{L}" : in_.substr(at_, count);
  at_ += count;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
