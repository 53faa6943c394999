#include "checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

namespace headwise::cli {
namespace {

// Edit distance (insert, delete, replace, swap of neighbours).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(
      a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t replace = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

Error unexpected(const std::string& text, Message expected, Message hint = {}) {
  return {ErrorCode::invalid_argument,
          {.given = text.empty() ? Message("is empty") : message("is {}", text),
           .expected = std::move(expected),
           .hint = std::move(hint)}};
}

template <class T>
Check whole_from(T low, std::string_view expected) {
  return [=](std::string& text) -> Status {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::result_out_of_range && stop == end) {
      return unexpected(text, "a number that fits 64 bits");
    }
    if (error != std::errc{} || stop != end || number < low) {
      return unexpected(text, expected);
    }
    text = std::to_string(number);
    return ok();
  };
}

}  // namespace

Check at_least_one() {
  return whole_from<std::size_t>(1, "a whole number, 1 or greater");
}

Check natural_number() {
  return whole_from<std::uint64_t>(0, "a whole number, 0 or greater");
}

Check whole_number() {
  return whole_from(std::numeric_limits<std::int64_t>::min(), "a whole number");
}

Check number_between(double low, double high, std::string_view expected) {
  return [=](std::string& text) -> Status {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool fits =
        error == std::errc{} && stop == end && number >= low && number <= high;
    return fits ? ok() : unexpected(text, expected);
  };
}

Check probability() { return number_between(0, 1, "a number from 0 to 1"); }

Check one_of(std::vector<std::string> names) {
  return [names = std::move(names)](std::string& text) -> Status {
    if (std::ranges::find(names, text) != names.end()) {
      return ok();
    }
    return unexpected(
        text, message("one of {}", fmt::format("{}", fmt::join(names, ", "))),
        did_you_mean(closest(text, names)));
  };
}

Check not_empty() {
  return [](std::string& text) -> Status {
    return text.empty() ? unexpected(text, "a value") : ok();
  };
}

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number)
                                             : std::nullopt;
}

std::string closest(std::string_view given,
                    const std::vector<std::string>& candidates) {
  std::string best;
  // Fewer changes than letters: "fr" is not close to "en".
  std::size_t smallest =
      std::min(std::max<std::size_t>(given.size() / 3, 2) + 1, given.size());
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(given, candidate);
    if (d < smallest) {
      smallest = d;
      best = candidate;
    }
  }
  return best;
}

Message did_you_mean(const std::string& name) {
  return name.empty() ? "" : message("did you mean {}?", name);
}

}  // namespace headwise::cli
