// Sums over the pairs of a query and a key, without a matrix of all pairs: over
// the queries of each key, and over the cells of a small map
// (attention/statistics_options.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "headwise/attention/statistics_options.h"

namespace headwise::inline HEADWISE_ABI {

class PairSums {
 public:
  PairSums(std::size_t Lq, std::size_t Lkv)
      : Lq_(Lq),
        Lkv_(Lkv),
        columns_(Lkv),
        cells_(map_size(Lq) * map_size(Lkv)) {}

  // The numbers of query i and every key.
  void add(std::size_t i, std::span<const double> row) {
    const std::size_t cells = map_size(Lkv_);
    double* const line = cells_.data() + i * map_size(Lq_) / Lq_ * cells;
    std::size_t j = 0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      double sum = line[cell];
      for (const std::size_t end = j + map_cell_size(cell, Lkv_); j < end;
           ++j) {
        columns_[j] += row[j];
        sum += row[j];
      }
      line[cell] = sum;
    }
  }

  // sum / queries
  void column_means(std::size_t queries, float* to) const {
    const auto n = static_cast<double>(std::max<std::size_t>(queries, 1));
    for (std::size_t j = 0; j < Lkv_; ++j) {
      to[j] = static_cast<float>(columns_[j] / n);
    }
  }
  // Means over all pairs of a cell, masked ones counting 0.
  void map_means(float* to) const {
    for (std::size_t n = 0; n < cells_.size(); ++n) {
      const std::size_t pairs = map_cell_size(n / map_size(Lkv_), Lq_) *
                                map_cell_size(n % map_size(Lkv_), Lkv_);
      to[n] = static_cast<float>(cells_[n] / static_cast<double>(pairs));
    }
  }

 private:
  std::size_t Lq_;
  std::size_t Lkv_;
  std::vector<double> columns_;
  std::vector<double> cells_;
};

}  // namespace headwise::inline HEADWISE_ABI
