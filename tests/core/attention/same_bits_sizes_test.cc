// The same bits, however the work is cut: sizes around a vector, a tile of
// queries and a block of keys, and one over.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/attention/plan.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kSizes[] = {16, 48, 128, 129};

// The rows [first, first + count) of sequence b.
TensorView<const float, 4> rows_of(const Tensor<float, 4>& blhd, std::size_t b,
                                   std::size_t first, std::size_t count) {
  const auto [B, L, H, D] = blhd.extents();
  return {blhd.data() + (b * L + first) * H * D, {1, count, H, D}};
}

// Calls one sequence after another, or a part of one.
Tensor<float, 4> output_of(TensorView<const float, 4> query,
                           TensorView<const float, 4> key,
                           TensorView<const float, 4> value,
                           const AttentionOptions& options) {
  auto output = filled<float, 4>(
      {1, query.extent(1), query.extent(2), value.extent(3)}, 42);
  const Status s = attention(query, key, value, output, options);
  EXPECT_TRUE(s) << s.error().message();
  return output;
}

testing::AssertionResult same_rows(const Tensor<float, 4>& got,
                                   TensorView<const float, 4> want) {
  return same_bits(got.elements(), {want.data(), want.size()});
}

// Every way of cutting the work: by heads, by tiles, by tiles of all heads;
// long enough that threads which are slow to come still find some.
const std::vector<AttentionShape> kSpread = {
    {.B = 4, .Hq = 8, .Hkv = 8, .Lq = 129, .Lkv = 129, .D = 64, .Dv = 64},
    {.B = 1, .Hq = 2, .Hkv = 1, .Lq = 1161, .Lkv = 300, .D = 64, .Dv = 64},
    {.B = 2, .Hq = 3, .Hkv = 1, .Lq = 516, .Lkv = 257, .D = 64, .Dv = 48}};

TEST(SameBitsOfSizesTest, OnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kSpread) {
    const Inputs<float> in = random_inputs(shape, 1400);
    for (const AttnWeights form : {AttnWeights::none, AttnWeights::mean}) {
      AttentionOptions options = {.mask = causal() & window(200, 0),
                                  .query_start = QueryStart::bottom_right(),
                                  .dropout = {.p = 0.1, .training = true},
                                  .attn_weights = form};
      const Executor one = Executor::with_threads(1).value();
      options.executor = &one;
      const Outputs<float> want = attend(in, options);
      for (const std::size_t threads : {2u, 3u, 7u, 16u}) {
        const Executor many = Executor::with_threads(threads).value();
        options.executor = &many;
        // Not once: a thread may still come too late.
        for (int repeat = 0; repeat < 10; ++repeat) {
          EXPECT_TRUE(same_bits(attend(in, options), want))
              << "Lq " << shape.Lq << ", " << threads << " threads";
        }
      }
    }
  }
}

// Four lengths: each alone without padding, in a padded batch at any place, and
// in a ragged one.
class SequencesTest : public testing::Test {
 protected:
  static constexpr std::size_t kLongest = 150;  // with padding behind each
  static inline const AttentionShape kBatch = {.B = 4,
                                               .Hq = 4,
                                               .Hkv = 2,
                                               .Lq = kLongest,
                                               .Lkv = kLongest,
                                               .D = 12,
                                               .Dv = 9};

  // Sequence `of` has its own id, wherever it stands.
  AttentionOptions options(TensorView<const std::int64_t, 1> ids) const {
    return {
        .mask = causal(),
        .softcap = 4.0,
        .t5_bias = biases_.t5_bias(true),
        .alibi = biases_.slopes(),
        .dropout = {
            .p = 0.2, .training = true, .seed = Seed{5}, .sequence_ids = ids}};
  }
  Tensor<float, 4> alone(std::size_t b) const {
    const auto id =
        tensor_of<std::int64_t, 1>({1}, {static_cast<std::int64_t>(b)});
    return output_of(rows_of(in_.query, b, 0, kSizes[b]),
                     rows_of(in_.key, b, 0, kSizes[b]),
                     rows_of(in_.value, b, 0, kSizes[b]), options(id));
  }

  Inputs<float> in_ = random_inputs(kBatch, 1410);
  EveryBias biases_{kBatch};
};

