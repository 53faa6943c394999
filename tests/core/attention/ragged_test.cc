// Ragged batches: the bits of padded ones, of sequences alone, and the numbers
// of the reference.

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "attention/attention_call.h"
#include "headwise/attention/plan.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Lengths around a vector, a tile and a block of keys, one of them 0.
struct Batch {
  AttentionShape padded;
  Tensor<std::int64_t, 1> query_offsets;
  Tensor<std::int64_t, 1> key_offsets;

  Offsets offsets() const { return {query_offsets, key_offsets}; }
  AttentionShape shape() const {
    AttentionShape shape = padded;
    shape.offsets = offsets();
    return shape;
  }
};

Batch small_batch() {
  return {{.B = 4, .Hq = 4, .Hkv = 2, .Lq = 9, .Lkv = 11, .D = 5, .Dv = 6},
          tensor_of<std::int64_t, 1>({5}, {0, 3, 3, 12, 17}),
          tensor_of<std::int64_t, 1>({5}, {0, 4, 6, 6, 17})};
}

Batch large_batch() {
  return {{.B = 5, .Hq = 2, .Hkv = 1, .Lq = 129, .Lkv = 300, .D = 8, .Dv = 8},
          tensor_of<std::int64_t, 1>({6}, {0, 16, 64, 193, 194, 242}),
          tensor_of<std::int64_t, 1>({6}, {0, 128, 129, 429, 558, 574})};
}

// The rows of the padded tensor that belong to a sequence, one after another.
Tensor<float, 4> ragged_rows(const Tensor<float, 4>& padded,
                             TensorView<const std::int64_t, 1> offsets) {
  const auto [B, L, H, D] = padded.extents();
  const auto total = static_cast<std::size_t>(offsets(B));
  auto rows = Tensor<float, 4>::create({1, total, H, D}).value();
  float* to = rows.data();
  for (std::size_t b = 0; b < B; ++b) {
    const auto count = static_cast<std::size_t>(offsets(b + 1) - offsets(b));
    to = std::copy_n(padded.data() + b * L * H * D, count * H * D, to);
  }
  return rows;
}

Inputs<float> ragged_inputs(const Inputs<float>& in, const Batch& batch) {
  return {ragged_rows(in.query, batch.query_offsets),
          ragged_rows(in.key, batch.key_offsets),
          ragged_rows(in.value, batch.key_offsets)};
}

template <class T>
Outputs<T> ragged_outputs(const Batch& batch, AttnWeights form,
                          ScoresStage stage = ScoresStage::none,
                          const OperationOptions& operation_options = {}) {
  const AttentionShape shape = batch.shape();
  const std::size_t B = shape.B;
  const std::size_t Hq = shape.Hq;
  const std::size_t Lq = shape.Lq;
  const std::size_t columns =
      shape.Lkv + count_of(operation_options.added_keys);
  const std::size_t Dv = shape.Dv;
  const Offsets& offsets = shape.offsets;
  const auto rows = static_cast<std::size_t>(offsets.query(B));
  const std::size_t heads = form == AttnWeights::none   ? 0
                            : form == AttnWeights::mean ? 1
                                                        : Hq;
  return {filled<T, 4>({1, rows, Hq, Dv}, T{42}),
          filled<T, 4>({B, heads, Lq, columns}, T{42}),
          filled<T, 3>({1, Hq, rows}, T{42}),
          filled<T, 4>({B, stage == ScoresStage::none ? 0 : Hq, Lq, columns},
                       T{42})};
}

