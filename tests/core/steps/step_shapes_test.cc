// Each step refuses tensors that do not fit, names the argument, and has
// written nothing then.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headwise/steps/alibi.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/dropout.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/scores.h"
#include "headwise/steps/softmax.h"
#include "headwise/steps/t5_bias.h"
#include "headwise/steps/weigh.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t B = 2, Hq = 4, Hkv = 2, Lq = 3, Lkv = 5, D = 6, Dv = 7;
const AttentionShape kShape = {B, Hq, Hkv, Lq, Lkv, D, Dv};

// A call of every step; each test makes one tensor wrong.
struct Call {
  Tensor<float, 4> query = uniform<4>({B, Lq, Hq, D}, 1);
  Tensor<float, 4> key = uniform<4>({B, Lkv, Hkv, D}, 2);
  Tensor<float, 4> value = uniform<4>({B, Lkv, Hkv, Dv}, 3);
  Tensor<float, 2> score_weight = uniform<2>({Hq, D}, 4);
  Tensor<float, 4> scores = uniform<4>({B, Hq, Lq, Lkv}, 5);
  Tensor<float, 1> slopes = uniform<1>({Hq}, 6);
  Tensor<float, 2> buckets = uniform<2>({8, Hq}, 8);
  Tensor<float, 4> bias = uniform<4>({B, Hq, Lq, Lkv}, 7);
  Tensor<float, 4> like_scores = filled<float, 4>({B, Hq, Lq, Lkv}, 42);
  Tensor<float, 3> lse = filled<float, 3>({B, Hq, Lq}, 42);
  Tensor<float, 4> mean = filled<float, 4>({B, 1, Lq, Lkv}, 42);
  Tensor<float, 4> context = filled<float, 4>({B, Lq, Hq, Dv}, 42);
  AttentionShape bound = kShape;  // what masks and the like are bound to
  const Executor& executor = Executor::default_executor();
};

using Step = std::function<Status(Call&)>;

const Step kScores = [](Call& c) {
  return scores(c.query, c.key, 1, c.like_scores, c.executor);
};
const Step kAdditiveScores = [](Call& c) {
  return additive_scores(c.query, c.key, c.score_weight, c.like_scores,
                         c.executor);
};
const Step kSoftcap = [](Call& c) {
  return apply_softcap(c.scores, 3, c.like_scores, c.executor);
};
const Step kBias = [](Call& c) {
  const auto bias =
      BoundBias::bind(dense(c.bias, {Axis::B, Axis::H, Axis::Lq, Axis::Lkv}),
                      {c.bound, {}, "test"});
  return add_bias(c.scores, bias.value(), c.like_scores, c.executor);
};
const Step kT5Bias = [](Call& c) {
  const auto bias =
      BoundT5Bias::bind({.table = c.buckets}, {c.bound, {}, "test"});
  return add_t5_bias(c.scores, bias.value(), c.like_scores, c.executor);
};
const Step kAlibi = [](Call& c) {
  const auto alibi = BoundAlibi::bind(c.slopes, {c.bound, {}, "test"});
  return add_alibi(c.scores, alibi.value(), c.like_scores, c.executor);
};
const Step kMask = [](Call& c) {
  const auto mask = BoundMask::bind(causal(), {c.bound, {}, "test"});
  return apply_mask(c.scores, mask.value(), c.like_scores);
};
const Step kSoftmax = [](Call& c) {
  return softmax(c.scores, EmptyRow::zero, c.like_scores, c.lse, c.executor);
};
const Step kDropout = [](Call& c) {
  const auto dropout = BoundDropout::bind({.p = 0.5}, {c.bound, {}, "test"});
  return apply_dropout(c.scores, dropout.value(), c.like_scores);
};
const Step kWeigh = [](Call& c) {
  const auto mask = BoundMask::bind({}, {c.bound, {}, "test"});
  return weigh(c.scores, c.value, mask.value(), c.lse, EmptyRow::zero,
               c.context, c.executor);
};
const Step kMean = [](Call& c) { return average_heads(c.scores, c.mean); };

TEST(StepShapesTest, TheCallsAreRightBeforeTheyAreMadeWrong) {
  for (const Step& step : {kScores, kAdditiveScores, kSoftcap, kBias, kT5Bias,
                           kAlibi, kMask, kSoftmax, kDropout, kWeigh, kMean}) {
    Call call;
    const Status s = step(call);
    EXPECT_TRUE(s) << s.error().message();
  }
}

struct WrongCall {
  Step step;
  std::function<void(Call&)> spoil;
  std::string operation;
  std::string argument;
  ErrorCode code = ErrorCode::shape_mismatch;
};

const auto kLongerOutput = [](Call& c) {
  c.like_scores = filled<float, 4>({B, Hq, Lq, Lkv + 1}, 42);
};
const auto kOtherBatch = [](Call& c) { c.bound.B = B + 1; };
const auto kOtherHeads = [](Call& c) {
  c.key = uniform<4>({B, Lkv, 3, D}, 2);
  c.value = uniform<4>({B, Lkv, 3, Dv}, 3);
};

