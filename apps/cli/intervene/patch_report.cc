#include "patch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "shell/aligned_columns.h"
#include "shell/json.h"
#include "shell/models/label_text.h"
#include "shell/quantity_text.h"
#include "shell/result_number.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kPositions = 3;  // shown of each head
constexpr std::size_t kColumnsOfToken = 20;

// Of the layer, and the place of the head in it.
struct Place {
  std::size_t layer;
  std::size_t at;
};

// The largest effects first.
std::vector<Place> places_of(const PatchEffects& effects) {
  std::vector<Place> places;
  for (std::size_t n = 0; n < effects.heads.size(); ++n) {
    for (std::size_t at = 0; at < effects.heads[n].size(); ++at) {
      places.push_back({n, at});
    }
  }
  std::ranges::stable_sort(places, [&](const Place& a, const Place& b) {
    return std::abs(effects.heads[a.layer][a.at]) >
           std::abs(effects.heads[b.layer][b.at]);
  });
  return places;
}

std::vector<Place> top_places(const PatchEffects& effects, std::size_t top) {
  std::vector<Place> places = places_of(effects);
  places.resize(std::min(top, places.size()));
  return places;
}

std::string tokens_text(const PatchedText& text) {
  std::string line;
  for (const std::string& token : text.tokens) {
    line += " " + shown(token);
  }
  if (text.cut != 0) {
    line += say(" ({0} more token{1} cut off)", text.cut, plural(text.cut));
  }
  return line + "\n";
}

// "4 cat -0.912, 2 the +0.031": positions that change something, or "-".
std::string positions_text(const PatchReport& report, const Place& place) {
  const Tensor<double, 2>& effects = report.effects().positions[place.layer];
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < effects.extent(1); ++i) {
    if (effects(place.at, i) != 0) {
      order.push_back(i);
    }
  }
  const auto size_of = [&](std::size_t i) {
    return std::abs(effects(place.at, i));
  };
  std::ranges::stable_sort(order, std::ranges::greater(), size_of);
  std::string text;
  for (std::size_t n = 0; n < std::min(kPositions, order.size()); ++n) {
    const std::size_t i = order[n];
    text += fmt::format("{}{} {} {}", n == 0 ? "" : ", ", i,
                        cut_to(shown(report.clean.tokens[i]), kColumnsOfToken),
                        signed_text(effects(place.at, i), 3));
  }
  return text.empty() ? "-" : text;
}

std::string measure_text(const PatchReport& report) {
  const PatchEffects& effects = report.effects();
  return report.label
             ? say("log odds of {}: clean {:.3f}, corrupted {:.3f}\n",
                   label_text(*report.label), effects.clean, effects.corrupted)
             : say("effect: how far the embedding moves towards that of the "
                   "corrupted text (1 = all the way)\n");
}

std::string head_text(const PatchReport& report) {
  std::string text =
      say("{}: each head gets its context from the corrupted text\n",
          shown(report.model));
  text += say("clean:") + tokens_text(report.clean);
  text += say("corrupted:") + tokens_text(report.corrupted);
  text += measure_text(report);
  if (report.clean.tokens.size() != report.corrupted.tokens.size()) {
    text +=
        say("The texts have {} and {} tokens, so single positions are "
            "not patched.\n",
            report.clean.tokens.size(), report.corrupted.tokens.size());
  } else if (report.too_long) {
    text +=
        say("Single positions are not patched in texts of more than {} "
            "tokens; --approximate estimates them.\n",
            kMostPatchedPositions);
  }
  return text + "\n";
}

std::vector<std::string> titles(const PatchReport& report) {
  std::vector<std::string> titles = {say("head")};
  if (report.exact) {
    titles.push_back(say("effect"));
  }
  if (report.approximate) {
    titles.push_back(say("by gradients"));
  }
  if (report.label) {
    titles.push_back(say("share"));
  }
  if (!report.effects().positions.empty()) {
    titles.push_back(say("strongest positions"));
  }
  return titles;
}

// The effect's share of the difference between the texts. Without a label the
// effect is that share.
std::string share_text(const PatchEffects& effects, double effect) {
  const double share = effect / (effects.corrupted - effects.clean);
  return std::isfinite(share) ? signed_text(100 * share, 1) + "%" : "-";
}

