// What a mask says of a tile agrees with what it says of each pair.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/steps/mask.h"

namespace headwise {
namespace {

using testing_support::EveryMask;

constexpr AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 70, .Lkv = 150, .D = 1, .Dv = 1};

struct Seen {
  std::size_t allowed = 0;
  std::size_t pairs = 0;
  std::size_t last_key = 0;  // one past it
};

// Checks the words of one tile and counts what they allow.
Seen look(const BoundMask& mask, const Tile& tile, const std::string& name) {
  std::vector<std::uint64_t> words(tile.keys, 0xABAB);
  mask.fill_words(tile, words);
  Seen seen;
  for (std::size_t k = 0; k < tile.keys; ++k) {
    for (std::size_t n = 0; n < 64; ++n) {
      const bool bit = (words[k] >> n & 1) != 0;
      const bool allowed = n < tile.queries &&
                           mask.may_attend(tile.b, tile.h, tile.first_query + n,
                                           tile.first_key + k);
      EXPECT_EQ(bit, allowed) << name << ", query " << n << ", key " << k;
      seen.allowed += allowed ? 1 : 0;
      seen.last_key = allowed ? tile.first_key + k + 1 : seen.last_key;
    }
  }
  seen.pairs = tile.queries * tile.keys;
  return seen;
}

void check(const BoundMask& mask, const Tile& tile, const std::string& name) {
  const Seen seen = look(mask, tile, name);
  const TileKind kind = mask.classify(tile);
  if (kind == TileKind::full) {
    EXPECT_EQ(seen.allowed, seen.pairs) << name;
  }
  if (kind == TileKind::empty) {
    EXPECT_EQ(seen.allowed, 0u) << name;
  }
  EXPECT_LE(seen.last_key,
            mask.visible_end(tile.b, tile.first_query, tile.queries))
      << name;
}

void check_tiles(const Mask& rule, const QueryStart& start,
                 const std::string& name) {
  const BoundMask mask = BoundMask::bind(rule, kShape, start, "test").value();
  for (const std::size_t queries : {1u, 7u, 8u, 24u, 48u, 64u}) {
    for (const std::size_t keys : {1u, 8u, 13u, 128u}) {
      for (const std::size_t first_query : {0u, 3u, 6u}) {
        for (const std::size_t first_key : {0u, 5u, 22u}) {
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
  const auto masks = every_mask.masks();
  for (const auto& [a_name, a] : masks) {
    for (const auto& [b_name, b] : masks) {
      check_tiles(a & b, 12, a_name + " & " + b_name);
    }
  }
}

TEST(MaskTileTest, ATransposedMaskIsReadByItsStrides) {
  const auto columns =
      testing_support::coin_tosses<2>({kShape.Lkv, kShape.Lq}, 77);
  check_tiles(dense(testing_support::view_of(columns), {Axis::Lkv, Axis::Lq}),
              0, "transposed");
}

TEST(MaskTileTest, FullAndEmptyTilesOfACausalMaskAreKnown) {
  const BoundMask mask = BoundMask::bind(causal(), kShape, 0, "test").value();
  EXPECT_EQ(mask.classify({0, 0, 40, 20, 0, 41}), TileKind::full);
  EXPECT_EQ(mask.classify({0, 0, 40, 20, 0, 42}), TileKind::partial);
  EXPECT_EQ(mask.classify({0, 0, 40, 20, 59, 10}), TileKind::partial);
  EXPECT_EQ(mask.classify({0, 0, 40, 20, 60, 10}), TileKind::empty);
  EXPECT_EQ(mask.visible_end(0, 40, 20), 60u);
}

}  // namespace
}  // namespace headwise
