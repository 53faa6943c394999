#include "inspect/page/page_documents.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace headwise::inline HEADWISE_ABI {
namespace {

// Calls `see(layer number, head)` for every head that is not pruned.
template <class See>
void for_each_head(const Json& document, const See& see) {
  for (const Json& layer : *document.find("layers")) {
    for (const Json& head : *layer.find("heads")) {
      if (*head.find("pruned") != Json(true)) {
        see(*layer.find("number"), head);
      }
    }
  }
}

Json heads_json(const Json& document) {
  Json heads = Json::array();
  for_each_head(document, [&](const Json& layer, const Json& head) {
    heads.push_back({layer, *head.find("number")});
  });
  return heads;
}

// For each statistic, its mean in every head.
Json pooled_json(const Json& document) {
  Json pooled = Json::object();
  for (const Json& statistic : *document.find("statistics")) {
    std::string name;
    statistic.find("name")->get(name);
    Json means = Json::array();
    for_each_head(document, [&](const Json&, const Json& head) {
      means.push_back(*head.find("pooled")->find(name));
    });
    pooled[name] = std::move(means);
  }
  return pooled;
}

}  // namespace

std::size_t PageDocuments::with_tokens(const Json& tokens) const {
  const auto found = std::ranges::find(known_tokens_, tokens,
                                       &std::pair<Json, std::size_t>::first);
  return found == known_tokens_.end() ? size() : found->second;
}

void PageDocuments::add(const Json& document,
                        const std::optional<std::string>& variant,
                        std::size_t block) {
  Json entry = Json::object();
  for (const std::string_view key : std::to_array<std::string_view>(
           {"title", "text", "model", "kind", "num_queries", "num_keys",
            "measures"})) {
    entry[key] = *document.find(key);
  }
  Json tokens = Json::array();
  tokens.push_back(*document.find("query_tokens"));
  tokens.push_back(*document.find("key_tokens"));
  const std::size_t same = with_tokens(tokens);
  entry["variant"] = variant;
  entry["same_tokens"] = same;
  entry["heads"] = heads_json(document);
  entry["pooled"] = pooled_json(document);
  entry["block"] = block;
  Json head = Json::object();
  for (const std::string_view key : std::to_array<std::string_view>(
           {"format", "generator", "lang", "title", "command"})) {
    head[key] = *document.find(key);
  }
  listed_.reserve(size() + 1);
  if (same == size()) {
    known_tokens_.emplace_back(std::move(tokens), same);
  }
  if (listed_.empty()) {
    head_ = std::move(head);
  }
  listed_.push_back(std::move(entry));
}

Json PageDocuments::json() const {
  Json json = head_;
  json["version"] = 2;
  json["documents"] = listed_;
  return json;
}

}  // namespace headwise::inline HEADWISE_ABI
