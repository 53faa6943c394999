// What was typed behind `headwise generate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shell/command_line.h"

namespace headwise::cli {

struct GenerateFlags {
  CommandLine line;
  std::string model;
  std::optional<std::string> prompt;
  std::string prompts;
  std::string ids;
  std::size_t max_new_tokens = 64;
  std::vector<std::string> stops;
  double temperature = 0;
  std::size_t top_k = 0;
  double top_p = 1;
  std::uint64_t seed = 0;
  std::string heads;
  std::string attn_weights;
  std::string stats;
  std::string received;
  std::string logits;
  std::string page;
  std::size_t keep_tokens = 0;  // 0: all
  std::string ablate;
  std::string patch;
  std::string patch_from;
  std::string arithmetic;
  std::size_t threads = 0;  // 0: all
  bool json = false;
};

}  // namespace headwise::cli
