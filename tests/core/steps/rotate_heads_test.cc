// The positions of the queries and keys of a call.
#include "headwise/steps/rotate_heads.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kD = 8;

struct Heads {
  Tensor<float, 4> query;
  Tensor<float, 4> key;

  QueriesAndKeys views() { return {query.view(), key.view()}; }
};

AttentionShape shape_of(const Heads& heads) {
  return {.B = heads.query.extent(0),
          .Hq = heads.query.extent(2),
          .Hkv = heads.key.extent(2),
          .Lq = heads.query.extent(1),
          .Lkv = heads.key.extent(1),
          .D = kD,
          .Dv = kD};
}

// Two sequences of three queries and five keys.
Heads some_heads() {
  return {uniform<4>({2, 3, 4, kD}, 1), uniform<4>({2, 5, 2, kD}, 2)};
}

Rotary some_rotary() {
  return Rotary::create({.rotary_dim = 6, .base = 50}).value();
}

Heads turned(const Heads& from, bool back, const QueryStart& start,
             const HeadPositions& positions = {}) {
  Heads heads{clone(from.query), clone(from.key)};
  const auto turn = back ? rotate_heads_back : rotate_heads;
  const Status s = turn(some_rotary(), heads.views(), shape_of(from), start,
                        positions, Executor::default_executor());
  EXPECT_TRUE(s) << s.error().message();
  return heads;
}

// By the step for one tensor, with every position written out.
testing::AssertionResult stand_at(const Heads& heads, const Heads& from,
                                  const std::vector<std::int64_t>& queries,
                                  const std::vector<std::int64_t>& keys) {
  const auto at = [](const Tensor<float, 4>& x,
                     const std::vector<std::int64_t>& numbers) {
    const auto positions =
        tensor_of<std::int64_t, 2>({x.extent(0), x.extent(1)}, numbers);
    auto y = clone(x);
    some_rotary().rotate(x, y, {.positions = positions}).value();
    return y;
  };
  if (auto same = same_bits(heads.query, at(from.query, queries)); !same) {
    return same << " of the queries";
  }
  return same_bits(heads.key, at(from.key, keys)) << " of the keys";
}

TEST(RotateHeadsTest, QueriesStandAtTheirRowAndStart) {
  const Heads from = some_heads();
  const std::vector<std::int64_t> rows = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  EXPECT_TRUE(
      stand_at(turned(from, false, {}), from, {0, 1, 2, 0, 1, 2}, rows));
  EXPECT_TRUE(stand_at(turned(from, false, 7), from, {7, 8, 9, 7, 8, 9}, rows));
  EXPECT_TRUE(stand_at(turned(from, false, QueryStart::bottom_right()), from,
                       {2, 3, 4, 2, 3, 4}, rows));
  const std::vector<std::int64_t> starts = {1, 30};
  EXPECT_TRUE(
      stand_at(turned(from, false, starts), from, {1, 2, 3, 30, 31, 32}, rows));
}

TEST(RotateHeadsTest, PositionsAreThoseOfTheirSide) {
  const Heads from = some_heads();
  const std::vector<std::int64_t> of_queries = {5, 0, 9, 1, 1, 70};
  const std::vector<std::int64_t> of_keys = {8, 3, 2, 2, 0, 4, 60, 6, 1, 7};
  const auto queries = tensor_of<std::int64_t, 2>({2, 3}, of_queries);
  const auto keys = tensor_of<std::int64_t, 2>({2, 5}, of_keys);
  EXPECT_TRUE(
      stand_at(turned(from, false, 7,
                      {.query_positions = queries, .key_positions = keys}),
               from, of_queries, of_keys));
  EXPECT_TRUE(stand_at(turned(from, false, 7, {.key_positions = keys}), from,
                       {7, 8, 9, 7, 8, 9}, of_keys));
}