Outputs<float> attend_ragged(const Inputs<float>& ragged, const Batch& batch,
                             AttentionOptions options,
                             const OperationOptions& operation_options = {}) {
  options.offsets = batch.offsets();
  auto out = ragged_outputs<float>(batch, options.attn_weights, options.scores,
                                   operation_options);
  const Status s = attention(ragged.query, ragged.key, ragged.value,
                             out.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return out;
}

// The padded batch that must have the same bits: its keys end where the
// sequence's do, and nothing asks for the tensors' extents.
Outputs<float> attend_padded(const Inputs<float>& in, const Batch& batch,
                             AttentionOptions options,
                             const OperationOptions& operation_options,
                             bool bottom_right) {
  const std::size_t B = batch.padded.B;
  auto lengths = filled<std::int64_t, 1>({B}, 0);
  auto starts = filled<std::int64_t, 1>({B}, 0);
  for (std::size_t b = 0; b < B; ++b) {
    lengths(b) = batch.key_offsets(b + 1) - batch.key_offsets(b);
    starts(b) =
        lengths(b) - (batch.query_offsets(b + 1) - batch.query_offsets(b));
  }
  options.mask = options.mask & key_lengths(lengths);
  if (bottom_right) {
    options.query_start = starts;
  }
  return attend(in, options, operation_options);
}

// Tensors over all pairs, with `beyond` where a sequence has no query or key.
void expect_same_pairs(const Tensor<float, 4>& ragged,
                       const Tensor<float, 4>& padded, float beyond,
                       const Batch& batch, const std::string& name) {
  const auto [B, H, Lq, columns] = ragged.extents();
  for (std::size_t n = 0; n < ragged.size(); ++n) {
    const std::size_t i = n / columns % Lq;
    const std::size_t j = n % columns;
    const SequencePlace place = batch.shape().sequence(n / columns / Lq / H);
    const bool has_key = j < place.Lkv || j >= batch.padded.Lkv;
    const float got = ragged.data()[n];
    const float want = i < place.Lq && has_key ? padded.data()[n] : beyond;
    EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << name << " at element " << n;
  }
}

void expect_same_bits(const Outputs<float>& ragged,
                      const Outputs<float>& padded, const Batch& batch,
                      ScoresStage stage, const std::string& name) {
  EXPECT_TRUE(
      same_bits(ragged.output, ragged_rows(padded.output, batch.query_offsets)))
      << name;
  for (std::size_t b = 0; b < batch.padded.B; ++b) {
    const SequencePlace place = batch.shape().sequence(b);
    for (std::size_t h = 0; h < batch.padded.Hq; ++h) {
      for (std::size_t i = 0; i < place.Lq; ++i) {
        EXPECT_EQ(ragged.lse(0, h, place.first_query + i), padded.lse(b, h, i))
            << name;
      }
    }
  }
  expect_same_pairs(ragged.attn_weights, padded.attn_weights, 0, batch, name);
  expect_same_pairs(ragged.scores, padded.scores,
                    stage == ScoresStage::bias ? kMinusInf : 0, batch, name);
}

TEST(RaggedTest, HasTheBitsOfThePaddedBatchForEveryMaskAndOption) {
  const std::array<Batch, 2> batches = {small_batch(), large_batch()};
  for (const Batch& batch : batches) {
    const Inputs<float> in = random_inputs(batch.padded, 1000);
    const Inputs<float> ragged = ragged_inputs(in, batch);
    const EveryMask every_mask(batch.padded, true);
    for (const auto& [name, options, operation_options] :
         every_options(every_mask, /*room_for_one=*/true)) {
      if (options.empty_rows == EmptyRow::uniform) {
        continue;  // averages padding too, by design
      }
      expect_same_bits(
          attend_ragged(ragged, batch, options, operation_options),
          attend_padded(in, batch, options, operation_options,
                        name.find("bottom right") != std::string::npos),
          batch, options.scores, name);
    }
  }
}

TEST(RaggedTest, AgreesWithTheReferenceForEveryMaskAndOption) {
  const Batch batch = small_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1010), batch);
  const Inputs<double> exact = widened(ragged);
  const EveryMask every_mask(batch.padded, true);
  for (auto [name, options, operation_options] : every_options(every_mask)) {
    const Outputs<float> got =
        attend_ragged(ragged, batch, options, operation_options);
    auto want = ragged_outputs<double>(batch, options.attn_weights,
                                       options.scores, operation_options);
    options.offsets = batch.offsets();
    ASSERT_TRUE(reference_attention<double>(exact.query, exact.key, exact.value,
                                            want.views(), options,
                                            operation_options));
    EXPECT_TRUE(all_near(got.output, want.output, 2e-6, 2e-6)) << name;
    EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 2e-6, 2e-6))
        << name;
    EXPECT_TRUE(all_near(got.lse, want.lse, 2e-6, 2e-6)) << name;
    EXPECT_TRUE(all_near(got.scores, want.scores, 2e-6, 2e-6)) << name;
  }
}

TEST(RaggedTest, HasTheSameBitsOnAnyNumberOfThreadsAndFromAPlan) {
  const Batch batch = large_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1020), batch);
  for (const AttnWeights form :
       {AttnWeights::none, AttnWeights::mean, AttnWeights::per_head}) {
    AttentionOptions options = {.mask = causal(),
                                .query_start = QueryStart::bottom_right(),
                                .offsets = batch.offsets(),
                                .attn_weights = form};
    const Outputs<float> want = attend_ragged(ragged, batch, options);
    for (const std::size_t threads : {1u, 2u, 7u, 16u}) {
      const Executor executor = Executor::with_threads(threads).value();
      options.executor = &executor;
      const auto plan = AttentionPlan::create({.B = 1,
                                               .Hq = 2,
                                               .Hkv = 1,
                                               .Lq = ragged.query.extent(1),
                                               .Lkv = ragged.key.extent(1),
                                               .D = 8,
                                               .Dv = 8},
                                              options)
                            .value();
      auto out = ragged_outputs<float>(batch, form);
      ASSERT_TRUE(
          plan.run(ragged.query, ragged.key, ragged.value, out.views()));
      EXPECT_TRUE(same_bits(out, want)) << threads << " threads";
    }
  }
}

