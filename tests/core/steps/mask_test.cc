#include "headwise/steps/mask.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/softmax.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape{.B = 2, .Hq = 3, .Hkv = 3, .Lq = 4, .Lkv = 6};

std::string error_of(const Mask& mask, ErrorCode code) {
  const auto bound = BoundMask::bind(mask, {kShape, {}, "attention"});
  if (bound) {
    return "no error";
  }
  EXPECT_EQ(bound.error().code(), code);
  return bound.error().message();
}

TEST(MaskErrorsTest, LengthsMustBeOneASequenceOrOneAQuery) {
  const auto of_three = filled<std::int64_t, 1>({3}, 1);
  EXPECT_EQ(error_of(key_lengths(of_three), ErrorCode::shape_mismatch),
            "attention: mask.key_lengths has shape (3), expected (B) = (2)");
  const auto of_keys = filled<std::int64_t, 2>({2, 6}, 1);
  EXPECT_EQ(error_of(key_lengths(of_keys), ErrorCode::shape_mismatch),
            "attention: mask.key_lengths has shape (2, 6), expected (B, Lq) = "
            "(2, 4)");
}

TEST(MaskErrorsTest, ALengthBeyondTheKeysOrBelowZeroNamesItsPlace) {
  const auto too_long = tensor_of<std::int64_t, 1>({2}, {6, 7});
  EXPECT_EQ(error_of(key_lengths(too_long), ErrorCode::out_of_range),
            "attention: mask.key_lengths[1] is 7, expected 0 to Lkv = 6");
  const auto negative =
      tensor_of<std::int64_t, 2>({2, 4}, {0, 1, 2, 3, 4, 5, -1, 6});
  EXPECT_EQ(error_of(key_lengths(negative), ErrorCode::out_of_range),
            "attention: mask.key_lengths[1, 2] is -1, expected 0 to Lkv = 6");
}

TEST(MaskErrorsTest, AWindowHasNoNegativeSide) {
  EXPECT_EQ(error_of(window(-1, 2), ErrorCode::out_of_range),
            "attention: mask.window.left is -1, expected a whole number, 0 or "
            "greater");
  EXPECT_EQ(error_of(window(std::nullopt, -5), ErrorCode::out_of_range),
            "attention: mask.window.right is -5, expected a whole number, 0 or "
            "greater");
  EXPECT_EQ(error_of(window(0, 0), ErrorCode::out_of_range), "no error");
}

TEST(MaskErrorsTest, AKeyStartIsOneASequenceAndAmongTheKeys) {
  const auto of_three = filled<std::int64_t, 1>({3}, 1);
  EXPECT_EQ(error_of(key_starts(of_three), ErrorCode::shape_mismatch),
            "attention: mask.key_starts has shape (3), expected (B) = (2)");
  const auto beyond = tensor_of<std::int64_t, 1>({2}, {6, 7});
  EXPECT_EQ(error_of(key_starts(beyond), ErrorCode::out_of_range),
            "attention: mask.key_starts[1] is 7, expected 0 to Lkv = 6");
  const auto negative = tensor_of<std::int64_t, 1>({2}, {-1, 0});
  EXPECT_EQ(error_of(key_starts(negative), ErrorCode::out_of_range),
            "attention: mask.key_starts[0] is -1, expected 0 to Lkv = 6");
}

TEST(MaskErrorsTest, DocumentsAreOneIdAQueryAndOneAKey) {
  const auto of_queries = filled<std::int64_t, 2>({2, 4}, 1);
  const auto of_keys = filled<std::int64_t, 2>({2, 6}, 1);
  EXPECT_EQ(
      error_of(documents(of_keys, of_keys), ErrorCode::shape_mismatch),
      "attention: mask.documents.query_ids has shape (2, 6), expected (B, Lq) "
      "= (2, 4)");
  EXPECT_EQ(
      error_of(documents(of_queries, of_queries), ErrorCode::shape_mismatch),
      "attention: mask.documents.key_ids has shape (2, 4), expected (B, Lkv) "
      "= (2, 6)");
  const auto four = filled<std::int64_t, 1>({4}, 1);
  EXPECT_EQ(
      error_of(documents(four, four), ErrorCode::shape_mismatch),
      "attention: mask.documents.key_ids has shape (4), expected (Lkv) = (6)");
}