TEST_F(SequencesTest, AnyPlaceInAPaddedBatchHasTheBitsOfTheSequenceAlone) {
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    Inputs<float> batch = clone(in_);
    std::vector<std::int64_t> lengths;
    std::vector<std::int64_t> ids;
    for (std::size_t place = 0; place < 4; ++place) {
      const std::size_t b = order[place];
      lengths.push_back(static_cast<std::int64_t>(kSizes[b]));
      ids.push_back(static_cast<std::int64_t>(b));
      for (auto [from, to] : {std::pair{&in_.query, &batch.query},
                              {&in_.key, &batch.key},
                              {&in_.value, &batch.value}}) {
        const auto rows = rows_of(*from, b, 0, kLongest);
        std::copy_n(rows.data(), rows.size(), to->data() + place * rows.size());
      }
    }
    const auto length_tensor = tensor_of<std::int64_t, 1>({4}, lengths);
    const auto id_tensor = tensor_of<std::int64_t, 1>({4}, ids);
    AttentionOptions padded = options(id_tensor);
    padded.mask = padded.mask & key_lengths(length_tensor);
    const Outputs<float> got = attend(batch, padded);
    for (std::size_t place = 0; place < 4; ++place) {
      const std::size_t b = order[place];
      EXPECT_TRUE(same_rows(alone(b), rows_of(got.output, place, 0, kSizes[b])))
          << "sequence " << b << " at " << place;
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(SequencesTest, ARaggedBatchHasTheBitsOfEachSequenceAlone) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::size_t length : kSizes) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(length));
  }
  const auto rows = static_cast<std::size_t>(offsets.back());
  const auto ragged_of = [&](const Tensor<float, 4>& padded) {
    auto ragged =
        Tensor<float, 4>::create({1, rows, padded.extent(2), padded.extent(3)})
            .value();
    float* to = ragged.data();
    for (std::size_t b = 0; b < 4; ++b) {
      const auto part = rows_of(padded, b, 0, kSizes[b]);
      to = std::copy_n(part.data(), part.size(), to);
    }
    return ragged;
  };
  const auto query = ragged_of(in_.query);
  const auto key = ragged_of(in_.key);
  const auto value = ragged_of(in_.value);
  const auto offset_tensor = tensor_of<std::int64_t, 1>({5}, offsets);
  const auto ids = tensor_of<std::int64_t, 1>({4}, {0, 1, 2, 3});
  AttentionOptions ragged = options(ids);
  ragged.offsets = offset_tensor;
  const auto got = output_of(query, key, value, ragged);
  for (std::size_t b = 0; b < 4; ++b) {
    EXPECT_TRUE(same_rows(
        alone(b),
        rows_of(got, 0, static_cast<std::size_t>(offsets[b]), kSizes[b])))
        << "sequence " << b;
  }
}

// Padding in front, which key_starts says.
TEST_F(SequencesTest, PaddingInFrontHasTheBitsOfNone) {
  for (std::size_t b = 0; b < 4; ++b) {
    const std::size_t front = kLongest - kSizes[b];
    const auto starts =
        tensor_of<std::int64_t, 1>({1}, {static_cast<std::int64_t>(front)});
    // Queries and keys stand as far from each other as without padding.
    const auto got =
        output_of(rows_of(in_.query, b, 20, 61), rows_of(in_.key, b, 0, 150),
                  rows_of(in_.value, b, 0, 150),
                  {.mask = key_starts(starts) & causal(),
                   .t5_bias = biases_.t5_bias(true),
                   .query_start = static_cast<std::int64_t>(front) + 3});
    const auto want = output_of(
        rows_of(in_.query, b, 20, 61), rows_of(in_.key, b, front, kSizes[b]),
        rows_of(in_.value, b, front, kSizes[b]),
        {.mask = causal(), .t5_bias = biases_.t5_bias(true), .query_start = 3});
    EXPECT_TRUE(same_bits(got, want)) << "Lkv " << kSizes[b];
  }
}

