#include "headwise/attention/statistics_options.h"

#include <array>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kMostTopKeys = 64;

Status check_query_lengths(TensorView<const std::int64_t, 1> lengths,
                           const AttentionShape& shape,
                           std::string_view operation) {
  if (lengths.data() == nullptr) {
    return ok();
  }
  HEADWISE_TRY(check_shape(operation, "statistics.query_lengths",
                           lengths.extents(), "(B)", {{shape.B}}));
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t Lq = shape.sequence(b).Lq;
    if (lengths(b) < 0 || static_cast<std::uint64_t>(lengths(b)) > Lq) {
      return value_error(
          operation, "statistics.query_lengths[" + std::to_string(b) + "]",
          std::to_string(lengths(b)),
          "a number from 0 to the " + std::to_string(Lq) + " queries",
          ErrorCode::out_of_range);
    }
  }
  return ok();
}

}  // namespace

std::string_view name_of(Statistic statistic) {
  constexpr std::array<std::string_view, kStatistics> kNames = {
      "entropy",  "distance", "largest", "first",
      "previous", "self",     "next",    "separator"};
  return kNames[index_of(statistic)];
}

Result<BoundStatistics> BoundStatistics::bind(const StatisticsOptions& options,
                                              const AttentionShape& shape,
                                              const QueryStart& query_start,
                                              std::string_view operation) try {
  if (options.top_keys > kMostTopKeys) {
    return value_error(operation, "statistics.top_keys",
                       std::to_string(options.top_keys), "at most 64");
  }
  if (options.separators.data() != nullptr) {
    HEADWISE_TRY(check_shape(operation, "statistics.separators",
                             options.separators.extents(), "(B, Lkv)",
                             {{shape.B, shape.Lkv}}));
  }
  HEADWISE_TRY(check_query_lengths(options.query_lengths, shape, operation));
  BoundStatistics bound;
  bound.options_ = options;
  bound.query_start_ = query_start;
  bound.shape_ = shape;
  return bound;
} catch (...) {
  return caught_out_of_memory();
}

std::size_t BoundStatistics::queries(std::size_t b) const {
  return options_.query_lengths.data() == nullptr
             ? shape_.sequence(b).Lq
             : static_cast<std::size_t>(options_.query_lengths(b));
}

Status BoundStatistics::check_views(const StatisticsViews& views) const try {
  const std::size_t B = shape_.batches();
  const std::size_t Hq = shape_.Hq;
  const std::size_t Lq = shape_.query_rows();
  const auto check = [](std::string_view name, const auto& view,
                        std::string_view words, const auto& expected) {
    return view.data() == nullptr
               ? ok()
               : check_shape("attention", name, view.extents(), words,
                             expected);
  };
  const Extents<4> top = {B, Hq, Lq, options_.top_keys};
  const Extents<4> map = {shape_.B, Hq, map_size(shape_.Lq),
                          map_size(shape_.Lkv)};
  constexpr std::string_view kTop = "(B, Hq, Lq, top_keys)";
  constexpr std::string_view kMap = "(B, Hq, map_size(Lq), map_size(Lkv))";
  for (const Status& s : {check("rows", views.rows, "(B, Hq, Lq, kStatistics)",
                                Extents<4>{B, Hq, Lq, kStatistics}),
                          check("top_keys", views.top_keys, kTop, top),
                          check("top_weights", views.top_weights, kTop, top),
                          check("columns", views.columns, "(B, Hq, Lkv)",
                                Extents<3>{B, Hq, shape_.key_rows()}),
                          check("map_mean", views.map_mean, kMap, map),
                          check("map_largest", views.map_largest, kMap, map)}) {
    if (!s) {
      return s;
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
