#include "tokenizer/added_entries.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tokenizer/spec_parts.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Status AddedEntries::add(const JsonPart& part,
                         std::optional<std::uint32_t> id) {
  std::string content;
  if (!part.exists()) {
    return ok();
  }
  if (part.json().is_array()) {
    for (std::size_t n = 0; n < part.json().size(); ++n) {
      HEADWISE_TRY(add({&part.json()[n], part.subject(), part.path()}));
    }
    return ok();
  }
  if (!part.json().get(content)) {
    HEADWISE_TRY(part.require("content", content));
  }
  Entry& entry = entries_[content];
  entry.id = id ? id : entry.id;
  if (entry.token.is_null() || part.json().is_object()) {
    entry.token = added_token(content, 0, /*special=*/true);
    for (const std::string_view flag :
         {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      bool value = false;
      HEADWISE_TRY(part.get(flag, value));
      if (part.at(flag).exists()) {
        entry.token[flag] = value;
      }
    }
  }
  return ok();
}

Json AddedEntries::take(TokenizerSpec& spec) {
  std::vector<Json> tokens;
  const TokenIds ids(spec);
  std::vector<std::pair<std::uint32_t, Json>> by_id;
  const auto last = std::ranges::max_element(
      spec.vocabulary, {}, [](const auto& entry) { return entry.second; });
  std::uint32_t next = last == spec.vocabulary.end() ? 0 : last->second + 1;
  std::vector<std::pair<std::string, std::uint32_t>> fresh;
  for (auto& [content, entry] : entries_) {
    const auto known = ids.find(content);
    const std::uint32_t id = known ? known->id : entry.id ? *entry.id : next++;
    if (!known) {
      fresh.emplace_back(content, id);
    }
    entry.token["id"] = id;
    by_id.emplace_back(id, std::move(entry.token));
  }
  spec.vocabulary.insert(spec.vocabulary.end(), fresh.begin(), fresh.end());
  std::ranges::stable_sort(by_id, {}, [](const auto& e) { return e.first; });
  Json added = Json::array();
  for (auto& [id, token] : by_id) {
    added.push_back(std::move(token));
  }
  return added;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
