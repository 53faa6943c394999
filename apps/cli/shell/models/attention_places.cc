#include "attention_places.h"

#include <algorithm>

#include "shell/outcome.h"

namespace headwise::cli {

Result<std::vector<AttentionPlace>> parse_places(std::string_view option,
                                                 std::string_view text) {
  std::vector<AttentionPlace> heads;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto place = head_named(text.substr(begin, end - begin));
    if (!place) {
      return option_error(option, message("is {}", text),
                          "LAYER.HEAD, cross.LAYER.HEAD or encoder.LAYER.HEAD, "
                          "or several: 3.1,4.5");
    }
    if (std::ranges::find(heads, *place) != heads.end()) {
      return option_error(option, message("has {} twice", name_of(*place)),
                          "each head once");
    }
    heads.push_back(*place);
    begin = end + 1;
  }
  return heads;
}

}  // namespace headwise::cli
