// Each allocation of each picture and page fails once: an error comes back,
// also where what failed was the text of another error, and a page is as it
// was.
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "headwise/attention/stepwise.h"
#include "headwise/inspect/layer_heads.h"
#include "headwise/inspect/pictures.h"
#include "headwise/inspect/trace.h"
#include "headwise/inspect/view_page.h"
#include "inspect/trace/step_table.h"
#include "support/failures.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// One thread: what oneTBB does without memory is its own affair.
const Executor& alone() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

std::vector<std::string> labels(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t n = 0; n < count; ++n) {
    all.push_back("a label of more than a few letters " + std::to_string(n));
  }
  return all;
}

TEST(PictureFailuresTest, EveryAllocationMayFail) {
  const auto weights = uniform<3>({2, 3, 4}, 1, 0, 1);
  const auto allowed = coin_tosses<3>({2, 3, 4}, 2);
  const HeadsPicture cells = {.attn_weights = weights,
                              .allowed = allowed,
                              .query_labels = labels(3),
                              .key_labels = labels(4),
                              .title = "cells"};
  // So many cells that each head is an image.
  const auto large = filled<float, 3>({1, 150, 150}, 0.5f);
  const HeadsPicture images = {.attn_weights = large,
                               .query_labels = labels(150),
                               .key_labels = labels(150),
                               .title = "images"};
  const auto map = uniform<2>({2, 2}, 3, 0, 1);
  const std::vector<GridHead> grid = {{0, 0, false, map, "previous 0.98"},
                                      {0, 1, true, {}, ""}};
  const AccuracyCurve accuracy = {
      .title = "accuracy",
      .series = {"by score", "95% confidence interval", {{0, 90, 88, 92}}},
      .random = {"random", "", {{0, 90, 88, 92}, {1, 80, 70, 90}}}};
  const std::vector<double> losses = {3, 2, 1};
  expect_failures(
      {{"accuracy_curve_svg", [&] { return accuracy_curve_svg(accuracy); }},
       {"head_scores_svg",
        [&] {
          return head_scores_svg(not_counted([] {
            return HeadScores{.title = "scores",
                              .scores = {{0.1, kPrunedHead}, {0.5}},
                              .removed = {{0, 0}}};
          }));
        }},
       {"heads_grid_svg",
        [&] {
          return heads_grid_svg(not_counted([&] {
            return HeadsGridPicture{grid, "grid", ""};
          }));
        }},
       {"heads_svg", [&] { return heads_svg(cells); }},
       {"loss_curve_svg", [&] {
          return loss_curve_svg(not_counted([&] {
            return LossCurve{.title = "loss",
                             .model = {"model", losses},
                             .baseline = {"baseline", losses}};
          }));
        }}});
  constexpr long kStep = 13;
  EXPECT_GT(failures_of([&] { return heads_svg(images); }, kStep), 10);
  expect_failures_of_errors({{"heads_grid_svg",
                              [&] {
                                return heads_grid_svg(not_counted([] {
                                  return HeadsGridPicture{{}, "none", ""};
                                }));
                              }},
                             {"heads_svg", [&] {
                                return heads_svg(not_counted([&] {
                                  HeadsPicture wrong = cells;
                                  wrong.key_labels.pop_back();
                                  return wrong;
                                }));
                              }}});
}

class PageFailuresTest : public testing::Test {
 protected:
  ViewPageSettings settings() const {
    ViewPageSettings all{.title = "a page",
                         .command = "none",
                         .query_labels = labels(3),
                         .key_labels = labels(3)};
    all.attention = {.mask = causal(), .alibi = slopes_, .executor = &alone()};
    return all;
  }
  ViewPage page() const { return ViewPage::create(settings()).value(); }
  ViewedLayer layer(std::size_t number) const {
    return {.number = number,
            .query = query_,
            .key = key_,
            .steps = trace_.steps(),
            .head_numbers = numbers_,
            .num_heads = 4};
  }
  void SetUp() override {
    ASSERT_TRUE(stepwise_attention(query_, key_, key_, {}, {}, &trace_));
  }