std::vector<WrongCall> wrong_calls() {
  const ErrorCode invalid = ErrorCode::invalid_argument;
  return {
      {kScores, kLongerOutput, "scores", "key"},
      {kScores,
       [](Call& c) {
         c.query = uniform<4>({B, Lq + 1, Hq, D}, 1);
       },
       "scores", "query"},
      {kScores,
       [](Call& c) {
         c.key = uniform<4>({B, Lkv, Hkv, D + 1}, 2);
       },
       "scores", "key"},
      {kScores, kOtherHeads, "scores", "query", invalid},
      {kAdditiveScores,
       [](Call& c) {
         c.score_weight = uniform<2>({Hq, D + 1}, 4);
       },
       "additive_scores", "score_weight"},
      {kAdditiveScores, kLongerOutput, "additive_scores", "key"},
      {kSoftcap, kLongerOutput, "apply_softcap", "capped_scores"},
      {kBias, kLongerOutput, "add_bias", "biased_scores"},
      {kBias,
       [](Call& c) {
         c.bias = uniform<4>({B + 1, Hq, Lq, Lkv}, 7);
         c.bound.B = B + 1;
       },
       "add_bias", "bias"},
      {kT5Bias, kLongerOutput, "add_t5_bias", "t5_scores"},
      {kT5Bias, kOtherBatch, "add_t5_bias", "t5_bias"},
      {kT5Bias, [](Call& c) { c.buckets = {}; }, "add_t5_bias", "t5_bias",
       invalid},
      {kAlibi, kLongerOutput, "add_alibi", "alibi_scores"},
      {kAlibi, kOtherBatch, "add_alibi", "alibi"},
      {kAlibi, [](Call& c) { c.slopes = {}; }, "add_alibi", "alibi", invalid},
      {kMask, kLongerOutput, "apply_mask", "masked_scores"},
      {kMask, kOtherBatch, "apply_mask", "mask"},
      {kSoftmax, kLongerOutput, "softmax", "attn_weights"},
      {kSoftmax,
       [](Call& c) {
         c.lse = filled<float, 3>({B, Lq, Hq}, 42);
       },
       "softmax", "lse"},
      {kDropout, kLongerOutput, "apply_dropout", "dropped"},
      {kDropout, kOtherBatch, "apply_dropout", "dropout"},
      {kWeigh,
       [](Call& c) {
         c.value = uniform<4>({B, Lkv + 1, Hkv, Dv}, 3);
       },
       "weigh", "value"},
      {kWeigh, kOtherHeads, "weigh", "query", invalid},
      {kWeigh, kOtherBatch, "weigh", "mask"},
      {kWeigh,
       [](Call& c) {
         c.lse = filled<float, 3>({B, Hq, Lq + 1}, 42);
       },
       "weigh", "lse"},
      {kWeigh,
       [](Call& c) {
         c.context = filled<float, 4>({B, Hq, Lq, Dv}, 42);
       },
       "weigh", "context"},
      {kMean,
       [](Call& c) {
         c.mean = filled<float, 4>({B, Hq, Lq, Lkv}, 42);
       },
       "average_heads", "mean"}};
}

TEST(StepShapesTest, AnErrorNamesTheArgumentAndNothingIsWritten) {
  for (const WrongCall& wrong : wrong_calls()) {
    Call call;
    wrong.spoil(call);
    const Status s = wrong.step(call);
    const std::string label = wrong.operation + " " + wrong.argument;
    ASSERT_FALSE(s) << label;
    EXPECT_EQ(s.error().code(), wrong.code) << label;
    EXPECT_EQ(s.error().details().operation, wrong.operation) << label;
    EXPECT_EQ(s.error().details().argument, wrong.argument) << label;
    for (const float x : call.like_scores.elements()) {
      ASSERT_EQ(x, 42.0f) << label;
    }
    for (const float x : call.context.elements()) {
      ASSERT_EQ(x, 42.0f) << label;
    }
  }
}

TEST(StepShapesTest, ABiasThatWasNotGivenCannotBeAdded) {
  Call call;
  const Status s =
      add_bias(call.scores, BoundBias(), call.like_scores, call.executor);
  EXPECT_EQ(s.error().message(),
            "add_bias: bias is not given, expected a bias");
}

// Offsets beyond the rows would read beyond the tensors.
TEST(StepShapesTest, BackwardPassesCheckTheirOffsets) {
  const std::vector<std::int64_t> beyond = {0, 3, 9};
  const std::vector<std::int64_t> whole = {0, 3, 5};
  const auto x = uniform<3>({1, 5, 4}, 1);
  const auto two = uniform<3>({2, 5, 4}, 1);
  const auto linear =
      Linear::create({.in_features = 4, .out_features = 4, .bias = true},
                     RandomStream(Seed{1}, 1))
          .value();
  EXPECT_TRUE(linear.backward_params(x, x, whole));
  EXPECT_EQ(linear.backward_params(x, x, beyond).error().message(),
            "linear: offsets[2] is 9, expected the number of rows, 5");
  EXPECT_EQ(linear.backward_params(two, two, whole).error().message(),
            "linear: offsets are given with a batch axis of 2, expected 1");

  const auto embedding =
      Embedding::create({.vocab_size = 3, .embed_dim = 4}, Seed{1}).value();
  const auto ids = filled<TokenId, 2>({1, 5}, 2);
  EXPECT_TRUE(embedding.backward(ids, x, {}, whole));
  EXPECT_EQ(embedding.backward(ids, x, {}, beyond).error().message(),
            "embedding: offsets[2] is 9, expected the number of rows, 5");

  const auto context = uniform<4>({1, 5, 2, 2}, 1);
  const auto gates = filled<float, 1>({2}, 1);
  auto d_context = filled<float, 4>({1, 5, 2, 2}, 0);
  EXPECT_TRUE(gate_heads_backward(context, gates, context, d_context, whole));
  EXPECT_EQ(gate_heads_backward(context, gates, context, d_context, beyond)
                .error()
                .message(),
            "gate_heads_backward: offsets[2] is 9, expected the number of "
            "rows, 5");
}

}  // namespace
}  // namespace headwise::testing_support
