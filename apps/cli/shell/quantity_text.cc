#include "quantity_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "say.h"

namespace headwise::cli {

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string_view plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

std::string signed_text(double number, int digits) {
  std::string text = fmt::format("{:+.{}f}", number, digits);
  if (text.find_first_not_of("-0.") == std::string::npos) {
    text.front() = '+';
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB",
                                 "TiB",   "PiB", "EiB"};
  constexpr double kStep = 1024;
  std::size_t unit = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    bytes /= kStep;
    ++unit;
  }
  return unit == 0 ? say("{:.0f} bytes", bytes)
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  constexpr double kMany = 1000;
  if (seconds >= kMany && seconds < 1e18) {
    return count_text(static_cast<std::uint64_t>(std::llround(seconds))) + " s";
  }
  const auto [factor, unit] = seconds < 1e-3 ? std::pair(1e6, "µs")
                              : seconds < 1  ? std::pair(1e3, "ms")
                                             : std::pair(1.0, "s");
  return fmt::format("{:.3g} {}", seconds * factor, unit);
}

}  // namespace headwise::cli
