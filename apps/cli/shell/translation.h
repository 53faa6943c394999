// Korean of texts that are known by their English alone: what help prints and
// the labels of progress bars. Sentences with values are in say.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headwise::cli {

struct Translation {
  std::string_view en;
  std::string_view ko;
};

// Empty where there is none.
std::string_view korean_of(std::string_view english);

// In the language of the run; English where there is no Korean.
std::string in_language(std::string_view english);

// Every translation, in tables that are sorted by their English.
std::span<const std::span<const Translation>> translations();

}  // namespace headwise::cli
