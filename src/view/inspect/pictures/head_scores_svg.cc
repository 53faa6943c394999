#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/heat_colour.h"
#include "inspect/pictures/heat_ramp.h"
#include "inspect/pictures/svg_text.h"
#include "inspect/pictures/svg_writer.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Three significant digits: "0.120", "12.3", "1.23e-5", "0".
std::string digits_of(double number) {
  if (number == 0) {
    return "0";
  }
  if (!std::isfinite(number)) {
    return number_text(number);
  }
  const auto written = [&](std::chars_format format, int behind_the_point) {
    std::array<char, 32> text{};
    const auto [end, error] =
        std::to_chars(text.data(), text.data() + text.size(), number, format,
                      behind_the_point);
    return std::string(text.data(), end);
  };
  const std::string text = written(std::chars_format::scientific, 2);
  const std::size_t e = text.find('e');
  const bool below_one = text[e + 1] == '-';
  const std::size_t first = text.find_first_not_of('0', e + 2);
  const std::string digits =
      first == std::string::npos ? "0" : text.substr(first);
  const int exponent = std::stoi(digits);
  if (below_one ? exponent <= 4 : exponent < 3) {
    return written(std::chars_format::fixed,
                   2 + (below_one ? exponent : -exponent));
  }
  return text.substr(0, e) + (below_one ? "e-" : "e") + digits;
}

// ---- The numbers. ----

struct Extreme {
  double value;
  HeadId head;
};

struct Summary {
  std::size_t heads = 0;  // in the layer with most heads
  std::size_t numbers = 0;
  std::size_t pruned = 0;
  std::size_t removed = 0;
  std::optional<Extreme> least{};
  std::optional<Extreme> largest{};
};

bool is_removed(const HeadScores& given, const HeadId& head) {
  return std::ranges::find(given.removed, head) != given.removed.end();
}

void count_in(const HeadScores& given, const HeadId& head, Summary& summary) {
  const double score = given.scores[head.layer][head.head];
  if (std::isnan(score)) {
    ++summary.pruned;
    return;
  }
  ++summary.numbers;
  summary.removed += is_removed(given, head) ? 1 : 0;
  if (!std::isfinite(score)) {
    return;
  }
  if (!summary.least || score < summary.least->value) {
    summary.least = {score, head};
  }
  if (!summary.largest || score > summary.largest->value) {
    summary.largest = {score, head};
  }
}

Summary summarize(const HeadScores& given) {
  Summary summary;
  for (std::size_t layer = 0; layer < given.scores.size(); ++layer) {
    const std::size_t heads = given.scores[layer].size();
    summary.heads = std::max(summary.heads, heads);
    for (std::size_t head = 0; head < heads; ++head) {
      count_in(given, {layer, head}, summary);
    }
  }
  return summary;
}

std::string name_of(const HeadId& head, const Words& words) {
  return words("layer {0}, head {1}", std::to_string(head.layer),
               std::to_string(head.head));
}

// "0.120 (layer 3, head 5)"
std::string text_of(const Extreme& extreme, const Words& words) {
  return digits_of(extreme.value) + " (" + name_of(extreme.head, words) + ")";
}

// For readers who cannot see the picture.
std::string scores_description(const HeadScores& given, const Summary& summary,
                               const Words& words) {
  if (!summary.least) {
    return words("no head has a value");
  }
  std::string text = words(
      "Heads with a value: {0}. Layers: {1}. Smallest: {2}. Largest: {3}.",
      std::to_string(summary.numbers), std::to_string(given.scores.size()),
      text_of(*summary.least, words), text_of(*summary.largest, words));
  for (const auto& [count, word] :
       {std::pair(summary.pruned, words("pruned")),
        {summary.removed, words.in("head", "removed")}}) {
    if (count != 0) {
      text += " " + std::string(word) + ": " + std::to_string(count) + ".";
    }
  }
  return text;
}

// ---- The layout, in pixels. ----

constexpr double kScoresMargin = SvgWriter::kMargin;
constexpr double kNames = 20;  // height of the names of the columns
constexpr double kCellWidth = 60;
constexpr double kCellHeight = 28;
constexpr double kScoresGap = 2;
constexpr double kScoresLegend = 76;
constexpr double kScoresLegendWidth = 560;
constexpr double kScoresCharacter = 7;

SvgHeading scores_heading(const HeadScores& given) {
  return {given.title, given.subtitle};
}

struct ScoresLayout {
  double left;  // of the first cell
  double top;
  double width;
  double height;
};

ScoresLayout lay_out_scores(const HeadScores& given, const Summary& summary) {
  double names = 0;
  for (std::size_t layer = 0; layer < given.scores.size(); ++layer) {
    names = std::max(names, text_columns(Words(given.language)(
                                "layer {0}", std::to_string(layer))));
  }
  ScoresLayout layout{};
  layout.left = kScoresMargin + names * kScoresCharacter + 12;
  layout.top = kScoresMargin + scores_heading(given).height() + kNames;
  layout.width = std::max(
      {layout.left +
           static_cast<double>(summary.heads) * (kCellWidth + kScoresGap) +
           kScoresMargin,
       2 * kScoresMargin + scores_heading(given).width(), kScoresLegendWidth});
  layout.height =
      layout.top +
      static_cast<double>(given.scores.size()) * (kCellHeight + kScoresGap) +
      kScoresLegend + kScoresMargin;
  return layout;
}

// ---- The picture. ----

