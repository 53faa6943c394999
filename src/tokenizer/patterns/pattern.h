// Regular expressions as the reference runs them: the syntax of Oniguruma
// (Ruby), with the character classes of Unicode 16, which are those of its
// engine and not of this machine's library. Expressions of well-known models
// are run by state machines (known_patterns.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The bytes [begin, end) of a text.
struct Match {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool operator==(const Match&) const = default;
};

class Pattern {
 public:
  // Errors, with the expression: invalid_argument if it is wrong; unsupported
  // if it uses a feature that headwise does not support.
  static Result<Pattern> compile(std::string_view expression);
  // This text, literally.
  static Pattern literal(std::string_view text);

  // All matches from left to right, empty ones included, in place of what
  // `matches` has. `text` is valid UTF-8. May be called by several threads at
  // once. Errors: unsupported, with the expression, where the search takes more
  // steps or memory than its limits.
  Status find(std::string_view text, std::vector<Match>& matches) const {
    matches.clear();
    return find_(text, matches);
  }

 private:
  // Appends the matches.
  using Find = std::function<Status(std::string_view, std::vector<Match>&)>;
  explicit Pattern(Find find) : find_(std::move(find)) {}
  Find find_;
};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
