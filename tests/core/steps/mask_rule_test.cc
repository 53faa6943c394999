// What is derived from the declaration of a rule, shown by rules of the forms
// that no mask of headwise has; and that a rule needs all of its parts.
#include "steps/mask_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "headwise/steps/mask.h"
#include "steps/mask_tile.h"
#include "steps/stored_rule.h"

namespace headwise {
namespace {

using internal::CallPart;
using internal::Interval;
using internal::mask_of;
using internal::MaskCall;
using internal::MaskRule;
using internal::MaskWords;
using internal::Pair;
using internal::PartNumbers;
using internal::QueryRow;

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 70, .Lkv = 150, .D = 1, .Dv = 1};

struct EveryQuery {
  static constexpr MaskWords kWords = {"test_mask", "a mask of this test",
                                       "test_mask: given"};
  std::array<bool, 4> varies(bool starts_differ) const {
    return {starts_differ, false, true, true};
  }
  Status check(const MaskCall& call) const {
    return call.shape.Lkv < 1000 ? ok() : Status(ErrorCode::shape_mismatch);
  }
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
};

// The first `sinks` keys and a window of `left` keys. The two may overlap.
struct Sinks : EveryQuery {
  std::array<Interval, 2> keys(const QueryRow& query) const {
    return {Interval{0, sinks},
            Interval{query.position - left, query.position + 1}};
  }
  std::int64_t sinks;
  std::int64_t left;
};

// The same keys in the other order, and with the promise that lets a tile be
// told by its first and last query.
struct SinksThatMoveOn : EveryQuery {
  static constexpr bool kMovesOn = true;
  std::array<Interval, 2> keys(const QueryRow& query) const {
    return {Interval{query.position - left, query.position + 1},
            Interval{0, sinks}};
  }
  std::int64_t sinks;
  std::int64_t left;
};

// Every `step`th key, counted from the query.
struct EveryNth : EveryQuery {
  bool allows(const Pair& pair) const {
    return (static_cast<std::int64_t>(pair.j) - pair.position) % step == 0;
  }
  std::int64_t step;
};

// Keys in the opposite direction: intervals that move back.
struct Backwards : EveryQuery {
  Interval keys(const QueryRow& query) const {
    return {100 - query.position, 120 - query.position};
  }
};

// An interval whose end may be before its begin: no key.
struct OftenEmpty : EveryQuery {
  Interval keys(const QueryRow& query) const {
    return {40, query.position % 3 == 0 ? 60 : 20};
  }
};

BoundMask bound(const Mask& mask, const QueryStart& start) {
  return BoundMask::bind(mask, {kShape, start, "test"}).value();
}

using Formula = std::function<bool(std::int64_t p, std::int64_t j)>;

// Checks what is derived against the formula: `p` is a query's position.
void expect_formula(const Mask& rule, std::int64_t start,
                    const Formula& formula) {
  const BoundMask mask = bound(rule, start);
  const auto allowed = mask.materialize(0).value();
  std::vector<std::uint64_t> words(kTileKeys);
  for (const Tile& tile :
       {Tile{0, 0, 0, 64, 0, 128}, Tile{1, 1, 6, 64, 22, 128},
        Tile{0, 1, 3, 1, 7, 1}, Tile{1, 0, 40, 24, 100, 50},
        Tile{1, 0, 69, 1, 0, 3}, Tile{0, 0, 0, 8, 4, 2}}) {
    fill_words(mask, tile, words);
    std::size_t seen = 0;
    for (std::size_t n = 0; n < tile.queries; ++n) {
      for (std::size_t k = 0; k < tile.keys; ++k) {
        const std::size_t i = tile.first_query + n;
        const std::size_t j = tile.first_key + k;
        const bool want = formula(static_cast<std::int64_t>(i) + start,
                                  static_cast<std::int64_t>(j));
        EXPECT_EQ((words[k] >> n & 1) != 0, want) << i << " " << j;
        EXPECT_EQ(mask.may_attend(tile.b, tile.h, i, j), want);
        EXPECT_EQ(allowed(0, 0, i, j), want);
        if (want) {
          ++seen;
          EXPECT_GE(j, mask.visible_begin(tile.b, tile.first_query, 64));
          EXPECT_LT(j, mask.visible_end(tile.b, tile.first_query, 64));
        }
      }
    }
    const TileKind kind = classify(mask, tile);
    EXPECT_TRUE(kind != TileKind::full || seen == tile.queries * tile.keys);
    EXPECT_TRUE(kind != TileKind::empty || seen == 0);
  }
}

TEST(MaskRuleTest, AQuerySeesTheKeysOfBothIntervals) {
  for (const std::int64_t start : {0, 33, -20}) {
    for (const std::int64_t sinks : {0, 4, 60}) {
      const Formula formula = [=](std::int64_t p, std::int64_t j) {
        return j < sinks || (p - 10 <= j && j <= p);
      };
      expect_formula(mask_of(Sinks{{}, sinks, 10}), start, formula);
      expect_formula(mask_of(SinksThatMoveOn{{}, sinks, 10}), start, formula);
    }
  }
}

TEST(MaskRuleTest, TilesBetweenTwoIntervalsAreEmptyAndTilesInOneAreFull) {
  for (const Mask& rule :
       {mask_of(Sinks{{}, 4, 10}), mask_of(SinksThatMoveOn{{}, 4, 10})}) {
    const BoundMask mask = bound(rule, 60);
    EXPECT_EQ(classify(mask, {0, 0, 0, 8, 0, 4}), TileKind::full);
    EXPECT_EQ(classify(mask, {0, 0, 0, 8, 4, 46}), TileKind::empty);
    EXPECT_EQ(classify(mask, {0, 0, 0, 8, 57, 4}), TileKind::full);
    EXPECT_EQ(classify(mask, {0, 0, 0, 8, 68, 80}), TileKind::empty);
    EXPECT_EQ(classify(mask, {0, 0, 0, 8, 3, 4}), TileKind::partial);
    EXPECT_EQ(mask.visible_begin(0, 0, 8), 0u);
    EXPECT_EQ(mask.visible_end(0, 0, 8), 68u);
  }
}

TEST(MaskRuleTest, AComputedValueIsAskedForEachPair) {
  for (const std::int64_t start : {0, 33, -20}) {
    expect_formula(
        mask_of(EveryNth{{}, 3}), start,
        [](std::int64_t p, std::int64_t j) { return (j - p) % 3 == 0; });
  }
}

TEST(MaskRuleTest, IntervalsMayMoveBackAndMayBeEmpty) {
  for (const std::int64_t start : {0, 33, -20}) {
    expect_formula(mask_of(Backwards{}), start,
                   [](std::int64_t p, std::int64_t j) {
                     return 100 - p <= j && j < 120 - p;
                   });
    expect_formula(mask_of(OftenEmpty{}), start,
                   [](std::int64_t p, std::int64_t j) {
                     return p % 3 == 0 && 40 <= j && j < 60;
                   });
  }
}

TEST(MaskRuleTest, ARuleIsCheckedAndShownAsItDeclares) {
  AttentionShape large = kShape;
  large.Lkv = 1000;
  EXPECT_EQ(
      BoundMask::bind(mask_of(Backwards{}), {large, {}, "test"}).error().code(),
      ErrorCode::shape_mismatch);
  const auto parts = bound(mask_of(Backwards{}) & causal(), 0).parts();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].name, "test_mask");
  EXPECT_THAT(parts[0].varies, testing::ElementsAre(false, false, true, true));
}