TEST(RaggedTest, UniformRowsAverageTheirOwnSequence) {
  const Batch batch = small_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1030), batch);
  const auto none = filled<std::int64_t, 1>({4}, 0);
  const Outputs<float> out =
      attend_ragged(ragged, batch,
                    {.mask = key_lengths(none),
                     .empty_rows = EmptyRow::uniform,
                     .attn_weights = AttnWeights::per_head});
  // Sequence 0 has 4 keys, sequence 2 none at all.
  EXPECT_EQ(out.attn_weights(0, 0, 0, 0), 0.25f);
  EXPECT_EQ(out.attn_weights(0, 0, 0, 4), 0);
  double mean = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    mean += ragged.value(0, j, 0, 2) / 4.0;
  }
  EXPECT_NEAR(out.output(0, 0, 0, 2), mean, 1e-6);
  EXPECT_EQ(out.output(0, 3, 0, 0), 0);
}

TEST(RaggedTest, TakesUnbatchedTensors) {
  const Batch batch = small_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1040), batch);
  const Outputs<float> want = attend_ragged(ragged, batch, {});
  const auto unbatched = [](const Tensor<float, 4>& tensor) {
    return tensor.clone().value().without_batch();
  };
  auto output = filled<float, 3>({17, 4, 6}, 42);
  ASSERT_TRUE(attention(
      view_of(unbatched(ragged.query)), view_of(unbatched(ragged.key)),
      view_of(unbatched(ragged.value)), output, {.offsets = batch.offsets()}));
  EXPECT_TRUE(same_bits(output.elements(), want.output.elements()));
}

TEST(RaggedTest, OffsetsThatDoNotFitAreErrorsAndNothingIsWritten) {
  const Batch batch = small_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1050), batch);
  auto output = filled<float, 4>({1, 17, 4, 6}, 42);
  const auto message = [&](std::vector<std::int64_t> numbers) {
    const auto offsets =
        tensor_of<std::int64_t, 1>({numbers.size()}, std::move(numbers));
    const Status s = attention(ragged.query, ragged.key, ragged.value, output,
                               {.offsets = offsets});
    EXPECT_THAT(output.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  };
  EXPECT_EQ(message({}),
            "attention: offsets is empty, expected B + 1 numbers, the first 0");
  EXPECT_EQ(message({1, 17}), "attention: offsets[0] is 1, expected 0");
  EXPECT_EQ(message({0, 5, 4, 17}),
            "attention: offsets[2] is 4, expected offsets[1] = 5 or more");
  EXPECT_EQ(message({0, 5, 16}),
            "attention: offsets[2] is 16, expected the number of rows, 17");
  const Status s = attention(
      ragged.query, ragged.key, ragged.value, output,
      {.offsets = {batch.query_offsets,
                   view_of(tensor_of<std::int64_t, 1>({2}, {0, 17}))}});
  ASSERT_FALSE(s);
  EXPECT_THAT(s, IsAbout("offsets.key", "(2)", "(5)"));
}

TEST(RaggedTest, OffsetsThatMoveAreLookedAtInEachRun) {
  Batch batch = small_batch();
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1060), batch);
  const auto plan =
      AttentionPlan::create(
          {.B = 1, .Hq = 4, .Hkv = 2, .Lq = 17, .Lkv = 17, .D = 5, .Dv = 6},
          {.offsets = batch.offsets()})
          .value();
  batch.key_offsets(1) = 5;
  batch.key_offsets(2) = 5;
  batch.key_offsets(3) = 5;
  auto output = filled<float, 4>({1, 17, 4, 6}, 42);
  const Status s =
      plan.run(ragged.query, ragged.key, ragged.value, {.output = output});
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message(),
            "attention: offsets.key is of a sequence of 12, expected at most "
            "the plan's 11");
  EXPECT_THAT(output.elements(), Each(42.0f));
}

// Every option that looks at a sequence's place.
AttentionOptions options_by_place(const Batch& batch, const EveryBias& biases) {
  return {.mask = causal(),
          .t5_bias = biases.t5_bias(true),
          .alibi = biases.slopes(),
          .query_start = QueryStart::bottom_right(),
          .offsets = batch.offsets(),
          .dropout = {.p = 0.3, .training = true}};
}