TEST(SameBitsOfSizesTest, OfAnyRangeOfQueriesUnderEveryMaskOfPositions) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 200, .Lkv = 270, .D = 10, .Dv = 7};
  const Inputs<float> in = random_inputs(shape, 1420);
  const auto slopes = alibi_slopes(2).value();
  for (const Mask& mask :
       {Mask(), causal(), window(30, 5), causal() & window(129, 0)}) {
    const auto options_from = [&](std::size_t first) {
      return AttentionOptions{
          .mask = mask,
          .alibi = slopes,
          .query_start = 50 + static_cast<std::int64_t>(first),
          .dropout = {.p = 0.3, .training = true}};
    };
    const Outputs<float> whole = attend(in, options_from(0));
    for (const std::size_t first : {0u, 1u, 15u, 16u, 47u, 48u, 129u, 199u}) {
      for (const std::size_t wish : {1u, 16u, 48u, 128u, 129u}) {
        const std::size_t count = std::min(wish, shape.Lq - first);
        const auto got =
            output_of(rows_of(in.query, 0, first, count), view_of(in.key),
                      view_of(in.value), options_from(first));
        EXPECT_TRUE(same_rows(got, rows_of(whole.output, 0, first, count)))
            << count << " queries from " << first;
      }
    }
  }
}

TEST(SameBitsOfSizesTest, OfAPlanThatIsReusedWithItsWorkspace) {
  for (const std::size_t L : kSizes) {
    const AttentionShape shape = {
        .B = 2, .Hq = 4, .Hkv = 2, .Lq = L, .Lkv = L + 1, .D = 20, .Dv = 24};
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options, operation_options] :
         every_options(every_mask)) {
      const auto plan =
          AttentionPlan::create(shape, options, operation_options).value();
      auto workspace = Workspace::create(plan.workspace_bytes()).value();
      for (const std::uint32_t stream : {1430u, 1440u}) {
        // NaN and large numbers stay behind in the workspace.
        Inputs<float> in = random_inputs(shape, stream, 1e4);
        in.value(0, 0, 0, 0) = kNaN;
        Outputs<float> out = outputs_for(in, options, operation_options);
        ASSERT_TRUE(
            plan.run(in.query, in.key, in.value, out.views(), workspace));
        const Inputs<float> next = random_inputs(shape, stream + 1);
        ASSERT_TRUE(
            plan.run(next.query, next.key, next.value, out.views(), workspace));
        EXPECT_TRUE(same_bits(out, attend(next, options, operation_options)))
            << name << ", L " << L;
      }
    }
  }
}

TEST(SameBitsOfSizesTest, OfTheOutputWhateverElseIsAskedFor) {
  for (const std::size_t L : kSizes) {
    const AttentionShape shape = {
        .B = 1, .Hq = 4, .Hkv = 2, .Lq = L, .Lkv = 2 * L + 1, .D = 9, .Dv = 8};
    const Inputs<float> in = random_inputs(shape, 1450);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      AttentionOptions options = c.options;
      options.attn_weights = AttnWeights::none;
      Outputs<float> want = attend(in, options, c.operation_options);
      for (const AttnWeights form : {AttnWeights::per_head, AttnWeights::mean,
                                     AttnWeights::after_dropout}) {
        options.attn_weights = form;
        const Outputs<float> got = attend(in, options, c.operation_options);
        EXPECT_TRUE(same_bits(got.output, want.output)) << c.name << ", " << L;
        EXPECT_TRUE(same_bits(got.lse, want.lse)) << c.name << ", " << L;
      }
      options.attn_weights = AttnWeights::none;
      options.scores = ScoresStage::none;
      Tensor<float, 4> alone = clone(want.output);
      ASSERT_TRUE(attention(in.query, in.key, in.value, {.output = alone},
                            options, c.operation_options));
      EXPECT_TRUE(same_bits(alone, want.output)) << c.name << ", no LSE";
    }
  }
}

TEST(SameBitsOfSizesTest, OfAHundredRepeatsWhileOtherThreadsAreBusy) {
  const AttentionShape shape = {
      .B = 2, .Hq = 4, .Hkv = 2, .Lq = 129, .Lkv = 257, .D = 32, .Dv = 32};
  const Inputs<float> in = random_inputs(shape, 1460);
  const Executor executor = Executor::with_threads(7).value();
  const AttentionOptions options = {
      .mask = causal(), .query_start = 128, .executor = &executor};
  const Outputs<float> want = attend(in, options);
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  for (int n = 0; n < 3; ++n) {
    others.emplace_back([&done] {
      for (std::atomic<int> turns = 0; !done; ++turns) {
      }
    });
  }
  int same = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    same += same_bits(attend(in, options), want) ? 1 : 0;
  }
  done = true;
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_EQ(same, 100);
}

}  // namespace
}  // namespace headwise::testing_support
