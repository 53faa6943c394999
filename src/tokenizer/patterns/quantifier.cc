#include "patterns/quantifier.h"

#include <algorithm>
#include <charconv>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// The digits at `at`, which moves behind them. Oniguruma refuses numbers that
// do not fit.
std::optional<std::uint32_t> read_digits(std::string_view text,
                                         std::size_t& at) {
  std::uint32_t number = 0;
  const char* const begin = text.data() + at;
  const auto read = std::from_chars(begin, text.data() + text.size(), number);
  if (read.ptr == begin) {
    return std::nullopt;
  }
  at += static_cast<std::size_t>(read.ptr - begin);
  return number;
}

// {2} {2,} {,3} {2,3}, also {3,2}, which gives nothing back.
std::optional<Quantifier> read_braces(std::string_view text) {
  std::size_t at = 1;
  const auto low = read_digits(text, at);
  const bool has_comma = text.substr(at).starts_with(',');
  at += has_comma ? 1 : 0;
  const auto high = has_comma ? read_digits(text, at) : low;
  if (!text.substr(at).starts_with('}') || (!low && !high)) {
    return std::nullopt;
  }
  Quantifier result{.size = at + 1};
  if (high) {
    result.is_possessive = low.value_or(0) > *high;
    // {0} is a loop of no turns; 1 is near enough.
    result.most = std::max({low.value_or(0), *high, 1U});
  }
  return result;
}

}  // namespace

std::optional<Quantifier> read_quantifier(std::string_view text) {
  std::optional<Quantifier> result;
  if (text.starts_with('{')) {
    result = read_braces(text);
  } else if (text.starts_with('?')) {
    result = {.size = 1, .most = 1};
  } else if (text.starts_with('*') || text.starts_with('+')) {
    result = {.size = 1};
  }
  if (!result) {
    return result;
  }
  const std::string_view after = text.substr(result->size);
  // After braces a + is a quantifier of its own.
  if (after.starts_with('?') ||
      (after.starts_with('+') && !text.starts_with('{'))) {
    result->is_possessive |= after.starts_with('+');
    ++result->size;
  }
  return result;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
