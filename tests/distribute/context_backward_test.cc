// The backward pass by ranks that own tokens: the bits of one process.
#include "headwise/distribute/context_backward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "attention/key_parts.h"
#include "distribute/ranked_call.h"
#include "headwise/attention/backward.h"
#include "support/half_tensors.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing_support::by_one_process;
using testing_support::copy_elements;
using testing_support::Deal;
using testing_support::every_options;
using testing_support::EveryMask;
using testing_support::filled;
using testing_support::groups_of;
using testing_support::Inputs;
using testing_support::narrowed_to;
using testing_support::options_of_parts;
using testing_support::OptionsCase;
using testing_support::plan_of;
using testing_support::random_inputs;
using testing_support::rows_of_pieces;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::view_of;
using testing_support::WholeCall;
using testing_support::WholeOutputs;

// The gradients of queries, keys and values.
template <class T>
struct Three {
  explicit Three(const Inputs<T>& in)
      : query(filled<T, 4>(in.query.extents(), T{})),
        key(filled<T, 4>(in.key.extents(), T{})),
        value(filled<T, 4>(in.value.extents(), T{})) {}

  AttentionGradientsOf<T> views() {
    return {.query = query.view(), .key = key.view(), .value = value.view()};
  }

  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
};

template <class T>
testing::AssertionResult same_gradients(const Three<T>& got,
                                        const Three<T>& want) {
  for (const auto& [name, a, b] : {std::tuple("query", &got.query, &want.query),
                                   {"key", &got.key, &want.key},
                                   {"value", &got.value, &want.value}}) {
    if (std::memcmp(a->data(), b->data(), b->size() * sizeof(T)) != 0) {
      return testing::AssertionFailure() << "another gradient of " << name;
    }
  }
  return testing::AssertionSuccess();
}

// A call, its outputs and the gradient of its output.
template <class T>
struct BackwardCall {
  BackwardCall(const WholeCall<T>& of, Tensor<T, 4> upstream)
      : call(of), out(by_one_process(of)), d_output(std::move(upstream)) {}

  Three<T> by_one() const {
    Three<T> gradients(call.in);
    const Status s = attention_backward(
        {view_of(call.in.query), view_of(call.in.key), view_of(call.in.value),
         view_of(out.output), view_of(out.softmax_rows), view_of(d_output)},
        gradients.views(), call.options, call.operation_options);
    EXPECT_TRUE(s) << s.error().message();
    return gradients;
  }

  // Each rank's rows back into the whole tensors.
  Three<T> by_ranks(const ShardPlan& plan, std::size_t chunk) const {
    const ContextCall ranked = {.tensors = call.tensors,
                                .plan = plan,
                                .options = call.options,
                                .operation_options = call.operation_options,
                                .chunk_keys = chunk};
    Three<T> whole(call.in);
    const auto ended = run_ranks(plan.ranks.size(), [&](Communicator& group) {
                         return work(group, ranked, whole);
                       }).value();
    for (const Status& status : ended) {
      EXPECT_TRUE(status) << status.error().message();
    }
    return whole;
  }

 private:
  Status work(Communicator& group, const ContextCall& ranked,
              Three<T>& whole) const {
    const RankShare& share = ranked.plan.ranks[group.rank()];
    const AttentionShape shape = call.shape();
    const auto queries = [&](const auto& x, std::size_t axis) {
      return rows_of_pieces(x, shape, share.queries, false, axis);
    };
    const Inputs<T> own = {
        queries(call.in.query, 1),
        rows_of_pieces(call.in.key, shape, share.keys, true),
        rows_of_pieces(call.in.value, shape, share.keys, true)};
    const Tensor<T, 4> output = queries(out.output, 1);
    const Tensor<float, 4> rows = queries(out.softmax_rows, 2);
    const Tensor<T, 4> upstream = queries(d_output, 1);
    Three<T> gradients(own);
    HEADWISE_TRY(context_attention_backward(
        group, ranked,
        {view_of(own.query), view_of(own.key), view_of(own.value),
         view_of(output), view_of(rows), view_of(upstream)},
        gradients.views()));
    put(gradients.query, share.queries, false, whole.query);
    put(gradients.key, share.keys, true, whole.key);
    put(gradients.value, share.keys, true, whole.value);
    return ok();
  }

  void put(const Tensor<T, 4>& own, const std::vector<TokenPiece>& pieces,
           bool keys, Tensor<T, 4>& whole) const {
    std::size_t row = 0;
    for (const TokenPiece& piece : pieces) {
      copy_elements<T, 4>(
          internal::part_along(1, view_of(own), {row, piece.range.tokens}),
          testing_support::PlaceOfPiece(call.shape(), piece, keys)
              .of(whole.view(), 1));
      row += piece.range.tokens;
    }
  }

  const WholeCall<T>& call;
  WholeOutputs<T> out;
  Tensor<T, 4> d_output;
};

// Pieces of 384 tokens, chunks of 128 and more.
void expect_gradients_of_one_process(const WholeCall<float>& call,
                                     const std::string& name,
                                     std::size_t& turn) {
  const AttentionShape& s = call.tensors;
  const BackwardCall<float> backward(call,
                                     uniform<4>({s.B, s.Lq, s.Hq, s.Dv}, 7600));
  const Three<float> want = backward.by_one();
  for (const Deal deal : {Deal::contiguous, Deal::zig_zag, Deal::scattered}) {
    const std::size_t ranks = 1 + turn++ * 5 % 16;
    const std::size_t chunk = turn % 2 == 0 ? 128 : 512;
    EXPECT_TRUE(same_gradients(
        backward.by_ranks(plan_of(call.shape(), ranks, deal, 384), chunk),
        want))
        << name << ", " << ranks << " ranks";
  }
}

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 500, .Lkv = 900, .D = 4, .Dv = 3};

