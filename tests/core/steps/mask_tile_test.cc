// What a mask says of a tile agrees with what it says of each pair.
#include "steps/mask_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/steps/mask.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 70, .Lkv = 150, .D = 1, .Dv = 1};

struct Seen {
  std::size_t allowed = 0;
  std::size_t pairs = 0;
  std::size_t begin = kShape.Lkv;  // of the keys that are allowed to some
  std::size_t end = 0;
};

// Checks the words of one tile and counts what they allow.
Seen look(const BoundMask& mask, const Tile& tile, const std::string& name) {
  std::vector<std::uint64_t> words(tile.keys, 0xABAB);
  fill_words(mask, tile, words);
  Seen seen;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    for (std::size_t n = 0; n < 64; ++n) {
      const bool bit = (words[k] >> n & 1) != 0;
      const bool allowed = n < tile.queries &&
                           mask.may_attend(tile.b, tile.h, tile.first_query + n,
                                           tile.first_key + k);
      EXPECT_EQ(bit, allowed) << name << ", query " << n << ", key " << k;
      seen.allowed += allowed ? 1 : 0;
      if (allowed) {
        seen.begin = std::min(seen.begin, tile.first_key + k);
        seen.end = tile.first_key + k + 1;
      }
    }
  }
  seen.pairs = tile.queries * tile.keys;
  return seen;
}

void check(const BoundMask& mask, const Tile& tile, const std::string& name) {
  const Seen seen = look(mask, tile, name);
  const TileKind kind = classify(mask, tile);
  if (kind == TileKind::full) {
    EXPECT_EQ(seen.allowed, seen.pairs) << name;
  }
  if (kind == TileKind::empty) {
    EXPECT_EQ(seen.allowed, 0u) << name;
  }
  if (seen.allowed > 0) {
    EXPECT_GE(seen.begin,
              mask.visible_begin(tile.b, tile.first_query, tile.queries))
        << name;
    EXPECT_GE(seen.begin, mask.first_key(tile.b)) << name;
    EXPECT_LE(seen.end,
              mask.visible_end(tile.b, tile.first_query, tile.queries))
        << name;
  }
}

void check_tiles(const Mask& rule, const QueryStart& start,
                 const std::string& name) {
  const BoundMask mask = BoundMask::bind(rule, {kShape, start, "test"}).value();
  for (const std::size_t queries : {1u, 7u, 8u, 24u, 48u, 64u}) {
    for (const std::size_t keys : {1u, 8u, 13u, 128u}) {
      for (const std::size_t first_query : {0u, 3u, 6u}) {
        for (const std::size_t first_key :
             std::array<std::size_t, 4>{0, 5, 22, kShape.Lkv - keys}) {
          check(mask, {1, 1, first_query, queries, first_key, keys}, name);
        }
      }
    }
  }
}

TEST(MaskTileTest, AgreesWithEachPairForEveryMask) {
  const EveryMask every_mask(kShape, true);
  for (const auto& [name, mask] : every_mask.masks()) {
    for (const std::int64_t start : {0, -20, 33, 80}) {
      check_tiles(mask, start, name + ", start " + std::to_string(start));
    }
    check_tiles(mask, QueryStart::bottom_right(), name + ", bottom right");
  }
}

TEST(MaskTileTest, AgreesWithEachPairForEveryTwoMasks) {
  const EveryMask every_mask(kShape);
  const auto masks = every_mask.masks(/*room_for_one=*/true);
  for (const auto& [a_name, a] : masks) {
    for (const auto& [b_name, b] : masks) {
      const std::string name = a_name + " & " + b_name;
      // "all" has room for one rule more.
      const bool too_many = (a_name == "all" || b_name == "all") &&
                            std::min(a.rule_count(), b.rule_count()) > 1;
      ASSERT_EQ((a & b).rule_count() > kMostMaskRules, too_many) << name;
      if (!too_many) {
        check_tiles(a & b, 12, name);
      }
    }
  }
}

