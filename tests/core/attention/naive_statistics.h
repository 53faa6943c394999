// The statistics of attention written once more, apart from the library: from
// whole matrices of attention weights in binary64.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/attention/statistics.h"

namespace headwise::testing_support {

struct NaiveStatistics {
  Tensor<double, 4> rows;
  Tensor<double, 3> columns;
  Tensor<double, 4> map_mean;
  Tensor<double, 4> map_largest;
  Tensor<double, 2> mean;
};

class NaiveStatisticsOf {
 public:
  // `weights` (B, Hq, Lq, Lkv + added keys), `lse` (B, Hq, Lq). A row without a
  // key has lse -inf, or no weight next to its sink and the added keys.
  NaiveStatisticsOf(const Outputs<double>& of, const AttentionSpec& spec)
      : w_(of.attn_weights), lse_(of.lse), spec_(spec) {}

  NaiveStatistics run() const {
    const AttentionShape& s = spec_.shape;
    NaiveStatistics done{
        Tensor<double, 4>::create({s.B, s.Hq, s.Lq, kStatistics}).value(),
        Tensor<double, 3>::create({s.B, s.Hq, s.Lkv}).value(),
        Tensor<double, 4>::create({s.B, s.Hq, map_size(s.Lq), map_size(s.Lkv)})
            .value(),
        Tensor<double, 4>::create({s.B, s.Hq, map_size(s.Lq), map_size(s.Lkv)})
            .value(),
        Tensor<double, 2>::create({s.Hq, kStatistics}).value()};
    for (std::size_t h = 0; h < s.Hq; ++h) {
      double counted_rows = 0;
      for (std::size_t b = 0; b < s.B; ++b) {
        for (std::size_t i = 0; i < s.Lq; ++i) {
          row(b, h, i, done);
          if (counts(b, h, i)) {
            ++counted_rows;
            for (std::size_t k = 0; k < kStatistics; ++k) {
              done.mean(h, k) += done.rows(b, h, i, k);
            }
          }
        }
        map(b, h, done);
      }
      for (std::size_t k = 0; k < kStatistics; ++k) {
        done.mean(h, k) /= counted_rows;
      }
    }
    return done;
  }

 private:
  bool empty(std::size_t b, std::size_t h, std::size_t i) const {
    const bool others = spec_.sinks.has(h) || spec_.added_keys.count() != 0;
    for (std::size_t j = 0; others && j < spec_.shape.Lkv; ++j) {
      if (w_(b, h, i, j) != 0) {
        return false;
      }
    }
    return others || lse_(b, h, i) == -std::numeric_limits<double>::infinity();
  }
  bool counts(std::size_t b, std::size_t h, std::size_t i) const {
    return !empty(b, h, i) && i < spec_.statistics.queries(b);
  }

  void row(std::size_t b, std::size_t h, std::size_t i,
           NaiveStatistics& done) const {
    const auto at = [&](Statistic k) -> double& {
      return done.rows(b, h, i, index_of(k));
    };
    if (empty(b, h, i)) {
      at(Statistic::entropy) = at(Statistic::distance) = std::nan("");
      return;
    }
    if (spec_.sinks.has(h)) {
      const double log_share = double{spec_.sinks.of(h)} - lse_(b, h, i);
      at(Statistic::entropy) -= std::exp(log_share) * log_share;
    }
    for (std::size_t j = spec_.shape.Lkv; j < w_.extent(3); ++j) {
      const double w = w_(b, h, i, j);
      at(Statistic::entropy) -= w == 0 ? 0 : w * std::log(w);
    }
    const auto position =
        static_cast<std::int64_t>(i) + spec_.statistics.query_start(b);
    for (std::size_t j = 0; j < spec_.shape.Lkv; ++j) {
      const double w = w_(b, h, i, j);
      const auto offset = static_cast<std::int64_t>(j) - position;
      at(Statistic::entropy) -= w == 0 ? 0 : w * std::log(w);
      at(Statistic::distance) += w * std::fabs(static_cast<double>(offset));
      at(Statistic::largest) = std::max(at(Statistic::largest), w);
      at(Statistic::first) += j == spec_.mask.first_key(b) ? w : 0;
      at(Statistic::previous) += offset == -1 ? w : 0;
      at(Statistic::self) += offset == 0 ? w : 0;
      at(Statistic::next) += offset == 1 ? w : 0;
      at(Statistic::separator) += spec_.statistics.separator(b, j) ? w : 0;
      if (counts(b, h, i)) {
        done.columns(b, h, j) += w;
      }
    }
  }

  void map(std::size_t b, std::size_t h, NaiveStatistics& done) const {
    const std::size_t queries = spec_.statistics.queries(b);
    const std::size_t keys = spec_.shape.Lkv;
    std::vector<double> pairs(kMostMapCells * kMostMapCells);
    for (std::size_t i = 0; i < queries; ++i) {
      const std::size_t r = i * map_size(queries) / queries;
      for (std::size_t j = 0; j < keys && counts(b, h, i); ++j) {
        const std::size_t c = j * map_size(keys) / keys;
        const double w = w_(b, h, i, j);
        double& largest = done.map_largest(b, h, r, c);
        done.map_mean(b, h, r, c) += w;
        largest = std::max(largest, w);
        ++pairs[r * kMostMapCells + c];
      }
    }
    for (std::size_t r = 0; r < map_size(queries); ++r) {
      for (std::size_t c = 0; c < map_size(keys); ++c) {
        const double in_cell = pairs[r * kMostMapCells + c];
        done.map_mean(b, h, r, c) /= in_cell == 0 ? 1 : in_cell;
      }
    }
  }

  const Tensor<double, 4>& w_;
  const Tensor<double, 3>& lse_;
  const AttentionSpec& spec_;
};

}  // namespace headwise::testing_support