TEST(RotateHeadsTest, BackUndoesIt) {
  const Heads from = some_heads();
  const auto queries = tensor_of<std::int64_t, 2>({2, 3}, {5, 0, 9, 1, 1, 70});
  const HeadPositions at = {.query_positions = queries};
  const std::vector<std::int64_t> starts = {4, 9};
  for (const HeadPositions& positions : {HeadPositions{}, at}) {
    const Heads there = turned(from, false, starts, positions);
    const Heads back = turned(there, true, starts, positions);
    EXPECT_TRUE(all_near(back.query.elements(), from.query.elements(), 3e-7));
    EXPECT_TRUE(all_near(back.key.elements(), from.key.elements(), 3e-7));
    EXPECT_FALSE(same_bits(there.query, from.query));
    EXPECT_FALSE(same_bits(there.key, from.key));
  }
}

// Two queries and two keys, then one query and three keys.
TEST(RotateHeadsTest, RaggedRowsAreCountedInTheirSequence) {
  const Heads from{uniform<4>({1, 3, 4, kD}, 3), uniform<4>({1, 5, 2, kD}, 4)};
  const std::vector<std::int64_t> queries = {0, 2, 3};
  const std::vector<std::int64_t> keys = {0, 2, 5};
  const AttentionShape ragged = {.B = 2,
                                 .Hq = 4,
                                 .Hkv = 2,
                                 .Lq = 2,
                                 .Lkv = 3,
                                 .D = kD,
                                 .Dv = kD,
                                 .offsets = {queries, keys}};
  Heads heads{clone(from.query), clone(from.key)};
  ASSERT_TRUE(rotate_heads(some_rotary(), heads.views(), ragged,
                           QueryStart::bottom_right()));
  EXPECT_TRUE(stand_at(heads, from, {0, 1, 2}, {0, 1, 0, 1, 2}));
}

TEST(RotateHeadsTest, ErrorsNameTheSideAndNothingIsRotated) {
  const Heads from = some_heads();
  const auto refuses = [&](const HeadPositions& at, const QueryStart& start,
                           std::string argument, std::string given) {
    Heads heads{clone(from.query), clone(from.key)};
    for (const auto turn : {rotate_heads, rotate_heads_back}) {
      EXPECT_THAT(
          turn(some_rotary(), heads.views(), shape_of(from), start, at,
               Executor::default_executor()),
          HasError({.code = given.front() == '(' ? ErrorCode::shape_mismatch
                                                 : ErrorCode::out_of_range,
                    .operation = "rotary",
                    .argument = argument,
                    .given = {given}}));
    }
    EXPECT_TRUE(same_bits(heads.query, from.query));
    EXPECT_TRUE(same_bits(heads.key, from.key));
  };
  auto queries = filled<std::int64_t, 2>({2, 3}, 3);
  auto keys = filled<std::int64_t, 2>({2, 5}, 3);
  refuses({.key_positions = queries}, 0, "key_positions", "(2, 3)");
  refuses({.query_positions = keys}, 0, "query_positions", "(2, 5)");
  refuses({}, -2, "query_start", "-2");
  const std::vector<std::int64_t> starts = {4, -3};
  refuses({}, starts, "query_start[1]", "-3");
  keys(1, 4) = -1;
  refuses({.key_positions = keys}, 0, "key_positions[1][4]", "-1");
  queries(1, 0) = std::int64_t{1} << 31;
  refuses({.query_positions = queries}, 0, "query_positions[1][0]",
          "2147483648");
  const auto table = filled<float, 2>({4, 3}, 1);
  const Rotary four = Rotary::from_tables(table, table).value();
  Heads long_keys{clone(from.query), clone(from.key)};
  EXPECT_THAT(rotate_heads(four, long_keys.views(), shape_of(from)),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "rotary",
                        .argument = "cos",
                        .given = {"4 positions"},
                        .expected = {"5"}}));
  EXPECT_TRUE(same_bits(long_keys.query, from.query));
  Heads narrow{uniform<4>({2, 3, 4, kD}, 1), uniform<4>({2, 5, 2, 4}, 2)};
  const Heads before{clone(narrow.query), clone(narrow.key)};
  EXPECT_THAT(rotate_heads(some_rotary(), narrow.views(), shape_of(from)),
              HasError({.code = ErrorCode::shape_mismatch,
                        .argument = "key",
                        .given = {"4"},
                        .expected = {"6"}}));
  EXPECT_TRUE(same_bits(narrow.query, before.query));
}

}  // namespace
}  // namespace headwise::testing_support
