#include "patterns/expression_rewriter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "patterns/class_expression.h"
#include "patterns/quantifier.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// Groups and brackets in each other: functions of Oniguruma call themselves.
constexpr std::size_t kDeepestExpression = 200;
constexpr std::size_t kLongestRewritten = std::size_t{8} << 20U;
// Under (?i) Oniguruma takes much longer to compile.
constexpr std::size_t kLongestFolded = std::size_t{4} << 10U;
constexpr std::size_t kLongestFoldedRewritten = std::size_t{1} << 20U;
// Turns of counted loops in each other before they are counted.
constexpr std::uint64_t kUncountedTurns = 64;
constexpr std::uint64_t kMostTurns = 1'000'000'000;
// Options that this can follow; others are known to Oniguruma.
constexpr std::string_view kOptions = "imx-";
constexpr std::string_view kOtherOptions = "WDSPILCy";

struct Group {
  std::size_t begin = 0;            // in the rewritten text
  bool is_extended = false;         // (?x): white space is nothing
  bool ignores_case = false;        // (?i)
  bool gives_nothing_back = false;  // it, or a group around it
  std::uint64_t turns = 1;          // of the counted loops in it, multiplied
};

// Writes the expression once. Loops count their turns, by failing once in each,
// where `counts_turns`; whether they have to is known only at the end.
class ExpressionRewriter {
 public:
  ExpressionRewriter(std::string_view expression, bool counts_turns)
      : in_(expression), result_{.counts_turns = counts_turns} {}

  Status run() {
    while (at_ < in_.size()) {
      HEADWISE_TRY(step());
      if (result_.text.size() >
              (has_folded_ ? kLongestFoldedRewritten : kLongestRewritten) ||
          (has_folded_ && in_.size() > kLongestFolded)) {
        return unsupported("is too long");
      }
    }
    return ok();
  }

  bool must_count() const { return must_count_; }
  RewrittenExpression result() && { return std::move(result_); }

 private:
  static Status unsupported(Message what) {
    return Error(ErrorCode::unsupported, {.given = std::move(what)});
  }
  std::string_view rest() const { return in_.substr(at_); }
  // Copies the next `count` bytes.
  void copy(std::size_t count) {
    const std::string_view bytes = in_.substr(at_, count);
    result_.text += bytes;
    result_.to_check += bytes;
    at_ += bytes.size();
  }
  // Writes something else for the next `count` bytes.
  void replace(std::size_t count, std::string_view with) {
    result_.text += with;
    result_.to_check += in_.substr(at_, count);
    at_ += count;
  }
  // The number of bytes up to and with the next `end`, or all.
  std::size_t size_to(char end, std::size_t from) const {
    const std::size_t found = in_.find(end, at_ + from);
    return std::min(found, in_.size() - 1) + 1 - at_;
  }
  void begin_atom() {
    atom_ = result_.text.size();
    atom_turns_ = 1;
  }

  Status step();
  Status open_group();
  Status open_options();
  void close_group();
  void quantify(const Quantifier& quantifier);
  Status escape();
  Status property();
  Status backreference();
  Status shorthand();
  void control_character();
  Status bracket();
  Status bracket_step(std::size_t& depth);
  void posix_class(std::size_t size);
  void put_class(std::string_view text, std::size_t count);

  std::string_view in_;
  std::size_t at_ = 0;
  RewrittenExpression result_;
  bool must_count_ = false;
  bool has_folded_ = false;
  bool in_bracket_ = false;
  std::vector<Group> groups_{1};
  // What a quantifier would repeat begins here.
  std::optional<std::size_t> atom_;
  std::uint64_t atom_turns_ = 1;
};

Status ExpressionRewriter::step() {
  const char next = in_[at_];
  if (const auto quantifier = read_quantifier(rest()); quantifier && atom_) {
    quantify(*quantifier);
    return ok();
  }
  switch (next) {
    case '\\':
      return escape();
    case '[':
      return bracket();
    case '(':
      return open_group();
    case ')':
      close_group();
      return ok();
    case '|':
      atom_.reset();
      copy(1);
      return ok();
    default:
      break;
  }
  if (groups_.back().is_extended && next == '#') {
    copy(size_to('\n', 0));
    return ok();
  }
  constexpr std::string_view kIgnored = " \t\n\r\f";
  if (!groups_.back().is_extended ||
      kIgnored.find(next) == std::string_view::npos) {
    // Also for each byte of a character: only the last counts.
    if ((static_cast<unsigned char>(next) & 0xC0U) != 0x80U) {
      begin_atom();
    }
  }
  copy(1);
  return ok();
}

