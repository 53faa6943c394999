// Every error of a call of attention: its code, its whole message, and that
// nothing is written.
#include "support/errors.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/attention/plan.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 3, .Lkv = 5, .D = 8, .Dv = 6};

// A call that is right but for one thing.
struct Call {
  Call()
      : in(random_inputs(kShape, 400)),
        out(outputs_for(in, AttnWeights::per_head)),
        bad_lengths(filled<std::int64_t, 1>({2}, 6)),
        bad_padding(filled<bool, 2>({2, 4}, true)),
        bad_starts(filled<std::int64_t, 1>({3}, 0)),
        bad_bias(filled<float, 2>({3, 4}, 0)),
        bad_slopes(filled<float, 1>({4}, kNaN)),
        table(filled<float, 2>({33, 4}, 1)),
        score_weight(filled<float, 2>({4, 8}, 1)),
        bias_k(filled<float, 2>({2, 8}, 1)),
        bias_v(filled<float, 2>({2, 6}, 1)) {}

  Inputs<float> in;
  Outputs<float> out;
  AttentionOptions options{.attn_weights = AttnWeights::per_head};
  OperationOptions operation_options{};
  const Tensor<std::int64_t, 1> bad_lengths;
  const Tensor<bool, 2> bad_padding;
  const Tensor<std::int64_t, 1> bad_starts;
  const Tensor<float, 2> bad_bias;
  Tensor<float, 1> bad_slopes;
  const Tensor<float, 2> table;
  const Tensor<float, 2> score_weight;
  const Tensor<float, 2> bias_k;
  const Tensor<float, 2> bias_v;
};

struct ErrorCase {
  std::function<void(Call&)> spoil;
  ErrorCode code;
  std::string message;
  bool of_outputs = false;  // concerns a tensor that stepwise has not
};

Tensor<float, 4> ones(const Extents<4>& extents) {
  return filled<float, 4>(extents, 1);
}

std::vector<ErrorCase> shape_errors() {
  const ErrorCode code = ErrorCode::shape_mismatch;
  return {
      {[](Call& c) {
         c.in.key = ones({3, 5, 2, 8});
       },
       code,
       "attention: key has shape (3, 5, 2, 8), expected (B, Lkv, Hkv, D) = "
       "(2, 5, 2, 8)"},
      {[](Call& c) {
         c.in.key = ones({2, 5, 2, 7});
       },
       code,
       "attention: key has shape (2, 5, 2, 7), expected (B, Lkv, Hkv, D) = "
       "(2, 5, 2, 8)"},
      {[](Call& c) {
         c.in.value = ones({1, 5, 2, 6});
       },
       code,
       "attention: value has shape (1, 5, 2, 6), expected (B, Lkv, Hkv, Dv) "
       "= (2, 5, 2, 6)"},
      {[](Call& c) {
         c.in.value = ones({2, 4, 2, 6});
       },
       code,
       "attention: value has shape (2, 4, 2, 6), expected (B, Lkv, Hkv, Dv) "
       "= (2, 5, 2, 6)"},
      {[](Call& c) {
         c.in.value = ones({2, 5, 4, 6});
       },
       code,
       "attention: value has shape (2, 5, 4, 6), expected (B, Lkv, Hkv, Dv) "
       "= (2, 5, 2, 6)"},
      {[](Call& c) {
         c.out.output = filled<float, 4>({2, 4, 3, 6}, 42);
       },
       code,
       "attention: output has shape (2, 4, 3, 6), expected (B, Lq, Hq, Dv) = "
       "(2, 3, 4, 6)",
       true},
      {[](Call& c) {
         c.out.attn_weights = filled<float, 4>({2, 1, 3, 5}, 42);
       },
       code,
       "attention: attn_weights has shape (2, 1, 3, 5), expected (B, Hq, Lq, "
       "Lkv) = (2, 4, 3, 5)",
       true},
      {[](Call& c) {
         c.options.attn_weights = AttnWeights::after_dropout;
         c.out.attn_weights = {};
       },
       code,
       "attention: attn_weights has shape (0, 0, 0, 0), expected (B, Hq, Lq, "
       "Lkv) = (2, 4, 3, 5)",
       true},
      {[](Call& c) { c.options.scores = ScoresStage::raw; }, code,
       "attention: scores has shape (2, 0, 3, 5), expected (B, Hq, Lq, Lkv) = "
       "(2, 4, 3, 5)",
       true},
      {[](Call& c) {
         c.options.scores = ScoresStage::bias;
         c.out.scores = filled<float, 4>({2, 2, 3, 5}, 42);
       },
       code,
       "attention: scores has shape (2, 2, 3, 5), expected (B, Hq, Lq, Lkv) = "
       "(2, 4, 3, 5)",
       true},
      {[](Call& c) {
         c.out.scores = filled<float, 4>({2, 4, 3, 5}, 42);
       },
       ErrorCode::invalid_argument,
       "attention: scores is given, expected none: the options do not ask for "
       "it",
       true},
      {[](Call& c) { c.operation_options.added_keys.zero_attn = true; }, code,
       "attention: attn_weights has shape (2, 4, 3, 5), expected (B, Hq, Lq, "
       "Lkv + 1) = (2, 4, 3, 6)",
       true},
      {[](Call& c) { c.options.attn_weights = AttnWeights::mean; }, code,
       "attention: attn_weights has shape (2, 4, 3, 5), expected (B, 1, Lq, "
       "Lkv) = (2, 1, 3, 5)",
       true},
      {[](Call& c) {
         c.out.lse = filled<float, 3>({2, 3, 4}, 42);
       },
       code,
       "attention: lse has shape (2, 3, 4), expected (B, Hq, Lq) = (2, 4, 3)",
       true}};
}

