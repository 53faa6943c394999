#include "ablation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "headwise/version.h"
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

// "loss" of labelled examples, else the distance that outputs move.
std::string_view measure_of(const AblationReport& report) {
  return report.predicts ? "loss" : "distance";
}

std::span<const AblatedRow> top_rows(const std::vector<AblatedRow>& rows,
                                     std::size_t top) {
  return std::span(rows).first(std::min(top, rows.size()));
}

// "+0.0123 [-0.0010, +0.0256]"
std::string difference_text(const MeanInterval& of, int digits,
                            double scale = 1) {
  if (std::isnan(of.mean)) {
    return "-";
  }
  const std::string mean = signed_text(scale * of.mean, digits);
  return std::isnan(of.low) ? mean
                            : fmt::format("{} [{}, {}]", mean,
                                          signed_text(scale * of.low, digits),
                                          signed_text(scale * of.high, digits));
}

constexpr int kLossDigits = 4;
constexpr double kPoints = 100;  // of an accuracy of 1

std::vector<std::string> columns(const AblationReport& report, bool pairs) {
  std::vector<std::string> names = {pairs ? say({"heads", "헤드"})
                                          : say({"head", "헤드"})};
  names.push_back(report.predicts ? say({"loss", "손실"})
                                  : say({"distance", "거리"}));
  if (report.predicts) {
    names.push_back(say({"accuracy in points", "정확도(퍼센트포인트)"}));
  }
  if (report.whole.accuracy_on_repeats) {
    names.push_back(say({"on repeats", "되풀이된 토큰"}));
  }
  if (pairs) {
    names.push_back(report.predicts
                        ? say({"interaction of losses", "손실의 상호작용"})
                        : say({"interaction", "상호작용"}));
  }
  return names;
}

std::vector<std::string> cells(const AblatedRow& row, bool pairs) {
  std::vector<std::string> cells = {
      heads_text(row.heads), difference_text(row.effect.loss, kLossDigits)};
  if (row.effect.accuracy) {
    cells.push_back(difference_text(*row.effect.accuracy, 1, kPoints));
  }
  if (row.effect.accuracy_on_repeats) {
    cells.push_back(
        difference_text(*row.effect.accuracy_on_repeats, 1, kPoints));
  }
  if (pairs) {
    cells.push_back(difference_text(row.interaction->loss, kLossDigits));
  }
  return cells;
}

std::string replacement_text(Replacement replacement) {
  switch (replacement) {
    case Replacement::zero:
      return say({"zero", "0"});
    case Replacement::mean:
      return say({"mean over the data", "데이터 전체의 평균"});
    case Replacement::uniform:
      return say({"uniform attention", "균등 어텐션"});
  }
  return {};
}

std::string head_of(const AblationReport& report) {
  std::string text =
      say({"{0}: {1} example{3} of {2}", "{0}: {2}의 예제 {1}개"},
          shown(report.model), report.whole.loss.count, shown(report.data),
          plural(report.whole.loss.count));
  if (report.predicts) {
    text += say({"; with all heads loss {:.4f}, accuracy {:.1f}%",
                 "; 모든 헤드가 있을 때 손실 {:.4f}, 정확도 {:.1f}%"},
                report.whole.loss.mean, 100 * report.whole.accuracy->mean);
  }
  if (const auto& on_repeats = report.whole.accuracy_on_repeats;
      on_repeats && !std::isnan(on_repeats->mean)) {
    text += say({", on repeats {:.1f}%", ", 되풀이된 토큰에서 {:.1f}%"},
                100 * on_repeats->mean);
  }
  text += '\n' + cut_texts_text(report.cut, report.max_tokens);
  text += say({"replaced by: {}\n", "헤드를 대신하는 값: {}\n"},
              replacement_text(report.replacement));
  text += report.predicts
              ? say({"Effects are ablated minus whole; 95% confidence interval "
                     "in brackets.\n\n",
                     "효과는 헤드를 제거했을 때의 값에서 모든 헤드가 있을 때의 "
                     "값을 뺀 것입니다. 괄호 안은 95% 신뢰 구간입니다.\n\n"})
              : say({"Distances that embeddings move, divided by their "
                     "lengths; 95% confidence interval in brackets.\n\n",
                     "임베딩이 움직인 거리를 임베딩의 길이로 나눈 값입니다. "
                     "괄호 안은 95% 신뢰 구간입니다.\n\n"});
  return text;
}

Json json_of(const MeanInterval& of) {
  const auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json();
  };
  return {{"mean", number(of.mean)},
          {"low", number(of.low)},
          {"high", number(of.high)}};
}

Json json_of(const AblationReport& report, const AblationEffect& effect) {
  Json json;
  json[std::string(measure_of(report))] = json_of(effect.loss);
  if (effect.accuracy) {
    json["accuracy"] = json_of(*effect.accuracy);
  }
  if (effect.accuracy_on_repeats) {
    json["accuracy_on_repeats"] = json_of(*effect.accuracy_on_repeats);
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
  const auto size_of = [](const AblatedRow& row) {
    return row.interaction ? std::abs(row.interaction->loss.mean)
                           : row.effect.loss.mean;
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
      lines.push_back(cells(row, pairs));
    }
  }
  std::string text = head_of(report) + aligned_columns(lines);
  if (rows > top) {
    text += say({"{} more: --top, --json and --csv show them\n",
                 "{}개 더 있음: --top, --json, --csv로 볼 수 있습니다\n"},
                rows - top);
  }
  return text;
}

std::string ablation_csv(const AblationReport& report, std::size_t top) {
  const bool pairs = has_pairs(report);
  std::string text = "heads,examples" + csv_columns(measure_of(report));
  text += report.predicts ? csv_columns("accuracy") : "";
  text += report.whole.accuracy_on_repeats ? csv_columns("accuracy_on_repeats")
                                           : "";
  text += pairs ? csv_columns("interaction") : "";
  text += "\n";
  for (const AblatedRow& row : top_rows(report.rows, top)) {
    text += fmt::format("{},{}", heads_text(row.heads), row.effect.loss.count);
    text += csv_of(row.effect.loss);
    text += row.effect.accuracy ? csv_of(*row.effect.accuracy) : "";
    text += row.effect.accuracy_on_repeats
                ? csv_of(*row.effect.accuracy_on_repeats)
                : "";
    text += row.interaction ? csv_of(row.interaction->loss)
            : pairs         ? ",,,"
                            : "";
    text += "\n";
  }
  return text;
}

std::string ablation_json(const AblationReport& report, std::size_t top) {
  Json json = {{"schema", "headwise.ablation"},
               {"schema_version", 1},
               {"headwise_version", version()},
               {"model", report.model},
               {"data", report.data},
               {"replace", name_of(report.replacement)},
               {"examples", report.whole.loss.count},
               {"max_tokens", report.max_tokens},
               {"cut_texts", report.cut},
               {"confidence", 0.95}};
  if (report.predicts) {
    json["whole"] = json_of(report, report.whole);
  }
  json["effects"] = Json::array();
  for (const AblatedRow& row : top_rows(report.rows, top)) {
    Json heads = Json::array();
    for (const HeadId& id : row.heads) {
      heads.push_back({{"layer", id.layer}, {"head", id.head}});
    }
    Json effect = {{"heads", std::move(heads)}};
    effect.update(json_of(report, row.effect));
    if (row.interaction) {
      effect["interaction"] = json_of(report, *row.interaction);
    }
    json["effects"].push_back(std::move(effect));
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