TEST(ContextBackwardTest, EveryOptionHasTheBitsOfOneProcess) {
  AttentionShape shape = kShape;
  shape.B = 1;
  const Inputs<float> in = random_inputs(shape, 7610);
  const EveryMask every_mask(shape, true);
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    const WholeCall<float> call = {shape, in, options_of_parts(options),
                                   operation_options};
    const auto spec =
        AttentionSpec::create(shape, call.options, call.operation_options)
            .value();
    if (spec.mask.first_key(0) % 128 == 0) {
      expect_gradients_of_one_process(call, name, turn);
    }
  }
}

TEST(ContextBackwardTest, PaddingAndGroups) {
  const Inputs<float> in = random_inputs(kShape, 7620);
  const auto starts = tensor_of<std::int64_t, 1>({2}, {256, 128});
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 790});
  const auto query_starts = tensor_of<std::int64_t, 1>({2}, {420, 3});
  const OperationOptions uneven = {.kv_groups = groups_of({1, 3})};
  const OptionsCase cases[] = {
      {"starts", {.mask = key_starts(starts) & causal(), .query_start = 420}},
      {"lengths", {.mask = key_lengths(lengths)}},
      {"window and first keys",
       {.mask = window(40, 0, 130), .query_start = query_starts}},
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}},
      {"uneven groups", {.mask = causal(), .query_start = 100}, uneven}};
  std::size_t turn = 0;
  for (const auto& [name, options, operation_options] : cases) {
    expect_gradients_of_one_process({kShape, in, options, operation_options},
                                    name, turn);
  }
}

TEST(ContextBackwardTest, RaggedBatchesWithEmptyAndShortSequences) {
  const AttentionShape tensors = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 700, .Lkv = 900, .D = 4, .Dv = 3};
  const Inputs<float> in = random_inputs(tensors, 7630);
  const auto queries =
      tensor_of<std::int64_t, 1>({6}, {0, 50, 550, 550, 557, 700});
  const auto keys = tensor_of<std::int64_t, 1>({6}, {0, 0, 650, 651, 770, 900});
  std::size_t turn = 0;
  for (const Mask& mask : {Mask(), causal(), window(100, 5)}) {
    expect_gradients_of_one_process(
        {tensors, in, {.mask = mask, .offsets = {queries, keys}}}, "ragged",
        turn);
  }
}

TEST(ContextBackwardTest, FewerTokensThanRanks) {
  for (const std::size_t length : {0u, 1u, 129u}) {
    AttentionShape shape = kShape;
    shape.Lq = shape.Lkv = length;
    const Inputs<float> in = random_inputs(shape, 7640);
    std::size_t turn = 3;
    expect_gradients_of_one_process({shape, in, {.mask = causal()}},
                                    std::to_string(length) + " tokens", turn);
  }
}

template <class T>
void expect_gradients_of_type() {
  const Inputs<float> floats = random_inputs(kShape, 7650);
  const Inputs<T> in = {narrowed_to<T>(floats.query),
                        narrowed_to<T>(floats.key),
                        narrowed_to<T>(floats.value)};
  const WholeCall<T> call = {
      kShape, in, {.mask = causal(), .query_start = 300}};
  const BackwardCall<T> backward(
      call, narrowed_to<T>(
                uniform<4>({kShape.B, kShape.Lq, kShape.Hq, kShape.Dv}, 7651)));
  EXPECT_TRUE(same_gradients(
      backward.by_ranks(plan_of(kShape, 3, Deal::zig_zag, 384), 384),
      backward.by_one()));
}

TEST(ContextBackwardTest, SixteenBitGradientsAreRoundedOnce) {
  expect_gradients_of_type<BFloat16>();
  expect_gradients_of_type<Float16>();
}

// ---- Errors ----

// Of a group of one.
std::string message_of(const ContextCall& call,
                       AttentionGradients gradients = {}) {
  const auto group = Communicator::self();
  const Status s = context_attention_backward(
      *group, call, BackwardInputsOf<float>{}, gradients);
  return s ? "no error" : s.error().message();
}

TEST(ContextBackwardErrorsTest, OtherGradientsAndCutsAreRefused) {
  std::vector<float> d_alibi(4);
  AttentionGradients gradients;
  gradients.alibi = d_alibi;
  EXPECT_THAT(message_of({.tensors = kShape}, gradients),
              HasSubstr("gradients.alibi is asked for, expected none in a call "
                        "of several ranks"));
  AttentionShape shape = kShape;
  shape.B = 1;
  const ContextCall dropping = {
      .tensors = shape,
      .plan = plan_of(shape, 1, Deal::contiguous),
      .options = {.dropout = {.p = 0.5, .training = true}}};
  EXPECT_THAT(message_of(dropping),
              HasSubstr("dropout is asked for, expected none in a part of the "
                        "keys"));
}

TEST(ContextBackwardErrorsTest, QueriesAreCutWhereABlockEnds) {
  AttentionShape shape = kShape;
  shape.B = 1;
  const Inputs<float> in = random_inputs(shape, 7660);
  const ContextCall call = {.tensors = shape,
                            .plan = plan_of(shape, 1, Deal::contiguous)};
  const WholeOutputs<float> out(shape);
  Three<float> gradients(in);
  const auto group = Communicator::self();
  const Status s = context_attention_backward(
      *group, call,
      {view_of(in.query), view_of(in.key), view_of(in.value),
       view_of(out.output), view_of(out.softmax_rows), view_of(out.output)},
      gradients.views());
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message(),
              HasSubstr("plan.queries is cut at token 128 of a sequence, "
                        "expected cuts at multiples of 48"));
}

}  // namespace
}  // namespace headwise
