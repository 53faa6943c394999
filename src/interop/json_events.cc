#include "interop/json_events.h"

namespace headwise::inline HEADWISE_ABI {

bool JsonEvents::parse_error(std::size_t position,
                             const std::string& /*last_token*/,
                             const nlohmann::detail::exception& /*exception*/) {
  no_json_at_ = position;
  return false;
}

Status read_json(std::string_view text, JsonEvents& events,
                 std::string_view subject, std::string_view what) {
  const auto bad_data = [&](const std::string& fault) {
    return Error{ErrorCode::bad_data, std::string(subject) + ": " + fault};
  };
  // The parser would take it for the end.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return bad_data(std::string(what) + " has a NUL character at byte " +
                    std::to_string(nul));
  }
  if (!nlohmann::json::sax_parse(text.data(), text.data() + text.size(),
                                 &events)) {
    const auto no_json_at = events.no_json_at();
    return bad_data(no_json_at
                        ? std::string(what) +
                              " is no JSON text in UTF-8: see its byte " +
                              std::to_string(*no_json_at)
                        : events.fault());
  }
  return ok();
}

std::optional<std::string> json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {  // not UTF-8
    return std::nullopt;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
