// Reads an expression part by part and writes it anew, for rewrite().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "patterns/expression_rewriter.h"
#include "patterns/quantifier.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Groups, or brackets, in each other: functions of Oniguruma call themselves.
inline constexpr std::size_t kDeepestExpression = 200;

struct Group {
  std::size_t begin = 0;            // in the rewritten text
  bool is_extended = false;         // (?x): white space is nothing
  bool ignores_case = false;        // (?i)
  bool gives_nothing_back = false;  // it, or a group around it
  std::uint64_t turns = 1;          // of the counted loops in it, multiplied
};

// Writes the expression once. Loops count their turns, by failing once in each,
// where `counts_turns`; whether they have to is known only at the end.
class ExpressionWriter {
 public:
  ExpressionWriter(std::string_view expression, bool counts_turns)
      : in_(expression), result_{.counts_turns = counts_turns} {}

  // Errors as of rewrite().
  Status run();

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
  std::size_t size_of_number() const;
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

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
