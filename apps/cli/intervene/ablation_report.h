// What a model does without heads, as a table, comma-separated values and JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "effect_measure.h"
#include "headwise/heads/ablation.h"
#include "headwise/module/head_hooks.h"

namespace headwise::cli {

struct AblatedRow {
  std::vector<HeadId> heads;
  AblationEffect effect;
  std::optional<AblationEffect> interaction{};  // of a pair
};

struct AblationReport {
  std::string model;
  std::string data;
  Replacement replacement;
  std::size_t max_tokens;
  std::size_t cut;      // texts that had more tokens
  std::size_t unknown;  // tokens
  std::vector<EffectMeasure> measures;
  EffectMeasure sorted_by;  // one of them; interactions are also of it
  AblationEffect whole;     // loss and accuracy with all heads
  std::vector<AblatedRow> rows;
};

// Most harmful first; if there are pairs, largest interactions first.
void sort_rows(AblationReport& report);

// Of examples those that have a loss or a distance. At most `top` rows; of
// pairs only pairs.
std::string ablation_table(const AblationReport& report, std::size_t top);
std::string ablation_csv(const AblationReport& report, std::size_t top);
std::string ablation_json(const AblationReport& report, std::size_t top);

}  // namespace headwise::cli
