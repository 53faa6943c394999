#include "headwise/models/wordpiece.h"

namespace headwise::inline HEADWISE_ABI {

bool is_separator(std::string_view token) {
  return token == "[SEP]" || token == "</s>";
}

bool is_special(std::string_view token) {
  return is_separator(token) || token == "[CLS]" || token == "[PAD]" ||
         token == "<s>" || token == "<pad>";
}

}  // namespace headwise::inline HEADWISE_ABI
