// Attention over parts of the keys: wherever they are cut, the bits are those
// of one call.
#include "headwise/attention/state.h"

#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "attention/key_parts.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// For tiles and for few rows.
const std::vector<AttentionShape> kLongShapes = {
    {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 20, .Lkv = 300, .D = 5, .Dv = 3},
    {.B = 2, .Hq = 3, .Hkv = 1, .Lq = 2, .Lkv = 300, .D = 16, .Dv = 20},
    {.B = 2, .Hq = 2, .Hkv = 2, .Lq = 70, .Lkv = 256, .D = 8, .Dv = 8}};

// Some parts are empty, also the first and, of 256 keys, the last one.
const std::vector<std::vector<std::size_t>> kCuts = {
    {0, 128}, {0, 128, 256}, {0, 0, 256, 256}};

// Whether blocks begin at multiples of 128.
bool has_blocks_in_place(const AttentionSpec& spec) {
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    if (spec.mask.first_key(b) % 128 != 0) {
      return false;
    }
  }
  return true;
}

TEST(KeyPartTest, AnyCutHasTheBitsOfOneCallForEveryOptionOnAnyThreads) {
  const std::vector<std::size_t> thread_counts = {1, 2, 3, 7};
  std::size_t turn = 0;
  for (const AttentionShape& shape : kLongShapes) {
    const Inputs<float> in = random_inputs(shape, 7100);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, given, operation_options] :
         every_options(every_mask)) {
      AttentionOptions options = options_of_parts(given);
      const auto spec =
          AttentionSpec::create(shape, options, operation_options).value();
      if (!has_blocks_in_place(spec)) {
        continue;
      }
      const PartOutputs want =
          attend_to_all(in, shape, options, operation_options);
      for (const auto& cuts : kCuts) {
        const Executor executor =
            Executor::with_threads(thread_counts[turn++ % thread_counts.size()])
                .value();
        options.executor = &executor;
        for (const auto memory : {StateMemory::own, StateMemory::of_outputs}) {
          EXPECT_TRUE(
              same_bits(attend_in_parts(in, shape, options, operation_options,
                                        cuts, memory),
                        want))
              << name << ", " << cuts.size() << " parts";
        }
      }
    }
  }
}

TEST(KeyPartTest, TheOutputIsThatOfTheReference) {
  for (const AttentionShape& shape : kLongShapes) {
    const Inputs<float> in = random_inputs(shape, 7110, 1);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, given, operation_options] :
         every_options(every_mask)) {
      const AttentionOptions options = options_of_parts(given);
      const auto spec =
          AttentionSpec::create(shape, options, operation_options).value();
      if (!has_blocks_in_place(spec)) {
        continue;
      }
      const PartOutputs got =
          attend_in_parts(in, shape, options, operation_options, {0, 128, 256});
      const auto want = reference(widened(in), options, operation_options);
      EXPECT_TRUE(all_near(std::span<const float>(got.output.elements()),
                           std::span<const double>(want.output.elements()),
                           3e-6, 1e-5))
          << name;
      EXPECT_TRUE(all_near(std::span<const float>(got.lse.elements()),
                           std::span<const double>(want.lse.elements()), 3e-6,
                           1e-5))
          << name;
    }
  }
}

// Enough work that blocks of keys, or tiles of queries, are tasks.
TEST(KeyPartTest, WorkThatThreadsShareHasTheSameBits) {
  // B, Hq, Hkv, Lq, Lkv, D, Dv
  const AttentionShape shapes[] = {{1, 2, 1, 1, 5000, 64, 64},
                                   {1, 1, 1, 200, 520, 32, 20},
                                   {1, 8, 8, 70, 520, 32, 8}};
  for (const AttentionShape& shape : shapes) {
    const Inputs<float> in = random_inputs(shape, 7120);
    const AttentionOptions options = {
        .mask = window(4900, std::nullopt),
        .query_start = static_cast<std::int64_t>(shape.Lkv)};
    const std::size_t middle = shape.Lkv / 256 * 128;
    const PartOutputs want = attend_to_all(in, shape, options, {});
    for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
      const Executor executor = Executor::with_threads(threads).value();
      AttentionOptions threaded = options;
      threaded.executor = &executor;
      EXPECT_TRUE(same_bits(
          attend_in_parts(in, shape, threaded, {}, {0, middle, middle + 128}),
          want))
          << threads << " threads";
    }
  }
}

