#include "inspect/page/page_changes.h"

#include <cmath>
#include <string>

namespace headwise::inline HEADWISE_ABI {
namespace {

Json number_json(double number) {
  return std::isnan(number) ? Json() : Json(number);
}

Json interval_json(const ViewedInterval& interval) {
  Json json = Json::array();
  json.push_back(number_json(interval.mean));
  json.push_back(number_json(interval.low));
  json.push_back(number_json(interval.high));
  return json;
}

Json head_json(const HeadId& head) {
  Json json = Json::array();
  json.push_back(head.layer);
  json.push_back(head.head);
  return json;
}

}  // namespace

Json changes_json(std::span<const ViewedChange> changes) {
  Json list = Json::array();
  for (const ViewedChange& change : changes) {
    Json differences = Json::object();
    for (std::size_t k = 0; k < kStatistics; ++k) {
      differences[std::string(name_of(static_cast<Statistic>(k)))] =
          interval_json(change.differences[k]);
    }
    Json entry = Json::object();
    entry["head"] = head_json(change.head);
    entry["other"] = head_json(change.other);
    entry["match"] = change.match ? head_json(*change.match) : Json();
    entry["similarity"] = interval_json(change.similarity);
    entry["differences"] = std::move(differences);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace headwise::inline HEADWISE_ABI