  Tensor<float, 4> query_ = uniform<4>({1, 3, 2, 4}, 1);
  Tensor<float, 4> key_ = uniform<4>({1, 3, 1, 4}, 2);
  Tensor<float, 1> slopes_ = filled<float, 1>({2}, 0.5f);
  std::array<std::size_t, 2> numbers_ = {1, 3};
  Trace trace_;
};

TEST_F(PageFailuresTest, EveryAllocationMayFail) {
  EXPECT_GT(failures_of([&] {
              return ViewPage::create(not_counted([&] { return settings(); }));
            }),
            0);
  ViewPage whole = page();
  ASSERT_TRUE(whole.add(layer(0)));
  EXPECT_GT(failures_of([&] { return whole.html(); }), 100);
  const AttentionOptions options = settings().attention;
  const auto heads_of = [&] { return LayerHeads::create(layer(0), options); };
  EXPECT_GT(failures_of(heads_of), 10);
  const LayerHeads heads = heads_of().value();
  EXPECT_GT(failures_of([&] { return heads.head(0); }), 0);
  EXPECT_GT(failures_of([&] { return heads.whole(0); }), 1);
}

TEST_F(PageFailuresTest, ALayerThatCouldNotBeAddedLeavesThePageAsItWas) {
  ViewPage failing = page();
  ViewPage untroubled = page();
  for (const std::size_t number : {0u, 1u}) {
    EXPECT_GT(failures_of([&] { return failing.add(layer(number)); }), 100);
    ASSERT_TRUE(untroubled.add(layer(number)));
  }
  EXPECT_GT(failures_of([&] { return failing.add_pruned(2, 4); }), 10);
  ASSERT_TRUE(untroubled.add_pruned(2, 4));
  EXPECT_EQ(failing.html().value(), untroubled.html().value());
}

TEST_F(PageFailuresTest, EveryAllocationOfAnErrorMayFail) {
  ViewPage empty = page();
  const AttentionOptions options = settings().attention;
  ViewedLayer wrong = layer(0);
  wrong.num_heads = 2;
  const auto nan = filled<float, 4>({1, 3, 2, 4}, kNaN);
  ViewedLayer not_finite = layer(0);
  not_finite.query = nan;
  expect_failures_of_errors(
      {{"html", [&] { return empty.html(); }},
       {"add", [&] { return empty.add(wrong); }},
       {"add of NaN", [&] { return empty.add(not_finite); }},
       {"add_pruned", [&] { return empty.add_pruned(0, 0); }},
       {"LayerHeads::create",
        [&] { return LayerHeads::create(not_finite, options); }}});
}

// A sink of the library, which copies what it is told.
TEST(TraceFailuresTest, EveryAllocationOfATraceMayFail) {
  const auto x = uniform<4>({1, 3, 2, 4}, 1);
  const AttentionOptions options = {.mask = causal(), .executor = &alone()};
  const auto plain = [&] { return stepwise_attention(x, x, x, options); };
  const auto traced = [&] {
    Trace trace;
    return stepwise_attention(x, x, x, options, {}, &trace);
  };
  EXPECT_GT(failures_of(traced), failures_of(plain) + 10);
}

// What only builds a value throws std::bad_alloc, as a container does.
TEST(TraceFailuresTest, TextsAndListsThrowBadAllocAlone) {
  const JobShape job = {.num_heads = 2};
  const std::vector<TracedStep> steps = list_steps(job);
  const StepContext pass = {.steps = steps};
  const auto build = [&] {
    std::size_t size = list_steps(job).size() + mean_losses({}, 3).size();
    for (const std::string_view name : step_names()) {
      size += step_operation(name, pass).size();
      size += step_formula(name, pass).size();
    }
    return size;
  };
  long failed = 0;
  for (std::optional<std::size_t> built; !built; ++failed) {
    failing_allocation() = failed + 1;
    try {
      built = build();
    } catch (const std::bad_alloc&) {
    }
    failing_allocation() = 0;
  }
  EXPECT_GT(failed, 100);
}

}  // namespace
}  // namespace headwise::testing_support