// The rules of masks that name keys by their numbers.
TEST(KeyPartTest, RulesAreThoseOfThePart) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 1, .Lq = 30, .Lkv = 400, .D = 8, .Dv = 8};
  const Inputs<float> in = random_inputs(shape, 7130);
  const auto starts = tensor_of<std::int64_t, 1>({2}, {256, 0});
  const PartOutputs want = attend_to_all(
      in, shape,
      {.mask = window(60, 0, 200) & key_starts(starts), .query_start = 370},
      {});
  PartOutputs got(shape);
  StateTensors state(shape);
  const auto run = [&](std::int64_t first, std::size_t count, KeyPart part,
                       std::vector<std::int64_t> starts_of_part,
                       AttentionOutputs outputs) {
    outputs.state = state.views();
    const auto n = static_cast<std::size_t>(first);
    return attention(
        view_of(in.query), keys_of(in.key, n, count),
        keys_of(in.value, n, count), outputs,
        {.mask = window(60, 0, std::max<std::int64_t>(200 - first, 0)) &
                 key_starts(starts_of_part),
         .query_start = 370 - first},
        {.key_part = part});
  };
  ASSERT_TRUE(run(0, 128, KeyPart::first, {128, 0}, {}));
  ASSERT_TRUE(run(128, 256, KeyPart::middle, {128, 0}, {}));
  ASSERT_TRUE(run(384, 16, KeyPart::last, {0, 0}, got.views()));
  EXPECT_TRUE(same_bits(got, want));
}

TEST(KeyPartTest, TheExampleOfTheHeaderHasTheBitsOfOneCall) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 20, .Lkv = 300, .D = 8, .Dv = 8};
  const Inputs<float> in = random_inputs(shape, 7140);
  const PartOutputs want =
      attend_to_all(in, shape, {.mask = causal(), .query_start = 280}, {});
  PartOutputs got(shape);
  StateTensors tensors(shape);
  const AttentionState state = tensors.views();
  const TensorView<const float, 4> q = in.query;
  ASSERT_TRUE(attention(
      q, keys_of(in.key, 0, 256), keys_of(in.value, 0, 256), {.state = state},
      {.mask = causal(), .query_start = 280}, {.key_part = KeyPart::first}));
  ASSERT_TRUE(attention(q, keys_of(in.key, 256, 44), keys_of(in.value, 256, 44),
                        {.output = got.output, .state = state},
                        {.mask = causal(), .query_start = 280 - 256},
                        {.key_part = KeyPart::last}));
  EXPECT_TRUE(same_bits(got.output, want.output));
}

// ---- What the state holds ----

TEST(StateTest, ItHoldsTheSoftmaxAndTheContextOfTheKeysSoFar) {
  for (const AttentionShape& shape : kLongShapes) {
    const Inputs<float> in = random_inputs(shape, 7150);
    StateTensors state(shape);
    const TensorView<const float, 4> key = keys_of(in.key, 0, 256);
    const TensorView<const float, 4> value = keys_of(in.value, 0, 256);
    const auto sinks = filled<float, 1>({shape.Hq}, 3);
    // Those that the last part alone takes are not in it.
    ASSERT_TRUE(attention(
        view_of(in.query), key, value, {.state = state.views()},
        {.sinks = sinks},
        {.added_keys = {.zero_attn = true}, .key_part = KeyPart::first}));
    PartOutputs prefix(shape);
    ASSERT_TRUE(attention(view_of(in.query), key, value, prefix.views()));
    EXPECT_TRUE(same_bits(state.softmax_rows, prefix.softmax_rows));
    for (std::size_t b = 0; b < shape.B; ++b) {
      for (std::size_t h = 0; h < shape.Hq; ++h) {
        for (std::size_t i = 0; i < shape.Lq; ++i) {
          for (std::size_t c = 0; c < shape.Dv; ++c) {
            EXPECT_EQ(
                state.context(b, i, h, c) / state.softmax_rows(b, h, i, 1),
                prefix.output(b, i, h, c));
          }
        }
      }
    }
  }
}

