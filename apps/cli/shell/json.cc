#include "json.h"

#include "terminal_text.h"

namespace headwise::cli {

std::string json_text(const Json& json, std::optional<std::size_t> indent) {
  return shown_json(json.dump(indent)) + "\n";
}

}  // namespace headwise::cli
