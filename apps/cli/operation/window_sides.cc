#include "window_sides.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "comma_parts.h"
#include "option_errors.h"

namespace headwise::cli {
namespace {

// No value: not a whole number, 0 or greater.
std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t keys = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, keys);
  return error == std::errc{} && end == last && keys >= 0 ? std::optional(keys)
                                                          : std::nullopt;
}

}  // namespace

// One number alone is not guessed: some call it the keys on each side, others
// all the keys up to the query.
Result<WindowSides> WindowSides::parse(const std::string& text) {
  const auto wrong = [&] {
    return bad_option("--window", text,
                      "LEFT,RIGHT or LEFT,RIGHT,KEEP_FIRST, whole numbers of 0 "
                      "or greater; a side may be inf, such as 128,0 or "
                      "128,inf");
  };
  const std::vector<std::string_view> parts = comma_parts(text);
  if (parts.size() < 2 || parts.size() > 3) {
    return wrong();
  }
  WindowSides sides;
  for (const auto& [part, side] :
       {std::pair(parts[0], &sides.left), {parts[1], &sides.right}}) {
    if (part != "inf") {
      *side = count_of(part);
      if (!*side) {
        return wrong();
      }
    }
  }
  if (parts.size() == 3) {
    const auto keep_first = count_of(parts[2]);
    if (!keep_first) {
      return wrong();
    }
    sides.keep_first = *keep_first;
  }
  return sides;
}

KeyBand band_of(const std::optional<WindowSides>& window, bool causal) {
  KeyBand band = window
                     ? KeyBand{window->left, window->right, window->keep_first}
                     : KeyBand();
  if (causal) {
    band.right = 0;
  }
  return band;
}

}  // namespace headwise::cli
