// Groups of query heads of different sizes: the bits of keys and values that
// are repeated for each query head, however the work is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "attention/schedule.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Sizes and the groups' offsets.
struct Grouped {
  Grouped(AttentionShape of_call, std::vector<std::int64_t> of_groups)
      : shape(std::move(of_call)), offsets(std::move(of_groups)) {}

  AttentionShape shape;
  std::vector<std::int64_t> offsets;

  OperationOptions operation_options() const {
    return {.kv_groups = kv_groups()};
  }
  HeadGroups kv_groups() const {
    std::vector<std::size_t> sizes;
    for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
      sizes.push_back(static_cast<std::size_t>(offsets[g + 1] - offsets[g]));
    }
    return HeadGroups::create(sizes).value();
  }
};

// The larger group last, first, and between two of one head; several blocks of
// keys; at most one block of queries, which the sums of gradients go by.
std::vector<Grouped> every_grouping() {
  const AttentionShape large_last = {
      .B = 2, .Hq = 7, .Hkv = 2, .Lq = 9, .Lkv = 11, .D = 5, .Dv = 6};
  const AttentionShape large_first = {
      .B = 1, .Hq = 5, .Hkv = 2, .Lq = 48, .Lkv = 270, .D = 8, .Dv = 7};
  const AttentionShape between = {
      .B = 2, .Hq = 5, .Hkv = 3, .Lq = 33, .Lkv = 130, .D = 9, .Dv = 8};
  return {{large_last, {0, 3, 7}},
          {large_first, {0, 4, 5}},
          {between, {0, 1, 4, 5}}};
}

// (B, L, Hkv, D) as (B, L, Hq, D), for each query head the one that it reads.
template <class T>
Tensor<T, 4> repeated(const Tensor<T, 4>& heads,
                      const std::vector<std::int64_t>& offsets) {
  const auto [B, L, Hkv, D] = heads.extents();
  auto all =
      Tensor<T, 4>::create({B, L, static_cast<std::size_t>(offsets.back()), D})
          .value();
  for (std::size_t n = 0; n < B * L; ++n) {
    for (std::size_t g = 0; g < Hkv; ++g) {
      for (auto h = static_cast<std::size_t>(offsets[g]);
           h < static_cast<std::size_t>(offsets[g + 1]); ++h) {
        std::copy_n(&heads(n / L, n % L, g, 0), D, &all(n / L, n % L, h, 0));
      }
    }
  }
  return all;
}
template <class T>
Inputs<T> repeated(const Inputs<T>& in,
                   const std::vector<std::int64_t>& offsets) {
  return {clone(in.query), repeated(in.key, offsets),
          repeated(in.value, offsets)};
}

// Added keys of key heads, (Hkv, D), as those of query heads.
class RepeatedAdded {
 public:
  RepeatedAdded(const AddedKeys& added,
                const std::vector<std::int64_t>& offsets)
      : bias_k_(of_query_heads(added.bias_k, offsets)),
        bias_v_(of_query_heads(added.bias_v, offsets)),
        keys_{added.bias_k, added.bias_v, added.zero_attn} {
    if (added.bias_k.data() != nullptr) {
      keys_.bias_k = bias_k_;
      keys_.bias_v = bias_v_;
    }
  }

  const AddedKeys& keys() const { return keys_; }

 private:
  static Tensor<float, 2> of_query_heads(
      TensorView<const float, 2> learned,
      const std::vector<std::int64_t>& offsets) {
    auto rows =
        Tensor<float, 2>::create(
            {static_cast<std::size_t>(offsets.back()), learned.extent(1)})
            .value();
    for (std::size_t g = 0; g < learned.extent(0); ++g) {
      for (auto h = static_cast<std::size_t>(offsets[g]);
           h < static_cast<std::size_t>(offsets[g + 1]); ++h) {
        std::copy_n(&learned(g, 0), learned.extent(1), &rows(h, 0));
      }
    }
    return rows;
  }

  Tensor<float, 2> bias_k_;
  Tensor<float, 2> bias_v_;
  AddedKeys keys_;
};

// (B, L, Hq, D) summed over each group's heads in their order.
Tensor<float, 4> summed(const Tensor<float, 4>& all,
                        const std::vector<std::int64_t>& offsets) {
  const auto [B, L, Hq, D] = all.extents();
  const std::size_t Hkv = offsets.size() - 1;
  auto sums = Tensor<float, 4>::create({B, L, Hkv, D}).value();
  for (std::size_t n = 0; n < B * L; ++n) {
    for (std::size_t g = 0; g < Hkv; ++g) {
      for (auto h = static_cast<std::size_t>(offsets[g]);
           h < static_cast<std::size_t>(offsets[g + 1]); ++h) {
        for (std::size_t d = 0; d < D; ++d) {
          sums(n / L, n % L, g, d) += all(n / L, n % L, h, d);
        }
      }
    }
  }
  return sums;
}

