// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace headwise::cli {

// "1,000,000"
std::string count_text(std::uint64_t count);
// "86.7 MiB"; below 1024 "7 bytes".
std::string bytes_text(double bytes);
// "12.3 µs", "4.56 ms", "7.89 s", "1,234 s"
std::string seconds_text(double seconds);

}  // namespace headwise::cli