TEST(MaskRuleTest, OnlyOneIntervalForEachQueryIsShownAsRanges) {
  const bool all[1] = {true};
  EXPECT_TRUE(internal::sees_one_interval(bound({}, 0)));
  EXPECT_TRUE(internal::sees_one_interval(bound(causal() & window(3, 1), 0)));
  EXPECT_FALSE(internal::sees_one_interval(bound(mask_of(Sinks{}), 0)));
  EXPECT_FALSE(internal::sees_one_interval(bound(mask_of(EveryNth{{}, 2}), 0)));
  EXPECT_FALSE(internal::sees_one_interval(
      bound(causal() & dense(all, {{1}, {1}, {Axis::one}}), 0)));
}

TEST(MaskRuleTest, EveryRuleHasCompleteWordsUnderItsOwnName) {
  ASSERT_FALSE(internal::mask_words().empty());
  for (const MaskWords& words : internal::mask_words()) {
    EXPECT_TRUE(words.complete()) << words.name;
    EXPECT_EQ(std::ranges::count(internal::mask_words(), words.name,
                                 &MaskWords::name),
              1);
  }
}

// ---- A rule that misses a part ----

struct WithoutForm : EveryQuery {};
struct WithTwoForms : Backwards {
  bool allows(const Pair& /*pair*/) const { return true; }
};
struct WithoutCheck {
  [[maybe_unused]] static constexpr MaskWords kWords = EveryQuery::kWords;
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
  std::array<bool, 4> varies(bool /*starts_differ*/) const { return {}; }
  Interval keys(const QueryRow& /*query*/) const { return {0, 1}; }
};
struct WithoutPart {
  [[maybe_unused]] static constexpr MaskWords kWords = EveryQuery::kWords;
  std::array<bool, 4> varies(bool /*starts_differ*/) const { return {}; }
  Status check(const MaskCall& /*call*/) const { return ok(); }
  Interval keys(const QueryRow& /*query*/) const { return {0, 1}; }
};
struct WithoutAxes {
  [[maybe_unused]] static constexpr MaskWords kWords = EveryQuery::kWords;
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
  Status check(const MaskCall& /*call*/) const { return ok(); }
  Interval keys(const QueryRow& /*query*/) const { return {0, 1}; }
};
struct WithoutWords {
  void cut_to(const CallPart& /*part*/, PartNumbers& /*numbers*/) {}
  std::array<bool, 4> varies(bool /*starts_differ*/) const { return {}; }
  Status check(const MaskCall& /*call*/) const { return ok(); }
  Interval keys(const QueryRow& /*query*/) const { return {0, 1}; }
};
struct WithoutOperation : WithoutWords {
  static constexpr MaskWords kWords = {"test_mask", "", "test_mask"};
};
struct ThatAllocates : Backwards {
  std::vector<int> list;
};
struct ThatIsTooLarge : Backwards {
  std::array<std::byte, internal::kMaskRuleBytes + 1> bytes;
};

static_assert(MaskRule<Backwards> && MaskRule<Sinks> && MaskRule<EveryNth>);
static_assert(!MaskRule<WithoutForm>);
static_assert(!MaskRule<WithTwoForms>);
static_assert(!MaskRule<WithoutCheck>);
static_assert(!MaskRule<WithoutPart>);
static_assert(!MaskRule<WithoutAxes>);
static_assert(!MaskRule<WithoutWords>);
static_assert(!MaskRule<WithoutOperation>);
static_assert(!MaskRule<ThatAllocates>);
static_assert(!MaskRule<ThatIsTooLarge>);

}  // namespace
}  // namespace headwise
