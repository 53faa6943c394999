#include "json.h"

#include "headwise/version.h"
#include "terminal_text.h"

namespace headwise::cli {

Json with_schema(std::string_view schema, const Json& fields) {
  Json json = {{"schema", schema},
               {"schema_version", 1},
               {"headwise_version", version()}};
  json.update(fields);
  return json;
}

std::string json_text(const Json& json, std::optional<std::size_t> indent) {
  return shown_json(json.dump(indent)) + "\n";
}

}  // namespace headwise::cli