TEST(MaskErrorsTest, ADocumentIdThatDecreasesNamesItsPlace) {
  const auto queries =
      tensor_of<std::int64_t, 2>({2, 4}, {5, 6, 6, 7, -2, -2, -3, 0});
  const auto keys = filled<std::int64_t, 2>({2, 6}, 1);
  EXPECT_EQ(
      error_of(documents(queries, keys), ErrorCode::invalid_argument),
      "attention: mask.documents.query_ids[1, 2] is -3, expected at least the "
      "-2 before it: ids do not decrease along a row");
  const auto four = filled<std::int64_t, 1>({4}, 1);
  const auto six = tensor_of<std::int64_t, 1>({6}, {0, 1, 2, 3, 4, 3});
  EXPECT_EQ(error_of(documents(four, six), ErrorCode::invalid_argument),
            "attention: mask.documents.key_ids[5] is 3, expected at least the "
            "4 before "
            "it: ids do not decrease along a row");
}

TEST(MaskErrorsTest, PaddingMustBeOneBooleanAKey) {
  const auto padding = filled<bool, 2>({2, 5}, true);
  EXPECT_EQ(error_of(key_padding(padding), ErrorCode::shape_mismatch),
            "attention: mask.key_padding has shape (2, 5), expected (B, Lkv) = "
            "(2, 6)");
}

TEST(MaskErrorsTest, ADenseMaskMustHaveTheSizesOfTheAxesItNames) {
  const auto mask = filled<bool, 3>({2, 1, 5}, true);
  EXPECT_EQ(
      error_of(dense(view_of(mask), {Axis::B, Axis::one, Axis::Lkv}),
               ErrorCode::shape_mismatch),
      "attention: mask has shape (2, 1, 5), expected (B, 1, Lkv) = (2, 1, 6)");
  EXPECT_EQ(
      error_of(dense(view_of(mask), {Axis::B, Axis::H, Axis::Lq}),
               ErrorCode::shape_mismatch),
      "attention: mask has shape (2, 1, 5), expected (B, H, Lq) = (2, 3, 4)");
  // An axis that is called 1 and is not.
  EXPECT_EQ(
      error_of(dense(view_of(mask), {Axis::one, Axis::one, Axis::one}),
               ErrorCode::shape_mismatch),
      "attention: mask has shape (2, 1, 5), expected (1, 1, 1) = (1, 1, 1)");
}

TEST(MaskTest, ADenseMaskIsATensorOrAViewOfBool) {
  auto mask = filled<bool, 3>({2, 1, 5}, true);
  const std::string expected =
      error_of(dense(view_of(mask), {Axis::B, Axis::one, Axis::Lkv}),
               ErrorCode::shape_mismatch);
  const std::array<Axis, 3> axes = {Axis::B, Axis::one, Axis::Lkv};
  for (const Mask& same :
       {dense(mask, {Axis::B, Axis::one, Axis::Lkv}),
        dense(mask.view(), {Axis::B, Axis::one, Axis::Lkv}),
        dense(std::as_const(mask), {Axis::B, Axis::one, Axis::Lkv}),
        dense(mask, axes), dense(mask.view(), axes)}) {
    EXPECT_EQ(error_of(same, ErrorCode::shape_mismatch), expected);
  }
}

TEST(MaskErrorsTest, AnAxisNamedTwiceIsAnError) {
  const auto mask = filled<bool, 3>({2, 6, 6}, true);
  EXPECT_EQ(error_of(dense(view_of(mask), {Axis::B, Axis::Lkv, Axis::Lkv}),
                     ErrorCode::invalid_argument),
            "attention: mask has axes (B, Lkv, Lkv) that name Lkv twice, "
            "expected each "
            "name once");
}

TEST(MaskErrorsTest, EveryAxisNeedsANameAndAStride) {
  const bool all[12] = {};
  EXPECT_EQ(error_of(dense(all, {{2, 6}, {6, 1}, {Axis::B}}),
                     ErrorCode::invalid_argument),
            "attention: mask has 2 axes, expected one for each name in (B)");
  EXPECT_EQ(error_of(dense(all, {{2, 6}, {6}, {Axis::B, Axis::Lkv}}),
                     ErrorCode::invalid_argument),
            "attention: mask has 1 strides, expected one for each name in (B, "
            "Lkv)");
}

TEST(MaskErrorsTest, EveryRuleOfAConjunctionIsChecked) {
  const auto padding = filled<bool, 2>({2, 6}, true);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {6, 9});
  EXPECT_EQ(error_of(causal() & key_padding(padding) & key_lengths(lengths),
                     ErrorCode::out_of_range),
            "attention: mask.key_lengths[1] is 9, expected 0 to Lkv = 6");
}

