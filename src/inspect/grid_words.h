// The words of the picture of all heads, those of the viewer's page.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/inspect/step_table.h"

namespace headwise::inline HEADWISE_ABI {

std::string layer_name(std::size_t layer, Language language);  // "layer 3"
std::string head_name(std::size_t head, Language language);    // "head 5"
// "layer 3, head 5"
std::string full_name(std::size_t layer, std::size_t head, Language language);

struct GridWords {
  std::string_view largest;  // beside a number
  std::string_view pruned;
  std::string_view masked;
  std::string_view scale;
  std::string_view scale_note;
  std::string_view scale_end;
};
const GridWords& grid_words(Language language);

}  // namespace headwise::inline HEADWISE_ABI
