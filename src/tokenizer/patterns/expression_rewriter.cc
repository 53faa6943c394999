#include "patterns/expression_rewriter.h"

#include "patterns/class_expression.h"
#include "patterns/expression_writer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

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

}  // namespace

Status ExpressionWriter::run() {
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

Status ExpressionWriter::step() {
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

void ExpressionWriter::quantify(const Quantifier& quantifier) {
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

Status ExpressionWriter::open_group() {
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
Status ExpressionWriter::open_options() {
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

void ExpressionWriter::close_group() {
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

Result<RewrittenExpression> rewrite(std::string_view expression) {
  ExpressionWriter plain(expression, false);
  HEADWISE_TRY(plain.run());
  if (!plain.must_count()) {
    return std::move(plain).result();
  }
  ExpressionWriter counting(expression, true);
  HEADWISE_TRY(counting.run());
  return std::move(counting).result();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
