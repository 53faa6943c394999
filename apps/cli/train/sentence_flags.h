// The options of `headwise train --model`, as typed; an empty string or no
// value is an option that was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "train_flags.h"

namespace headwise::cli {

struct SentenceFlags : TrainFlags {
  std::string model;
  std::string data;
  std::string test;
  std::string train;  // "probe" (or ""), "all"
  std::optional<std::size_t> max_tokens;
  std::optional<std::size_t> batch;
  std::optional<std::size_t> epochs;

  bool trains_all() const { return train == "all"; }
};

}  // namespace headwise::cli
