
#include <algorithm>
#include <string>
#include <vector>

#include "headwise/interop/dialect_diff.h"
#include "interop/mask_arrays.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

std::vector<MaskWarning> lint(const char* dialect, const Array& mask,
                              const MaskLintOptions& options = {},
                              MaskSizes others = {.Lkv = 6}) {
  const Dialect& of = *find_dialect(dialect);
  if (options.key_padding) {
    others.B = mask.shape[0];
    others.Lkv = mask.shape[1];
    return lint_mask(of, mask, others, options).value();
  }
  const MaskSizes sizes = sizes_of_mask(of, mask, others).value();
  return lint_mask(of, mask, sizes, options).value();
}

std::vector<std::string> names(const std::vector<MaskWarning>& warnings) {
  std::vector<std::string> names;
  for (const MaskWarning& warning : warnings) {
    names.emplace_back(warning.name);
    EXPECT_FALSE(warning.what.empty());
    EXPECT_FALSE(warning.mend.empty());
    EXPECT_EQ(std::min<std::size_t>(warning.rows, 8),
              warning.first_rows.size());
    EXPECT_GT(warning.rows, 0U);
  }
  return names;
}

// (Lq, Lkv), 1 where j <= i + offset, or the reverse.
Array causal_mask(std::size_t Lq, std::size_t Lkv, std::size_t offset,
                  bool inverted = false) {
  std::vector<std::uint8_t> elements;
  for (std::size_t i = 0; i < Lq; ++i) {
    for (std::size_t j = 0; j < Lkv; ++j) {
      elements.push_back((j <= i + offset) != inverted ? 1 : 0);
    }
  }
  return bools({Lq, Lkv}, elements);
}

// (B, Lkv), 1 at the tokens of right-padded sequences.
Array padding(const std::vector<std::size_t>& lengths, bool left = false,
              bool inverted = false) {
  std::vector<std::int64_t> elements;
  for (const std::size_t length : lengths) {
    for (std::size_t j = 0; j < 6; ++j) {
      const bool token = left ? j >= 6 - length : j < length;
      elements.push_back(token != inverted ? 1 : 0);
    }
  }
  return ints({lengths.size(), 6}, elements);
}

TEST(MaskLintTest, GoodMasksRaiseNoWarning) {
  EXPECT_THAT(lint("torch-sdpa", causal_mask(6, 6, 0)), IsEmpty());
  EXPECT_THAT(lint("torch-sdpa", causal_mask(2, 6, 4)), IsEmpty());
  EXPECT_THAT(lint("torch-mha", causal_mask(6, 6, 0, true)), IsEmpty());
  EXPECT_THAT(lint("transformers", padding({6, 3, 1})), IsEmpty());
  EXPECT_THAT(
      lint("transformers", padding({6, 3, 1}, true), {.padded_left = true}),
      IsEmpty());
  EXPECT_THAT(lint("keras", bools({1, 1, 6}, {1, 1, 1, 1, 1, 1})), IsEmpty());
}

TEST(MaskLintTest, RowsWithoutAKey) {
  Array mask = causal_mask(6, 6, 0);
  std::fill_n(mask.data.begin() + 12, 3, std::byte{0});  // row 2
  const auto warnings = lint("onnx-1.21", mask);
  ASSERT_THAT(names(warnings), ElementsAre("empty_rows"));
  EXPECT_EQ(warnings[0].rows, 1U);
  EXPECT_THAT(warnings[0].first_rows,
              ElementsAre(std::array<std::size_t, 3>{0, 0, 2}));
  EXPECT_THAT(warnings[0].what, testing::EndsWith("give NaN"));
}

TEST(MaskLintTest, WhatFullyMaskedRowsGiveDependsOnTheCall) {
  const auto given = [](const char* dialect, std::uint8_t element) {
    return lint(dialect,
                bools({1, 6}, std::vector<std::uint8_t>(6, element)))[0]
        .what;
  };
  EXPECT_THAT(given("torch-sdpa", 0), testing::EndsWith("give 0"));
  EXPECT_THAT(given("torch-mha", 1),
              testing::EndsWith("give 0, or NaN with returned weights"));
  EXPECT_THAT(given("keras", 0),
              testing::EndsWith("give the mean of all values, or 0 with "
                                "returned weights"));
}

