#include "read_labelled.h"

#include <utility>

#include "shell/error_of_option.h"
#include "shell/read_text.h"

namespace headwise::cli {

Result<LabelledText> read_labelled(std::string_view option,
                                   const std::string& path) {
  HEADWISE_ASSIGN(auto bytes, read_text(option, path));
  auto text = parse_labelled_text(std::move(bytes), name_of_text(path));
  return text ? std::move(text) : error_of_option(option, text.error());
}

}  // namespace headwise::cli
