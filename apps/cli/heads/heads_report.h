// The ranking of heads as a table, comma-separated values and JSON.
#pragma once

#include <string>

#include "heads_flags.h"
#include "headwise/heads/find_heads.h"
#include "searched_texts.h"

namespace headwise::cli {

struct HeadsReport {
  const HeadsFlags& flags;
  const SearchedTexts& texts;
  HeadPattern pattern;
  bool causal;
  const FoundHeads& found;
};

std::string heads_table(const HeadsReport& report);
std::string heads_csv(const HeadsReport& report);
std::string heads_json(const HeadsReport& report);

}  // namespace headwise::cli