TEST(MaskErrorsTest, AMaskHoldsEightRulesAndANinthIsAnError) {
  Mask mask;
  for (std::int64_t n = 0; n < 8; ++n) {
    mask = mask & window(n, 0);
  }
  const auto bound = BoundMask::bind(mask, {kShape, {}, "attention"}).value();
  EXPECT_EQ(bound.parts().size(), kMostMaskRules + 1);
  EXPECT_EQ(mask.rule_count(), 8u);
  for (const Mask& nine : {mask & causal(), causal() & mask}) {
    EXPECT_EQ(nine.rule_count(), 9u);
    EXPECT_EQ(error_of(nine, ErrorCode::unsupported),
              "attention: mask combines 9 rules, expected at most 8");
  }
  EXPECT_EQ(error_of(mask & mask, ErrorCode::unsupported),
            "attention: mask combines 16 rules, expected at most 8");
}

TEST(MaskErrorsTest, ADenseMaskHasAtMostEightAxes) {
  const bool all[24] = {};
  const std::vector<std::size_t> extents = {1, 1, 1, 1, 1, 1, 1, 6, 4};
  const std::vector<std::ptrdiff_t> strides = {0, 0, 0, 0, 0, 0, 0, 4, 1};
  std::vector<Axis> axes(7, Axis::one);
  axes.insert(axes.end(), {Axis::Lkv, Axis::Lq});
  EXPECT_EQ(
      error_of(dense(all, {extents, strides, axes}), ErrorCode::unsupported),
      "attention: mask has 9 axes, expected at most 8");
  const auto one_less = [](const auto& list) {
    return std::span(list).subspan(1);
  };
  EXPECT_EQ(error_of(dense(all, {one_less(extents), one_less(strides),
                                 one_less(axes)}),
                     ErrorCode::unsupported),
            "no error");
}

TEST(MaskErrorsTest, TheMessageBeginsWithTheOperation) {
  const auto padding = filled<bool, 2>({2, 5}, true);
  const auto bound =
      BoundMask::bind(key_padding(padding), {kShape, {}, "decode"});
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error().message(), testing::StartsWith("decode: "));
}

// ---- apply_mask ----

TEST(ApplyMaskTest, AMaskedScoreIsMinusInfinityWhateverItWas) {
  auto scores = uniform<4>({1, 1, 2, 3}, 1);
  scores(0, 0, 0, 1) = kNaN;
  scores(0, 0, 0, 2) = -kMinusInf;
  scores(0, 0, 1, 0) = kNaN;
  const auto mask =
      BoundMask::bind(causal(), {{1, 1, 1, 2, 3, 1, 1}, {}, "test"}).value();
  auto masked = Tensor<float, 4>::create({1, 1, 2, 3}).value();
  EXPECT_TRUE(apply_mask(scores, mask, masked));
  EXPECT_EQ(masked(0, 0, 0, 0), scores(0, 0, 0, 0));
  EXPECT_EQ(masked(0, 0, 0, 1), kMinusInf);
  EXPECT_EQ(masked(0, 0, 0, 2), kMinusInf);
  EXPECT_EQ(bits(masked(0, 0, 1, 0)), kNaNBits);
  EXPECT_EQ(masked(0, 0, 1, 1), scores(0, 0, 1, 1));
  EXPECT_EQ(masked(0, 0, 1, 2), kMinusInf);
}

TEST(ApplyMaskTest, InAndOutMayBeTheSameTensor) {
  auto scores = filled<float, 4>({1, 1, 2, 2}, 3);
  const auto mask =
      BoundMask::bind(causal(), {{1, 1, 1, 2, 2, 1, 1}, {}, "test"}).value();
  EXPECT_TRUE(apply_mask(scores, mask, scores));
  EXPECT_THAT(scores.elements(), ElementsAre(3, kMinusInf, 3, 3));
}

// ---- parts and materialize ----

struct Shown {
  std::string name;
  std::array<bool, 4> varies;
  Tensor<bool, 4> allowed;
};

std::vector<Shown> shown(const Mask& mask, const QueryStart& start = {}) {
  const auto bound = BoundMask::bind(mask, {kShape, start, "test"}).value();
  std::vector<Shown> all;
  for (const BoundMask::Part& part : bound.parts()) {
    all.push_back(
        {part.name, part.varies, bound.materialize(all.size()).value()});
  }
  return all;
}