AttentionStatistics statistics_of(const Inputs<float>& in,
                                  const AttentionOptions& options,
                                  const HeadGroups& kv_groups = {}) {
  auto out = outputs_for(in, options);
  return attention_statistics(view_of(in.query), view_of(in.key),
                              view_of(in.value), out.views(), options,
                              {.kv_groups = kv_groups,
                               .statistics = {.rows = true,
                                              .top_keys = 3,
                                              .columns = true,
                                              .map = true}})
      .value();
}

testing::AssertionResult same_statistics(const AttentionStatistics& a,
                                         const AttentionStatistics& b) {
  for (const auto& [x, y] :
       {std::pair(a.rows.elements(), b.rows.elements()),
        std::pair(a.top_weights.elements(), b.top_weights.elements()),
        std::pair(a.columns.elements(), b.columns.elements()),
        std::pair(a.map_mean.elements(), b.map_mean.elements()),
        std::pair(a.map_largest.elements(), b.map_largest.elements()),
        std::pair(a.pooled.means.elements(), b.pooled.means.elements())}) {
    if (auto same = same_bits(x, y); !same) {
      return same;
    }
  }
  return testing::AssertionSuccess();
}

class UnevenGroupsTest : public TargetTest {};

TEST_P(UnevenGroupsTest, GiveTheBitsOfKeysRepeatedForEachHead) {
  for (const Grouped& grouped : every_grouping()) {
    const Inputs<float> in = random_inputs(grouped.shape, 5000);
    const Inputs<float> full = repeated(in, grouped.offsets);
    const EveryMask every_mask(grouped.shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      OperationOptions operation_options = c.operation_options;
      const RepeatedAdded added(c.operation_options.added_keys,
                                grouped.offsets);
      operation_options.added_keys = added.keys();
      const Outputs<float> want = attend(full, c.options, operation_options);
      operation_options = c.operation_options;
      operation_options.kv_groups = grouped.kv_groups();
      EXPECT_TRUE(same_bits(attend(in, c.options, operation_options), want))
          << c.name;
    }
  }
}

TEST_P(UnevenGroupsTest, PassBackTheBitsOfRepeatedKeysAddedInTheHeadsOrder) {
  for (const Grouped& grouped : every_grouping()) {
    const Inputs<float> in = random_inputs(grouped.shape, 5010);
    const Inputs<float> full = repeated(in, grouped.offsets);
    const EveryMask every_mask(grouped.shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      AttentionOptions options = c.options;
      OperationOptions operation_options = c.operation_options;
      if (operation_options.score_weight.data() == nullptr) {
        options.scale = 1;  // the factor comes after the sum
      }
      const Upstream<float> upstream =
          random_upstream(in, options, 5020, operation_options);
      const RepeatedAdded added(c.operation_options.added_keys,
                                grouped.offsets);
      operation_options.added_keys = added.keys();
      Gradients<float> want =
          differentiate(full, upstream, options, operation_options);
      want.key = summed(want.key, grouped.offsets);
      want.value = summed(want.value, grouped.offsets);
      operation_options = c.operation_options;
      operation_options.kv_groups = grouped.kv_groups();
      const Gradients<float> got =
          differentiate(in, upstream, options, operation_options);
      // These sum over the heads before the sequences.
      want.bias_k = clone(got.bias_k);
      want.bias_v = clone(got.bias_v);
      EXPECT_TRUE(same_bits(got, want)) << c.name;
    }
  }
}

