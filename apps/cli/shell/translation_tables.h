// The tables of translation.h. Each is sorted by its English, which is_sorted()
// checks while compiling.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "translation.h"

namespace headwise::cli {

// Names of commands and groups, footers, labels.
std::span<const Translation> korean_help();
// Options of attention: its input, masks, scores, dropout and results.
std::span<const Translation> korean_attention_options();
// All other options.
std::span<const Translation> korean_other_options();

template <class Table>
consteval bool is_sorted(const Table& table) {
  return std::ranges::adjacent_find(table, std::ranges::greater_equal(),
                                    &Translation::en) ==
         std::ranges::end(table);
}

}  // namespace headwise::cli
