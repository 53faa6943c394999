#include "patterns/expression_rewriter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kLongestRewritten = std::size_t{2} << 20U;
// Atoms in a row that need no count.
constexpr unsigned kUncountedAtoms = 8;
// Escapes that are left to the library; \b in brackets only.
constexpr std::string_view kPlainEscapes = "_bntrfvaehHAzZNO";

// Begins a group that fails once before it goes on: no character matches the
// brackets.
constexpr std::string_view kCount = R"((?:[^\x{0}-\x{10ffff}]|)";

bool has(std::string_view characters, char character) {
  return characters.find(character) != std::string_view::npos;
}

// The bytes of the quantifier that a text begins with: ? * + {2} {2,} {,3}
// {2,3}, and what may follow it, ? (as few as possible) or + (for good). 0: it
// begins with none; a brace that belongs to none is a literal.
std::size_t size_of_quantifier(std::string_view text) {
  if (text.front() != '{') {
    const bool is_long = text.size() > 1 && has("?+", text[1]);
    return !has("?*+", text.front()) ? 0 : is_long ? 2 : 1;
  }
  const std::size_t end =
      std::min(text.find_first_not_of("0123456789,", 1), text.size());
  const std::string_view numbers = text.substr(1, end - 1);
  if (!text.substr(end).starts_with('}') ||
      std::ranges::count(numbers, ',') > 1 ||
      numbers.find_first_not_of(',') == std::string_view::npos) {
    return 0;
  }
  // Here a + is a quantifier of its own.
  return end + (text.substr(end + 1).starts_with('?') ? 2 : 1);
}

// The bytes of \x41 \x{41} \u0041.
std::size_t size_of_number(std::string_view text) {
  if (text.substr(2).starts_with('{')) {
    return std::min(text.find('}'), text.size() - 1) + 1;
  }
  return std::min({text.find_first_not_of("0123456789abcdefABCDEF", 2),
                   text.size(), std::size_t{text[1] == 'u' ? 6U : 4U}});
}

Error unsupported_part(Message what) {
  return {ErrorCode::unsupported, {.given = std::move(what)}};
}

// Reads an expression part by part and writes it anew.
class ExpressionRewriter {
 public:
  ExpressionRewriter(std::string_view expression, bool counts_turns)
      : rest_(expression), counts_turns_(counts_turns) {}

  Status run() {
    while (!rest_.empty()) {
      HEADWISE_TRY(step());
      if (text_.size() > kLongestRewritten) {
        return unsupported_part("is too long");
      }
    }
    return ok();
  }

  bool must_count() const { return must_count_; }
  std::string text() && { return std::move(text_); }

 private:
  struct Group {
    std::size_t begin = 0;            // in the rewritten text
    bool gives_nothing_back = false;  // it, or a group around it
  };

  // Writes something else for the next `size` bytes.
  Status replace(std::size_t size, std::string_view with) {
    text_ += with;
    rest_.remove_prefix(std::min(size, rest_.size()));
    return ok();
  }
  Status copy(std::size_t size) { return replace(size, rest_.substr(0, size)); }

  Status step() {
    const char next = rest_.front();
    if (const std::size_t size = size_of_quantifier(rest_)) {
      return quantify(size);
    }
    if (next == ')') {
      return close_group();
    }
    if (continues_character(next)) {
      return copy(1);
    }
    atoms_ = next == '|' ? 0 : atoms_ + 1;
    if (atoms_ > kUncountedAtoms) {
      must_count_ = true;
      atoms_ = 0;
      text_ += counts_turns_ ? std::string(kCount) + ")" : "";
    }
    atom_ = text_.size();
    is_one_character_ = true;
    return next == '\\'  ? escape()
           : next == '[' ? bracket()
           : next == '(' ? open_group()
                         : copy(1);
  }

  // Turns are counted where a loop does not give them back one by one, which
  // would count them, too. Less than ten turns of one character need no count.
  Status quantify(std::size_t size) {
    const std::string_view loop = rest_.substr(0, size);
    const bool has_few_turns =
        is_one_character_ &&
        (loop.size() == 3 || (loop.size() <= 5 && has(loop, ',')));
    if (loop.front() != '?') {
      must_count_ |=
          groups_.back().gives_nothing_back ||
          (loop.front() == '{' ? !has_few_turns : has(loop.substr(1), '+'));
      if (counts_turns_) {
        text_.insert(atom_, kCount);
        text_ += ')';
      }
    }
    is_one_character_ = false;
    return copy(size);
  }

