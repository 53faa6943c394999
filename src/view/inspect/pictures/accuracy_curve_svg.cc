#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/inspect/pictures.h"
#include "inspect/pictures/axis_step.h"
#include "inspect/pictures/svg_text.h"
#include "inspect/pictures/svg_writer.h"
#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::string percent_text(double percent) { return number_text(percent, 4); }

bool has_range(const AccuracyPoint& point) {
  return std::isfinite(point.low) && std::isfinite(point.high);
}

// "91.2% (90.1 - 92.3)"
std::string said_of(const AccuracyPoint& point) {
  return percent_text(point.accuracy) + "%" +
         (has_range(point) ? " (" + percent_text(point.low) + " – " +
                                 percent_text(point.high) + ")"
                           : std::string());
}

// ---- The points. ----

using Points = std::vector<AccuracyPoint>;

// The points that can be drawn, sorted by heads removed.
Points drawn_of(const AccuracySeries& series) {
  Points points = series.points;
  std::erase_if(points, [](const AccuracyPoint& point) {
    return !std::isfinite(point.accuracy);
  });
  std::ranges::stable_sort(points, {}, &AccuracyPoint::heads_removed);
  return points;
}

// "Taylor: 0: 92.1% (91.2 - 93), 12: 91.8%."
std::string said_of(const std::string& name, const Points& points) {
  std::string text = name + ": ";
  for (std::size_t n = 0; n < points.size(); ++n) {
    text += (n == 0 ? "" : ", ") + std::to_string(points[n].heads_removed) +
            ": " + said_of(points[n]);
  }
  return text + ".";
}

// For readers who cannot see the picture.
std::string curve_description(const AccuracyCurve& given, const Points& series,
                              const Points& random, const Words& words) {
  if (series.empty() && random.empty()) {
    return words("no points");
  }
  std::string text =
      words("accuracy (%)") + ", " + words("heads removed") + ".";
  for (const auto& [name, points] : {std::pair(&given.series.name, &series),
                                     {&given.random.name, &random}}) {
    if (!points->empty()) {
      text += " " + said_of(*name, *points);
    }
  }
  return text;
}

// ---- The axes. ----

struct CurveAxis {
  double begin;
  double end;
  double step;  // between grid lines

  double share(double value) const { return (value - begin) / (end - begin); }
};

CurveAxis heads_axis(const Points& series, const Points& random) {
  std::size_t most = 1;
  for (const Points* points : {&series, &random}) {
    if (!points->empty()) {
      most = std::max(most, points->back().heads_removed);
    }
  }
  const auto end = static_cast<double>(most);
  return {0, end, std::max(axis_step(end), 1.0)};  // heads are whole
}

// An interval may extend beyond 0 and 100%.
double within(double accuracy) { return std::clamp(accuracy, 0.0, 100.0); }

// The grid lines around everything that is drawn, at most from 0 to 100%.
CurveAxis accuracy_axis(const Points& series, const Points& random) {
  double least = 100;
  double largest = 0;
  for (const Points* points : {&series, &random}) {
    for (const AccuracyPoint& point : *points) {
      const bool range = has_range(point);
      const double middle = within(point.accuracy);
      least = std::min({least, middle, range ? within(point.low) : middle});
      largest =
          std::max({largest, middle, range ? within(point.high) : middle});
    }
  }
  if (least > largest) {
    return {0, 100, 20};
  }
  const double step = axis_step(std::max(largest - least, 0.5));
  const double begin = std::floor(least / step) * step;
  const double end = std::min(std::ceil(largest / step) * step, 100.0);
  if (end > begin) {
    return {begin, end, step};
  }
  return begin > 0 ? CurveAxis{begin - step, begin, step}
                   : CurveAxis{0, step, step};
}

// ---- The layout, in pixels. ----