TEST(RaggedTest, APlanWithNewOffsetsHasTheBitsOfANewCall) {
  const Batch planned = small_batch();
  Batch batch = small_batch();
  batch.query_offsets = tensor_of<std::int64_t, 1>({5}, {0, 9, 9, 10, 12});
  batch.key_offsets = tensor_of<std::int64_t, 1>({5}, {0, 7, 8, 15, 16});
  const Inputs<float> ragged =
      ragged_inputs(random_inputs(batch.padded, 1070), batch);
  const EveryBias biases(batch.padded);
  const auto plan =
      AttentionPlan::create(
          {.B = 1, .Hq = 4, .Hkv = 2, .Lq = 17, .Lkv = 17, .D = 5, .Dv = 6},
          options_by_place(planned, biases))
          .value();
  auto out = ragged_outputs<float>(batch, AttnWeights::none);
  const Status s = plan.run(ragged.query.view(), ragged.key.view(),
                            ragged.value.view(), out.views(), batch.offsets());
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_TRUE(same_bits(
      out, attend_ragged(ragged, batch, options_by_place(batch, biases))));
  EXPECT_EQ(plan.spec().shape.offsets.query.data(),
            planned.query_offsets.data());
}

TEST(RaggedTest, ThreadsShareAPlanWithOffsetsOfTheirOwn) {
  const auto planned = tensor_of<std::int64_t, 1>({2}, {0, 40});
  const auto plan =
      AttentionPlan::create(
          {.B = 1, .Hq = 2, .Hkv = 2, .Lq = 40, .Lkv = 40, .D = 8, .Dv = 8},
          {.mask = causal(), .offsets = planned.view()})
          .value();
  const auto run_of = [&](std::int64_t rows, std::size_t times) {
    const auto offsets = tensor_of<std::int64_t, 1>({2}, {0, rows});
    const auto x = uniform<4>({1, static_cast<std::size_t>(rows), 2, 8}, 77);
    auto output = filled<float, 4>(x.extents(), 0);
    auto workspace = Workspace::create(plan.workspace_bytes()).value();
    for (std::size_t n = 0; n < times; ++n) {
      const Status s = plan.run(x.view(), x.view(), x.view(),
                                {.output = output}, workspace, offsets.view());
      EXPECT_TRUE(s) << s.error().message();
    }
    return output;
  };
  const auto of_9 = run_of(9, 1);
  const auto of_40 = run_of(40, 1);
  std::thread other([&] { EXPECT_TRUE(same_bits(run_of(9, 200), of_9)); });
  EXPECT_TRUE(same_bits(run_of(40, 200), of_40));
  other.join();
}

TEST(RaggedTest, NewOffsetsThatDoNotFitThePlanAreErrors) {
  const Batch batch = small_batch();
  const auto x = filled<float, 4>({1, 17, 2, 5}, 1);
  auto output = filled<float, 4>({1, 17, 2, 5}, 42);
  const auto plan =
      AttentionPlan::create(
          {.B = 1, .Hq = 4, .Hkv = 2, .Lq = 17, .Lkv = 17, .D = 5, .Dv = 6},
          {.offsets = batch.offsets()})
          .value();
  const auto message = [&](std::vector<std::int64_t> numbers) {
    const auto offsets =
        tensor_of<std::int64_t, 1>({numbers.size()}, std::move(numbers));
    const Status s = plan.run(x.view(), x.view(), x.view(),
                              {.output = output.view()}, offsets.view());
    return s ? "no error" : s.error().message();
  };
  EXPECT_EQ(message({0, 3, 9}),
            "attention: offsets.query has shape (3), expected (B + 1) = (5)");
  EXPECT_EQ(message({0, 3, 2, 9, 9}),
            "attention: offsets[2] is 2, expected offsets[1] = 3 or more");
  EXPECT_EQ(message({0, 10, 11, 11, 11}),
            "attention: offsets is of a sequence of 10, expected at most the "
            "plan's 9");
  const auto padded =
      AttentionPlan::create(
          {.B = 1, .Hq = 4, .Hkv = 2, .Lq = 17, .Lkv = 17, .D = 5, .Dv = 6}, {})
          .value();
  const Status given = padded.run(x.view(), x.view(), x.view(),
                                  {.output = output.view()}, batch.offsets());
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().message(),
            "attention: offsets is given, expected none: the plan's batch is "
            "not ragged");
}

}  // namespace
}  // namespace headwise::testing_support
