#include "stats_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "headwise/inspect/weights_statistics.h"
#include "shell/fold_table.h"
#include "shell/json.h"
#include "shell/models/label_text.h"
#include "shell/result_number.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "view_json.h"

namespace headwise::cli {
namespace {

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

// The names of the numbers that an attribution adds to each head.
std::vector<std::string> added_columns(const HeadStats& stats) {
  return stats.attribution ? stats.attribution->columns
                           : std::vector<std::string>();
}

Json numbers_json(const std::vector<double>& numbers) {
  Json array = Json::array();
  for (const double number : numbers) {
    array.push_back(json_number(number));
  }
  return array;
}

void add_attribution(const Attribution& attribution, Json& json) {
  json["attribution"] = attribution.name;
  if (const auto& target = attribution.target) {
    const auto or_null = [](const std::optional<std::string>& text) {
      return text ? Json(*text) : Json();
    };
    json["target"] = {{"kind", target->label   ? "label"
                               : target->token ? "token"
                                               : "length"},
                      {"label", or_null(target->label)},
                      {"token", or_null(target->token)},
                      {"value", json_number(target->value)}};
    if (target->token) {
      json["output_token"] = target->output_token;
    }
  }
  if (!attribution.tokens.empty()) {
    json["output_token"] = attribution.output_token;
    json[attribution.name] = numbers_json(attribution.tokens);
  }
}

void add_stats_heads(const HeadStats& stats, Json& json) {
  json["units"] = {{"entropy", "nats"}, {"distance", "tokens"}};
  json["heads"] = Json::array();
  for (const HeadLine& line : stats.lines) {
    Json head = {{"layer", line.layer},
                 {"head", line.head},
                 {"queries", line.queries},
                 {"queries_without_key", line.without_key}};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      head[std::string(name_of(static_cast<Statistic>(k)))] =
          json_number(line.mean[k]);
    }
    if (const HeadAttribution* added = attribution_of(stats, line)) {
      for (std::size_t n = 0; n < added->numbers.size(); ++n) {
        head[stats.attribution->columns[n]] = json_number(added->numbers[n]);
      }
      if (!added->keys.empty()) {
        head[stats.attribution->key_column] = numbers_json(added->keys);
      }
    }
    json["heads"].push_back(std::move(head));
  }
  json["pruned"] = pruned_json(stats.pruned);
}

std::string target_text(const std::string& name, const GradientOf& target,
                        const ViewedText& seen) {
  if (target.label) {
    return say("\n{}: of the logit of {}, {:.4f}\n", name,
               label_text(*target.label), target.value);
  }
  if (target.token) {
    return say("\n{}: of the logit of {} after token {} ({}), {:.4f}\n", name,
               label_text(*target.token), target.output_token,
               shown(seen.query_labels[target.output_token]), target.value);
  }
  return say("\n{}: of the length of the embedding, {:.4f}\n", name,
             target.value);
}

// ---- The table. ----

// "   0.1234", below a name of at most that width.
std::string statistic_cell(double number, std::size_t width, int digits = 4) {
  return std::isnan(number) ? fmt::format(" {:>{}}", "-", width)
                            : fmt::format(" {:>{}.{}f}", number, width, digits);
}

// Of a column.
std::size_t width_of(std::string_view name) {
  return std::max<std::size_t>(7, name.size());
}

// "layer  head      name ..." and the cells that numbers_of() gives each head.
using Cells = std::vector<std::string>;
template <class NumbersOf>
std::string head_table(const HeadStats& stats,
                       const std::vector<std::string>& names,
                       const NumbersOf& numbers_of) {
  const std::string layer = say("layer");
  const std::string head = say("head");
  std::vector<Cells> lines = {
      {layer + std::string(6 - columns_of(head), ' ') + head}};
  for (const std::string& name : names) {
    lines[0].push_back(fmt::format(" {:>{}}", name, width_of(name)));
  }
  for (const HeadLine& line : stats.lines) {
    Cells& cells = lines.emplace_back(numbers_of(line));
    cells.insert(cells.begin(), fmt::format("{:>{}} {:>5}", line.layer,
                                            columns_of(layer), line.head));
  }
  return folded_table(lines);
}

// Those of an attribution that adds many have a table of their own.
bool in_one_table(const HeadStats& stats) {
  return added_columns(stats).size() <= 1;
}

// A head without them has empty cells.
void add_numbers(const HeadStats& stats, const HeadLine& line,
                 const std::vector<std::string>& names, Cells& cells) {
  const HeadAttribution* added = attribution_of(stats, line);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const std::size_t width = width_of(names[n]);
    const int digits = names[n] == name_of(Statistic::distance) ? 2 : 4;
    cells.push_back(added != nullptr && n < added->numbers.size()
                        ? statistic_cell(added->numbers[n], width, digits)
                        : std::string(width + 1, ' '));
  }
}

// The numbers of the norms, whose title says what their names begin with.
std::string norms_table(const HeadStats& stats) {
  constexpr std::string_view kPrefix = "norm_";
  std::vector<std::string> names = added_columns(stats);
  for (std::string& name : names) {
    name.erase(0, name.starts_with(kPrefix) ? kPrefix.size() : 0);
  }
  return say("\nvalue-weighted norms: their mean sum, and the statistics of "
             "their shares\n\n") +
         head_table(stats, names, [&](const HeadLine& line) {
           Cells cells;
           add_numbers(stats, line, names, cells);
           return cells;
         });
}

}  // namespace