constexpr double kCurveMargin = SvgWriter::kMargin;
constexpr double kCurveAxisName = 20;
constexpr double kNumbers = 44;  // for the accuracies, left of the plot
constexpr double kBelow = 48;    // for the numbers and the name of the axis
constexpr double kKey = 20;      // height of a line of the legend
constexpr double kKeyLine = 42;  // width of the sample before the name
constexpr double kCurveCharacter = 7;

// Two colours that colour-blind readers can tell apart; the dashes help too.
constexpr std::string_view kSeriesColour = "#0072b2";
constexpr std::string_view kRandomColour = "#d55e00";
constexpr std::string_view kDashes = R"( stroke-dasharray="6 3")";

SvgHeading curve_heading(const AccuracyCurve& given) {
  return {given.title, given.subtitle};
}

std::string key_text(const AccuracySeries& series) {
  return series.name + (series.range.empty() ? "" : " (" + series.range + ")");
}

class CurveDrawing {
 public:
  explicit CurveDrawing(const AccuracyCurve& given)
      : given_(given),
        words_(given.language),
        series_(drawn_of(given.series)),
        random_(drawn_of(given.random)),
        x_(heads_axis(series_, random_)),
        y_(accuracy_axis(series_, random_)),
        plot_{kCurveMargin + kNumbers,
              kCurveMargin + curve_heading(given).height() + kCurveAxisName,
              std::max(given.width, 120.0), std::max(given.height, 80.0)},
        svg_(width(), plot_.y + plot_.height + kBelow + 2 * kKey + kCurveMargin,
             curve_heading(given), "",
             curve_description(given, series_, random_, words_)) {}

  std::string draw() && {
    axes();
    if (series_.empty() && random_.empty()) {
      svg_.text(plot_.x + plot_.width / 2, plot_.y + plot_.height / 2,
                words_("no points"), R"(text-anchor="middle")");
      return std::move(svg_).finish();
    }
    band();
    line(random_, kRandomColour, kDashes);
    bars();
    line(series_, kSeriesColour, "");
    points(random_, kRandomColour);
    points(series_, kSeriesColour);
    legend();
    return std::move(svg_).finish();
  }

 private:
  double width() const {
    const auto key_width = [](const AccuracySeries& series) {
      return std::min(
          kKeyLine + text_columns(key_text(series)) * kCurveCharacter,
          SvgHeading::kWidest);
    };
    return 2 * kCurveMargin +
           std::max({kNumbers + plot_.width, curve_heading(given_).width(),
                     kNumbers + key_width(given_.series),
                     kNumbers + key_width(given_.random)});
  }

  double x_of(double heads) const {
    return plot_.x + x_.share(heads) * plot_.width;
  }
  double x_of(const AccuracyPoint& point) const {
    return x_of(static_cast<double>(point.heads_removed));
  }
  double y_of(double accuracy) const {
    return plot_.y + (1 - y_.share(within(accuracy))) * plot_.height;
  }
  static std::string pair_text(double x, double y) {
    return svg_number(x) + "," + svg_number(y);
  }

