// Statistics over texts as a table, CSV and JSON.
#include <fmt/format.h>

#include <cmath>

#include "operation/models/text_file.h"
#include "shell/fold_table.h"
#include "shell/json.h"
#include "shell/quantity_text.h"
#include "shell/result_number.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "stats_text.h"
#include "text_stats.h"

namespace headwise::cli {
namespace {

// "0.123 ±0.012"; one text has no interval.
constexpr std::size_t kCell = 12;
std::string interval_cell(const MeanInterval& of, int digits) {
  if (std::isnan(of.mean)) {
    return fmt::format(" {:>{}}", "-", kCell);
  }
  const std::string half =
      std::isnan(of.low) ? std::string()
                         : fmt::format(" ±{:.{}f}", of.high - of.mean, digits);
  return fmt::format(" {:>{}}", fmt::format("{:.{}f}{}", of.mean, digits, half),
                     kCell);
}

}  // namespace

std::string text_stats_table(const TextStats& stats) {
  std::string text =
      say("{0}: {1} text{4}, {2} token{5} of {3}\n", shown(stats.texts),
          stats.count, stats.tokens.tokens, shown(stats.model),
          plural(stats.count), plural(stats.tokens.tokens));
  text += empty_lines_text(stats.empty_lines);
  text += cut_texts_text(stats.cut, stats.max_tokens);
  text += say("means over texts, ± half of the 95% confidence interval\n\n");
  const std::string layer = say("layer");
  const std::string head = say("head");
  std::vector<std::vector<std::string>> lines = {{layer + " " + head}};
  for (const std::string& name : statistic_names()) {
    lines[0].push_back(fmt::format(" {:>{}}", name, kCell));
  }
  for (const AveragedHead& line : stats.heads) {
    auto& cells = lines.emplace_back();
    cells.push_back(fmt::format("{:>{}} {:>{}}", line.layer, columns_of(layer),
                                line.head, columns_of(head)));
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const bool tokens = static_cast<Statistic>(k) == Statistic::distance;
      cells.push_back(interval_cell(line.means[k], tokens ? 2 : 3));
    }
  }
  return text + folded_table(lines) + pruned_text(stats.pruned);
}

std::string text_stats_csv(const TextStats& stats) {
  std::string text = "layer,head,texts";
  for (const std::string& name : statistic_names()) {
    text += fmt::format(",{0},{0}_low,{0}_high", name);
  }
  text += '\n';
  for (const AveragedHead& line : stats.heads) {
    text += fmt::format("{},{},{}", line.layer, line.head,
                        line.of(Statistic::entropy).count);
    for (const MeanInterval& of : line.means) {
      text += csv_field(of.mean) + csv_field(of.low) + csv_field(of.high);
    }
    text += '\n';
  }
  return text;
}

std::string text_stats_json(const TextStats& stats) {
  Json json =
      with_schema("headwise.stats_over_texts",
                  {{"model", stats.model},
                   {"texts_file", stats.texts},
                   {"texts", stats.count},
                   {"tokens", stats.tokens.tokens},
                   {"unknown_tokens", stats.tokens.unknown},
                   {"empty_lines", stats.empty_lines},
                   {"max_tokens", stats.max_tokens},
                   {"cut_texts", stats.cut},
                   {"units", {{"entropy", "nats"}, {"distance", "tokens"}}},
                   {"heads", Json::array()}});
  for (const AveragedHead& line : stats.heads) {
    Json head = {{"layer", line.layer},
                 {"head", line.head},
                 {"texts", line.of(Statistic::entropy).count}};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const MeanInterval& of = line.means[k];
      head[std::string(name_of(static_cast<Statistic>(k)))] = {
          {"mean", json_number(of.mean)},
          {"low", json_number(of.low)},
          {"high", json_number(of.high)}};
    }
    json["heads"].push_back(std::move(head));
  }
  json["pruned"] = pruned_json(stats.pruned);
  return json_text(json, 2);
}

}  // namespace headwise::cli