std::string pruned_text(const std::vector<PrunedLayer>& layers) {
  std::string text;
  for (const PrunedLayer& layer : layers) {
    const std::vector<std::size_t> heads = layer.heads.pruned();
    text += layer.heads.none() ? say("layer {}: all {} heads were pruned\n",
                                     layer.layer, heads.size())
                               : say("layer {}: pruned {}\n", layer.layer,
                                     fmt::join(heads, ", "));
  }
  return text;
}

Json pruned_json(const std::vector<PrunedLayer>& layers) {
  Json json = Json::array();
  for (const PrunedLayer& layer : layers) {
    for (const std::size_t head : layer.heads.pruned()) {
      json.push_back({{"layer", layer.layer}, {"head", head}});
    }
  }
  return json;
}

std::string stats_table(const HeadStats& stats) {
  const std::vector<Statistic> shown = shown_statistics(stats);
  std::vector<std::string> names;
  for (const Statistic statistic : shown) {
    names.emplace_back(name_of(statistic));
  }
  const std::vector<std::string> added =
      in_one_table(stats) ? added_columns(stats) : std::vector<std::string>();
  names.insert(names.end(), added.begin(), added.end());
  std::int64_t without_key = 0;
  std::int64_t queries = 0;
  std::string text = head_table(stats, names, [&](const HeadLine& line) {
    without_key = std::max(without_key, line.without_key);
    queries = std::max(queries, line.queries + line.without_key);
    Cells cells;
    for (const Statistic statistic : shown) {
      cells.push_back(statistic_cell(line.mean[index_of(statistic)],
                                     width_of(name_of(statistic)),
                                     statistic == Statistic::distance ? 2 : 4));
    }
    add_numbers(stats, line, added, cells);
    return cells;
  });
  if (!stats.separators) {
    text += say("separator: --separators names the separators\n");
  }
  if (stats.sequences > 1) {
    text +=
        say("means over the queries of all {} sequences\n", stats.sequences);
  }
  if (without_key != 0) {
    text +=
        say("{} of {} queries see no key in some head and are left out of "
            "its means\n",
            without_key, queries);
  }
  text += pruned_text(stats.pruned);
  return in_one_table(stats) ? text : text + norms_table(stats);
}

std::string stats_csv(const ViewedText& seen, const HeadStats& stats) {
  if (!stats.attribution || stats.attribution->tokens.empty()) {
    return stats_csv(stats);
  }
  std::string text =
      fmt::format("position,token,{}\n", stats.attribution->name);
  for (std::size_t t = 0; t < seen.query_labels.size(); ++t) {
    text += fmt::format("{},{}{}\n", t, csv_text(shown(seen.query_labels[t])),
                        csv_field(stats.attribution->tokens[t]));
  }
  return text;
}

std::string attribution_text(const ViewedText& seen, const HeadStats& stats) {
  if (!stats.attribution) {
    return {};
  }
  const Attribution& attribution = *stats.attribution;
  std::string text;
  if (attribution.target) {
    text += target_text(attribution.name, *attribution.target, seen);
  }
  if (attribution.tokens.empty()) {
    return text;
  }
  text += say("\n{} from output token {} to each input token\n",
              attribution.name, attribution.output_token);
  for (std::size_t t = 0; t < seen.query_labels.size(); ++t) {
    text += fmt::format("{:>5} {:>9.4f}  {}\n", t, attribution.tokens[t],
                        shown(seen.query_labels[t]));
  }
  return text;
}

std::string stats_csv(const HeadStats& stats) {
  std::string text = "layer,head,queries,queries_without_key";
  for (const std::string& name : statistic_names()) {
    text += "," + name;
  }
  for (const std::string& name : added_columns(stats)) {
    text += "," + name;
  }
  text += "\n";
  for (const HeadLine& line : stats.lines) {
    text += fmt::format("{},{},{},{}", line.layer, line.head, line.queries,
                        line.without_key);
    for (const double mean : line.mean) {
      text += csv_field(mean);
    }
    if (const HeadAttribution* added = attribution_of(stats, line)) {
      for (const double number : added->numbers) {
        text += csv_field(number);
      }
    }
    text += "\n";
  }
  return text;
}

std::string stats_json(const ViewedText& seen, const HeadStats& stats) {
  Json json = with_schema("headwise.stats");
  if (seen.model) {
    json["model"] = *seen.model;
  }
  if (stats.attribution) {
    add_attribution(*stats.attribution, json);
  }
  if (!seen.nodes.empty()) {
    json["nodes"] = nodes_json(seen.nodes);
  }
  if (seen.text) {
    json["text"] = *seen.text;
    json["tokens"] = seen.query_labels;
    json["cut_tokens"] = seen.cut_tokens;
  }
  if (stats.sequences > 1) {
    json["sequences"] = stats.sequences;
  }
  if (seen.uneven) {
    json["row_sums"] = uneven_json(*seen.uneven);
  }
  add_stats_heads(stats, json);
  return json_text(json, 2);
}

std::string stats_json(const CorpusStats& corpus) {
  const CorpusText& text = corpus.text;
  Json json = with_schema("headwise.stats", {{"model", text.model},
                                             {"corpus", text.corpus},
                                             {"sentences", text.sentences},
                                             {"tokens", text.tokens},
                                             {"max_tokens", text.max_tokens},
                                             {"empty_sentences", text.empty},
                                             {"cut_sentences", text.cut}});
  add_stats_heads(corpus.heads, json);
  return json_text(json, 2);
}

}  // namespace headwise::cli