TEST(ShowMaskTest, NoMaskShowsNothingAndAllowsAll) {
  const auto bound = BoundMask::bind({}, {kShape, {}, "test"}).value();
  EXPECT_TRUE(bound.allows_all());
  EXPECT_TRUE(bound.parts().empty());
  EXPECT_TRUE(bound.may_attend(1, 2, 3, 5));
}

TEST(ShowMaskTest, AMaskIsOneAlongTheAxesItDoesNotVaryOver) {
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {2, 6});
  const auto one = shown(key_lengths(lengths));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "key_lengths_mask");
  EXPECT_THAT(one[0].varies, ElementsAre(true, false, false, true));
  EXPECT_EQ(one[0].allowed.extents(), (Extents<4>{2, 1, 1, 6}));
  EXPECT_THAT(one[0].allowed.elements(),
              ElementsAre(true, true, false, false, false, false, true, true,
                          true, true, true, true));
}

TEST(ShowMaskTest, EachRuleIsShownAndThenAllOfThem) {
  const auto padding = filled<bool, 2>({2, 6}, true);
  const auto per_head = filled<bool, 2>({3, 4}, true);
  const auto all = shown(causal() & key_padding(padding) &
                         dense(view_of(per_head), {Axis::H, Axis::Lq}));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "causal_mask");
  EXPECT_EQ(all[0].allowed.extents(), (Extents<4>{1, 1, 4, 6}));
  EXPECT_EQ(all[1].name, "padding_mask");
  EXPECT_EQ(all[1].allowed.extents(), (Extents<4>{2, 1, 1, 6}));
  EXPECT_EQ(all[2].name, "dense_mask");
  EXPECT_EQ(all[2].allowed.extents(), (Extents<4>{1, 3, 4, 1}));
  EXPECT_EQ(all[3].name, "mask");
  EXPECT_EQ(all[3].allowed.extents(), (Extents<4>{2, 3, 4, 6}));
}

TEST(ShowMaskTest, ACausalMaskVariesOverTheBatchWhereTheStartsDo) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, 2});
  const auto one = shown(causal(), starts);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].allowed.extents(), (Extents<4>{2, 1, 4, 6}));
  EXPECT_FALSE(one[0].allowed(0, 0, 0, 1));
  EXPECT_TRUE(one[0].allowed(1, 0, 0, 2));
  EXPECT_FALSE(one[0].allowed(1, 0, 0, 3));
}

TEST(ShowMaskTest, WindowsStartsAndDocumentsAreShownByTheirNames) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, 5});
  const auto query_ids = tensor_of<std::int64_t, 1>({4}, {0, 0, 1, 2});
  const auto key_ids = tensor_of<std::int64_t, 1>({6}, {0, 0, 0, 1, 2, 2});
  const auto rows = filled<std::int64_t, 2>({2, 4}, 1);
  const auto columns = filled<std::int64_t, 2>({2, 6}, 1);
  const auto all =
      shown(window(1, 0) & key_starts(starts) & documents(query_ids, key_ids) &
            documents(rows, columns));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].name, "window_mask");
  EXPECT_EQ(all[0].allowed.extents(), (Extents<4>{1, 1, 4, 6}));
  EXPECT_EQ(all[1].name, "key_starts_mask");
  EXPECT_EQ(all[1].allowed.extents(), (Extents<4>{2, 1, 1, 6}));
  EXPECT_FALSE(all[1].allowed(1, 0, 0, 4));
  EXPECT_TRUE(all[1].allowed(1, 0, 0, 5));
  EXPECT_EQ(all[2].name, "documents_mask");
  EXPECT_EQ(all[2].allowed.extents(), (Extents<4>{1, 1, 4, 6}));
  EXPECT_EQ(all[3].name, "documents_mask_2");
  EXPECT_EQ(all[3].allowed.extents(), (Extents<4>{2, 1, 4, 6}));
  const auto by_sequence = shown(window(1, 0), starts);
  EXPECT_THAT(by_sequence[0].varies, ElementsAre(true, false, true, true));
}

TEST(ShowMaskTest, LengthsForEachQueryVaryOverTheQueries) {
  const auto lengths = filled<std::int64_t, 2>({2, 4}, 3);
  const auto one = shown(key_lengths(lengths));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_THAT(one[0].varies, ElementsAre(true, false, true, true));
}

}  // namespace
}  // namespace headwise::testing_support