std::vector<ErrorCase> option_errors() {
  const ErrorCode invalid = ErrorCode::invalid_argument;
  return {
      {[](Call& c) {
         c.in.key = ones({2, 5, 3, 8});
         c.in.value = ones({2, 5, 3, 6});
       },
       invalid,
       "attention: query has 4 heads, expected a multiple of the "
       "3 heads of key"},
      // (B, H, L, D) key and value: 4 heads, 3 keys.
      {[](Call& c) {
         c.in.key = ones({2, 4, 3, 8});
         c.in.value = ones({2, 4, 3, 6});
       },
       invalid,
       "attention: query has 4 heads, expected a multiple of the "
       "3 heads of key; axes are (B, L, H, D), so transpose data in the order "
       "(B, H, L, D)"},
      {[](Call& c) {
         c.in.value = ones({2, 2, 5, 6});
       },
       ErrorCode::shape_mismatch,
       "attention: value has shape (2, 2, 5, 6), expected (B, Lkv, Hkv, Dv) = "
       "(2, 5, 2, 6); axes are (B, L, H, D), so transpose data in the order "
       "(B, H, L, D)"},
      {[](Call& c) {
         c.in.key = ones({2, 5, 0, 8});
         c.in.value = ones({2, 5, 0, 6});
       },
       invalid, "attention: key has 0 heads, expected at least 1"},
      {[](Call& c) {
         c.in.query = ones({2, 3, 4, 0});
         c.in.key = ones({2, 5, 2, 0});
       },
       invalid, "attention: key has head size D = 0, expected at least 1"},
      {[](Call& c) {
         c.in.value = ones({2, 5, 2, 0});
       },
       invalid, "attention: value has head size Dv = 0, expected at least 1"},
      {[](Call& c) {
         c.in.query = ones({2, 3, 0, 8});
       },
       invalid,
       "attention: query has 0 heads, expected a multiple of the 2 heads of "
       "key"},
      {[](Call& c) {
         c.options.scale = std::numeric_limits<double>::infinity();
       },
       invalid,
       "attention: scale is inf, expected a number from -2e38 to 2e38"},
      {[](Call& c) { c.options.scale = std::nan(""); }, invalid,
       "attention: scale is nan, expected a number from -2e38 to 2e38"},
      {[](Call& c) {
         c.operation_options.score_weight = c.score_weight;
         c.options.scale = 0.5;
       },
       invalid, "attention: scale is 0.5, expected none with a score_weight"},
      {[](Call& c) {
         c.operation_options.score_weight = {c.score_weight.data(), {4, 7}};
       },
       ErrorCode::shape_mismatch,
       "attention: score_weight has shape (4, 7), expected (Hq, D) = (4, 8)"},
      {[](Call& c) {
         c.operation_options.score_weight = {c.score_weight.data(), {2, 8}};
       },
       ErrorCode::shape_mismatch,
       "attention: score_weight has shape (2, 8), expected (Hq, D) = (4, 8)"},
      {[](Call& c) { c.options.softcap = 0.0; }, invalid,
       "attention: softcap is 0, expected a number from 1e-37 to 2e38"},
      {[](Call& c) { c.options.softcap = std::nan(""); }, invalid,
       "attention: softcap is nan, expected a number from 1e-37 to 2e38"},
      {[](Call& c) { c.options.softcap = 1e39; }, invalid,
       "attention: softcap is 1e+39, expected a number from 1e-37 to 2e38"},
      {[](Call& c) {
         c.options.bias = dense(c.bad_bias, {Axis::Lq, Axis::Lkv});
       },
       ErrorCode::shape_mismatch,
       "attention: bias has shape (3, 4), expected (Lq, Lkv) = (3, 5)"},
      {[](Call& c) {
         c.options.t5_bias = {.table = {c.table.data(), {32, 3}}};
       },
       ErrorCode::shape_mismatch,
       "attention: t5_bias.table has shape (32, 3), expected (buckets, Hq) = "
       "(32, 4)"},
      {[](Call& c) {
         c.options.t5_bias = {.table = c.table, .bidirectional = true};
       },
       invalid,
       "attention: t5_bias.table has shape (33, 4), expected an even number of "
       "buckets, at least 4, for both directions"},
      {[](Call& c) {
         c.options.t5_bias = {.table = c.table, .max_distance = 16};
       },
       invalid,
       "attention: t5_bias.max_distance is 16, expected more than 16, the "
       "distances with a bucket of their own"},
      {[](Call& c) {
         c.options.t5_bias.table = {c.bad_slopes.data(), {4, 4}, {0, 1}};
       },
       invalid,
       "attention: t5_bias.table[0,0] is nan, expected a number from -2e38 to "
       "2e38"},
      {[](Call& c) { c.options.alibi = c.bad_slopes; }, invalid,
       "attention: alibi[0] is nan, expected a number from -1e19 to 1e19"},
      {[](Call& c) {
         c.options.alibi = {c.bad_slopes.data(), {3}};
       },
       ErrorCode::shape_mismatch,
       "attention: alibi has shape (3), expected (Hq) = (4)"},
      {[](Call& c) { c.options.sinks = c.bad_slopes; }, invalid,
       "attention: sinks[0] is nan, expected a number from -2e38 to 2e38, or "
       "-inf for no sink"},
      {[](Call& c) {
         c.bad_slopes(0) = std::numeric_limits<float>::infinity();
         c.options.sinks = c.bad_slopes;
       },
       invalid,
       "attention: sinks[0] is inf, expected a number from -2e38 to 2e38, or "
       "-inf for no sink"},
      {[](Call& c) {
         c.bad_slopes(0) = -3e38f;
         c.options.sinks = c.bad_slopes;
       },
       invalid,
       "attention: sinks[0] is -3.00000001e+38, expected a number from -2e38 "
       "to "
       "2e38, or -inf for no sink"},
      {[](Call& c) {
         c.options.sinks = {c.bad_slopes.data(), {3}};
       },
       ErrorCode::shape_mismatch,
       "attention: sinks has shape (3), expected (Hq) = (4)"},
      {[](Call& c) { c.operation_options.added_keys.bias_k = c.bias_k; },
       invalid,
       "attention: added_keys.bias_v is not given, expected a value for each "
       "key of bias_k"},
      {[](Call& c) { c.operation_options.added_keys.bias_v = c.bias_v; },
       invalid,
       "attention: added_keys.bias_k is not given, expected a key for each "
       "value of bias_v"},
      {[](Call& c) {
         c.operation_options.added_keys = {c.bias_v, c.bias_v};
       },
       ErrorCode::shape_mismatch,
       "attention: added_keys.bias_k has shape (2, 6), expected (Hkv, D) = (2, "
       "8)"},
      {[](Call& c) {
         c.operation_options.added_keys = {c.bias_k, c.bias_k};
       },
       ErrorCode::shape_mismatch,
       "attention: added_keys.bias_v has shape (2, 8), expected (Hkv, Dv) = "
       "(2, 6)"},
      {[](Call& c) { c.options.mask = causal() & key_lengths(c.bad_lengths); },
       ErrorCode::out_of_range,
       "attention: mask.key_lengths[0] is 6, expected 0 to Lkv = 5"},
      {[](Call& c) { c.options.mask = key_padding(c.bad_padding); },
       ErrorCode::shape_mismatch,
       "attention: mask.key_padding has shape (2, 4), expected (B, Lkv) = (2, "
       "5)"},
      {[](Call& c) { c.options.query_start = c.bad_starts; },
       ErrorCode::shape_mismatch,
       "attention: query_start has shape (3), expected (B) = (2)"},
      {[](Call& c) { c.options.dropout.p = 2.0; }, invalid,
       "attention: dropout.p is 2, expected a number from 0 to 1"},
      {[](Call& c) { c.options.dropout.sequence_ids = c.bad_starts; },
       ErrorCode::shape_mismatch,
       "attention: dropout.sequence_ids has shape (3), expected (B) = (2)"}};
}

