// What every division of parameters and of a batch promises, on random ones.
#include "distribute/param_shards.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "distribute/batch_shares.h"

namespace headwise {
namespace {

std::size_t any(std::size_t low, std::size_t high) {
  return *rc::gen::resize(rc::kNominalSize,
                          rc::gen::inRange<std::size_t>(low, high + 1));
}

std::vector<ShardedParam> any_params() {
  std::vector<ShardedParam> params;
  for (std::size_t n = any(0, 12); n > 0; --n) {
    params.push_back({.name = "p" + std::to_string(n),
                      .axes = 2,
                      .rows = any(0, 40),
                      .row_size = any(0, 20),
                      .is_table = any(0, 1) == 1});
  }
  return params;
}

// Rows without elements count as one.
std::size_t row_work(const ShardedParam& param) {
  return std::max<std::size_t>(param.row_size, 1);
}

// Of all tables, or of all other parameters.
std::size_t work_of(const ParamShards& shards, std::size_t rank, bool tables) {
  std::size_t work = 0;
  for (std::size_t n = 0; n < shards.params().size(); ++n) {
    const ShardedParam& param = shards.params()[n];
    work += param.is_table == tables
                ? shards.rows(rank, n).count * row_work(param)
                : 0;
  }
  return work;
}

RC_GTEST_PROP(ParamShardsTest, RanksHaveEachRowOnceInOrder, ()) {
  const std::size_t ranks = any(1, 20);
  const ParamShards shards(any_params(), ranks);
  RC_ASSERT(shards.ranks() == ranks);
  // The rank with a row of an earlier table, or of another parameter.
  std::array<std::size_t, 2> latest{};
  for (std::size_t n = 0; n < shards.params().size(); ++n) {
    const std::size_t kind = shards.params()[n].is_table ? 1 : 0;
    std::size_t row = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const RowRange rows = shards.rows(rank, n);
      if (rows.count != 0) {
        RC_ASSERT(rows.first == row);
        RC_ASSERT(rank >= latest[kind]);
        latest[kind] = rank;
      }
      row += rows.count;
    }
    RC_ASSERT(row == shards.params()[n].rows);
  }
}

RC_GTEST_PROP(ParamShardsTest, EachRankHasItsShareOfBothKindsUpToARow, ()) {
  const std::size_t ranks = any(1, 20);
  const ParamShards shards(any_params(), ranks);
  for (const bool tables : {false, true}) {
    std::size_t all = 0;
    std::size_t row = 1;
    for (const ShardedParam& param : shards.params()) {
      all += param.is_table == tables ? param.rows * row_work(param) : 0;
      row = std::max(row, row_work(param));
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t work = work_of(shards, rank, tables);
      RC_ASSERT(work <= all / ranks + row + 1);
      RC_ASSERT(work + row + 1 >= all / ranks);
    }
  }
}

RC_GTEST_PROP(ParamShardsTest, ElementsOfARankAreOneAfterAnother, ()) {
  const ParamShards shards(any_params(), any(1, 20));
  for (std::size_t rank = 0; rank < shards.ranks(); ++rank) {
    std::size_t element = 0;
    for (std::size_t n = 0; n < shards.params().size(); ++n) {
      RC_ASSERT(shards.first_element(rank, n) == element);
      element += shards.rows(rank, n).count * shards.params()[n].row_size;
    }
    RC_ASSERT(shards.elements(rank) == element);
  }
}

RC_GTEST_PROP(BatchSharesTest, EachSequenceHasOneRankAndTokensAreBalanced, ()) {
  const std::size_t ranks = any(1, 20);
  RaggedTokens ids(any(0, 40));
  std::size_t longest = 0;
  for (auto& sequence : ids) {
    sequence.resize(any(1, 60));
    longest = std::max(longest, sequence.size());
  }
  const BatchShares batch(ids, ranks);
  std::vector<std::size_t> rows(batch.rows(), 0);
  std::vector<std::size_t> seen(ids.size(), 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RC_ASSERT(std::ranges::is_sorted(batch.sequences(rank)));
    for (const std::size_t n : batch.sequences(rank)) {
      ++seen[n];
    }
    std::size_t own = 0;
    batch.for_each(rank, [&](std::size_t of_batch, std::size_t of_rank,
                             std::size_t count) {
      RC_ASSERT(of_rank == own);
      own += count;
      for (std::size_t row = of_batch; row < of_batch + count; ++row) {
        ++rows[row];
      }
    });
    RC_ASSERT(own == batch.rows(rank));
    RC_ASSERT(own <= batch.rows() / ranks + longest);
  }
  RC_ASSERT(std::ranges::all_of(seen, [](std::size_t n) { return n == 1; }));
  RC_ASSERT(std::ranges::all_of(rows, [](std::size_t n) { return n == 1; }));
}

}  // namespace
}  // namespace headwise