void ExpressionRewriter::quantify(const Quantifier& quantifier) {
  Group& group = groups_.back();
  const bool is_group = result_.text[*atom_] == '(';
  const bool is_endless = quantifier.most == 0;
  const std::uint64_t turns = std::min(
      atom_turns_ * std::max(quantifier.most, std::uint32_t{1}), kMostTurns);
  const bool is_long = is_endless || turns > kUncountedTurns;
  must_count_ |=
      is_long && (group.gives_nothing_back || quantifier.is_possessive ||
                  (is_group && !is_endless));
  if (result_.counts_turns && is_long) {
    result_.text.insert(*atom_, "(?:" + std::string(kNothing) + "|");
    result_.text += ')';
  }
  copy(quantifier.size);
  atom_turns_ = turns;
  group.turns = std::max(group.turns, turns);
}

Status ExpressionRewriter::open_group() {
  const std::string_view text = rest();
  if (text.starts_with("(?#")) {
    std::size_t end = 3;
    while (end < text.size() && text[end] != ')') {
      end += text[end] == '\\' ? 2 : 1;
    }
    copy(std::min(end + 1, text.size()));
    return ok();
  }
  if (text.starts_with("(?{") || text.starts_with("(*")) {
    return unsupported("has a callout, which is not supported");
  }
  if (text.starts_with("(?~")) {
    return unsupported("has an absent group, which is not supported");
  }
  if (text.starts_with("(?(")) {
    return unsupported("has a condition, which is not supported");
  }
  if (groups_.size() > kDeepestExpression) {
    return unsupported("has too many groups in each other");
  }
  groups_.push_back(groups_.back());
  Group& group = groups_.back();
  group.begin = result_.text.size();
  group.turns = 1;
  atom_.reset();
  for (const std::string_view opening : {"(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
    if (text.starts_with(opening)) {
      group.gives_nothing_back = true;
      copy(opening.size());
      return ok();
    }
  }
  if (text.starts_with("(?<") || text.starts_with("(?'")) {
    copy(size_to(text[2] == '<' ? '>' : '\'', 3));
    return ok();
  }
  if (text.starts_with("(?")) {
    return open_options();
  }
  copy(1);
  return ok();
}

// (?i-m: or (?i-m)
Status ExpressionRewriter::open_options() {
  copy(2);
  bool is_on = true;
  Group& group = groups_.back();
  while (at_ < in_.size() &&
         kOptions.find(in_[at_]) != std::string_view::npos) {
    const char option = in_[at_];
    is_on = is_on && option != '-';
    if (option == 'x') {
      group.is_extended = is_on;
    } else if (option == 'i') {
      group.ignores_case = is_on;
      has_folded_ |= is_on;
    }
    copy(1);
  }
  if (at_ < in_.size() &&
      kOtherOptions.find(in_[at_]) != std::string_view::npos) {
    return unsupported("has an option other than i, m and x");
  }
  if (rest().starts_with(')')) {  // for the rest of the group around it
    const Group options = group;
    groups_.pop_back();
    groups_.back().is_extended = options.is_extended;
    groups_.back().ignores_case = options.ignores_case;
  }
  if (at_ < in_.size()) {
    copy(1);
  }
  return ok();
}

void ExpressionRewriter::close_group() {
  copy(1);
  if (groups_.size() == 1) {
    return;  // refused by Oniguruma
  }
  const Group closed = groups_.back();
  groups_.pop_back();
  groups_.back().turns = std::max(groups_.back().turns, closed.turns);
  atom_ = closed.begin;
  atom_turns_ = closed.turns;
}

Status ExpressionRewriter::escape() {
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
      if (rest().substr(2).starts_with('{')) {
        copy(size_to('}', 3));
        return ok();
      }
      break;
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
Status ExpressionRewriter::property() {
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
Status ExpressionRewriter::shorthand() {
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
Status ExpressionRewriter::backreference() {
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
void ExpressionRewriter::control_character() {
  while (rest().size() > 1 && in_[at_] == '\\') {
    const char letter = in_[at_ + 1];
    copy(letter == 'C' || letter == 'M' ? 3 : 2);
    if (letter != 'C' && letter != 'M' && letter != 'c') {
      return;
    }
  }
  copy(1);
}

Status ExpressionRewriter::bracket() {
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

Status ExpressionRewriter::bracket_step(std::size_t& depth) {
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
void ExpressionRewriter::posix_class(std::size_t size) {
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
void ExpressionRewriter::put_class(std::string_view text, std::size_t count) {
  const bool is_property = count > 2;
  // Only brackets of the expression itself ignore the case.
  const bool keeps_case = !in_bracket_ && groups_.back().ignores_case;
  result_.text += keeps_case ? "(?-i:" : "";
  result_.text += text;
  result_.text += keeps_case ? ")" : "";
  result_.to_check += is_property ? "\\p{L}" : in_.substr(at_, count);
  at_ += count;
}

}  // namespace

Result<RewrittenExpression> rewrite(std::string_view expression) {
  ExpressionRewriter plain(expression, false);
  HEADWISE_TRY(plain.run());
  if (!plain.must_count()) {
    return std::move(plain).result();
  }
  ExpressionRewriter counting(expression, true);
  HEADWISE_TRY(counting.run());
  return std::move(counting).result();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
