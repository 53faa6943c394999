// --save-every: how often a command saves what it has done, to resume from.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "option_row.h"

namespace headwise::cli {

// Holds the option in seconds.
class SaveEvery {
 public:
  OptionRow option();

  bool given() const { return seconds_.has_value(); }
  std::chrono::seconds interval() const;

 private:
  std::optional<std::size_t> seconds_;
};

}  // namespace headwise::cli