TEST(StateTest, OfRowsThatHaveSeenNoKeyItHoldsZeros) {
  for (const AttentionShape& shape : kLongShapes) {
    const Inputs<float> in = random_inputs(shape, 7160);
    for (const std::size_t keys : {0u, 128u}) {
      StateTensors state(shape);
      ASSERT_TRUE(attention(view_of(in.query), keys_of(in.key, 0, keys),
                            keys_of(in.value, 0, keys),
                            {.state = state.views()},
                            {.mask = causal(), .query_start = -1000},
                            {.key_part = KeyPart::first}));
      EXPECT_THAT(state.context.elements(), Each(0.0f));
      for (std::size_t n = 0; n < state.softmax_rows.size(); n += 2) {
        EXPECT_EQ(state.softmax_rows.data()[n], kMinusInf);
        EXPECT_EQ(state.softmax_rows.data()[n + 1], 0);
      }
    }
  }
}

TEST(StateTest, TheLastPartLeavesItAsItIs) {
  const AttentionShape shape = kLongShapes[0];
  const Inputs<float> in = random_inputs(shape, 7170);
  StateTensors state(shape);
  ASSERT_TRUE(attention(view_of(in.query), keys_of(in.key, 0, 128),
                        keys_of(in.value, 0, 128), {.state = state.views()}, {},
                        {.key_part = KeyPart::first}));
  const auto rows = clone(state.softmax_rows);
  const auto context = clone(state.context);
  PartOutputs out(shape);
  AttentionOutputs outputs = out.views();
  outputs.state = state.views();
  ASSERT_TRUE(attention(view_of(in.query), keys_of(in.key, 128, 172),
                        keys_of(in.value, 128, 172), outputs, {},
                        {.key_part = KeyPart::last}));
  EXPECT_TRUE(same_bits(state.softmax_rows, rows));
  EXPECT_TRUE(same_bits(state.context, context));
}

TEST(StateTest, NaNAndInfinityPassThroughItWithTheBitsOfOneCall) {
  for (const AttentionShape& shape : kLongShapes) {
    Inputs<float> in = random_inputs(shape, 7180);
    const float infinity = -kMinusInf;
    in.key(0, 3, 0, 0) = kNaN;
    in.key(1, 200, 0, 1) = infinity;
    in.value(1, 5, 0, 2) = -infinity;
    in.value(1, 7, 0, 1) = kNaN;
    for (const Mask& mask : {Mask(), window(100, 0)}) {
      const AttentionOptions options = {.mask = mask, .query_start = 80};
      const PartOutputs want = attend_to_all(in, shape, options, {});
      for (const auto& cuts : kCuts) {
        EXPECT_TRUE(
            same_bits(attend_in_parts(in, shape, options, {}, cuts), want));
      }
    }
    StateTensors state(shape);
    ASSERT_TRUE(attention(view_of(in.query), keys_of(in.key, 0, 128),
                          keys_of(in.value, 0, 128), {.state = state.views()},
                          {}, {.key_part = KeyPart::first}));
    for (const auto& elements :
         {state.softmax_rows.elements(), state.context.elements()}) {
      for (const float x : elements) {
        EXPECT_TRUE(!std::isnan(x) || bits(x) == kNaNBits);
      }
    }
  }
}

// ---- Errors ----

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 128, .D = 4, .Dv = 4};

