// What every division of parameters and of a batch promises, on random ones.
#include "distribute/param_shards.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
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
    const std::size_t row_size = any(0, 20);
    params.push_back({.name = "p" + std::to_string(n),
                      .axes = 2,
                      .rows = any(0, 40),
                      .row_size = row_size,
                      .row_work = any(1, 500)});
  }
  return params;
}

std::uint64_t work_of(const ParamShards& shards, std::size_t rank) {
  std::uint64_t work = 0;
  for (std::size_t n = 0; n < shards.params().size(); ++n) {
    work += shards.rows(rank, n).count * shards.params()[n].row_work;
  }
  return work;
}

RC_GTEST_PROP(ParamShardsTest, RanksHaveEachRowOnceInOrder, ()) {
  const std::size_t ranks = any(1, 20);
  const ParamShards shards(any_params(), ranks);
  RC_ASSERT(shards.ranks() == ranks);
  std::size_t latest = 0;  // rank with a row of an earlier parameter
  for (std::size_t n = 0; n < shards.params().size(); ++n) {
    std::size_t row = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const RowRange rows = shards.rows(rank, n);
      if (rows.count != 0) {
        RC_ASSERT(rows.first == row);
        RC_ASSERT(rank >= latest);
        latest = rank;
      }
      row += rows.count;
    }
    RC_ASSERT(row == shards.params()[n].rows);
  }
}

RC_GTEST_PROP(ParamShardsTest, EachRankHasItsShareOfTheWorkUpToARow, ()) {
  const std::size_t ranks = any(1, 20);
  const ParamShards shards(any_params(), ranks);
  std::uint64_t all = 0;
  std::uint64_t row = 1;
  for (const ShardedParam& param : shards.params()) {
    all += param.rows * param.row_work;
    row = std::max(row, param.row_work);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t work = work_of(shards, rank);
    RC_ASSERT(work <= all / ranks + row + 1);
    RC_ASSERT(work + row + 1 >= all / ranks);
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
