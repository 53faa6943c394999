// The options of `headwise prune`, as typed; an empty string or no value is an
// option that was not given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shell/command_line.h"

namespace headwise::cli {

struct PruneFlags {
  CommandLine line{};
  std::string model{};
  std::string scores{};
  std::string heads{};  // those to remove, instead of scores
  std::string data{};
  std::string out{};
  std::string curve{};
  std::optional<std::size_t> keep{};
  std::string remove{};
  std::string max_drop{};
  std::string export_as{};  // "pruned" (or ""), "full-size"
  bool correct = false;
  bool drop_constant = false;
  std::size_t random = 0;      // orders beside that of the scores
  std::size_t max_tokens = 0;  // 0: the model's
  std::size_t threads = 0;     // 0: all
  std::uint64_t seed = 0;      // of random orders
  bool force = false;
  bool json = false;

  bool full_size() const { return export_as == "full-size"; }
};

}  // namespace headwise::cli
