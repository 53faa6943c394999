#include "small_json.h"

namespace headwise::cli {

nlohmann::json parse_small_json(std::string_view text, std::size_t most) {
  using Json = nlohmann::json;
  constexpr int kDeepest = 6;
  Json discarded(Json::value_t::discarded);
  if (text.size() > most) {
    return discarded;
  }
  bool deep = false;
  Json json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
        deep = deep || depth > kDeepest;
        return !deep;
      },
      /*allow_exceptions=*/false);
  return deep ? discarded : json;
}

}  // namespace headwise::cli
