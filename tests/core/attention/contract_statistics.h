// The statistics of docs/arithmetic.md written out once more, one row at a
// time, in scalar code: what the kernels' bits are held against.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "attention/contract.h"
#include "attention/log2_sum.h"
#include "headwise/attention/statistics.h"

namespace headwise::testing_support {

// Sums that join as a row's do, with the maximum that they refer to.
struct ContractSums {
  float max = -std::numeric_limits<float>::infinity();
  float sum = 0;
  float entropy = 0;
  float distance = 0;
  float separator = 0;
  float largest = 0;

  void fold(const ContractSums& block) {
    if (block.sum == 0) {
      return;
    }
    if (sum == 0) {
      *this = block;
      return;
    }
    const float top = block.max > max ? block.max : max;
    const float a = contract_exp2(max - top);
    const float b = contract_exp2(block.max - top);
    const float mine = a == 0 ? 0 : std::fma(max - top, sum, entropy);
    const float added =
        b == 0 ? 0 : std::fma(block.max - top, block.sum, block.entropy);
    entropy = std::fma(added, b, mine * a);
    distance = std::fma(block.distance, b, distance * a);
    separator = std::fma(block.separator, b, separator * a);
    largest = std::max(largest * a, block.largest * b);
    sum = std::fma(block.sum, b, sum * a);
    max = top;
  }
};

class ContractStatistics : protected Contract {
 public:
  using Contract::Contract;

  AttentionStatistics run() const {
    const FloatEnvironment environment;
    AttentionStatistics done = AttentionStatistics::create(spec()).value();
    const AttentionShape& s = spec().shape;
    for (std::size_t b = 0; b < s.B; ++b) {
      for (std::size_t h = 0; h < s.Hq; ++h) {
        for (std::size_t i = 0; i < s.Lq; ++i) {
          row(b, h, i, done);
        }
        if (done.columns.size() != 0) {
          together(b, h, done);
        }
      }
    }
    done.pooled = pool_statistics(done.rows, spec()).value();
    return done;
  }

  // What keys have of a row, if added keys or a sink may have the rest.
  std::optional<float> share_of_keys(std::size_t b, std::size_t h,
                                     std::size_t i) const {
    if (columns() == spec().shape.Lkv && !sink(h)) {
      return std::nullopt;
    }
    const ContractSums of_keys =
        sums_of(blocks(b, h, i), b, i, 0, spec().shape.Lkv);
    const ContractSums row = with_others(of_keys, b, h, i);
    return of_keys.sum * contract_exp2(of_keys.max - row.max) / row.sum;
  }

 protected:
  using Blocks = std::vector<ContractBlock>;

  Blocks blocks(std::size_t b, std::size_t h, std::size_t i) const {
    Blocks all;
    for (std::size_t first = spec().mask.first_key(b); first < spec().shape.Lkv;
         first += kBlock) {
      all.push_back(
          block(b, h, i, first, std::min(first + kBlock, spec().shape.Lkv)));
    }
    return all;
  }

 private:
  // Sums of the keys [begin, end) of the sequence, block by block.
  ContractSums sums_of(const Blocks& all, std::size_t b, std::size_t i,
                       std::size_t begin, std::size_t end) const {
    ContractSums state;
    std::size_t first = spec().mask.first_key(b);
    const auto position = static_cast<float>(static_cast<std::int64_t>(i) +
                                             spec().statistics.query_start(b));
    for (const ContractBlock& of : all) {
      ContractSums part{.max = of.max};
      const float shift = std::isinf(of.max) ? 0 : of.max;
      for (std::size_t k = 0; k < of.p.size(); ++k) {
        const std::size_t j = first + k;
        if (j < begin || j >= end) {
          continue;
        }
        const float p = of.p[k];
        part.sum += p;
        part.largest = std::max(part.largest, p);
        part.entropy =
            std::fma(p, std::max(of.scores[k] - shift, -127.0f), part.entropy);
        part.distance = std::fma(p, std::fabs(position - static_cast<float>(j)),
                                 part.distance);
        part.separator += spec().statistics.separator(b, j) ? p : 0;
      }
      state.fold(part);
      first += kBlock;
    }
    return state;
  }

  // What key j has of the row, before dropout.
  float weight(const Blocks& all, std::size_t b, std::int64_t j,
               const ContractSums& row) const {
    const auto first = static_cast<std::int64_t>(spec().mask.first_key(b));
    if (j < first || j >= static_cast<std::int64_t>(spec().shape.Lkv)) {
      return 0;
    }
    const auto at = static_cast<std::size_t>(j - first);
    const ContractBlock& of = all[at / kBlock];
    return of.p[at % kBlock] * contract_exp2(of.max - row.max) / row.sum;
  }

  // Added keys and the sink are one more outcome each, at no distance.
  ContractSums with_others(ContractSums sums, std::size_t b, std::size_t h,
                           std::size_t i) const {
    for (std::size_t j = spec().shape.Lkv; j < columns(); ++j) {
      const ContractBlock of = block(b, h, i, j, j + 1);
      sums.fold({.max = of.max, .sum = of.sum});
    }
    if (const auto m = sink(h)) {
      sums.fold({.max = *m, .sum = 1});
    }
    return sums;
  }

