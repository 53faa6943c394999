#include "ablation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "operation/text_file.h"
#include "shell/aligned_columns.h"
#include "shell/head_list.h"
#include "shell/json.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

bool has_pairs(const AblationReport& report) {
  return std::ranges::any_of(report.rows, [](const AblatedRow& row) {
    return row.interaction.has_value();
  });
}

// Losses and accuracies, not distances.
bool predicts(const AblationReport& report) {
  return report.measures.front() != EffectMeasure::distance;
}

std::span<const AblatedRow> top_rows(const std::vector<AblatedRow>& rows,
                                     std::size_t top) {
  return std::span(rows).first(std::min(top, rows.size()));
}

// Of pairs only those on the tokens of --sort: a line has the interaction, too.
std::vector<EffectMeasure> shown_measures(const AblationReport& report,
                                          bool pairs) {
  return pairs ? on_same_tokens(report.sorted_by, report.measures)
               : report.measures;
}

std::vector<std::string> columns(const AblationReport& report, bool pairs) {
  std::vector<std::string> names = {pairs ? say("heads") : say("head")};
  for (const EffectMeasure measure : shown_measures(report, pairs)) {
    names.push_back(title_of(measure));
  }
  if (pairs) {
    names.push_back(interaction_title(report.sorted_by));
  }
  return names;
}

std::vector<std::string> ablation_cells(const AblationReport& report,
                                        const AblatedRow& row) {
  std::vector<std::string> cells = {heads_text(row.heads)};
  for (const EffectMeasure measure :
       shown_measures(report, row.interaction.has_value())) {
    cells.push_back(effect_text(measure, row.effect));
  }
  if (row.interaction) {
    cells.push_back(effect_text(report.sorted_by, *row.interaction));
  }
  return cells;
}

// In the order of Replacement.
constexpr std::array<std::string_view, 3> kReplacements = {{
    "zero",
    "mean over the data",
    "uniform attention",
}};

std::string head_of(const AblationReport& report) {
  std::string text = say("{0}: {1} example{3} of {2}", shown(report.model),
                         report.whole.loss.count, shown(report.data),
                         plural(report.whole.loss.count));
  if (predicts(report)) {
    text += say("; with all heads loss {:.4f}, accuracy {:.1f}%",
                report.whole.loss.mean, 100 * report.whole.accuracy->mean);
  }
  if (const auto& on_repeats = report.whole.accuracy_on_repeats;
      on_repeats && !std::isnan(on_repeats->mean)) {
    text += say("; on repeats loss {:.4f}, accuracy {:.1f}%",
                report.whole.loss_on_repeats->mean, 100 * on_repeats->mean);
  }
  text += '\n' + cut_texts_text(report.cut, report.max_tokens);
  text += say(
      "replaced by: {}\n",
      in_language(kReplacements[static_cast<std::size_t>(report.replacement)]));
  text += predicts(report)
              ? say("Effects are ablated minus whole")
              : say("Distances that embeddings move, divided by their lengths");
  text += report.whole.loss.count > 1
              ? say("; 95% confidence interval in brackets.\n\n")
              : ".\n\n";
  return text;
}

Json interval_json(const MeanInterval& of) {
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json();
  };
  return {{"mean", number(of.mean)},
          {"low", number(of.low)},
          {"high", number(of.high)}};
}

Json effect_json(const AblationReport& report, const AblationEffect& effect) {
  Json json;
  for (const EffectMeasure measure : report.measures) {
    json[std::string(name_of(measure))] =
        interval_json(effect_on(measure, effect));
  }
  return json;
}

std::string csv_of(const MeanInterval& of) {
  std::string text;
  for (const double value : {of.mean, of.low, of.high}) {
    text += std::isfinite(value) ? fmt::format(",{}", value) : ",";
  }
  return text;
}

std::string csv_columns(std::string_view name) {
  return fmt::format(",{0},{0}_low,{0}_high", name);
}

}  // namespace

void sort_rows(AblationReport& report) {
  const auto size_of = [&](const AblatedRow& row) {
    return row.interaction
               ? std::abs(harm_of(report.sorted_by, *row.interaction))
               : harm_of(report.sorted_by, row.effect);
  };
  // Pairs first; NaN last.
  std::ranges::stable_sort(
      report.rows, [&](const AblatedRow& a, const AblatedRow& b) {
        if (a.interaction.has_value() != b.interaction.has_value()) {
          return a.interaction.has_value();
        }
        const double left = size_of(a);
        const double right = size_of(b);
        return std::isnan(right) ? !std::isnan(left) : left > right;
      });
}

std::string ablation_table(const AblationReport& report, std::size_t top) {
  const bool pairs = has_pairs(report);
  std::vector<std::vector<std::string>> lines = {columns(report, pairs)};
  std::size_t rows = 0;
  for (const AblatedRow& row : report.rows) {
    if (row.interaction.has_value() == pairs && rows++ < top) {
      lines.push_back(ablation_cells(report, row));
    }
  }
  std::string text = head_of(report) + aligned_columns(lines);
  if (rows > top) {
    text += say("{} more: --top, --json and --csv show them\n", rows - top);
  }
  return text;
}

std::string ablation_csv(const AblationReport& report, std::size_t top) {
  const bool pairs = has_pairs(report);
  std::string text = "heads,examples";
  for (const EffectMeasure measure : report.measures) {
    text += csv_columns(name_of(measure));
  }
  text += pairs ? csv_columns("interaction") : "";
  text += "\n";
  for (const AblatedRow& row : top_rows(report.rows, top)) {
    text += fmt::format("{},{}", heads_text(row.heads), row.effect.loss.count);
    for (const EffectMeasure measure : report.measures) {
      text += csv_of(effect_on(measure, row.effect));
    }
    text += row.interaction
                ? csv_of(effect_on(report.sorted_by, *row.interaction))
            : pairs ? ",,,"
                    : "";
    text += "\n";
  }
  return text;
}

std::string ablation_json(const AblationReport& report, std::size_t top) {
  Json json = with_schema("headwise.ablation",
                          {{"model", report.model},
                           {"data", report.data},
                           {"replace", name_of(report.replacement)},
                           {"examples", report.whole.loss.count},
                           {"max_tokens", report.max_tokens},
                           {"cut_texts", report.cut},
                           {"unknown_tokens", report.unknown},
                           {"confidence", 0.95},
                           {"sorted_by", name_of(report.sorted_by)}});
  if (predicts(report)) {
    json["whole"] = effect_json(report, report.whole);
  }
  json["effects"] = Json::array();
  for (const AblatedRow& row : top_rows(report.rows, top)) {
    Json heads = Json::array();
    for (const HeadId& id : row.heads) {
      heads.push_back({{"layer", id.layer}, {"head", id.head}});
    }
    Json effect = {{"heads", std::move(heads)}};
    effect.update(effect_json(report, row.effect));
    if (row.interaction) {
      effect["interaction"] = effect_json(report, *row.interaction);
    }
    json["effects"].push_back(std::move(effect));
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
