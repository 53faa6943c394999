#include "prune_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "headwise/base/random.h"
#include "headwise/inspect/accuracy_curve_svg.h"
#include "json/json.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kTenths = 9;
constexpr std::uint32_t kOrderStream = 9;

std::size_t tenths_of(std::size_t heads, std::size_t tenths) {
  return (heads * tenths + 5) / 10;
}

// All heads in an order that is a matter of the seed alone.
std::vector<HeadId> random_order(std::vector<HeadId> heads, std::uint64_t seed,
                                 std::size_t number) {
  std::vector<float> keys(heads.size());
  RandomStream(Seed{seed}, kOrderStream)
      .substream(number)
      .fill_uniform(keys, 0, 1);
  std::ranges::sort(heads);
  std::vector<std::size_t> places(heads.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t n) { return keys[n]; });
  std::vector<HeadId> order;
  for (const std::size_t n : places) {
    order.push_back(heads[n]);
  }
  return order;
}

// Student's t that leaves 2.5 of 100 beyond it.
double student_t(std::size_t degrees) {
  constexpr std::array kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  return degrees <= kTable.size() ? kTable[degrees - 1] : 1.96;
}

using Row = std::vector<std::string>;

Row row_of(const CurvePoint& first, const CurvePoint& point) {
  const AccuracyChange by = change_between(first.by_score, point.by_score);
  Row row = {std::to_string(point.removed), accuracy_text(point.by_score),
             say({"{:+.1f} ({:+.1f} to {:+.1f})", "{:+.1f} ({:+.1f}~{:+.1f})"},
                 100 * by.change, 100 * by.low, 100 * by.high)};
  if (!point.random.empty()) {
    const MeanInterval mean = mean_of(point.random);
    row.push_back(say({"{:.1f}% ({:.1f} to {:.1f}), {:.1f} to {:.1f}",
                       "{:.1f}% ({:.1f}~{:.1f}), {:.1f}~{:.1f}"},
                      100 * mean.mean, 100 * mean.low, 100 * mean.high,
                      100 * *std::ranges::min_element(point.random),
                      100 * *std::ranges::max_element(point.random)));
  }
  return row;
}

// Columns as wide as their longest cell and two spaces apart; the first is
// aligned to the right. Every row has as many cells as the first.
std::string table_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::size_t width = 0;
      for (const Row& other : rows) {
        width = std::max(width, columns_of(other[c]));
      }
      const std::string gap(width - columns_of(row[c]), ' ');
      const bool last = c + 1 == row.size();
      text += c == 0 ? gap + row[c] : "  " + row[c] + (last ? "" : gap);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

MeanInterval mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double x : values) {
    squares += (x - mean) * (x - mean);
  }
  if (values.size() < 2) {
    return {mean, mean, mean};
  }
  const double half =
      student_t(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

Result<std::vector<CurvePoint>> measure_curve(const PruneJob& job) {
  const std::vector<HeadId>& order = job.scores().importance.order;
  const std::size_t orders = 1 + job.flags().random;
  std::vector<CurvePoint> curve;
  for (std::size_t tenths = 0; tenths <= kTenths; ++tenths) {
    curve.push_back({tenths_of(order.size(), tenths), {}, {}});
  }
  Journal journal = job.journal(job.flags().curve);
  PrunedAccuracy accuracy = job.accuracy();
  ProgressBar bar{"prune", "points"};
  const Progress progress = bar.progress();
  // Order by order: one with more heads gone goes on from the one before.
  for (std::size_t n = 0; n < orders; ++n) {
    const std::vector<HeadId> heads =
        n == 0 ? order : random_order(order, job.flags().seed, n);
    const std::string name = n == 0 ? "scores" : fmt::format("random {}", n);
    for (std::size_t at = 0; at < curve.size(); ++at) {
      auto answers = accuracy.without(heads, curve[at].removed, name, journal);
      HEADWISE_TRY(answers);
      if (n == 0) {
        curve[at].by_score = *std::move(answers);
      } else {
        curve[at].random.push_back(answers->accuracy());
      }
      if (progress) {
        progress(n * curve.size() + at + 1, orders * curve.size());
      }
    }
  }
  journal.remove();
  return curve;
}

std::string curve_text(const PruneJob& job,
                       const std::vector<CurvePoint>& curve) {
  std::vector<Row> rows = {{say({"removed", "제거"}),
                            say({"accuracy", "정확도"}),
                            say({"change in points", "변화(%p)"})}};
  if (job.flags().random != 0) {
    rows.front().push_back(
        say({"mean of {} random orders, then lowest to highest",
             "무작위 순서 {}개의 평균, 그리고 최저와 최고"},
            job.flags().random));
  }
  for (const CurvePoint& point : curve) {
    rows.push_back(row_of(curve.front(), point));
  }
  return table_text(rows) +
         say({"{}: the curve\n", "{}: 그래프\n"}, shown(job.flags().curve));
}

std::string curve_json(const PruneJob& job,
                       const std::vector<CurvePoint>& curve) {
  Json points = Json::array();
  for (const CurvePoint& point : curve) {
    const auto [low, high] = point.by_score.interval();
    points.push_back({{"removed", point.removed},
                      {"accuracy", point.by_score.accuracy()},
                      {"low", low},
                      {"high", high},
                      {"random", point.random}});
  }
  return Json{{"method", job.scores().method},
              {"texts", curve.front().by_score.right.size()},
              {"points", points}}
             .dump() +
         "\n";
}

Result<std::string> curve_picture(const PruneJob& job,
                                  const std::vector<CurvePoint>& curve) {
  constexpr double kPercent = 100;
  AccuracyCurve picture{
      .title =
          say({"Accuracy as heads are removed", "헤드 제거에 따른 정확도"}),
      .subtitle =
          say({"{} texts", "텍스트 {}개"}, curve.front().by_score.right.size()),
      .series = {.name = say({"lowest {} first", "{} 점수가 낮은 헤드부터"},
                             job.scores().method),
                 .range = say({"95% confidence interval", "95% 신뢰 구간"})},
      .random = {.name = say({"{} random orders", "무작위 순서 {}개"},
                             job.flags().random),
                 .range = say({"95% confidence interval of the mean",
                               "평균의 95% 신뢰 구간"})},
      .language = language()};
  for (const CurvePoint& point : curve) {
    const auto [low, high] = point.by_score.interval();
    picture.series.points.push_back({point.removed,
                                     kPercent * point.by_score.accuracy(),
                                     kPercent * low, kPercent * high});
    if (!point.random.empty()) {
      const MeanInterval mean = mean_of(point.random);
      picture.random.points.push_back({point.removed, kPercent * mean.mean,
                                       kPercent * mean.low,
                                       kPercent * mean.high});
    }
  }
  return accuracy_curve_svg(picture);
}

}  // namespace headwise::cli
