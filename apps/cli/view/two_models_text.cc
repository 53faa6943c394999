// The comparison of two models as a table, CSV and JSON.
#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "operation/models/text_file.h"
#include "shell/fold_table.h"
#include "shell/json.h"
#include "shell/models/head_list.h"
#include "shell/quantity_text.h"
#include "shell/result_number.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "two_models.h"

namespace headwise::cli {
namespace {

std::string name_of(const HeadId& head) {
  return fmt::format("{}.{}", head.layer, head.head);
}

// ---- The table. ----

// The text at the right end of a cell.
std::string right(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, columns_of(text)), ' ')
      .append(text);
}

std::string number_or_dash(double number, int digits, std::size_t width) {
  return std::isnan(number) ? fmt::format(" {:>{}}", "-", width)
                            : fmt::format(" {:>{}.{}f}", number, width, digits);
}

// With a star where the interval leaves out 0.
std::string difference_text(const MeanInterval& difference, int digits) {
  if (difference.count == 0) {
    return fmt::format(" {:>8} ", "-");
  }
  const bool sure = difference.low > 0 || difference.high < 0;
  return fmt::format(" {:>8}{}", signed_text(difference.mean, digits),
                     sure ? "*" : " ");
}

std::vector<std::string> head_line(const ComparedHead& head, bool matched) {
  const MeanInterval& similarity = head.pair.similarity;
  const auto other = matched      ? std::optional(head.pair.b)
                     : head.match ? std::optional(head.match->head)
                                  : std::nullopt;
  std::vector<std::string> line = {
      fmt::format("{:>6} {:>6}", name_of(head.pair.a),
                  other ? name_of(*other) : "-"),
      number_or_dash(similarity.mean, 4, 10),
      number_or_dash(similarity.low, 4, 6),
      number_or_dash(similarity.high, 4, 6)};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const bool tokens = static_cast<Statistic>(k) == Statistic::distance;
    line.push_back(difference_text(head.pair.difference[k], tokens ? 2 : 4));
  }
  return line;
}

// What was compared.
std::string comparison_head(const TwoModels& models) {
  std::string text =
      say("{0} minus {1}: {2} text{3}\n", shown(models.model),
          shown(models.against), models.texts, plural(models.texts));
  text += empty_lines_text(models.empty);
  text += cut_texts_text(models.cut, models.max_tokens);
  if (models.first_different) {
    text += different_tokens_text(models.texts - models.same_tokens,
                                  models.first_different);
  }
  return text + "\n";
}

// ---- CSV and JSON. ----

std::string csv_of(const std::optional<SimilarHead>& head) {
  return head ? fmt::format(",{},{}", head->head.layer, head->head.head) +
                    csv_field(head->similarity)
              : ",,,";
}

Json json_of(const MeanInterval& interval) {
  return {{"mean", json_number(interval.mean)},
          {"low", json_number(interval.low)},
          {"high", json_number(interval.high)},
          {"texts", interval.count}};
}

Json json_of(const HeadId& head) {
  return {{"layer", head.layer}, {"head", head.head}};
}

Json json_of(const std::optional<SimilarHead>& head) {
  if (!head) {
    return {};
  }
  Json json = json_of(head->head);
  json["similarity"] = json_number(head->similarity);
  return json;
}

Json json_of(const std::vector<HeadId>& heads) {
  Json json = Json::array();
  for (const HeadId& head : heads) {
    json.push_back(json_of(head));
  }
  return json;
}

Json json_of(const ComparedHead& head) {
  const HeadPair& pair = head.pair;
  Json json = json_of(pair.a);
  json["against"] = json_of(pair.b);
  json["similarity"] = json_of(pair.similarity);
  json["match"] = json_of(head.match);
  json["nearest"] = json_of(head.nearest);
  for (std::size_t k = 0; k < kStatistics; ++k) {
    const auto statistic = static_cast<Statistic>(k);
    json[std::string(headwise::name_of(statistic))] = {
        {"model", json_number(pair.mean_a[k])},
        {"against", json_number(pair.mean_b[k])},
        {"difference", json_of(pair.difference[k])}};
  }
  return json;
}

}  // namespace

std::string different_tokens_text(std::size_t texts,
                                  std::optional<std::size_t> first) {
  if (texts == 0) {
    return "";
  }
  const std::string line = first ? say(" (first: line {})", *first) : "";
  return say(
      "The models divide {0} text{2} into different tokens{1}. Only "
      "the statistics count such texts, not the similarity.\n",
      texts, line, plural(texts));
}

std::string only_text(const TwoModels& models) {
  std::string text;
  for (const auto& [model, heads] :
       {std::pair(models.model, models.only_model),
        std::pair(models.against, models.only_against)}) {
    if (!heads.empty()) {
      text +=
          say("heads only in {}: {}\n", shown(model), heads_text(heads, ", "));
    }
  }
  return text;
}

std::string against_text(const TwoModels& models) {
  std::vector<std::vector<std::string>> lines = {
      {right(say("head"), 6) +
           right(models.matched ? say("with") : say("match"), 7),
       right(say("similarity"), 11), right(say("low"), 7),
       right(say("high"), 7)}};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    // The last column is for the star.
    lines[0].push_back(right(headwise::name_of(static_cast<Statistic>(k)), 9) +
                       " ");
  }
  for (const ComparedHead& head : models.heads) {
    lines.push_back(head_line(head, models.matched));
  }
  return comparison_head(models) + folded_table(lines) + only_text(models);
}

std::string against_csv(const TwoModels& models) {
  std::string text =
      "layer,head,against_layer,against_head,similarity,similarity_low,"
      "similarity_high,match_layer,match_head,match_similarity,nearest_layer,"
      "nearest_head,nearest_similarity";
  for (const std::string& name : statistic_names()) {
    text +=
        fmt::format(",{0},{0}_against,{0}_difference,{0}_low,{0}_high", name);
  }
  text += "\n";
  for (const ComparedHead& head : models.heads) {
    const HeadPair& pair = head.pair;
    text += fmt::format("{},{},{},{}", pair.a.layer, pair.a.head, pair.b.layer,
                        pair.b.head) +
            csv_field(pair.similarity.mean) + csv_field(pair.similarity.low) +
            csv_field(pair.similarity.high) + csv_of(head.match) +
            csv_of(head.nearest);
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const MeanInterval& difference = pair.difference[k];
      for (const double number :
           {pair.mean_a[k], pair.mean_b[k], difference.mean, difference.low,
            difference.high}) {
        text += csv_field(number);
      }
    }
    text += "\n";
  }
  return text;
}

std::string against_json(const TwoModels& models) {
  Json json =
      with_schema("headwise.stats_against",
                  {{"model", models.model},
                   {"against", models.against},
                   {"pairs", models.matched ? "match" : "place"},
                   {"texts", models.texts},
                   {"empty_lines", models.empty},
                   {"max_tokens", models.max_tokens},
                   {"cut_texts", models.cut},
                   {"texts_with_same_tokens", models.same_tokens},
                   {"first_line_with_different_tokens", models.first_different},
                   {"units", {{"entropy", "nats"}, {"distance", "tokens"}}},
                   {"heads", Json::array()}});
  for (const ComparedHead& head : models.heads) {
    json["heads"].push_back(json_of(head));
  }
  json["only_model"] = json_of(models.only_model);
  json["only_against"] = json_of(models.only_against);
  return json_text(json, 2);
}

}  // namespace headwise::cli
