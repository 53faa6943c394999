// The options of rotary positions, the same in every command, as they are
// typed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shell/option_row.h"

namespace headwise::cli {

class Arguments;

// An empty string is an option that was not given.
struct RotaryFlags {
  std::optional<double> base;
  std::optional<std::size_t> dim;
  std::string layout;
  std::string scaling;
  std::string tables;
  std::string query_positions;
  std::string key_positions;

  // The first option that asks for rotary positions; empty: none does.
  std::string asked_for() const;
};

// Those that rotate, and the positions of a call.
std::vector<OptionRow> rotation_options(RotaryFlags& flags);
std::vector<OptionRow> position_options(RotaryFlags& flags);

void add_rotary_options(const Arguments& command, RotaryFlags& flags);
// The same without the positions of a call.
void add_rotation_options(const Arguments& command, RotaryFlags& flags);

}  // namespace headwise::cli