  Status open_group() {
    groups_.push_back({text_.size(), groups_.back().gives_nothing_back});
    if (!rest_.starts_with("(?") && !rest_.starts_with("(*")) {
      return copy(1);
    }
    const std::size_t end =
        std::min(rest_.find_first_not_of("im-", 2), rest_.size());
    const std::string_view options = rest_.substr(2, end - 2);
    const std::string_view kind = rest_.substr(end, 2);
    if (rest_[1] == '*' || kind.empty() ||
        !has(options.empty() ? ":=!><'" : ":)", kind.front())) {
      return unsupported_part(
          message("has a group that begins with {}, which is not supported",
                  rest_.substr(0, end + 1)));
    }
    ignores_case_ |= has(options, 'i');
    groups_.back().gives_nothing_back |=
        has("=!>", kind.front()) || kind == "<=" || kind == "<!";
    return copy(kind.front() == ')' ? end : end + 1);
  }

  Status close_group() {
    if (groups_.size() > 1) {
      atom_ = groups_.back().begin;
      is_one_character_ = false;
      groups_.pop_back();
    }
    return copy(1);
  }

  Status bracket() {
    std::size_t depth = 0;
    in_bracket_ = true;
    do {
      if (rest_.starts_with("[:") && depth > 0) {
        if (rest_.find(":]") == rest_.npos) {
          return unsupported_part("has [: in brackets, which is not supported");
        }
        HEADWISE_TRY(put_class(2, ":]", false));
      } else if (rest_.starts_with('\\')) {
        HEADWISE_TRY(escape());
      } else if (rest_.starts_with('[')) {
        ++depth;
        HEADWISE_TRY(copy(rest_.starts_with("[^") ? 2 : 1));
        HEADWISE_TRY(copy(rest_.starts_with(']') ? 1 : 0));  // a literal
      } else {
        depth -= rest_.starts_with(']') ? 1 : 0;
        HEADWISE_TRY(copy(1));
      }
    } while (depth > 0 && !rest_.empty());
    in_bracket_ = false;
    return ok();
  }

  Status escape() {
    const char letter = rest_.size() > 1 ? rest_[1] : '\0';
    const bool is_capital = letter >= 'A' && letter <= 'Z';
    if (has("pP", letter) && rest_.substr(2).starts_with('{')) {
      return put_class(3, "}", is_capital);
    }
    if (has("wWdDsS", letter)) {
      return replace_class(2,
                           has("wW", letter)   ? "word"
                           : has("dD", letter) ? "digit"
                                               : "space",
                           is_capital);
    }
    if (has("bB", letter) && !in_bracket_) {
      return replace(2, word_boundary(is_capital));
    }
    if (has("xu", letter)) {
      return copy(size_of_number(rest_));
    }
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x80 && is_word(code) && !has(kPlainEscapes, letter)) {
      return unsupported_part(
          message("has {}, which is not supported", rest_.substr(0, 2)));
    }
    return copy(2);
  }

  // The class whose name, or ^ and its name, is between `begin` and `close`.
  Status put_class(std::size_t begin, std::string_view close, bool negated) {
    const std::size_t end = std::min(rest_.find(close), rest_.size());
    const bool is_not = rest_.substr(begin).starts_with('^');
    const auto name = rest_.substr(begin + is_not, end - begin - is_not);
    return replace_class(end + close.size(),
                         close == ":]" && name == "punct" ? "posixpunct" : name,
                         negated != is_not);
  }

  Status replace_class(std::size_t size, std::string_view name, bool negated) {
    const std::string text = class_expression(name, negated, in_bracket_);
    if (text.empty()) {
      return Error(ErrorCode::invalid_argument,
                   {.given = message("has an unknown property, {}", name)});
    }
    // Only brackets of the expression itself ignore the case.
    return replace(size,
                   ignores_case_ && !in_bracket_ ? "(?-i:" + text + ")" : text);
  }

  std::string_view rest_;
  std::string text_;
  bool counts_turns_;
  bool must_count_ = false;
  bool ignores_case_ = false;  // somewhere before
  bool in_bracket_ = false;
  std::vector<Group> groups_{1};
  unsigned atoms_ = 0;  // in a row
  // What a quantifier would repeat.
  std::size_t atom_ = 0;
  bool is_one_character_ = true;
};

}  // namespace

Result<std::string> rewrite_expression(std::string_view expression) {
  ExpressionRewriter plain(expression, false);
  HEADWISE_TRY(plain.run());
  ExpressionRewriter counting(expression, true);
  HEADWISE_TRY(counting.run());
  return std::move(plain.must_count() ? counting : plain).text();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
