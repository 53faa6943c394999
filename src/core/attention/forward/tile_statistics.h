// The statistics of a tile's rows: gathered block by block together with the
// softmax, completed once the rows' M and sum are known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "attention/one_key.h"
#include "headwise/attention/spec.h"
#include "kernels/statistics_tile.h"
#include "run/arena.h"

namespace headwise::inline HEADWISE_ABI {

// The share of some rows of one head in its columns and its map, summed in the
// order of the rows. Null for what was not asked for.
struct RowsTogether {
  RowsTogether(const AttentionSpec& spec, Arena& arena);

  void clear() const;

  float* columns;          // column_sums_size(Lkv)
  float* map_sum;          // (map_size(Lq), map_size(Lkv))
  float* map_largest;      // the same
  std::int64_t* map_rows;  // (map_size(Lq)): the rows that have a key

 private:
  std::size_t column_sums_ = 0;
  std::size_t map_rows_ = 0;
  std::size_t map_cells_ = 0;
};

class TileStatistics {
 public:
  TileStatistics(const AttentionSpec& spec, Arena& arena);

  // The queries [first, first + count) of a head of sequence b.
  void begin(std::size_t b, std::size_t first, std::size_t count,
             std::size_t lanes);
  // Turns the scores of the keys [first_key, first_key + keys) into p.
  void softmax(std::size_t first_key, std::size_t keys, float* scores,
               float* max, float* sum) const;
  // Then takes p; before the block joins the rows' state.
  void take(std::size_t first_key, std::size_t keys, const float* p,
            const kernels::Fold& fold);
  // After the last key: M and sum without added keys and the sink.
  void end_keys(const kernels::RowState& state);
  // Takes an added key or the sink; before it joins the rows' state.
  void take_outcome(const kernels::Fold& fold);
  // Writes what each row has of its own.
  void finish(std::size_t h, const kernels::RowState& state,
              const StatisticsViews& to) const;
  // Bit n: query n has a key, is below query_lengths and is not NaN.
  std::uint64_t counted() const;
  // The NaN rows among those that count.
  std::uint64_t not_numbers() const;
  void add_to_map(const kernels::RowState& state,
                  const RowsTogether& together) const;

 private:
  // p of one key of each row, and the maximum of its block.
  struct OneKey {
    float* p;
    float* max;
  };

  void take_one_keys(std::size_t first_key, std::size_t keys, const float* p,
                     const kernels::Fold& fold);
  void take_separators(std::size_t first_key, std::size_t keys, const float* p);
  void take_cells(std::size_t first_key, std::size_t keys, const float* p,
                  const kernels::Fold& fold);
  // `row` is that of the tile's first query in the tensor.
  void finish_rows(std::size_t h, std::size_t row,
                   const kernels::RowState& state,
                   TensorView<float, 4> to) const;
  void finish_top_keys(std::size_t h, std::size_t row,
                       const kernels::RowState& state,
                       const StatisticsViews& to) const;
  std::uint64_t below_query_lengths() const;
  // The cell of the map's rows that query n of the tile is in.
  std::size_t map_row(std::size_t n) const;

  const AttentionSpec& spec_;
  const StatisticsOptions& wanted_;
  const kernels::StatisticsTile& loops_;
  SequencePlace place_{};
  std::size_t b_ = 0;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t lanes_ = 0;
  std::size_t cells_taken_ = 0;  // of the map: those that keys have reached
  float* position_;              // (lanes)
  kernels::RowState keys_;       // M and sum of the keys alone
  kernels::RowSums sums_;
  kernels::RowSums block_;
  kernels::TopKeys top_;
  std::array<OneKey, kOneKeys> one_key_;
  // (map_size(Lkv), lanes) each: sums, largest, and the maximum both refer to.
  float* cell_sum_;
  float* cell_largest_;
  float* cell_max_;
};

}  // namespace headwise::inline HEADWISE_ABI