// A part that is right but for one thing.
struct PartCall {
  explicit PartCall(KeyPart part) : operation_options{.key_part = part} {
    outputs.state = state.views();
    if (part == KeyPart::last) {
      outputs.output = out.output.view();
    }
  }
  Status run() {
    return attention(view_of(in.query), view_of(in.key), view_of(in.value),
                     outputs, options, operation_options);
  }
  std::string message() {
    const Status s = run();
    EXPECT_THAT(state.softmax_rows.elements(), Each(42.0f));
    EXPECT_THAT(state.context.elements(), Each(42.0f));
    EXPECT_THAT(out.output.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  }

  Inputs<float> in = random_inputs(kShape, 7190);
  PartOutputs out{kShape};
  StateTensors state{kShape};
  AttentionOutputs outputs;
  AttentionOptions options;
  OperationOptions operation_options;
};

std::string message_for(KeyPart part, const AttentionOptions& options,
                        const StatisticsOptions& statistics = {}) {
  PartCall call(part);
  call.options = options;
  call.operation_options.statistics = statistics;
  return call.message();
}

TEST(KeyPartErrorsTest, WhatNeedsAllKeysIsRefused) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {128, 100});
  for (const KeyPart part : {KeyPart::first, KeyPart::middle, KeyPart::last}) {
    EXPECT_EQ(message_for(part, {.attn_weights = AttnWeights::mean}),
              "attention: attn_weights is asked for, expected none in a part "
              "of the keys");
    EXPECT_EQ(message_for(part, {.scores = ScoresStage::raw}),
              "attention: scores is asked for, expected none in a part of the "
              "keys");
    EXPECT_EQ(message_for(part, {}, {.rows = true}),
              "attention: statistics is asked for, expected none in a part of "
              "the keys");
    EXPECT_EQ(message_for(part, {.empty_rows = EmptyRow::uniform}),
              "attention: empty_rows is uniform, expected zero or nan in a "
              "part of the keys");
    EXPECT_EQ(message_for(part, {.query_start = QueryStart::bottom_right()}),
              "attention: query_start is bottom_right, expected a number in a "
              "part of the keys");
    EXPECT_EQ(message_for(part, {.mask = causal() & key_starts(starts)}),
              "attention: mask.key_starts[1] is 100, expected a multiple of "
              "128 in a part of the keys");
  }
}

TEST(KeyPartErrorsTest, OnlyTheLastPartMayEndInABlock) {
  const auto keys = uniform<4>({2, 100, 2, 4}, 7200);
  for (const KeyPart part : {KeyPart::first, KeyPart::middle}) {
    PartCall call(part);
    call.in.key = clone(keys);
    call.in.value = clone(keys);
    EXPECT_EQ(call.message(),
              "attention: key has 100 keys, expected a multiple of 128 in a "
              "part of the keys that is not the last");
  }
}

TEST(KeyPartErrorsTest, OfARaggedBatchEachSequenceEndsWithABlock) {
  const auto x = uniform<4>({1, 200, 2, 4}, 7210);
  const auto queries = tensor_of<std::int64_t, 1>({3}, {0, 1, 3});
  const auto keys = tensor_of<std::int64_t, 1>({3}, {0, 128, 200});
  const std::string expected =
      ", expected a multiple of 128 in a part of the keys that is not the last";
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 200, .D = 4, .Dv = 4};
  const auto create = [&](const Offsets& offsets, KeyPart part) {
    return AttentionPlan::create(shape, {.offsets = offsets},
                                 {.key_part = part});
  };
  EXPECT_EQ(create({queries, keys}, KeyPart::first).error().message(),
            "attention: offsets.key is of a sequence of 72" + expected);
  EXPECT_TRUE(create({queries, keys}, KeyPart::last));

  auto whole = tensor_of<std::int64_t, 1>({3}, {0, 128, 128});
  AttentionShape short_shape = shape;
  short_shape.Lkv = 128;
  auto plan = AttentionPlan::create(short_shape, {.offsets = {queries, whole}},
                                    {.key_part = KeyPart::first})
                  .value();
  const auto others = tensor_of<std::int64_t, 1>({3}, {0, 28, 128});
  StateTensors state(short_shape);
  const auto error_of = [&](const Offsets& offsets) {
    return plan
        .run(TensorView<const float, 4>(x.data(), {1, 3, 2, 4}),
             TensorView<const float, 4>(x.data(), {1, 128, 2, 4}),
             TensorView<const float, 4>(x.data(), {1, 128, 2, 4}),
             AttentionOutputs{.state = state.views()}, offsets)
        .error()
        .message();
  };
  EXPECT_EQ(error_of({queries, others}),
            "attention: offsets.key is of a sequence of 28" + expected);
  whole(1) = 28;  // as if it had changed since
  EXPECT_EQ(error_of({}),
            "attention: offsets.key is of a sequence of 28" + expected);
  EXPECT_THAT(state.context.elements(), Each(42.0f));
}

