// The tables of translation.h: one for each room, in its korean.cc. A table is
// sorted by its English, which is_sorted() checks while compiling.
#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include "translation.h"

namespace headwise::cli {

// Help of the program, and of options that several commands have.
std::span<const Translation> korean_help();
// Words that reports and progress bars print by themselves.
std::span<const Translation> korean_words();
// Help of the options of the operation.
std::span<const Translation> korean_operation();
// Help of the commands in one room.
std::span<const Translation> korean_bench();
std::span<const Translation> korean_convert();
std::span<const Translation> korean_dialects();
std::span<const Translation> korean_encode();
std::span<const Translation> korean_explain();
std::span<const Translation> korean_heads();
std::span<const Translation> korean_info();
std::span<const Translation> korean_intervene();
std::span<const Translation> korean_onnx();
std::span<const Translation> korean_plan();
std::span<const Translation> korean_prune();
std::span<const Translation> korean_run();
std::span<const Translation> korean_train();
std::span<const Translation> korean_view();

template <class Table>
consteval bool is_sorted(const Table& table) {
  return std::ranges::adjacent_find(table, std::ranges::greater_equal(),
                                    &Translation::en) ==
         std::ranges::end(table);
}

}  // namespace headwise::cli
