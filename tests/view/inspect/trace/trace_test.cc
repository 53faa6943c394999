#include "headwise/inspect/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/tensor_view.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// 0, 1, 2, ... 23
std::vector<float> counted() {
  std::vector<float> data(24);
  for (std::size_t n = 0; n < data.size(); ++n) {
    data[n] = static_cast<float>(n);
  }
  return data;
}

std::vector<double> elements(const TracedStep& step) {
  std::vector<double> all;
  for (std::size_t n = 0; n < step.size(); ++n) {
    all.push_back(step.at(n));
  }
  return all;
}

template <std::size_t Rank>
void report(Trace& trace, const AnyView& tensor,
            const std::array<std::string_view, Rank>& axes) {
  trace.on_step("x", axes, tensor);
}

TEST(TraceTest, PermutedViewsAreCopiedInTheirOwnOrder) {
  const std::vector<float> data = counted();
  // (B=1, L=2, H=3, D=4) seen as (B, H, L, D).
  const TensorView<const float, 4> blhd(data.data(), {1, 2, 3, 4});
  Trace trace;
  report<4>(trace, as_bhld(blhd), {"B", "H", "L", "D"});
  const TracedStep& step = trace.steps().front();
  EXPECT_THAT(step.extents, ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(elements(step),
              ElementsAre(0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18,
                          19, 8, 9, 10, 11, 20, 21, 22, 23));
  // And is seen again as it was copied.
  EXPECT_THAT(step.view().strides(), ElementsAre(24, 8, 4, 1));
  EXPECT_EQ(static_cast<const float*>(step.view().data())[4], 12);
}

TEST(TraceTest, NegativeAndZeroStridesAreFollowed) {
  const std::vector<float> data = counted();
  Trace trace;
  report<2>(trace, TensorView<const float, 2>(data.data() + 3, {2, 3}, {0, -1}),
            {"A", "B"});
  EXPECT_THAT(elements(trace.steps().front()), ElementsAre(3, 2, 1, 3, 2, 1));
}

TEST(TraceTest, EveryElementTypeIsReadBack) {
  const std::array<bool, 2> bools = {true, false};
  const std::array<std::int64_t, 2> integers = {-3, 1LL << 40};
  const std::array<double, 2> doubles = {0.1, -kInf};
  Trace trace;
  report<1>(trace, TensorView<const bool, 1>(bools.data(), {2}), {"L"});
  report<1>(trace, TensorView<const std::int64_t, 1>(integers.data(), {2}),
            {"L"});
  report<1>(trace, TensorView<const double, 1>(doubles.data(), {2}), {"L"});
  EXPECT_THAT(elements(trace.steps()[0]), ElementsAre(1, 0));
  EXPECT_THAT(elements(trace.steps()[1]), ElementsAre(-3, 1LL << 40));
  EXPECT_THAT(elements(trace.steps()[2]), ElementsAre(0.1, -kInf));
  EXPECT_EQ(trace.steps()[1].dtype, DType::int64);
}

TEST(TraceTest, ScalarsAndEmptyTensorsAreKept) {
  const std::vector<float> data = counted();
  Trace trace;
  trace.on_step("scalar", {}, AnyView(&data[7], DType::float32, {}, {}));
  report<2>(trace, TensorView<const float, 2>(data.data(), {0, 3}), {"B", "L"});
  EXPECT_THAT(elements(trace.steps()[0]), ElementsAre(7));
  EXPECT_THAT(elements(trace.steps()[1]), IsEmpty());
  EXPECT_TRUE(trace.steps()[1].has_data());
}

TEST(TraceTest, WhatIsReportedMayChangeAfterwards) {
  std::vector<float> data = counted();
  Trace trace;
  report<1>(trace, TensorView<const float, 1>(data.data(), {2}), {"L"});
  data[1] = -1;
  EXPECT_THAT(elements(trace.steps().front()), ElementsAre(0, 1));
}

TEST(TraceTest, TheBatchIsLeftOutWhenAskedFor) {
  const std::vector<float> data = counted();
  Trace trace;
  report<3>(trace, TensorView<const float, 3>(data.data(), {1, 2, 3}),
            {"B", "L", "E"});
  trace.leave_out_batch();
  report<3>(trace, TensorView<const float, 3>(data.data(), {1, 2, 3}),
            {"B", "L", "E"});
  report<4>(trace, TensorView<const float, 4>(data.data(), {1, 1, 2, 3}),
            {"1", "1", "Lq", "Lkv"});
  EXPECT_THAT(trace.steps()[0].axes, ElementsAre("B", "L", "E"));
  EXPECT_THAT(trace.steps()[1].axes, ElementsAre("L", "E"));
  EXPECT_THAT(trace.steps()[1].extents, ElementsAre(2, 3));
  EXPECT_THAT(elements(trace.steps()[1]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(trace.steps()[2].axes, ElementsAre("1", "Lq", "Lkv"));
  // More than one sequence is never thrown away.
  report<2>(trace, TensorView<const float, 2>(data.data(), {2, 3}), {"B", "L"});
  EXPECT_THAT(trace.steps()[3].axes, ElementsAre("B", "L"));
}

TEST(TraceTest, StepsAreFoundByName) {
  const std::vector<float> data = counted();
  Trace trace;
  trace.on_step("a", {}, AnyView(&data[1], DType::float32, {}, {}));
  trace.on_step("b", {}, AnyView(&data[2], DType::float32, {}, {}));
  ASSERT_NE(trace.find("b"), nullptr);
  EXPECT_EQ(trace.find("b")->at(0), 2);
  EXPECT_EQ(trace.find("c"), nullptr);
}

TEST(TraceTest, ShapesWhoseProductWrapsRoundHaveNoData) {
  TracedStep step{
      "x", {"B", "L", "E"}, {2, 2, std::size_t{1} << 62}, DType::float32, {}};
  ASSERT_EQ(step.size(), 0u);  // 2^64
  EXPECT_FALSE(step.has_data());
}

TracedStep step_of(const std::vector<float>& data) {
  Trace trace;
  report<1>(trace, data, {"L"});
  return trace.steps().front();
}

TEST(SummarizeTest, TakesTheFiniteAloneForTheRange) {
  const StepSummary summary =
      summarize(step_of({3, -kInf, kNaN, -2, kInf, -kInf, kNaN}));
  EXPECT_EQ(summary.count, 7u);
  EXPECT_EQ(summary.finite, 2u);
  EXPECT_EQ(summary.min, -2);
  EXPECT_EQ(summary.max, 3);
  EXPECT_EQ(summary.masked, 2u);  // -inf, not inf
  EXPECT_EQ(summary.nan, 2u);
}

// Long rows are read many elements at a time.
TEST(SummarizeTest, LongRowsAreCountedAsShortOnes) {
  for (const std::size_t length : {64u, 65u, 130u}) {
    for (const std::size_t at : {0u, 15u, 16u, 63u, 64u}) {
      for (const float special : {-kInf, kInf, kNaN}) {
        std::vector<float> row(length, 1);
        row[length / 2] = -2;
        row[length - 3] = 3;
        if (at < length) {
          row[at] = special;
        }
        const StepSummary found = summarize(step_of(row));
        const std::size_t specials = at < length ? 1 : 0;
        EXPECT_EQ(found.count, length);
        EXPECT_EQ(found.finite, length - specials);
        EXPECT_EQ(found.masked, special == -kInf ? specials : 0);
        EXPECT_EQ(found.nan, std::isnan(special) ? specials : 0);
        EXPECT_EQ(found.min, -2);
        EXPECT_EQ(found.max, 3);
      }
    }
  }
}

TEST(SummarizeTest, NoElementsInManyRowsAreNothing) {
  Trace trace;
  report<3>(trace,
            TensorView<const float, 3>(nullptr, {1'000'000, 1'000'000, 0}),
            {"A", "B", "C"});
  EXPECT_EQ(summarize(trace.steps().front()).count, 0u);
}

TEST(SummarizeTest, AllMaskedHasNoRange) {
  const StepSummary summary = summarize(step_of({-kInf, -kInf}));
  EXPECT_EQ(summary.finite, 0u);
  EXPECT_EQ(summary.min, 0);
  EXPECT_EQ(summary.max, 0);
  EXPECT_EQ(summary.masked, 2u);
}

TEST(SummarizeTest, CountsTheFalseOfAMask) {
  const std::array<bool, 3> mask = {true, false, false};
  Trace trace;
  report<1>(trace, TensorView<const bool, 1>(mask.data(), {3}), {"L"});
  const StepSummary summary = summarize(trace.steps().front());
  EXPECT_EQ(summary.masked, 2u);
  EXPECT_EQ(summary.count, 3u);
}

TEST(SummarizeTest, OfNothingIsNothing) {
  const StepSummary summary = summarize(step_of({}));
  EXPECT_EQ(summary.count, 0u);
  EXPECT_EQ(summary.finite, 0u);
  EXPECT_EQ(summary.max, 0);
}

// Against what the steps report: tests/apps/explain_test.cc. Here every size
// is another.
TEST(ListStepsTest, EveryAxisHasItsOwnSize) {
  const std::vector<TracedStep> steps = list_steps({.from_tokens = false,
                                                    .cross = true,
                                                    .B = 2,
                                                    .Lq = 3,
                                                    .Lkv = 4,
                                                    .num_heads = 5,
                                                    .head_dim = 6,
                                                    .v_head_dim = 7,
                                                    .embed_dim = 8,
                                                    .query_dim = 9,
                                                    .kdim = 10,
                                                    .vdim = 11});
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> expected =
      {{"query", {2, 3, 9}},      {"key", {2, 4, 10}},
       {"value", {2, 4, 11}},     {"q", {2, 3, 30}},
       {"k", {2, 4, 30}},         {"v", {2, 4, 35}},
       {"q_split", {2, 3, 5, 6}}, {"k_split", {2, 4, 5, 6}},
       {"v_split", {2, 4, 5, 7}}, {"q_heads", {2, 5, 3, 6}},
       {"k_heads", {2, 5, 4, 6}}, {"v_heads", {2, 5, 4, 7}},
       {"scores", {2, 5, 3, 4}},  {"attn_weights", {2, 5, 3, 4}},
       {"context", {2, 5, 3, 7}}, {"merged", {2, 3, 35}},
       {"output", {2, 3, 8}}};
  ASSERT_EQ(steps.size(), expected.size());
  for (std::size_t n = 0; n < steps.size(); ++n) {
    EXPECT_EQ(steps[n].name, expected[n].first);
    EXPECT_EQ(steps[n].extents, expected[n].second) << steps[n].name;
  }
}

TEST(TraceSummaryTest, KeepsWhatIsSaidOfAStepAndNotTheStep) {
  std::vector<float> data = counted();
  data.resize(24);
  data[3] = -kInf;
  data[5] = kInf;
  data[7] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& view :
       {TensorView<const float, 2>(data.data(), {2, 12}, {12, 1}),
        TensorView<const float, 2>(data.data(), {12, 2}, {1, 12})}) {
    Trace trace;
    TraceSummary summary;
    report<2>(trace, view, {"A", "B"});
    summary.on_step("step", std::to_array<std::string_view>({"A", "B"}), view);
    const TracedStep& step = summary.steps().front();
    EXPECT_FALSE(step.has_data());
    EXPECT_THAT(step.axes, ElementsAre("A", "B"));
    for (const StepSummary& found :
         {summarize(step), summarize(trace.steps().front())}) {
      EXPECT_EQ(found.count, 24u);
      EXPECT_EQ(found.finite, 21u);
      EXPECT_EQ(found.masked, 1u);
      EXPECT_EQ(found.nan, 1u);
      EXPECT_EQ(found.min, *std::ranges::min_element(data, {}, [](float x) {
                  return std::isfinite(x) ? x
                                          : std::numeric_limits<float>::max();
                }));
    }
  }
}

}  // namespace
}  // namespace headwise
