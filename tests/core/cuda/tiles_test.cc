// The lists that the GPU's kernels go by are made on the host, and tested
// there: against the mask itself, pair by pair.
#include "cuda/tiles.h"

#include <gtest/gtest.h>

#include <set>

#include "attention/attention_call.h"
#include "steps/stored_rule.h"

namespace headwise::cuda {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 150, .Lkv = 170, .D = 4, .Dv = 4};

AttentionSpec spec_of(const Mask& mask) {
  return AttentionSpec::create(kShape, {.mask = mask, .query_start = 11})
      .value();
}

// What the intervals alone allow: the dense rules are asked in the kernels.
bool in_range(const AttentionSpec& spec, const std::vector<KeyRange>& ranges,
              std::size_t b, std::size_t i, std::size_t j) {
  if (ranges.empty()) {
    return j < spec.shape.Lkv;
  }
  const KeyRange keys = ranges[b * spec.shape.Lq + i];
  return static_cast<int>(j) >= keys.begin && static_cast<int>(j) < keys.end;
}

template <class Check>
void for_every_mask(const Check& check) {
  for (const bool with_empty_rows : {false, true}) {
    const EveryMask every(kShape, with_empty_rows);
    for (const auto& [name, mask] : every.masks()) {
      SCOPED_TRACE(name);
      const AttentionSpec spec = spec_of(mask);
      check(spec, key_ranges(spec));
    }
  }
}

bool is_dense(const internal::StoredMaskRule& rule) {
  return rule.type->form == internal::MaskForm::booleans;
}

TEST(TilesTest, RangesAreTheMaskWithoutItsDenseRules) {
  for_every_mask(
      [](const AttentionSpec& spec, const std::vector<KeyRange>& ranges) {
        Mask intervals;
        for (const internal::StoredMaskRule& rule : spec.mask.rules()) {
          intervals = is_dense(rule) ? intervals : intervals & Mask(rule);
        }
        const AttentionSpec without = spec_of(intervals);
        for (std::size_t b = 0; b < kShape.B; ++b) {
          for (std::size_t i = 0; i < kShape.Lq; ++i) {
            for (std::size_t j = 0; j < kShape.Lkv; ++j) {
              ASSERT_EQ(in_range(spec, ranges, b, i, j),
                        without.mask.may_attend(b, 0, i, j))
                  << b << " " << i << " " << j;
            }
          }
        }
      });
}

TEST(TilesTest, AQueryTileNamesEveryKeyThatIsSeenAndOnlyFullOnesAsFull) {
  for_every_mask(
      [](const AttentionSpec& spec, const std::vector<KeyRange>& ranges) {
        std::size_t queries = 0;
        for (const QueryTile& tile : query_tiles(spec, ranges, 64)) {
          queries += static_cast<std::size_t>(tile.queries);
          for (int n = 0; n < tile.queries; ++n) {
            for (int j = 0; j < static_cast<int>(kShape.Lkv); ++j) {
              const bool seen =
                  in_range(spec, ranges, static_cast<std::size_t>(tile.b),
                           static_cast<std::size_t>(tile.first_query) +
                               static_cast<std::size_t>(n),
                           static_cast<std::size_t>(j));
              ASSERT_TRUE(!seen || (j >= tile.begin && j < tile.end));
              ASSERT_TRUE(seen || j < tile.full_begin || j >= tile.full_end);
            }
          }
        }
        EXPECT_EQ(queries, kShape.B * kShape.Lq);
      });
}

TEST(TilesTest, AKeyTileNamesEveryQueryThatSeesItAndOnlyFullOnesAsFull) {
  for_every_mask(
      [](const AttentionSpec& spec, const std::vector<KeyRange>& ranges) {
        for (const KeyTile& tile : key_tiles(spec, ranges, 128, 32, false)) {
          for (int i = 0; i < static_cast<int>(kShape.Lq); ++i) {
            for (int n = 0; n < 128; ++n) {
              const int j = tile.first_key + n;
              const bool seen = in_range(
                  spec, ranges, static_cast<std::size_t>(tile.b),
                  static_cast<std::size_t>(i), static_cast<std::size_t>(j));
              ASSERT_TRUE(!seen || (i >= tile.begin && i < tile.end));
              ASSERT_TRUE(seen || i < tile.full_begin || i >= tile.full_end);
            }
          }
        }
      });
}

TEST(TilesTest, RowsWithoutAKeyThatWeighAllValuesAreInEveryKeyTile) {
  const AttentionSpec spec = spec_of(causal());
  for (const KeyTile& tile : key_tiles(spec, key_ranges(spec), 128, 64, true)) {
    EXPECT_EQ(tile.begin, 0);
    EXPECT_GE(tile.end, static_cast<int>(kShape.Lq));
  }
}

TEST(TilesTest, EveryTileIsWorkOnceAHeadAndTheLargestComeFirst) {
  const AttentionSpec spec = spec_of(causal());
  const auto ranges = key_ranges(spec);
  const auto tiles = query_tiles(spec, ranges, 64);
  std::set<std::pair<int, int>> done;
  int last = 0;
  WorkItem before{-1, -1};
  for (const WorkItem& item : query_work(spec, tiles)) {
    EXPECT_TRUE(done.insert({item.tile, item.h}).second);
    const QueryTile& tile = tiles[static_cast<std::size_t>(item.tile)];
    const int keys = tile.end - tile.begin;
    if (before.h == item.h && before.tile >= 0 &&
        tiles[static_cast<std::size_t>(before.tile)].b == tile.b) {
      EXPECT_LE(keys, last);
    }
    last = keys;
    before = item;
  }
  EXPECT_EQ(done.size(), tiles.size() * kShape.Hq);
}

TEST(TilesTest, ARaggedBatchHasTilesOfItsSequencesOnly) {
  const auto offsets =
      testing_support::tensor_of<std::int64_t, 1>({4}, {0, 70, 70, 130});
  const AttentionShape tensors = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 130, .Lkv = 130, .D = 4, .Dv = 4};
  const AttentionSpec spec =
      AttentionSpec::create(tensors, {.offsets = offsets.view()}).value();
  const auto tiles = query_tiles(spec, key_ranges(spec), 64);
  ASSERT_EQ(tiles.size(), 3U);
  EXPECT_EQ(tiles[1].b, 0);
  EXPECT_EQ(tiles[1].queries, 6);
  EXPECT_EQ(tiles[2].b, 2);
  EXPECT_EQ(tiles[2].end, 60);
  const auto keys = key_tiles(spec, key_ranges(spec), 128, 64, false);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[1].b, 2);
  EXPECT_EQ(keys[1].end, 64);
}

}  // namespace
}  // namespace headwise::cuda
