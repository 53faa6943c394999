#include "stats_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "headwise/inspect/position_statistics.h"
#include "headwise/version.h"
#include "shell/json.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "view_json.h"

namespace headwise::cli {
namespace {

std::string pruned_text(const std::vector<PrunedLayer>& layers) {
  std::string text;
  for (const PrunedLayer& layer : layers) {
    const std::vector<std::size_t> heads = layer.heads.pruned();
    text += layer.heads.none()
                ? say({"layer {}: all {} heads were pruned\n",
                       "레이어 {}: 헤드 {}개가 모두 제거되었습니다\n"},
                      layer.layer, heads.size())
                : say({"layer {}: pruned {}\n", "레이어 {}: 제거된 헤드 {}\n"},
                      layer.layer, fmt::join(heads, ", "));
  }
  return text;
}

// The columns of the table.
std::vector<Statistic> shown_statistics(const HeadStats& stats) {
  std::vector<Statistic> shown;
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    if (!stats.cross || !compares_positions(statistic)) {
      shown.push_back(statistic);
    }
  }
  return shown;
}

Json begin_json() {
  return {{"schema", "headwise.stats"},
          {"schema_version", 1},
          {"headwise_version", version()}};
}

void add_heads(const HeadStats& stats, Json& json) {
  json["units"] = {{"entropy", "nats"}, {"distance", "tokens"}};
  json["heads"] = Json::array();
  for (const HeadLine& line : stats.lines) {
    Json head = {{"layer", line.layer},
                 {"head", line.head},
                 {"queries", line.queries},
                 {"queries_without_key", line.without_key}};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const double mean = line.mean[k];
      head[std::string(name_of(static_cast<Statistic>(k)))] =
          std::isnan(mean) ? Json() : Json(static_cast<float>(mean));
    }
    json["heads"].push_back(std::move(head));
  }
  json["pruned"] = Json::array();
  for (const PrunedLayer& layer : stats.pruned) {
    for (const std::size_t head : layer.heads.pruned()) {
      json["pruned"].push_back({{"layer", layer.layer}, {"head", head}});
    }
  }
}

}  // namespace

std::string stats_table(const HeadStats& stats) {
  const std::string layer_word = say({"layer", "레이어"});
  const std::size_t width = columns_of(layer_word);
  std::string text = fmt::format("{} {:>5}", layer_word, say({"head", "헤드"}));
  const std::vector<Statistic> shown = shown_statistics(stats);
  for (const Statistic statistic : shown) {
    text += fmt::format(" {:>9}", name_of(statistic));
  }
  text += '\n';
  std::int64_t without_key = 0;
  std::int64_t queries = 0;
  for (const HeadLine& line : stats.lines) {
    text += fmt::format("{:>{}} {:>5}", line.layer, width, line.head);
    for (const Statistic statistic : shown) {
      const double mean = line.mean[index_of(statistic)];
      const int digits = statistic == Statistic::distance ? 2 : 4;
      text += std::isnan(mean) ? fmt::format(" {:>9}", "-")
                               : fmt::format(" {:>9.{}f}", mean, digits);
    }
    text += '\n';
    without_key = std::max(without_key, line.without_key);
    queries = std::max(queries, line.queries + line.without_key);
  }
  if (without_key != 0) {
    text += say({"{} of {} queries see no key in some head and are left out of "
                 "its means\n",
                 "쿼리 {1}개 중 {0}개는 볼 수 있는 키가 없는 헤드가 있어 그 "
                 "헤드의 평균에서 뺐습니다\n"},
                without_key, queries);
  }
  return text + pruned_text(stats.pruned);
}

std::string stats_csv(const HeadStats& stats) {
  std::string text = "layer,head,queries,queries_without_key";
  for (const std::string& name : statistic_names()) {
    text += "," + name;
  }
  text += "\n";
  for (const HeadLine& line : stats.lines) {
    text += fmt::format("{},{},{},{}", line.layer, line.head, line.queries,
                        line.without_key);
    for (const double mean : line.mean) {
      // All digits of a float; an empty field where there is none.
      text +=
          std::isnan(mean) ? "," : fmt::format(",{}", static_cast<float>(mean));
    }
    text += "\n";
  }
  return text;
}

std::string stats_json(const ViewedText& seen, const HeadStats& stats) {
  Json json = begin_json();
  if (seen.model) {
    json["model"] = *seen.model;
  }
  if (!seen.nodes.empty()) {
    json["nodes"] = nodes_json(seen.nodes);
  }
  if (seen.text) {
    json["text"] = *seen.text;
    json["tokens"] = seen.query_labels;
    json["cut_tokens"] = seen.cut_tokens;
  }
  if (seen.uneven) {
    json["row_sums"] = uneven_json(*seen.uneven);
  }
  add_heads(stats, json);
  return json_text(json, 2);
}

std::string stats_json(const CorpusStats& corpus) {
  const CorpusText& text = corpus.text;
  Json json = begin_json();
  json["model"] = text.model;
  json["corpus"] = text.corpus;
  json["sentences"] = text.sentences;
  json["tokens"] = text.tokens;
  json["max_tokens"] = text.max_tokens;
  json["empty_sentences"] = text.empty;
  json["cut_sentences"] = text.cut;
  add_heads(corpus.heads, json);
  return json_text(json, 2);
}

}  // namespace headwise::cli