TEST(KeyPartErrorsTest, TheStateMustBeThereAndFit) {
  for (const KeyPart part : {KeyPart::first, KeyPart::middle, KeyPart::last}) {
    PartCall call(part);
    call.outputs.state.softmax_rows = {};
    EXPECT_EQ(call.message(),
              "attention: state.softmax_rows has shape (0, 0, 0, 0), expected "
              "(B, Hq, Lq, 2) = (2, 2, 3, 2)");
    call.outputs.state = call.state.views();
    call.outputs.state.context = {};
    EXPECT_EQ(call.message(),
              "attention: state.context has shape (0, 0, 0, 0), expected (B, "
              "Lq, Hq, Dv) = (2, 3, 2, 4)");
    call.outputs.state.context = {call.state.context.data(), {2, 3, 4, 2}};
    EXPECT_EQ(call.message(),
              "attention: state.context has shape (2, 3, 4, 2), expected (B, "
              "Lq, Hq, Dv) = (2, 3, 2, 4)");
  }
}

TEST(KeyPartErrorsTest, OutputsAreThoseOfTheLastPart) {
  const std::string is_given =
      " is given, expected none: only the last part of the keys has it";
  for (const KeyPart part : {KeyPart::first, KeyPart::middle}) {
    PartCall call(part);
    call.outputs.output = call.out.output;
    EXPECT_EQ(call.message(), "attention: output" + is_given);
    call.outputs.output = {};
    call.outputs.lse = call.out.lse;
    EXPECT_EQ(call.message(), "attention: lse" + is_given);
    call.outputs.lse = {};
    call.outputs.softmax_rows = call.out.softmax_rows;
    EXPECT_EQ(call.message(), "attention: softmax_rows" + is_given);
  }
  PartCall last(KeyPart::last);
  last.outputs.output = {};
  EXPECT_EQ(last.message(),
            "attention: output has shape (0, 0, 0, 0), expected (B, Lq, Hq, "
            "Dv) = (2, 3, 2, 4)");
}

TEST(KeyPartErrorsTest, ACallWithAllKeysHasNoState) {
  PartCall call(KeyPart::last);
  call.operation_options.key_part = KeyPart::all;
  EXPECT_EQ(call.message(),
            "attention: state.softmax_rows is given, expected none: the "
            "options have no key_part");
}

TEST(KeyPartErrorsTest, TheStateHasMemoryOfItsOwn) {
  for (const KeyPart part : {KeyPart::first, KeyPart::middle, KeyPart::last}) {
    PartCall call(part);
    call.outputs.state.context = call.in.query.view();
    EXPECT_EQ(call.message(),
              "attention: state.context is in the memory of query, expected "
              "memory of its own");
    call.outputs.state.context = {
        call.state.softmax_rows.data(), {2, 3, 2, 4}, {0, 0, 0, 1}};
    EXPECT_EQ(call.message(),
              "attention: state.context is a view whose elements share memory, "
              "expected an element of memory for each");
  }
  PartCall last(KeyPart::last);
  // In the other order.
  TensorView<float, 4> output = last.out.output.view();
  auto strides = output.strides();
  strides[0] = -strides[0];
  last.outputs.state.context = {&output(1, 0, 0, 0), output.extents(), strides};
  EXPECT_EQ(last.message(),
            "attention: state.context is in the memory of output, expected "
            "memory of its own");
}

TEST(KeyPartErrorsTest, OtherFunctionsTakeAllKeys) {
  PartCall call(KeyPart::last);
  const auto query = view_of(call.in.query);
  const auto key = view_of(call.in.key);
  const auto value = view_of(call.in.value);
  const std::string expected =
      "key_part is last, expected all: only attention(), AttentionPlan and "
      "attention_backward() take a part of the keys";
  const auto message = [](const auto& outcome) {
    return outcome ? "no error" : outcome.error().message();
  };
  EXPECT_EQ(message(reference_attention<float>(query, key, value, call.outputs,
                                               {}, call.operation_options)),
            "attention: " + expected);
  EXPECT_EQ(message(stepwise_attention(query, key, value, {},
                                       call.operation_options)),
            "attention: " + expected);
  const BackwardInputs inputs = {query,
                                 key,
                                 value,
                                 view_of(call.out.output),
                                 view_of(call.out.softmax_rows),
                                 view_of(call.out.output)};
  EXPECT_EQ(message(reference_attention_backward<float>(
                inputs, {}, {}, call.operation_options)),
            "attention_backward: " + expected);
  call.operation_options.statistics.rows = true;
  EXPECT_EQ(message(attention_statistics(query, key, value, call.outputs, {},
                                         call.operation_options)),
            "attention: statistics is asked for, expected none in a part of "
            "the keys");
}

}  // namespace
}  // namespace headwise::testing_support
