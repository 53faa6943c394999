// What the reports about dialects share.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace headwise::cli {

// "(0, 0, 1) (0, 1, 1) ...", where there are `count` of them.
std::string rows_text(std::span<const std::array<std::size_t, 3>> first_rows,
                      std::size_t count);

}  // namespace headwise::cli