  void row(std::size_t b, std::size_t h, std::size_t i,
           AttentionStatistics& done) const {
    const Blocks all = blocks(b, h, i);
    const ContractSums of_keys = sums_of(all, b, i, 0, spec().shape.Lkv);
    const ContractSums sums = with_others(of_keys, b, h, i);
    const auto put = [&](Statistic k, float x) {
      done.rows(b, h, i, index_of(k)) = x;
    };
    if (of_keys.sum == 0) {
      put(Statistic::entropy, kNaN);
      put(Statistic::distance, kNaN);
    } else {
      const float entropy =
          0x1.62e43p-1f * (log2_sum(sums.sum) - sums.entropy / sums.sum);
      const std::int64_t position =
          static_cast<std::int64_t>(i) + spec().statistics.query_start(b);
      put(Statistic::entropy, entropy < 0 ? 0 : entropy);
      put(Statistic::distance, sums.distance / sums.sum);
      put(Statistic::largest, contract_exp2(of_keys.max - sums.max) / sums.sum);
      put(Statistic::first,
          weight(all, b, static_cast<std::int64_t>(spec().mask.first_key(b)),
                 sums));
      put(Statistic::previous, weight(all, b, position - 1, sums));
      put(Statistic::self, weight(all, b, position, sums));
      put(Statistic::next, weight(all, b, position + 1, sums));
      put(Statistic::separator, sums.separator / sums.sum);
    }
    top(all, b, h, i, sums, done);
  }

  void top(const Blocks& all, std::size_t b, std::size_t h, std::size_t i,
           const ContractSums& row, AttentionStatistics& done) const {
    std::vector<std::pair<float, std::int64_t>> keys;  // -score, key
    auto j = static_cast<std::int64_t>(spec().mask.first_key(b));
    for (const ContractBlock& of : all) {
      for (const float score : of.scores) {
        if (score > -std::numeric_limits<float>::infinity()) {
          keys.emplace_back(-score, j);
        }
        ++j;
      }
    }
    std::ranges::sort(keys);
    for (std::size_t r = 0; r < done.top_keys.extent(3); ++r) {
      const bool there = r < keys.size();
      done.top_keys(b, h, i, r) = there ? keys[r].second : -1;
      done.top_weights(b, h, i, r) =
          there ? contract_exp2(-keys[r].first - row.max) / row.sum : 0;
    }
  }

  // The columns and the map of a head, chunk by chunk.
  void together(std::size_t b, std::size_t h, AttentionStatistics& done) const {
    const std::size_t n = spec().statistics.queries(b);
    const std::size_t chunk = std::max<std::size_t>((n + 767) / 768 * 48, 48);
    const std::size_t keys = spec().shape.Lkv;
    std::vector<double> rows(kMostMapCells);
    for (std::size_t first = 0; first < n; first += chunk) {
      std::vector<std::array<float, 4>> columns(keys);
      std::vector<float> cells(kMostMapCells * kMostMapCells);
      for (std::size_t i = first; i < std::min(first + chunk, n); ++i) {
        const Blocks all = blocks(b, h, i);
        const ContractSums of_keys = sums_of(all, b, i, 0, keys);
        const ContractSums row = with_others(of_keys, b, h, i);
        if (of_keys.sum != 0) {
          add_columns(all, b, i, row, columns);
          const std::size_t r = i * map_size(n) / n;
          ++rows[r];
          add_cells(all, b, h, i, row, r, cells, done);
        }
      }
      for (std::size_t j = 0; j < keys; ++j) {
        const auto& c = columns[j];
        done.columns(b, h, j) += (c[0] + c[2]) + (c[1] + c[3]);
      }
      for (std::size_t r = 0; r < map_size(n); ++r) {
        for (std::size_t c = 0; c < map_size(keys); ++c) {
          done.map_mean(b, h, r, c) += cells[r * kMostMapCells + c];
        }
      }
    }
    for (std::size_t r = 0; r < map_size(n); ++r) {
      for (std::size_t c = 0; c < map_size(keys) && rows[r] != 0; ++c) {
        done.map_mean(b, h, r, c) /= static_cast<float>(
            rows[r] * static_cast<double>(map_cell_size(c, keys)));
      }
    }
  }

  void add_columns(const Blocks& all, std::size_t b, std::size_t i,
                   const ContractSums& row,
                   std::vector<std::array<float, 4>>& columns) const {
    std::size_t j = spec().mask.first_key(b);
    for (const ContractBlock& of : all) {
      const float factor = contract_exp2(of.max - row.max) / row.sum;
      for (const float p : of.p) {
        float& chain = columns[j++][i / 4 % 4];
        chain = std::fma(p, factor, chain);
      }
    }
  }

  void add_cells(const Blocks& all, std::size_t b, std::size_t h, std::size_t i,
                 const ContractSums& row, std::size_t r,
                 std::vector<float>& cells, AttentionStatistics& done) const {
    const std::size_t keys = spec().shape.Lkv;
    std::size_t begin = 0;
    for (std::size_t c = 0; c < map_size(keys); ++c) {
      const std::size_t end = begin + map_cell_size(c, keys);
      const ContractSums cell = sums_of(all, b, i, begin, end);
      const float factor = contract_exp2(cell.max - row.max);
      if (cell.sum != 0) {
        cells[r * kMostMapCells + c] += cell.sum * factor / row.sum;
        float& largest = done.map_largest(b, h, r, c);
        largest = std::max(largest, cell.largest * factor / row.sum);
      }
      begin = end;
    }
  }
};

}  // namespace headwise::testing_support