TEST(MaskTileTest, AgreesWithEachPairForWindowsAndQueriesFarAway) {
  const std::int64_t far = std::int64_t{1} << 62;
  const std::int64_t farthest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t start : {-far, std::int64_t{30}, far}) {
    for (const std::int64_t left : {std::int64_t{0}, far - 20, farthest}) {
      for (const std::int64_t right : {std::int64_t{0}, far + 40, farthest}) {
        check_tiles(window(left, right), start,
                    "window " + std::to_string(left) + ", " +
                        std::to_string(right) + ", start " +
                        std::to_string(start));
      }
    }
  }
}

// Neither the first nor the last query of a tile has the longest or the
// shortest row.
TEST(MaskTileTest, AgreesWithEachPairWhereLengthsGoUpAndDown) {
  auto lengths = filled<std::int64_t, 2>({kShape.B, kShape.Lq}, 0);
  for (std::size_t b = 0; b < kShape.B; ++b) {
    for (std::size_t i = 0; i < kShape.Lq; ++i) {
      lengths(b, i) = static_cast<std::int64_t>((b + 1) * i * 37 % 151);
    }
  }
  check_tiles(key_lengths(lengths.view()), 0, "lengths");
}

TEST(MaskTileTest, ATransposedMaskIsReadByItsStrides) {
  const auto columns = coin_tosses<2>({kShape.Lkv, kShape.Lq}, 77);
  check_tiles(dense(view_of(columns), {Axis::Lkv, Axis::Lq}), 0, "transposed");
}

TEST(MaskTileTest, ABroadcastAxisIsReadOnce) {
  const auto keys = coin_tosses<1>({kShape.Lkv}, 78);
  const auto queries = coin_tosses<1>({kShape.Lq}, 79);
  check_tiles(dense(view_of(keys), {Axis::Lkv}), 0, "keys");
  check_tiles(dense(view_of(queries), {Axis::Lq}), 0, "queries");
}

BoundMask bind(const Mask& mask, const QueryStart& start = 0) {
  return BoundMask::bind(mask, {kShape, start, "test"}).value();
}

// ---- The kinds that must be known, and where the keys begin and end. ----

TEST(MaskTileTest, FullAndEmptyTilesOfACausalMaskAreKnown) {
  const BoundMask mask = bind(causal());
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 0, 41}), TileKind::full);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 0, 42}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 59, 10}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 60, 10}), TileKind::empty);
  EXPECT_EQ(mask.visible_begin(0, 40, 20), 0u);
  EXPECT_EQ(mask.visible_end(0, 40, 20), 60u);
  EXPECT_EQ(mask.first_key(0), 0u);
}

TEST(MaskTileTest, FullAndEmptyTilesOfAWindowAreKnown) {
  // Queries 40 to 59 stand at 47 to 66: the first sees keys 17 to 51, the last
  // 36 to 70.
  const BoundMask mask = bind(window(30, 4), 7);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 36, 16}), TileKind::full);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 35, 16}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 37, 16}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 7, 10}), TileKind::empty);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 8, 10}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 70, 9}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 40, 20, 71, 9}), TileKind::empty);
  EXPECT_EQ(mask.visible_begin(0, 40, 20), 17u);
  EXPECT_EQ(mask.visible_end(0, 40, 20), 71u);
  EXPECT_EQ(mask.first_key(0), 0u);
}

TEST(MaskTileTest, FullAndEmptyTilesBehindAKeyStartAreKnown) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {5, 33});
  const auto more = tensor_of<std::int64_t, 1>({2}, {9, 20});
  const BoundMask mask = bind(key_starts(starts.view()));
  EXPECT_EQ(classify(mask, {1, 0, 0, 48, 33, 117}), TileKind::full);
  EXPECT_EQ(classify(mask, {1, 0, 0, 48, 32, 118}), TileKind::partial);
  EXPECT_EQ(classify(mask, {1, 0, 0, 48, 10, 24}), TileKind::partial);
  EXPECT_EQ(classify(mask, {1, 0, 0, 48, 10, 23}), TileKind::empty);
  EXPECT_EQ(mask.visible_begin(1, 0, 48), 33u);
  EXPECT_EQ(mask.visible_end(1, 0, 48), kShape.Lkv);
  EXPECT_EQ(mask.first_key(0), 5u);
  EXPECT_EQ(mask.first_key(1), 33u);
  const BoundMask both = bind(key_starts(starts) & causal() & key_starts(more));
  EXPECT_EQ(both.first_key(0), 9u);
  EXPECT_EQ(both.first_key(1), 33u);
}