TEST(MaskLintTest, InvertedMasks) {
  EXPECT_THAT(names(lint("torch-sdpa", causal_mask(6, 6, 0, true))),
              testing::Contains("inverted"));
  EXPECT_THAT(names(lint("torch-mha", causal_mask(6, 6, 0))),
              testing::Contains("inverted"));
  EXPECT_THAT(names(lint("transformers", padding({6, 5, 4}, false, true))),
              testing::Contains("inverted"));
  // Everything but its own key.
  const auto others =
      lint("torch-sdpa", bools({3, 3}, {0, 1, 1, 1, 0, 1, 1, 1, 0}));
  ASSERT_THAT(names(others), ElementsAre("inverted"));
  EXPECT_EQ(others[0].rows, 3U);
  // PyTorch's key padding is the other way round.
  EXPECT_THAT(
      lint("torch-mha", padding({6, 5, 4}, false, true), {.key_padding = true}),
      IsEmpty());
  EXPECT_THAT(
      names(lint("torch-mha", padding({6, 5, 4}), {.key_padding = true})),
      testing::Contains("inverted"));
}

TEST(MaskLintTest, AlignmentWithACache) {
  const auto warnings = lint("torch-sdpa", causal_mask(3, 6, 0));
  ASSERT_THAT(names(warnings), ElementsAre("alignment"));
  EXPECT_EQ(warnings[0].rows, 3U);
  EXPECT_THAT(warnings[0].mend.text(), testing::HasSubstr("i + 3"));
}

TEST(MaskLintTest, PaddingOnTheUnexpectedSide) {
  const auto right = lint("transformers", padding({6, 3}, true));
  ASSERT_THAT(names(right), ElementsAre("padding_side"));
  EXPECT_THAT(right[0].first_rows,
              ElementsAre(std::array<std::size_t, 3>{1, 0, 0}));
  EXPECT_THAT(
      names(lint("transformers", padding({6, 3}), {.padded_left = true})),
      ElementsAre("padding_side"));
}

TEST(MaskLintTest, ACausalMaskThatLeaks) {
  Array mask = causal_mask(6, 6, 0);
  mask.data[1 * 6 + 4] = std::byte{1};
  const auto warnings = lint("torch-sdpa", mask);
  ASSERT_THAT(names(warnings), ElementsAre("leak"));
  EXPECT_THAT(warnings[0].first_rows,
              ElementsAre(std::array<std::size_t, 3>{0, 0, 1}));
}

TEST(MaskLintTest, FillsThatFloat16DoesNotHave) {
  const auto added = lint("torch-sdpa", floats({2, 2}, {0, -1e9F, 0, 0}));
  ASSERT_THAT(names(added), ElementsAre("half_overflow"));
  EXPECT_EQ(added[0].rows, 1U);
  EXPECT_THAT(names(lint("d2l", ints({2}, {6, 4}))),
              ElementsAre("half_overflow"));
  EXPECT_THAT(lint("torch-sdpa", floats({2, 2}, {0, -6e4F, 0, 0})), IsEmpty());
}

TEST(MaskLintTest, MoreKeysThanThereIsMemoryForAreAnError) {
  EXPECT_THAT(lint_mask(*find_dialect("d2l"), ints({2}, {1, 2}),
                        {.B = 2, .Lq = 1, .Lkv = std::size_t{1} << 63}),
              IsError(ErrorCode::out_of_memory, ""));
}

TEST(MaskLintTest, MasksThatTheDialectRefusesAreErrors) {
  const Array mask = bools({2, 2, 2, 2}, std::vector<std::uint8_t>(16, 1));
  EXPECT_THAT(sizes_of_mask(*find_dialect("torch-mha"), mask, {}),
              IsError(ErrorCode::shape_mismatch, "mask"));
  EXPECT_THAT(lint_mask(*find_dialect("torch-mha"), mask,
                        {.B = 2, .Hq = 2, .Lq = 2, .Lkv = 2}),
              IsError(ErrorCode::shape_mismatch, "mask"));
}

}  // namespace
}  // namespace headwise::testing_support
