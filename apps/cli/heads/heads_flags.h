// What `headwise heads` was asked for, as typed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shell/command_line.h"

namespace headwise::cli {

struct HeadsFlags {
  CommandLine line;
  std::string model;
  std::string find;
  std::string texts;                      // empty: random tokens
  std::optional<std::uint64_t> seed;      // of these
  std::optional<std::size_t> max_tokens;  // of a text
  std::optional<std::size_t> top;
  std::size_t threads = 0;  // 0: all
  bool json = false;
  bool csv = false;
};

}  // namespace headwise::cli
