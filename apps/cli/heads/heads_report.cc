#include "heads_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "operation/models/text_file.h"
#include "shell/json.h"
#include "shell/quantity_text.h"
#include "shell/read_text.h"
#include "shell/result_number.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// In the order of HeadPattern.
constexpr std::array<std::string_view, kHeadPatterns> kPatternWords = {{
    "attention on the previous token",
    "attention on the next token",
    "attention on the token itself",
    "attention on the first token",
    "attention on separators",
    "attention on other occurrences of the token",
    "attention that depends on the distance alone",
    "attention on the token after an earlier occurrence",
}};

// Of the heads, those to show; in a table only the best unless --top asks for
// more.
std::span<const FoundHead> shown_heads(const HeadsReport& report,
                                       std::size_t most) {
  const std::span<const FoundHead> all = report.found.heads;
  return all.first(std::min(all.size(), report.flags.top.value_or(most)));
}

std::string row_of(const FoundHead& head, std::size_t layer_width,
                   std::size_t head_width) {
  const MeanInterval& score = head.score;
  return fmt::format(
      "{:>{}} {:>{}}  {:>6}{}\n", head.layer, layer_width, head.head,
      head_width,
      std::isnan(score.mean) ? "-" : fmt::format("{:.4f}", score.mean),
      std::isnan(score.low)
          ? std::string()
          : fmt::format("  [{:.4f}, {:.4f}]", score.low, score.high));
}

std::string notes_of(const HeadsReport& report) {
  const FoundHeads& found = report.found;
  std::string text =
      say("equal attention to all visible tokens would score {:.4f}\n",
          found.uniform);
  if (found.left_out != 0) {
    text += say("{0} of {1} text{2} left out: the pattern does not apply\n",
                found.left_out, report.texts.ids.size(),
                plural(report.texts.ids.size()));
  }
  text += empty_lines_text(report.texts.empty_lines);
  text += cut_texts_text(report.texts.cut, report.texts.max_tokens);
  if (!report.causal && report.pattern == HeadPattern::induction) {
    text +=
        say("the model is bidirectional: its heads can also copy from later "
            "tokens, so a high score alone does not show induction\n");
  }
  return text;
}

}  // namespace

std::string heads_table(const HeadsReport& report) {
  constexpr std::size_t kMost = 10;
  std::string text =
      say("{}: {}, over {}\n\n", shown(report.flags.model),
          in_language(kPatternWords[static_cast<std::size_t>(report.pattern)]),
          described(report.flags, report.texts));
  const std::string layer = say("layer");
  const std::string head = say("head");
  text += fmt::format("{} {}  {}\n", layer, head,
                      report.pattern == HeadPattern::positional
                          ? say("score")
                          : say("score   95% confidence interval"));
  for (const FoundHead& found : shown_heads(report, kMost)) {
    text += row_of(found, columns_of(layer), columns_of(head));
  }
  return text + "\n" + notes_of(report);
}

std::string heads_csv(const HeadsReport& report) {
  std::string text = "layer,head,score,low,high,texts\n";
  for (const FoundHead& head : shown_heads(report, report.found.heads.size())) {
    const MeanInterval& score = head.score;
    text += fmt::format("{},{}{}{}{},{}\n", head.layer, head.head,
                        csv_field(score.mean), csv_field(score.low),
                        csv_field(score.high), score.count);
  }
  return text;
}

std::string heads_json(const HeadsReport& report) {
  const HeadsFlags& flags = report.flags;
  Json json = with_schema("headwise.found_heads",
                          {{"model", flags.model},
                           {"causal", report.causal},
                           {"pattern", name_of(report.pattern)}});
  if (flags.texts.empty()) {
    json["random_tokens"] = {{"seed", flags.seed.value_or(0)}};
  } else {
    json["texts_file"] = name_of_text(flags.texts);
    json["empty_lines"] = report.texts.empty_lines;
    json["max_tokens"] = report.texts.max_tokens;
    json["cut_texts"] = report.texts.cut;
    json["unknown_tokens"] = report.texts.tokens.unknown;
  }
  json["texts"] = report.found.texts;
  json["texts_left_out"] = report.found.left_out;
  json["equal_attention"] = json_number(report.found.uniform);
  json["heads"] = Json::array();
  for (const FoundHead& head : shown_heads(report, report.found.heads.size())) {
    json["heads"].push_back({{"layer", head.layer},
                             {"head", head.head},
                             {"score", json_number(head.score.mean)},
                             {"low", json_number(head.score.low)},
                             {"high", json_number(head.score.high)}});
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
