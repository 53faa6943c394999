// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headwise::cli {

// "1,000,000"
std::string count_text(std::uint64_t count);
// The end of an English word: "1 text", "7 texts".
std::string_view plural(std::uint64_t count);
// "+0.0123", "-1.5"; a zero is "+0.000", whatever its sign.
std::string signed_text(double number, int digits);
// "86.7 MiB"; below 1024 "7 bytes".
std::string bytes_text(double bytes);
// "12.3 µs", "4.56 ms", "7.89 s", "1,234 s"
std::string seconds_text(double seconds);

}  // namespace headwise::cli