TEST(MaskTileTest, FullAndEmptyTilesOfDocumentsAreKnown) {
  // Documents -3, 0 and 8 begin at keys 0, 40 and 100, at queries 0, 20 and 50.
  auto key_ids = filled<std::int64_t, 1>({kShape.Lkv}, -3);
  auto query_ids = filled<std::int64_t, 1>({kShape.Lq}, -3);
  std::fill(key_ids.data() + 40, key_ids.data() + 150, 0);
  std::fill(key_ids.data() + 100, key_ids.data() + 150, 8);
  std::fill(query_ids.data() + 20, query_ids.data() + 70, 0);
  std::fill(query_ids.data() + 50, query_ids.data() + 70, 8);
  const BoundMask mask = bind(documents(query_ids.view(), key_ids.view()));
  EXPECT_EQ(classify(mask, {0, 0, 20, 30, 40, 60}), TileKind::full);
  EXPECT_EQ(classify(mask, {1, 1, 20, 30, 39, 60}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 20, 30, 41, 60}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 19, 31, 40, 60}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 20, 31, 40, 60}), TileKind::partial);
  EXPECT_EQ(classify(mask, {0, 0, 20, 30, 0, 40}), TileKind::empty);
  EXPECT_EQ(classify(mask, {0, 0, 20, 30, 100, 50}), TileKind::empty);
  EXPECT_EQ(mask.visible_begin(0, 20, 30), 40u);
  EXPECT_EQ(mask.visible_end(0, 20, 30), 100u);
  EXPECT_EQ(mask.visible_begin(1, 19, 32), 0u);
  EXPECT_EQ(mask.visible_end(1, 19, 32), kShape.Lkv);
}

TEST(MaskTileTest, FullAndEmptyTilesOfADenseMaskAreKnown) {
  auto square = filled<bool, 2>({kShape.Lq, kShape.Lkv}, true);
  EXPECT_EQ(classify(bind(dense(view_of(square), {Axis::Lq, Axis::Lkv})),
                     {1, 1, 3, 48, 5, 128}),
            TileKind::full);
  for (const bool mostly : {true, false}) {
    std::fill_n(square.data(), square.size(), mostly);
    for (const std::size_t i : {3u, 30u, 50u}) {
      for (const std::size_t j : {5u, 64u, 132u}) {
        square(i, j) = !mostly;
        const BoundMask mask =
            bind(dense(view_of(square), {Axis::Lq, Axis::Lkv}));
        EXPECT_EQ(classify(mask, {0, 0, 3, 48, 5, 128}), TileKind::partial);
        EXPECT_EQ(classify(mask, {0, 0, 3, 48, j + 1, 8}),
                  mostly ? TileKind::full : TileKind::empty);
        square(i, j) = mostly;
      }
    }
  }
}

// Whoever sees nothing has no visible keys, and both ends stay among the keys.
TEST(MaskTileTest, WhatIsVisibleStaysAmongTheKeys) {
  const std::int64_t far = std::int64_t{1} << 62;
  const auto starts = filled<std::int64_t, 1>({2}, 150);
  for (const Mask& mask :
       {window(3, 3), window(0, 0), causal(), key_starts(starts),
        key_starts(starts) & causal(), window(far, far)}) {
    for (const std::int64_t start : {-far, -far / 2, -100L, 500L, far}) {
      const BoundMask bound = bind(mask, start);
      EXPECT_LE(bound.visible_begin(1, 7, 48), kShape.Lkv);
      EXPECT_LE(bound.visible_end(1, 7, 48), kShape.Lkv);
    }
  }
  EXPECT_GE(bind(window(3, 3), far).visible_begin(0, 0, 48), kShape.Lkv);
  EXPECT_EQ(bind(window(3, 3), -far).visible_end(0, 0, 48), 0u);
}

}  // namespace
}  // namespace headwise::testing_support
