#include "view_json.h"

namespace headwise::cli {
namespace {

// null where the mask forbids it.
Json weights_json(const WholeHead& head) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < head.attn_weights.extent(1); ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < head.attn_weights.extent(2); ++j) {
      row.push_back(head.allowed(0, i, j) ? Json(head.attn_weights(0, i, j))
                                          : Json(nullptr));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json head_json(const DrawnHead& head) {
  Json json = {{"layer", head.name.layer},
               {"head", head.name.head},
               {"kv_head", head.kv_head},
               {"queries_without_key", head.pooled.empty_rows}};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    json[std::string(name_of(static_cast<Statistic>(k)))] = head.pooled.mean[k];
  }
  return json;
}

}  // namespace

std::string view_json(const ViewedText& text, const DrawnHeads& drawn,
                      const std::optional<HeadId>& whole) {
  Json json = with_schema("headwise.heads");
  if (text.model) {
    json["model"] = *text.model;
  }
  if (text.text) {
    json["text"] = *text.text;
    json["cut_tokens"] = text.cut_tokens;
  }
  if (!text.nodes.empty()) {
    json["nodes"] = nodes_json(text.nodes);
  }
  if (text.uneven) {
    json["row_sums"] = uneven_json(*text.uneven);
  }
  if (text.sequences > 1) {
    json["batch"] = {{"sequence", text.sequence.value_or(0)},
                     {"sequences", text.sequences}};
  }
  json["query_tokens"] = text.query_labels;
  json["key_tokens"] = text.key_labels;
  json["units"] = {{"entropy", "nats"}, {"distance", "tokens"}};
  json["heads"] = Json::array();
  json["pruned"] = Json::array();
  for (const DrawnHead& head : drawn.heads) {
    if (head.pruned) {
      json["pruned"].push_back(
          {{"layer", head.name.layer}, {"head", head.name.head}});
    } else if (!whole || head.name == *whole) {
      json["heads"].push_back(head_json(head));
    }
  }
  if (drawn.whole) {
    json["heads"][0]["attn_weights"] = weights_json(*drawn.whole);
  }
  return json_text(json);
}

Json uneven_json(const UnevenWeights& uneven) {
  const UnevenRows& rows = uneven.rows;
  Json json = {
      {"rows", rows.rows}, {"uneven", rows.uneven}, {"farthest", nullptr}};
  if (rows.uneven != 0) {
    json["farthest"] = {{"sum", rows.sum},
                        {"layer", uneven.layer},
                        {"sequence", rows.sequence},
                        {"head", rows.head},
                        {"query", rows.query}};
  }
  return json;
}

Json nodes_json(const std::vector<ViewedNode>& nodes) {
  Json json = Json::array();
  for (const ViewedNode& node : nodes) {
    json.push_back({{"layer", node.layer}, {"name", node.name}});
  }
  return json;
}

}  // namespace headwise::cli