class ScoresDrawing {
 public:
  explicit ScoresDrawing(const HeadScores& given)
      : given_(given),
        words_(given.language),
        summary_(summarize(given)),
        layout_(lay_out_scores(given, summary_)),
        svg_(layout_.width, layout_.height, scores_heading(given), "pruned",
             scores_description(given, summary_, words_)) {}

  std::string draw() && {
    names_of_layers_and_heads();
    for (std::size_t layer = 0; layer < given_.scores.size(); ++layer) {
      for (std::size_t head = 0; head < given_.scores[layer].size(); ++head) {
        cell({layer, head});
      }
    }
    legend();
    return std::move(svg_).finish();
  }

 private:
  Box box_of(const HeadId& head) const {
    return {layout_.left +
                static_cast<double>(head.head) * (kCellWidth + kScoresGap),
            layout_.top +
                static_cast<double>(head.layer) * (kCellHeight + kScoresGap),
            kCellWidth, kCellHeight};
  }

  void names_of_layers_and_heads() {
    for (std::size_t head = 0; head < summary_.heads; ++head) {
      const Box box = box_of({0, head});
      svg_.text(box.x + kCellWidth / 2, layout_.top - 7,
                words_("head {0}", std::to_string(head)),
                R"(font-weight="bold" text-anchor="middle")");
    }
    for (std::size_t layer = 0; layer < given_.scores.size(); ++layer) {
      svg_.text(kScoresMargin, box_of({layer, 0}).y + kCellHeight / 2 + 4,
                words_("layer {0}", std::to_string(layer)),
                R"(font-weight="bold")");
    }
  }

  Rgb colour_of(double score) const {
    if (!std::isfinite(score)) {
      return kNoNumberColour;
    }
    const double least = summary_.least->value;
    const double range = summary_.largest->value - least;
    return heat_colour(range > 0 ? (score - least) / range : 0.5);
  }

  void cell(const HeadId& head) {
    const Box box = box_of(head);
    const double score = given_.scores[head.layer][head.head];
    const std::string name = name_of(head, words_);
    if (std::isnan(score)) {
      svg_.rectangle(box, "url(#pruned)", name + ": " + words_("pruned"));
      svg_.frame(box);
      return;
    }
    const bool removed = is_removed(given_, head);
    const std::string digits = digits_of(score);
    const Rgb ground = colour_of(score);
    svg_.rectangle(
        box, colour_text(ground),
        name + ": " + digits +
            (removed ? "; " + words_.in("head", "removed") : std::string()));
    // The rectangle beneath has the tooltip. There is space for a cross above.
    svg_.text(box.x + kCellWidth / 2,
              box.y + kCellHeight / 2 + (removed ? 7 : 4), digits,
              R"(text-anchor="middle" pointer-events="none" fill=")" +
                  colour_text(ink_on(ground)) + "\"");
    if (removed) {
      removed_mark(box);
    }
  }

  // A frame with a cross in its corner, on white so that any colour works.
  void removed_mark(const Box& box) {
    constexpr double kArm = 7;
    const double right = box.x + box.width - 3;
    const double top = box.y + 3;
    const std::string path =
        "M" + svg_number(box.x + 1) + " " + svg_number(box.y + 1) + "h" +
        svg_number(box.width - 2) + "v" + svg_number(box.height - 2) + "h-" +
        svg_number(box.width - 2) + "zM" + svg_number(right - kArm) + " " +
        svg_number(top) + "l" + svg_number(kArm) + " " + svg_number(kArm) +
        "m0 -" + svg_number(kArm) + "l-" + svg_number(kArm) + " " +
        svg_number(kArm);
    for (const std::string_view stroke :
         {R"(stroke="#ffffff" stroke-width="4")",
          R"(stroke="#c00000" stroke-width="2")"}) {
      svg_.markup("<path d=\"" + path +
                  R"(" fill="none" pointer-events="none" )" +
                  std::string(stroke) + "/>\n");
    }
  }

  void legend() {
    const double y = layout_.height - kScoresMargin - kScoresLegend + 16;
    if (!summary_.least) {
      svg_.text(kScoresMargin, y + 11, words_("no head has a value"));
    } else {
      constexpr int kParts = 50;
      constexpr double kEnd = kScoresMargin + kParts * kRampPart;
      draw_heat_ramp(svg_, kScoresMargin, y, kParts);
      svg_.text(kScoresMargin, y + 27, digits_of(summary_.least->value));
      svg_.text(kEnd, y + 27, digits_of(summary_.largest->value),
                R"(text-anchor="end")");
      svg_.text(kEnd + 24, y + 11,
                words_("linear from the smallest to the largest value"),
                R"(fill="#555")");
    }
    keys(y + 40);
  }

  void keys(double y) {
    constexpr double kWidth = 28;
    double x = kScoresMargin;
    const auto word = [&](std::string_view text) {
      svg_.text(x + kWidth + 8, y + 12, text);
      x += kWidth + 24 + text_columns(text) * kScoresCharacter;
    };
    if (summary_.pruned != 0) {
      svg_.rectangle({x, y, kWidth, 18}, "url(#pruned)");
      svg_.frame({x, y, kWidth, 18});
      word(words_("pruned"));
    }
    if (summary_.removed != 0) {
      removed_mark({x, y, kWidth, 18});
      word(words_.in("head", "removed"));
    }
  }

  const HeadScores& given_;
  Words words_;
  Summary summary_;
  ScoresLayout layout_;
  SvgWriter svg_;
};

}  // namespace

Result<std::string> head_scores_svg(const HeadScores& scores) try {
  return ScoresDrawing(scores).draw();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