TEST_P(UnevenGroupsTest, HaveTheStatisticsOfRepeatedKeys) {
  for (const Grouped& grouped : every_grouping()) {
    const Inputs<float> in = random_inputs(grouped.shape, 5030);
    const AttentionOptions options = {
        .mask = causal(), .query_start = QueryStart::bottom_right()};
    const AttentionStatistics want =
        statistics_of(repeated(in, grouped.offsets), options);
    EXPECT_TRUE(
        same_statistics(statistics_of(in, options, grouped.kv_groups()), want));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, UnevenGroupsTest,
                         testing::ValuesIn(targets()), target_name);

TEST(UnevenGroupsReferenceTest, GivesTheNumbersOfRepeatedKeys) {
  for (const Grouped& grouped : every_grouping()) {
    const Inputs<float> in = random_inputs(grouped.shape, 5040);
    const Inputs<double> full = widened(repeated(in, grouped.offsets));
    const AttentionOptions options = {.mask = causal(),
                                      .attn_weights = AttnWeights::per_head};
    const auto upstream = widened(random_upstream(in, options, 5050));
    const Outputs<double> want = reference(full, options);
    const Gradients<double> d_want =
        reference_gradients(full, upstream, options);
    const Outputs<double> got =
        reference(widened(in), options, grouped.operation_options());
    const Gradients<double> d_got = reference_gradients(
        widened(in), upstream, options, grouped.operation_options());
    EXPECT_TRUE(
        std::ranges::equal(got.output.elements(), want.output.elements()));
    EXPECT_TRUE(std::ranges::equal(got.attn_weights.elements(),
                                   want.attn_weights.elements()));
    EXPECT_TRUE(
        std::ranges::equal(d_got.query.elements(), d_want.query.elements()));
  }
}

TEST(UnevenGroupsStepwiseTest, KeepsTheStepsOfRepeatedKeys) {
  for (const Grouped& grouped : every_grouping()) {
    const Inputs<float> in = random_inputs(grouped.shape, 5060);
    const Inputs<float> full = repeated(in, grouped.offsets);
    const EveryMask every_mask(grouped.shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      OperationOptions operation_options = c.operation_options;
      const RepeatedAdded added(c.operation_options.added_keys,
                                grouped.offsets);
      operation_options.added_keys = added.keys();
      const AttentionSteps want = stepwise(full, c.options, operation_options);
      operation_options = c.operation_options;
      operation_options.kv_groups = grouped.kv_groups();
      const AttentionSteps got = stepwise(in, c.options, operation_options);
      EXPECT_TRUE(same_bits(got.scores, want.scores)) << c.name;
      EXPECT_TRUE(same_bits(got.context, want.context)) << c.name;
    }
  }
}

// ---- However the work is cut. ----

Schedule::Split split_of(const AttentionShape& shape,
                         const AttentionOptions& options,
                         const OperationOptions& operation_options) {
  return schedule_of(
             AttentionSpec::create(shape, options, operation_options).value())
      .split;
}

TEST(UnevenGroupsSplitTest, HaveTheSameBitsForAnyThreadsAndEverySplit) {
  using Split = Schedule::Split;
  // One key head for each of two workers, and many for each.
  const Grouped few = {
      {.B = 1, .Hq = 5, .Hkv = 2, .Lq = 401, .Lkv = 300, .D = 32, .Dv = 24},
      {0, 4, 5}};
  const Grouped many = {
      {.B = 17, .Hq = 5, .Hkv = 3, .Lq = 70, .Lkv = 131, .D = 16, .Dv = 16},
      {0, 1, 4, 5}};
  for (const auto& [grouped, form, split] :
       {std::tuple(few, AttnWeights::none, Split::tiles),
        std::tuple(few, AttnWeights::mean, Split::tiles_of_heads),
        std::tuple(many, AttnWeights::none, Split::key_heads)}) {
    const Inputs<float> in = random_inputs(grouped.shape, 5070);
    AttentionOptions options = {.mask = causal(),
                                .query_start = QueryStart::bottom_right(),
                                .attn_weights = form};
    const Executor one = Executor::with_threads(1).value();
    options.executor = &one;
    const Outputs<float> want = attend(repeated(in, grouped.offsets), options);
    const Upstream<float> upstream = random_upstream(in, options, 5080);
    const OperationOptions groups = grouped.operation_options();
    EXPECT_TRUE(same_bits(attend(in, options, groups), want)) << "1 thread";
    const Gradients<float> d_want =
        differentiate(in, upstream, options, groups);
    for (const std::size_t threads : {2u, 3u}) {
      const Executor executor = Executor::with_threads(threads).value();
      options.executor = &executor;
      EXPECT_EQ(split_of(grouped.shape, options, groups), split);
      EXPECT_TRUE(same_bits(attend(in, options, groups), want))
          << threads << " threads";
      EXPECT_TRUE(
          same_bits(differentiate(in, upstream, options, groups), d_want))
          << threads << " threads";
    }
  }
}

// The heads of one sequence fall evenly to all workers only where they are
// alike.
TEST(UnevenGroupsSplitTest, AreNoEvenShareOfTheWork) {
  const Executor two = Executor::with_threads(2).value();
  Grouped grouped = {
      {.B = 1, .Hq = 8, .Hkv = 4, .Lq = 400, .Lkv = 400, .D = 32, .Dv = 32},
      {0, 5, 6, 7, 8}};
  const auto split = [&](const OperationOptions& operation_options) {
    return split_of(grouped.shape, {.executor = &two}, operation_options);
  };
  EXPECT_EQ(split({}), Schedule::Split::key_heads);
  EXPECT_EQ(split(grouped.operation_options()), Schedule::Split::tiles);
  grouped.offsets = {0, 2, 4, 6, 8};
  EXPECT_EQ(split(grouped.operation_options()), Schedule::Split::key_heads);
}

TEST(UnevenGroupsSplitTest, HaveTheSameStatisticsForAnyThreads) {
  const Grouped grouped = {
      {.B = 2, .Hq = 7, .Hkv = 3, .Lq = 800, .Lkv = 140, .D = 8, .Dv = 8},
      {0, 2, 3, 7}};
  const Inputs<float> in = random_inputs(grouped.shape, 5090);
  const Executor one = Executor::with_threads(1).value();
  const AttentionStatistics want = statistics_of(
      repeated(in, grouped.offsets), {.mask = causal(), .executor = &one});
  for (const std::size_t threads : {1u, 2u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(same_statistics(
        statistics_of(in, {.mask = causal(), .executor = &executor},
                      grouped.kv_groups()),
        want))
        << threads << " threads";
  }
}

TEST(UnevenGroupsSplitTest, GivenButEvenHaveTheBitsOfNone) {
  const Grouped grouped = {
      {.B = 2, .Hq = 6, .Hkv = 3, .Lq = 60, .Lkv = 140, .D = 9, .Dv = 7},
      {0, 2, 4, 6}};
  const Inputs<float> in = random_inputs(grouped.shape, 5100);
  const EveryMask every_mask(grouped.shape, true);
  for (const OptionsCase& c : every_options(every_mask)) {
    OperationOptions operation_options = c.operation_options;
    const Upstream<float> upstream =
        random_upstream(in, c.options, 5110, operation_options);
    const Outputs<float> want = attend(in, c.options, operation_options);
    const Gradients<float> d_want =
        differentiate(in, upstream, c.options, operation_options);
    operation_options.kv_groups = grouped.kv_groups();
    EXPECT_TRUE(same_bits(attend(in, c.options, operation_options), want))
        << c.name;
    EXPECT_TRUE(same_bits(
        differentiate(in, upstream, c.options, operation_options), d_want))
        << c.name;
  }
}

// ---- Ragged batches. ----

// The rows [first, end) of the only sequence.
Tensor<float, 4> rows_of(const Tensor<float, 4>& all, std::int64_t first,
                         std::int64_t end) {
  const auto [B, L, H, D] = all.extents();
  auto rows =
      Tensor<float, 4>::create({1, static_cast<std::size_t>(end - first), H, D})
          .value();
  std::copy_n(&all(0, static_cast<std::size_t>(first), 0, 0), rows.size(),
              rows.data());
  return rows;
}

TEST(UnevenGroupsRaggedTest, HaveTheBitsOfEachSequenceAlone) {
  const Grouped grouped = {
      {.B = 1, .Hq = 7, .Hkv = 2, .Lq = 240, .Lkv = 240, .D = 12, .Dv = 9},
      {0, 3, 7}};
  const std::vector<std::int64_t> cuts = {0, 16, 97, 98, 240};
  const auto offsets = tensor_of<std::int64_t, 1>({cuts.size()}, cuts);
  const Inputs<float> in = random_inputs(grouped.shape, 5120);
  AttentionOptions options = {.mask = causal()};
  const OperationOptions groups = grouped.operation_options();
  const Upstream<float> upstream = random_upstream(in, options, 5130);
  std::vector<Tensor<float, 4>> outputs;
  std::vector<Gradients<float>> gradients;
  for (std::size_t b = 0; b + 1 < cuts.size(); ++b) {
    const auto alone = [&](const Tensor<float, 4>& all) {
      return rows_of(all, cuts[b], cuts[b + 1]);
    };
    const Inputs<float> one = {alone(in.query), alone(in.key), alone(in.value)};
    outputs.push_back(attend(one, options, groups).output);
    gradients.push_back(
        differentiate(one, {alone(upstream.d_output), {}}, options, groups));
  }
  options.offsets = offsets;
  const Outputs<float> all = attend(in, options, groups);
  const Gradients<float> d_all = differentiate(in, upstream, options, groups);
  for (std::size_t b = 0; b + 1 < cuts.size(); ++b) {
    const auto of_ragged = [&](const Tensor<float, 4>& tensor) {
      return rows_of(tensor, cuts[b], cuts[b + 1]);
    };
    EXPECT_TRUE(same_bits(of_ragged(all.output), outputs[b])) << b;
    EXPECT_TRUE(same_bits(of_ragged(d_all.query), gradients[b].query)) << b;
    EXPECT_TRUE(same_bits(of_ragged(d_all.key), gradients[b].key)) << b;
    EXPECT_TRUE(same_bits(of_ragged(d_all.value), gradients[b].value)) << b;
  }
}

}  // namespace
}  // namespace headwise::testing_support