  void axes() {
    for (int n = 0; y_.begin + n * y_.step <= y_.end + y_.step / 2; ++n) {
      const double accuracy = y_.begin + n * y_.step;
      const double y = y_of(accuracy);
      svg_.markup("<path d=\"M" + pair_text(plot_.x, y) + "h" +
                  svg_number(plot_.width) + "\" stroke=\"#ccc\"/>\n");
      svg_.text(plot_.x - 8, y + 4, percent_text(accuracy),
                R"(text-anchor="end")");
    }
    const double bottom = plot_.y + plot_.height;
    for (int n = 0; n * x_.step <= x_.end; ++n) {
      const double x = x_of(n * x_.step);
      svg_.markup("<path d=\"M" + pair_text(x, bottom) +
                  "v4\" stroke=\"#444\"/>\n");
      svg_.text(x, bottom + 18, svg_number(n * x_.step),
                R"(text-anchor="middle")");
    }
    svg_.markup("<path d=\"M" + pair_text(plot_.x, plot_.y) + "v" +
                svg_number(plot_.height) + "h" + svg_number(plot_.width) +
                "\" fill=\"none\" stroke=\"#444\"/>\n");
    svg_.text(kCurveMargin, plot_.y - 10, words_("accuracy (%)"),
              R"(fill="#333")");
    svg_.text(plot_.x + plot_.width / 2, bottom + 38, words_("heads removed"),
              R"(text-anchor="middle" fill="#333")");
  }

  void line(const Points& points, std::string_view colour,
            std::string_view dashes) {
    std::string text = R"(<polyline fill="none" stroke-width="2" stroke=")" +
                       std::string(colour) + "\"" + std::string(dashes) +
                       " points=\"";
    for (std::size_t n = 0; n < points.size(); ++n) {
      text += (n == 0 ? "" : " ") +
              pair_text(x_of(points[n]), y_of(points[n].accuracy));
    }
    svg_.markup(text + "\"/>\n");
  }

  // The band of the random series, where it has low and high.
  void band() {
    std::string there;
    std::string back;
    for (const AccuracyPoint& point : random_) {
      if (has_range(point)) {
        there += pair_text(x_of(point), y_of(point.high)) + " ";
        back.insert(0, " " + pair_text(x_of(point), y_of(point.low)));
      }
    }
    if (!there.empty()) {
      there.pop_back();
      svg_.markup("<polygon fill=\"" + std::string(kRandomColour) +
                  R"(" fill-opacity="0.15" points=")" + there + back +
                  "\"/>\n");
    }
  }

  void bars() {
    for (const AccuracyPoint& point : series_) {
      if (has_range(point)) {
        const std::string low = pair_text(x_of(point) - 4, y_of(point.low));
        const std::string high = pair_text(x_of(point) - 4, y_of(point.high));
        svg_.markup("<path d=\"M" + high + "h8M");
        svg_.markup(low + "h8M" + pair_text(x_of(point), y_of(point.low)) +
                    "V" + svg_number(y_of(point.high)) + "\" stroke=\"" +
                    std::string(kSeriesColour) + "\" stroke-width=\"1.5\"/>\n");
      }
    }
  }

  void points(const Points& points, std::string_view colour) {
    for (const AccuracyPoint& point : points) {
      svg_.markup("<circle cx=\"" + svg_number(x_of(point)) + "\" cy=\"" +
                  svg_number(y_of(point.accuracy)) +
                  R"(" r="3.5" stroke="#ffffff" fill=")" + std::string(colour) +
                  "\"><title>" +
                  svg_text(words_("heads removed") + " " +
                           std::to_string(point.heads_removed) + ": " +
                           said_of(point)) +
                  "</title></circle>\n");
    }
  }

  void legend() {
    double y = plot_.y + plot_.height + kBelow + kKey;
    const auto key = [&](const AccuracySeries& series, std::string_view colour,
                         std::string_view dashes) {
      svg_.markup("<path d=\"M" + pair_text(plot_.x, y - 4) +
                  R"(h32" stroke-width="2" stroke=")" + std::string(colour) +
                  "\"" + std::string(dashes) + "/>\n");
      svg_.text(plot_.x + kKeyLine, y, key_text(series));
      y += kKey;
    };
    if (!series_.empty()) {
      key(given_.series, kSeriesColour, "");
    }
    if (!random_.empty()) {
      key(given_.random, kRandomColour, kDashes);
    }
  }

  const AccuracyCurve& given_;
  Words words_;
  Points series_;
  Points random_;
  CurveAxis x_;
  CurveAxis y_;
  Box plot_;
  SvgWriter svg_;
};

}  // namespace

Result<std::string> accuracy_curve_svg(const AccuracyCurve& curve) try {
  return CurveDrawing(curve).draw();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
