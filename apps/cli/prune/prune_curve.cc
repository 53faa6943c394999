#include "prune_curve.h"

#include <algorithm>
#include <utility>

#include "headwise/inspect/pictures.h"
#include "shell/aligned_columns.h"
#include "shell/json.h"
#include "shell/models/label_text.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

using Row = std::vector<std::string>;

Row row_of(const CurvePoint& first, const CurvePoint& point) {
  const AccuracyChange by = change_between(first.by_score, point.by_score);
  Row row = {std::to_string(point.removed), accuracy_text(point.by_score),
             say("{:+.1f} ({:+.1f} to {:+.1f})", 100 * by.change, 100 * by.low,
                 100 * by.high)};
  if (!point.random.empty()) {
    const MeanWithInterval mean = mean_of(point.random);
    row.push_back(say("{:.1f}% ({:.1f} to {:.1f}), {:.1f} to {:.1f}",
                      100 * mean.mean, 100 * mean.low, 100 * mean.high,
                      100 * *std::ranges::min_element(point.random),
                      100 * *std::ranges::max_element(point.random)));
  }
  return row;
}

// The first column is aligned to the right.
std::string table_text(std::vector<Row> rows) {
  std::size_t width = 0;
  for (const Row& row : rows) {
    width = std::max(width, columns_of(row[0]));
  }
  for (Row& row : rows) {
    row[0].insert(0, width - columns_of(row[0]), ' ');
  }
  return aligned_columns(rows, kUnfolded);
}

}  // namespace

Result<std::vector<CurvePoint>> measure_curve(const PruneJob& job) {
  PrunedAccuracy accuracy = job.accuracy();
  HEADWISE_TRY(accuracy.keep_in(job.journal(job.flags().curve)));
  ProgressBar bar{"prune", "points"};
  auto curve = accuracy_curve(job.scores().importance.order, accuracy,
                              {.random_orders = job.flags().random,
                               .seed = Seed{job.flags().seed},
                               .progress = bar.progress()});
  if (curve) {
    accuracy.remove_journal();
  }
  return curve;
}

std::string curve_text(const PruneJob& job,
                       const std::vector<CurvePoint>& curve) {
  std::vector<Row> rows = {
      {say("removed"), say("accuracy"), say("change in points")}};
  if (job.flags().random != 0) {
    rows.front().push_back(
        say("mean over random orders ({}), then lowest to highest",
            job.flags().random));
  }
  for (const CurvePoint& point : curve) {
    rows.push_back(row_of(curve.front(), point));
  }
  return table_text(std::move(rows)) +
         say("{}: accuracy curve\n", shown(job.flags().curve));
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
  return json_text(Json{{"method", job.scores().method},
                        {"texts", curve.front().by_score.right.size()},
                        {"points", points}});
}

Result<std::string> curve_picture(const PruneJob& job,
                                  const std::vector<CurvePoint>& curve) {
  constexpr double kPercent = 100;
  AccuracyCurve picture{
      .title = say("Accuracy as heads are removed"),
      .subtitle = say("{} texts", curve.front().by_score.right.size()),
      .series = {.name = say("lowest {} first", job.scores().method),
                 .range = say("95% confidence interval")},
      .random = {.name = say("{} random orders", job.flags().random),
                 .range = say("95% confidence interval of the mean")},
      .language = language()};
  for (const CurvePoint& point : curve) {
    const auto [low, high] = point.by_score.interval();
    picture.series.points.push_back({point.removed,
                                     kPercent * point.by_score.accuracy(),
                                     kPercent * low, kPercent * high});
    if (!point.random.empty()) {
      const MeanWithInterval mean = mean_of(point.random);
      picture.random.points.push_back({point.removed, kPercent * mean.mean,
                                       kPercent * mean.low,
                                       kPercent * mean.high});
    }
  }
  return accuracy_curve_svg(picture);
}

}  // namespace headwise::cli