std::vector<std::string> patch_cells(const PatchReport& report,
                                     const Place& place) {
  const auto [layer, at] = place;
  std::vector<std::string> cells = {
      fmt::format("{}.{}", layer, report.heads[layer][at])};
  for (const auto* effects : {&report.exact, &report.approximate}) {
    if (*effects) {
      cells.push_back(signed_text((*effects)->heads[layer][at], 4));
    }
  }
  if (report.label) {
    cells.push_back(
        share_text(report.effects(), report.effects().heads[layer][at]));
  }
  if (!report.effects().positions.empty()) {
    cells.push_back(positions_text(report, place));
  }
  return cells;
}

// ---- All numbers. ----

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// The effects of one head, under their names.
Json place_json(const PatchReport& report, const Place& place) {
  Json json = {{"layer", place.layer},
               {"head", report.heads[place.layer][place.at]}};
  const auto add = [&](const char* name, const PatchEffects& effects) {
    json[name] = number(effects.heads[place.layer][place.at]);
    if (!effects.positions.empty()) {
      Json positions = Json::array();
      const Tensor<double, 2>& all = effects.positions[place.layer];
      for (std::size_t i = 0; i < all.extent(1); ++i) {
        positions.push_back(number(all(place.at, i)));
      }
      json[std::string(name) + "_by_position"] = std::move(positions);
    }
  };
  if (report.exact) {
    add("effect", *report.exact);
  }
  if (report.approximate) {
    add("approximate", *report.approximate);
  }
  return json;
}

Json text_json(const PatchedText& text) {
  return {
      {"text", text.text}, {"tokens", text.tokens}, {"cut_tokens", text.cut}};
}

}  // namespace

std::string patch_table(const PatchReport& report, std::size_t top) {
  std::vector<std::vector<std::string>> lines = {titles(report)};
  const std::vector<Place> all = places_of(report.effects());
  for (const Place& place : std::span(all).first(std::min(top, all.size()))) {
    lines.push_back(patch_cells(report, place));
  }
  std::string text = head_text(report) + aligned_columns(lines);
  if (all.size() > top) {
    text +=
        say("{} more: --top, --json and --csv show them\n", all.size() - top);
  }
  if (report.exact && report.approximate) {
    const double r = correlation(*report.exact, *report.approximate);
    text += say("correlation of exact and approximate effects: {}\n",
                std::isnan(r) ? "-" : fmt::format("{:.3f}", r));
  }
  return text;
}

std::string patch_csv(const PatchReport& report, std::size_t top) {
  std::string text = "layer,head,position,token";
  text += report.exact ? ",effect" : "";
  text += report.approximate ? ",approximate" : "";
  text += "\n";
  const auto row = [&](const Place& place, const std::string& of_token,
                       const auto& value_of) {
    text += fmt::format("{},{},{}", place.layer,
                        report.heads[place.layer][place.at], of_token);
    for (const auto* effects : {&report.exact, &report.approximate}) {
      text += *effects ? fmt::format(",{}", value_of(**effects)) : "";
    }
    text += "\n";
  };
  std::vector<std::string> tokens;  // "4,"cat""
  for (const std::string& token : report.clean.tokens) {
    tokens.push_back(
        fmt::format("{},{}", tokens.size(), csv_text(shown(token))));
  }
  const auto& positions = report.effects().positions;
  for (const Place& place : top_places(report.effects(), top)) {
    row(place, ",", [&](const PatchEffects& effects) {
      return effects.heads[place.layer][place.at];
    });
    for (std::size_t i = 0;
         !positions.empty() && i < positions[place.layer].extent(1); ++i) {
      row(place, tokens[i], [&](const PatchEffects& effects) {
        return effects.positions[place.layer](place.at, i);
      });
    }
  }
  return text;
}

std::string patch_json(const PatchReport& report, std::size_t top) {
  const PatchEffects& effects = report.effects();
  Json json = with_schema(
      "headwise.patching",
      {{"model", report.model},
       {"clean", text_json(report.clean)},
       {"corrupted", text_json(report.corrupted)},
       {"measure", report.label ? "log_odds" : "toward_corrupted"}});
  if (report.label) {
    json["label"] = *report.label;
  }
  json["clean"]["value"] = number(effects.clean);
  json["corrupted"]["value"] = number(effects.corrupted);
  if (report.exact && report.approximate) {
    json["correlation"] =
        number(correlation(*report.exact, *report.approximate));
  }
  json["heads"] = Json::array();
  for (const Place& place : top_places(report.effects(), top)) {
    json["heads"].push_back(place_json(report, place));
  }
  return json_text(json, 2);
}

}  // namespace headwise::cli