std::vector<ErrorCase> group_errors() {
  return {{[](Call& c) {
             c.operation_options.kv_groups = groups_of({2, 1});
           },
           ErrorCode::invalid_argument,
           "attention: kv_groups is for 3 query heads, expected Hq = 4"},
          {[](Call& c) { c.operation_options.kv_groups = groups_of({4}); },
           ErrorCode::shape_mismatch,
           "attention: kv_groups has shape (1), expected (Hkv) = (2)"}};
}

std::vector<ErrorCase> every_error() {
  auto all = shape_errors();
  for (const auto& more : {option_errors(), group_errors()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void expect_nothing_written(Call& call) {
  EXPECT_THAT(call.out.output.elements(), Each(42.0f));
  EXPECT_THAT(call.out.attn_weights.elements(), Each(42.0f));
  EXPECT_THAT(call.out.lse.elements(), Each(42.0f));
}

TEST(AttentionErrorsTest, AttentionSaysWhatIsWrongAndWritesNothing) {
  for (const ErrorCase& c : every_error()) {
    Call call;
    c.spoil(call);
    const Status s =
        attention(call.in.query, call.in.key, call.in.value, call.out.views(),
                  call.options, call.operation_options);
    ASSERT_FALSE(s) << c.message;
    EXPECT_EQ(s.error().message(), c.message);
    EXPECT_EQ(s.error().code(), c.code) << c.message;
    expect_nothing_written(call);
  }
}

TEST(AttentionErrorsTest, TheReferenceSaysTheSame) {
  for (const ErrorCase& c : every_error()) {
    Call call;
    c.spoil(call);
    const Status s = reference_attention<float>(
        call.in.query, call.in.key, call.in.value, call.out.views(),
        call.options, call.operation_options);
    ASSERT_FALSE(s) << c.message;
    EXPECT_EQ(s.error().message(), c.message);
    expect_nothing_written(call);

    const Inputs<double> wide = widened(call.in);
    Outputs<double> out = {widened(call.out.output),
                           widened(call.out.attn_weights),
                           widened(call.out.lse), widened(call.out.scores)};
    const Status of_double = reference_attention<double>(
        wide.query, wide.key, wide.value, out.views(), call.options,
        call.operation_options);
    ASSERT_FALSE(of_double) << c.message;
    EXPECT_EQ(of_double.error().message(), c.message);
  }
}

class CountingTrace : public TraceSink {
 public:
  void on_step(std::string_view, std::span<const std::string_view>,
               const AnyView&) override {
    ++steps;
  }
  int steps = 0;
};

TEST(AttentionErrorsTest, StepwiseSaysTheSameAndShowsNoStep) {
  for (const ErrorCase& c : every_error()) {
    if (c.of_outputs) {
      continue;
    }
    Call call;
    c.spoil(call);
    CountingTrace trace;
    const auto steps =
        stepwise_attention(call.in.query, call.in.key, call.in.value,
                           call.options, call.operation_options, &trace);
    ASSERT_FALSE(steps) << c.message;
    EXPECT_EQ(steps.error().message(), c.message);
    EXPECT_EQ(trace.steps, 0);
  }
}

// What an output does that the options choose: attn_weights, statistics.
class ChosenOutputsTest : public testing::Test {
 protected:
  std::string message(const AttentionOptions& options,
                      const AttentionOutputs& outputs,
                      const OperationOptions& operation_options = {}) {
    const Status s =
        attention(in_.query.view(), in_.key.view(), in_.value.view(), outputs,
                  options, operation_options);
    return s ? "no error" : s.error().message();
  }

  Inputs<float> in_ = random_inputs(kShape, 410);
  Outputs<float> out_ = outputs_for(in_, AttnWeights::per_head);
  Tensor<float, 4> rows_ = filled<float, 4>({2, 4, 3, kStatistics}, 42);
};

TEST_F(ChosenOutputsTest, AViewThatIsNotAskedForIsAnError) {
  EXPECT_EQ(message({}, {.output = out_.output.view(),
                         .attn_weights = out_.attn_weights.view()}),
            "attention: attn_weights is given, expected none: the options do "
            "not ask for it");
  EXPECT_EQ(message({}, {.output = out_.output.view(),
                         .statistics = {.rows = rows_.view()}}),
            "attention: statistics.rows is given, expected none: the options "
            "do not ask for it");
  EXPECT_THAT(out_.output.elements(), Each(42.0f));
  EXPECT_THAT(out_.attn_weights.elements(), Each(42.0f));
  EXPECT_THAT(rows_.elements(), Each(42.0f));
}

TEST_F(ChosenOutputsTest, AMissingViewThatIsAskedForIsAnError) {
  EXPECT_EQ(message({.attn_weights = AttnWeights::mean},
                    {.output = out_.output.view()}),
            "attention: attn_weights has shape (0, 0, 0, 0), expected (B, 1, "
            "Lq, Lkv) = (2, 1, 3, 5)");
  EXPECT_EQ(message({}, {.output = out_.output.view()},
                    {.statistics = {.rows = true}}),
            "attention: statistics.rows has shape (0, 0, 0, 0), expected (B, "
            "Hq, Lq, kStatistics) = (2, 4, 3, 8)");
  EXPECT_THAT(out_.output.elements(), Each(42.0f));
}

TEST_F(ChosenOutputsTest, AreWrittenWhereTheyAreAskedForAndGiven) {
  EXPECT_EQ(message({},
                    {.output = out_.output.view(),
                     .statistics = {.rows = rows_.view()}},
                    {.statistics = {.rows = true}}),
            "no error");
  EXPECT_THAT(rows_.elements(), Each(testing::Ne(42.0f)));
}

TEST(AttentionErrorsTest, ATensorOfAnotherTypeIsRefused) {
  const auto x = filled<float, 4>({1, 1, 1, 2}, 1);
  auto out = filled<float, 4>({1, 1, 1, 2}, 42);
  const auto narrow = Tensor<BFloat16, 4>::create({1, 1, 1, 2}).value();
  const auto wide = Tensor<double, 4>::create({1, 1, 1, 2}).value();
  const CallTensors floats(AttentionInputsOf<float>{x, x, x}, {.output = out});
  CallTensors tensors = floats;
  tensors.set(CallTensor::key, narrow);
  EXPECT_EQ(attention(tensors).error().message(),
            "attention: key is of type bfloat16, expected float32");
  tensors = floats;
  tensors.set(CallTensor::query, wide);
  EXPECT_EQ(attention(tensors).error().message(),
            "attention: query is of type float64, expected float32");
  EXPECT_THAT(out.elements(), Each(42.0f));
  EXPECT_TRUE(attention(floats));
}

TEST(AttentionErrorsTest, WithoutABatchAxisTheBatchIsOne) {
  const auto query = filled<float, 3>({3, 4, 8}, 1);
  const auto key = filled<float, 3>({5, 2, 7}, 1);
  const auto value = filled<float, 3>({5, 2, 6}, 1);
  auto output = filled<float, 3>({3, 4, 6}, 42);
  const Status s = attention(query, key, value, output);
  ASSERT_FALSE(s);
  EXPECT_THAT(s, IsAbout("key", "(1, 5, 2, 7)", "(1, 5, 2, 8)"));
  EXPECT_THAT(output.elements(), Each(42.0f));
}

TEST(AttentionErrorsTest, APlanSaysTheSameForOptionsAndOutputs) {
  for (const ErrorCase& c : every_error()) {
    Call call;
    c.spoil(call);
    const auto shape =
        attention_shape(call.in.query.extents(), call.in.key.extents(),
                        call.in.value.extents());
    if (!shape) {
      EXPECT_EQ(shape.error().message(), c.message);
      continue;
    }
    const auto plan =
        AttentionPlan::create(*shape, call.options, call.operation_options);
    const Status s = plan ? plan->run(call.in.query, call.in.key, call.in.value,
                                      call.out.views())
                          : Status(plan.error());
    ASSERT_FALSE(s) << c.message;
    EXPECT_EQ(s.error().message(), c.message);
    expect_nothing_written(call);
  }
}

}  // namespace
}  // namespace headwise::testing_support
