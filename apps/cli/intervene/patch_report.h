// What patched heads do, as a table, comma-separated values and JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/heads/patching.h"

namespace headwise::cli {

// The tokens of a text up to which single positions are patched: each takes
// passes of its own.
inline constexpr std::size_t kMostPatchedPositions = 64;

struct PatchedText {
  std::string text;
  std::vector<std::string> tokens;
  std::size_t cut = 0;  // tokens beyond the maximum
};

struct PatchReport {
  std::string model;
  PatchedText clean{};
  PatchedText corrupted{};
  std::optional<std::string> label{};  // whose log odds the effects are on
  std::vector<std::vector<std::size_t>> heads{};  // numbers, by layer
  bool too_long = false;                          // to patch single positions
  // At least one of them.
  std::optional<PatchEffects> exact{};
  std::optional<PatchEffects> approximate{};

  // What the rows are ordered by.
  const PatchEffects& effects() const { return exact ? *exact : *approximate; }
};

// The `top` heads with the largest effects, of either sign, largest first.
std::string patch_table(const PatchReport& report, std::size_t top);
std::string patch_csv(const PatchReport& report, std::size_t top);
std::string patch_json(const PatchReport& report, std::size_t top);

}  // namespace headwise::cli
