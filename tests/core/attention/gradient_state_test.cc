// The backward pass over parts of the keys and of the queries: wherever they
// are cut, the bits are those of one call.
#include "headwise/attention/gradient_state.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "attention/gradient_parts.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/reference.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Few heads, which threads divide; more, which they share out; one group.
const std::vector<AttentionShape> kShapes = {
    {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 110, .Lkv = 300, .D = 5, .Dv = 3},
    {.B = 2, .Hq = 16, .Hkv = 8, .Lq = 50, .Lkv = 140, .D = 8, .Dv = 8},
    {.B = 1, .Hq = 3, .Hkv = 1, .Lq = 200, .Lkv = 256, .D = 16, .Dv = 20}};

// Where parts begin, some of them empty: another choice for each `turn`.
std::vector<std::size_t> any_cuts(std::size_t length, std::size_t block,
                                  std::size_t turn) {
  std::mt19937 random(static_cast<std::uint32_t>(turn));
  const auto below = [&random](std::size_t end) { return random() % end; };
  std::vector<std::size_t> cuts(1 + below(3));
  for (std::size_t& cut : cuts) {
    cut = below(length / block + 1) * block;
  }
  std::ranges::sort(cuts);
  cuts.insert(cuts.begin(), 0);
  return cuts;
}

// 1, 2, 3 or 7 threads, as `turn` says.
Executor any_threads(std::size_t turn) {
  constexpr std::size_t kThreads[] = {1, 2, 3, 7};
  return Executor::with_threads(kThreads[turn % 4]).value();
}

// Whether blocks of keys begin at multiples of 128.
bool has_blocks_in_place(const AttentionSpec& spec) {
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    if (spec.mask.first_key(b) % 128 != 0) {
      return false;
    }
  }
  return true;
}

// A call, what it needs from the forward pass, and all its gradients.
struct CutCall {
  CutCall(const AttentionShape& shape, const AttentionOptions& options,
          const OperationOptions& operation_options, std::uint32_t stream)
      : CutCall(shape, random_inputs(shape, stream), options,
                operation_options) {}
  CutCall(const AttentionShape& shape, Inputs<float> inputs,
          const AttentionOptions& options,
          const OperationOptions& operation_options)
      : in(std::move(inputs)),
        upstream(random_upstream(in, {}, 7400)),
        saved(attend_and_save(in, options, operation_options)),
        whole{shape, backward_inputs(in, saved, upstream), options,
              operation_options},
        want(differentiate(in, upstream, options, operation_options)) {}

  Inputs<float> in;
  Upstream<float> upstream;
  SavedForward saved;
  WholeCall<float> whole;
  Gradients<float> want;
};

template <class Body>
void for_every_option(const AttentionShape& shape,
                      const OperationOptions& groups, const Body& body) {
  const EveryMask every_mask(shape, true);
  for (const auto& [name, given, of_operation] : every_options(every_mask)) {
    SCOPED_TRACE(name);
    OperationOptions operation_options = of_operation;
    operation_options.kv_groups = groups.kv_groups;
    body(options_of_parts(given), operation_options);
  }
}

TEST(GradientPartTest, AnyCutOfTheKeysHasTheQueryGradientsOfOneCall) {
  std::size_t turn = 0;
  for (const AttentionShape& shape : kShapes) {
    for_every_option(
        shape, {},
        [&](AttentionOptions options, const OperationOptions& operation) {
          const auto spec =
              AttentionSpec::create(shape, options, operation).value();
          if (!has_blocks_in_place(spec)) {
            return;
          }
          CutCall call(shape, options, operation, 7500);
          for (int n = 0; n < 2; ++n) {
            const Executor executor = any_threads(++turn);
            call.whole.options.executor = &executor;
            const auto cuts = any_cuts(shape.Lkv, 128, turn);
            const auto got = query_gradients_in_parts(
                call.whole, cuts, static_cast<StateMemory>(n));
            EXPECT_TRUE(same_bits(got.query, call.want.query))
                << testing::PrintToString(cuts);
            EXPECT_TRUE(same_bits(got.alibi, call.want.alibi));
            EXPECT_TRUE(same_bits(got.sinks, call.want.sinks));
          }
        });
  }
}

void expect_key_gradients(const AttentionShape& shape,
                          const OperationOptions& groups, std::size_t turn) {
  for_every_option(
      shape, groups,
      [&](const AttentionOptions& options, const OperationOptions& operation) {
        CutCall call(shape, options, operation, 7510);
        for (int n = 0; n < 2; ++n) {
          const Executor executor = any_threads(++turn);
          call.whole.options.executor = &executor;
          const auto cuts = any_cuts(shape.Lq, 48, turn);
          const auto got = key_gradients_in_parts(call.whole, cuts,
                                                  static_cast<StateMemory>(n));
          EXPECT_TRUE(same_bits(got.key, call.want.key))
              << testing::PrintToString(cuts);
          EXPECT_TRUE(same_bits(got.value, call.want.value))
              << testing::PrintToString(cuts);
        }
      });
}

TEST(GradientPartTest, AnyCutOfTheQueriesHasTheKeyGradientsOfOneCall) {
  for (const AttentionShape& shape : kShapes) {
    expect_key_gradients(shape, {}, shape.Lq);
  }
}

TEST(GradientPartTest, QueriesOfUnevenGroupsPassOnTheirHeadsSums) {
  expect_key_gradients(
      {.B = 2, .Hq = 6, .Hkv = 3, .Lq = 110, .Lkv = 140, .D = 5, .Dv = 3},
      {.kv_groups = groups_of({1, 3, 2})}, 1);
}

// Of (B, Hq, Lq), in the order of sequences and rows.
Tensor<float, 1> sums_of_rows(const Tensor<float, 3>& shares) {
  const auto [B, Hq, Lq] = shares.extents();
  auto sums = filled<float, 1>({Hq}, 0);
  for (std::size_t h = 0; h < Hq; ++h) {
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t i = 0; i < Lq; ++i) {
        sums(h) += shares(b, h, i);
      }
    }
  }
  return sums;
}

// Rank r has the queries and keys of its piece. Its queries take all keys,
// piece by piece; its keys take the queries of all pieces, head by head.
TEST(GradientPartTest, RanksThatPassStatesOnHaveTheBitsOfOneCall) {
  const AttentionShape s = {
      .B = 2, .Hq = 6, .Hkv = 2, .Lq = 900, .Lkv = 900, .D = 8, .Dv = 6};
  const std::vector<std::size_t> pieces = {0, 384, 768, 900};
  const std::size_t ranks = pieces.size() - 1;
  const auto slopes = uniform<1>({s.Hq}, 7521);
  const auto sinks = uniform<1>({s.Hq}, 7522);
  const CutCall call(s, {.mask = causal(), .alibi = slopes, .sinks = sinks}, {},
                     7523);
  auto d_query = filled<float, 4>({s.B, s.Lq, s.Hq, s.D}, 42);
  auto d_key = filled<float, 4>({s.B, s.Lkv, s.Hkv, s.D}, 42);
  auto d_value = filled<float, 4>({s.B, s.Lkv, s.Hkv, s.Dv}, 42);
  GradientStateTensors sums(s);
  for (std::size_t own = 0; own < ranks; ++own) {
    for (std::size_t n = 0; n < ranks; ++n) {
      auto cut = keys_cut(s, pieces[n], pieces[n + 1] - pieces[n]);
      cut.first_query = pieces[own];
      cut.queries = pieces[own + 1] - pieces[own];
      AttentionGradients gradients;
      gradients.state.query = queries_of(sums.query.view(), cut);
      const auto own_rows = [&cut](Tensor<float, 3>& x) {
        return cut_axis(x.view(), 2, cut.first_query, cut.queries);
      };
      gradients.state.alibi = own_rows(sums.alibi);
      if (n + 1 == ranks) {
        gradients.query = queries_of(d_query.view(), cut);
        gradients.state.sinks = own_rows(sums.sinks);
      }
      call.whole.run(cut, gradients, key_part(n, ranks), QueryPart::all);
    }
    for (auto [cut, part] : query_calls(s, {0, pieces[1], pieces[2]})) {
      cut.first_key = pieces[own];
      cut.keys = pieces[own + 1] - pieces[own];
      AttentionGradients gradients;
      gradients.state.key = keys_of(sums.key.view(), cut);
      gradients.state.value = keys_of(sums.value.view(), cut);
      if (part == QueryPart::last) {
        gradients.key = keys_of(d_key.view(), cut);
        gradients.value = keys_of(d_value.view(), cut);
      }
      call.whole.run(cut, gradients, KeyPart::all, part);
    }
  }
  EXPECT_TRUE(same_bits(d_query, call.want.query));
  EXPECT_TRUE(same_bits(d_key, call.want.key));
  EXPECT_TRUE(same_bits(d_value, call.want.value));
  EXPECT_TRUE(same_bits(sums_of_rows(sums.alibi), call.want.alibi));
  EXPECT_TRUE(same_bits(sums_of_rows(sums.sinks), call.want.sinks));
}

TEST(GradientPartTest, ACallWithAllKeysHasTheSharesOfRows) {
  const AttentionShape s = kShapes.front();
  const auto slopes = uniform<1>({s.Hq}, 7525);
  const auto sinks = uniform<1>({s.Hq}, 7526);
  const CutCall call(s, {.alibi = slopes, .sinks = sinks}, {}, 7527);
  GradientStateTensors sums(s);
  ASSERT_TRUE(attention_backward(
      call.whole.inputs, {.state = {.alibi = sums.alibi, .sinks = sums.sinks}},
      call.whole.options));
  EXPECT_TRUE(same_bits(sums_of_rows(sums.alibi), call.want.alibi));
  EXPECT_TRUE(same_bits(sums_of_rows(sums.sinks), call.want.sinks));
}

TEST(GradientPartTest, TheExampleOfTheHeaderHasTheBitsOfOneCall) {
  const AttentionShape s = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 100, .Lkv = 100, .D = 8, .Dv = 8};
  const CutCall call(s, {.mask = causal()}, {}, 7530);
  const BackwardInputs first = call.whole.cut(queries_cut(s, 0, 48));
  const BackwardInputs last = call.whole.cut(queries_cut(s, 48, 52));
  GradientStateTensors sums(s);
  const GradientState state = {.key = sums.key, .value = sums.value};
  auto d_key = filled<float, 4>(call.in.key.extents(), 42);
  auto d_value = filled<float, 4>(call.in.value.extents(), 42);
  ASSERT_TRUE(attention_backward(first, {.state = state}, {.mask = causal()},
                                 {.query_part = QueryPart::first}));
  ASSERT_TRUE(attention_backward(
      last, {.key = d_key, .value = d_value, .state = state},
      {.mask = causal(), .query_start = 48}, {.query_part = QueryPart::last}));
  EXPECT_TRUE(same_bits(d_key, call.want.key));
  EXPECT_TRUE(same_bits(d_value, call.want.value));
}

template <class T>
void expect_parts_of_halves() {
  const AttentionShape s = kShapes.front();
  const Inputs<float> in = random_inputs(s, 7540);
  const auto query = narrowed_to<T>(in.query);
  const auto key = narrowed_to<T>(in.key);
  const auto value = narrowed_to<T>(in.value);
  const auto d_output =
      narrowed_to<T>(uniform<4>({s.B, s.Lq, s.Hq, s.Dv}, 7545));
  auto output = Tensor<T, 4>::create({s.B, s.Lq, s.Hq, s.Dv}).value();
  auto rows = filled<float, 4>({s.B, s.Hq, s.Lq, 2}, 42);
  const AttentionOptions options = {.mask = causal(), .query_start = 150};
  ASSERT_TRUE(attention(
      view_of(query), view_of(key), view_of(value),
      AttentionOutputsOf<T>{.output = output, .softmax_rows = rows}, options));
  const WholeCall<T> call = {
      s,
      {query, key, value, view_of(output), view_of(rows), d_output},
      options,
      {}};
  auto d_query = Tensor<T, 4>::create(query.extents()).value();
  auto d_key = Tensor<T, 4>::create(key.extents()).value();
  auto d_value = Tensor<T, 4>::create(value.extents()).value();
  ASSERT_TRUE(attention_backward(
      call.inputs,
      AttentionGradientsOf<T>{.query = d_query, .key = d_key, .value = d_value},
      options));
  EXPECT_TRUE(same_bits(
      widened_to_float(query_gradients_in_parts(call, {0, 128, 256}).query),
      widened_to_float(d_query)));
  const auto got = key_gradients_in_parts(call, {0, 48});
  EXPECT_TRUE(same_bits(widened_to_float(got.key), widened_to_float(d_key)));
  EXPECT_TRUE(
      same_bits(widened_to_float(got.value), widened_to_float(d_value)));
}

TEST(GradientPartTest, SumsOf16BitCallsAreRoundedOnceInTheLastPart) {
  expect_parts_of_halves<BFloat16>();
  expect_parts_of_halves<Float16>();
}

// ---- Ragged batches ----

// Of each sequence, the rows [first, first + count) of an axis that holds the
// sequences one after another.
struct RowsOfSequences {
  std::vector<std::size_t> starts;
  std::vector<std::size_t> first;
  std::vector<std::size_t> count;

  Tensor<float, 4> of(TensorView<const float, 4> x, std::size_t axis) const {
    Extents<4> extents = x.extents();
    extents[axis] = 0;
    for (const std::size_t rows : count) {
      extents[axis] += rows;
    }
    auto part = Tensor<float, 4>::create(extents).value();
    std::size_t to = 0;
    for (std::size_t b = 0; b < starts.size(); ++b) {
      for (std::size_t i = 0; i < count[b]; ++i) {
        const auto from =
            copy_of(cut_axis(x, axis, starts[b] + first[b] + i, 1));
        const auto row = cut_axis(part.view(), axis, to++, 1);
        for (std::size_t n = 0; n < from.size(); ++n) {
          const std::size_t inner = axis == 1 ? x.extent(2) : 1;
          const std::size_t size = x.extent(3);
          const std::size_t c = n % size;
          const std::size_t outer = n / size;
          if (axis == 1) {
            row(0, 0, outer % inner, c) = from.data()[n];
          } else {
            row(0, outer, 0, c) = from.data()[n];
          }
        }
      }
    }
    return part;
  }
  Tensor<std::int64_t, 1> offsets() const {
    auto offsets = filled<std::int64_t, 1>({count.size() + 1}, 0);
    for (std::size_t b = 0; b < count.size(); ++b) {
      offsets(b + 1) = offsets(b) + static_cast<std::int64_t>(count[b]);
    }
    return offsets;
  }
};

class RaggedGradientPartTest : public testing::Test {
 protected:
  // Positions of the queries of the sequences, with `queries` before the part
  // and `keys` before its keys.
  std::vector<std::int64_t> starts(const std::vector<std::size_t>& queries,
                                   const std::vector<std::size_t>& keys) const {
    std::vector<std::int64_t> starts = query_starts_;
    for (std::size_t b = 0; b < starts.size(); ++b) {
      starts[b] += static_cast<std::int64_t>(queries[b]) -
                   static_cast<std::int64_t>(keys[b]);
    }
    return starts;
  }

  const std::vector<std::size_t> none_ = {0, 0, 0, 0};
  const RowsOfSequences all_queries_ = {
      {0, 110, 110, 170}, none_, {110, 0, 60, 3}};
  const RowsOfSequences all_keys_ = {
      {0, 300, 340, 468}, none_, {300, 40, 128, 0}};
  const std::vector<std::int64_t> query_starts_ = {190, 0, 20, 0};
  const AttentionShape shape_ = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 173, .Lkv = 468, .D = 8, .Dv = 6};
  const Tensor<std::int64_t, 1> query_offsets_ = all_queries_.offsets();
  const Tensor<std::int64_t, 1> key_offsets_ = all_keys_.offsets();
  const Tensor<float, 1> slopes_ = filled<float, 1>({2}, 0.1f);
  const AttentionOptions options_ = {
      .mask = causal(),
      .alibi = slopes_,
      .query_start = query_starts_,
      .offsets = {view_of(query_offsets_), view_of(key_offsets_)}};
  const CutCall call_ = {shape_, options_, {}, 7550};
};

TEST_F(RaggedGradientPartTest, KeysEndWithABlockInEachSequence) {
  const std::vector<std::size_t> first_count = {256, 0, 128, 0};
  const std::vector<std::size_t> last_count = {44, 40, 0, 0};
  GradientStateTensors sums(shape_);
  auto d_query = filled<float, 4>(call_.in.query.extents(), 42);
  for (const KeyPart part : {KeyPart::first, KeyPart::last}) {
    const bool last = part == KeyPart::last;
    const std::vector<std::size_t>& before = last ? first_count : none_;
    const RowsOfSequences keys = {all_keys_.starts, before,
                                  last ? last_count : first_count};
    const auto key = keys.of(call_.in.key, 1);
    const auto value = keys.of(call_.in.value, 1);
    const auto offsets = keys.offsets();
    BackwardInputs inputs = call_.whole.inputs;
    inputs.key = key;
    inputs.value = value;
    AttentionOptions options = options_;
    options.offsets.key = offsets;
    const std::vector<std::int64_t> first_positions = starts(none_, before);
    options.query_start = first_positions;
    AttentionGradients gradients;
    gradients.state.query = sums.query;
    if (last) {
      gradients.query = d_query;
    }
    const Status s =
        attention_backward(inputs, gradients, options, {.key_part = part});
    ASSERT_TRUE(s) << s.error().message();
  }
  EXPECT_TRUE(same_bits(d_query, call_.want.query));
}

TEST_F(RaggedGradientPartTest, QueriesEndWithABlockInEachSequence) {
  const std::vector<std::size_t> first_count = {96, 0, 48, 0};
  const std::vector<std::size_t> last_count = {14, 0, 12, 3};
  GradientStateTensors sums(shape_);
  auto d_key = filled<float, 4>(call_.in.key.extents(), 42);
  auto d_value = filled<float, 4>(call_.in.value.extents(), 42);
  for (const QueryPart part : {QueryPart::first, QueryPart::last}) {
    const bool last = part == QueryPart::last;
    const std::vector<std::size_t>& before = last ? first_count : none_;
    const RowsOfSequences queries = {all_queries_.starts, before,
                                     last ? last_count : first_count};
    const BackwardInputs& all = call_.whole.inputs;
    const auto query = queries.of(all.query, 1);
    const auto output = queries.of(all.output, 1);
    const auto rows = queries.of(all.softmax_rows, 2);
    const auto d_output = queries.of(all.d_output, 1);
    const auto offsets = queries.offsets();
    AttentionOptions options = options_;
    options.offsets.query = offsets;
    const std::vector<std::int64_t> first_positions = starts(before, none_);
    options.query_start = first_positions;
    AttentionGradients gradients;
    gradients.state = {.key = sums.key, .value = sums.value};
    if (last) {
      gradients.key = d_key;
      gradients.value = d_value;
    }
    const Status s =
        attention_backward({query, all.key, all.value, output, rows, d_output},
                           gradients, options, {.query_part = part});
    ASSERT_TRUE(s) << s.error().message();
  }
  EXPECT_TRUE(same_bits(d_key, call_.want.key));
  EXPECT_TRUE(same_bits(d_value, call_.want.value));
}

// ---- What the state holds ----

TEST(GradientStateTest, ItHoldsTheSumsBeforeTheyAreScaled) {
  const AttentionShape s = kShapes.front();
  // A power of 2, so that scaling is exact.
  const CutCall call(s, {.scale = 0.25}, {}, 7560);
  GradientStateTensors sums(s);
  const auto first_keys = keys_cut(s, 0, 128);
  call.whole.run(first_keys, {.state = {.query = sums.query}}, KeyPart::first,
                 QueryPart::all);
  auto d_query = filled<float, 4>(call.in.query.extents(), 42);
  call.whole.run(first_keys, {.query = d_query}, KeyPart::all, QueryPart::all);
  for (std::size_t n = 0; n < d_query.size(); ++n) {
    EXPECT_EQ(sums.query.data()[n] * 0.25f, d_query.data()[n]);
  }
}

TEST(GradientStateTest, OfWhatHasMetNothingItHoldsZeros) {
  const AttentionShape s = kShapes.front();
  CutCall call(s, {.mask = causal(), .query_start = -1000}, {}, 7570);
  GradientStateTensors sums(s);
  call.whole.run(keys_cut(s, 0, 128), {.state = {.query = sums.query}},
                 KeyPart::first, QueryPart::all);
  EXPECT_THAT(sums.query.elements(), Each(0.0f));
  call.whole.run(queries_cut(s, 0, 48),
                 {.state = {.key = sums.key, .value = sums.value}},
                 KeyPart::all, QueryPart::first);
  EXPECT_THAT(sums.key.elements(), Each(0.0f));
  EXPECT_THAT(sums.value.elements(), Each(0.0f));
}

TEST(GradientStateTest, TheLastPartLeavesItAsItIs) {
  const AttentionShape s = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 100, .Lkv = 300, .D = 8, .Dv = 8};
  CutCall call(s, {}, {}, 7580);
  GradientStateTensors sums(s);
  for (Tensor<float, 4>* x : {&sums.query, &sums.key, &sums.value}) {
    std::ranges::fill(x->elements(), 0.5f);
  }
  Gradients<float> d = gradients_for(call.in, {}, {});
  call.whole.run(keys_cut(s, 128, 172),
                 {.query = d.query, .state = {.query = sums.query}},
                 KeyPart::last, QueryPart::all);
  call.whole.run(queries_cut(s, 48, 52),
                 {.key = d.key,
                  .value = d.value,
                  .state = {.key = sums.key, .value = sums.value}},
                 KeyPart::all, QueryPart::last);
  for (const Tensor<float, 4>* x : {&sums.query, &sums.key, &sums.value}) {
    EXPECT_THAT(x->elements(), Each(0.5f));
  }
}

TEST(GradientStateTest, NaNAndInfinityPassThroughItWithTheBitsOfOneCall) {
  for (const AttentionShape& shape : kShapes) {
    Inputs<float> in = random_inputs(shape, 7590);
    const float infinity = std::numeric_limits<float>::infinity();
    in.key(0, 3, 0, 0) = kNaN;
    in.key(0, 135, 0, 1) = infinity;
    in.query(0, 40, 0, 1) = infinity;
    in.value(0, 5, 0, 2) = -infinity;
    const CutCall call(shape, std::move(in),
                       {.mask = window(100, 0), .query_start = 80}, {});
    EXPECT_TRUE(same_bits(query_gradients_in_parts(call.whole, {0, 128}).query,
                          call.want.query));
    const auto got = key_gradients_in_parts(call.whole, {0, 48});
    EXPECT_TRUE(same_bits(got.key, call.want.key));
    EXPECT_TRUE(same_bits(got.value, call.want.value));
  }
}

// ---- Errors ----

const AttentionShape kSmall = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 48, .Lkv = 128, .D = 4, .Dv = 4};

// A part that is right but for one thing.
struct PartCall {
  explicit PartCall(KeyPart part) : operation_options{.key_part = part} {
    gradients.state.query = state.query;
    if (part == KeyPart::last) {
      gradients.query = d.query;
    }
  }
  explicit PartCall(QueryPart part) : operation_options{.query_part = part} {
    gradients.state.key = state.key;
    gradients.state.value = state.value;
    if (part == QueryPart::last) {
      gradients.key = d.key;
      gradients.value = d.value;
    }
  }
  std::string message() {
    const Status s =
        attention_backward(inputs, gradients, options, operation_options);
    for (const Tensor<float, 4>* x :
         {&state.query, &state.key, &state.value, &d.query, &d.key, &d.value}) {
      EXPECT_THAT(x->elements(), Each(42.0f));
    }
    code = s ? ErrorCode::invalid_argument : s.error().code();
    return s ? "no error" : s.error().message();
  }

  Inputs<float> in = random_inputs(kSmall, 7600);
  Upstream<float> upstream = random_upstream(in, {}, 7610);
  SavedForward saved = attend_and_save(in);
  BackwardInputs inputs = backward_inputs(in, saved, upstream);
  GradientStateTensors state{kSmall};
  Gradients<float> d = gradients_for(in, {}, {});
  AttentionGradients gradients;
  AttentionOptions options;
  OperationOptions operation_options;
  ErrorCode code{};
};

constexpr KeyPart kKeyParts[] = {KeyPart::first, KeyPart::middle,
                                 KeyPart::last};
constexpr QueryPart kQueryParts[] = {QueryPart::first, QueryPart::middle,
                                     QueryPart::last};

template <class Part>
void expect_option_refused(Part part, const AttentionOptions& options,
                           const std::string& expected) {
  PartCall call(part);
  call.options = options;
  EXPECT_EQ(call.message(), "attention_backward: " + expected);
  EXPECT_EQ(call.code, ErrorCode::unsupported);
}

template <class Part>
void expect_options_refused(Part part, const std::string& of_part) {
  expect_option_refused(
      part, {.attn_weights = AttnWeights::mean},
      "attn_weights is asked for, expected none in a part of the " + of_part);
  expect_option_refused(
      part, {.scores = ScoresStage::raw},
      "scores is asked for, expected none in a part of the " + of_part);
  expect_option_refused(
      part, {.empty_rows = EmptyRow::uniform},
      "empty_rows is uniform, expected zero or nan in a part of the " +
          of_part);
  expect_option_refused(
      part, {.query_start = QueryStart::bottom_right()},
      "query_start is bottom_right, expected a number in a part of the " +
          of_part);
}

TEST(GradientPartErrorsTest, WhatNeedsAllKeysOrQueriesIsRefused) {
  for (const KeyPart part : kKeyParts) {
    expect_options_refused(part, "keys");
  }
  for (const QueryPart part : kQueryParts) {
    expect_options_refused(part, "queries");
  }
}

TEST(GradientPartErrorsTest, BlocksOfKeysStayInPlace) {
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, 100});
  PartCall call(KeyPart::first);
  call.options.mask = key_starts(starts);
  EXPECT_EQ(call.message(),
            "attention_backward: mask.key_starts[1] is 100, expected a "
            "multiple of 128 in a part of the keys");
}

TEST(GradientPartErrorsTest, OnlyOneKindOfPartAtATime) {
  PartCall call(KeyPart::middle);
  call.operation_options.query_part = QueryPart::last;
  EXPECT_EQ(call.message(),
            "attention_backward: query_part is last, expected all with a "
            "key_part");
  EXPECT_EQ(call.code, ErrorCode::unsupported);
}

TEST(GradientPartErrorsTest, OnlyTheLastPartMayEndInABlock) {
  for (const KeyPart part : {KeyPart::first, KeyPart::middle}) {
    PartCall call(part);
    call.inputs.key = cut_axis(call.inputs.key, 1, 0, 100);
    call.inputs.value = cut_axis(call.inputs.value, 1, 0, 100);
    EXPECT_EQ(call.message(),
              "attention_backward: key has 100 keys, expected a multiple of "
              "128 in a part of the keys that is not the last");
  }
}

TEST(GradientPartErrorsTest, OfARaggedBatchEachSequenceEndsWithABlock) {
  const auto queries = tensor_of<std::int64_t, 1>({3}, {0, 40, 48});
  const auto keys = tensor_of<std::int64_t, 1>({3}, {0, 28, 128});
  PartCall call(KeyPart::first);
  BackwardInputs& in = call.inputs;
  for (TensorView<const float, 4>* x :
       {&in.query, &in.key, &in.value, &in.output, &in.softmax_rows,
        &in.d_output}) {
    *x = cut_axis(*x, 0, 0, 1);
  }
  call.gradients.state.query = cut_axis(call.gradients.state.query, 0, 0, 1);
  call.options.offsets = {queries, keys};
  EXPECT_EQ(call.message(),
            "attention_backward: offsets.key is of a sequence of 28, expected "
            "a multiple of 128 in a part of the keys that is not the last");
}

TEST(GradientPartErrorsTest, TheStateMustBeThereAndFit) {
  for (const KeyPart part : kKeyParts) {
    PartCall call(part);
    call.gradients.state.query = {};
    EXPECT_EQ(call.message(),
              "attention_backward: state.query has shape (0, 0, 0, 0), "
              "expected (B, Lq, Hq, D) = (2, 48, 2, 4)");
    call.gradients.state.query = call.state.key;
    EXPECT_EQ(call.message(),
              "attention_backward: state.query has shape (2, 128, 2, 4), "
              "expected (B, Lq, Hq, D) = (2, 48, 2, 4)");
  }
  for (const QueryPart part : kQueryParts) {
    PartCall call(part);
    call.gradients.state.key = {};
    EXPECT_EQ(call.message(),
              "attention_backward: state.key has shape (0, 0, 0, 0), expected "
              "(B, Lkv, Hkv, D) = (2, 128, 2, 4)");
    call.gradients.state.key = call.state.key;
    call.gradients.state.value = call.state.query;
    EXPECT_EQ(call.message(),
              "attention_backward: state.value has shape (2, 48, 2, 4), "
              "expected (B, Lkv, Hkv, Dv) = (2, 128, 2, 4)");
  }
}

TEST(GradientPartErrorsTest, TheStateIsThatOfThePart) {
  PartCall of_keys(KeyPart::middle);
  of_keys.gradients.state.value = of_keys.state.value;
  EXPECT_EQ(of_keys.message(),
            "attention_backward: state.value is given, expected none: the "
            "options have no query_part");
  PartCall of_queries(QueryPart::middle);
  of_queries.gradients.state.query = of_queries.state.query;
  EXPECT_EQ(of_queries.message(),
            "attention_backward: state.query is given, expected none: the "
            "options have no key_part");
}

TEST(GradientPartErrorsTest, GradientsAreThoseOfTheLastPart) {
  for (const KeyPart part : {KeyPart::first, KeyPart::middle}) {
    PartCall call(part);
    call.gradients.query = call.d.query;
    EXPECT_EQ(call.message(),
              "attention_backward: d_query is given, expected none: only the "
              "last part of the keys has it");
  }
  for (const QueryPart part : {QueryPart::first, QueryPart::middle}) {
    PartCall call(part);
    call.gradients.value = call.d.value;
    EXPECT_EQ(call.message(),
              "attention_backward: d_value is given, expected none: only the "
              "last part of the queries has it");
  }
}

template <class Part>
void expect_gradient_refused(Part part, const AttentionGradients& also,
                             const std::string& expected) {
  PartCall call(part);
  const GradientState state = call.gradients.state;
  call.gradients = also;
  call.gradients.state = state;
  EXPECT_EQ(call.message(), "attention_backward: " + expected);
  EXPECT_EQ(call.code, ErrorCode::unsupported);
}

TEST(GradientPartErrorsTest, OtherGradientsNeedAnotherPass) {
  auto of_queries = filled<float, 4>({2, 48, 2, 4}, 1);
  auto of_keys = filled<float, 4>({2, 128, 2, 4}, 1);
  auto of_heads = filled<float, 2>({2, 4}, 1);
  for (const KeyPart part : kKeyParts) {
    const std::string refused =
        " is given, expected none in a part of the keys";
    expect_gradient_refused(part, {.key = of_keys}, "d_key" + refused);
    expect_gradient_refused(part, {.value = of_keys}, "d_value" + refused);
    expect_gradient_refused(part, {.score_weight = of_heads},
                            "d_score_weight" + refused);
  }
  for (const QueryPart part : kQueryParts) {
    const std::string refused =
        " is given, expected none in a part of the queries";
    expect_gradient_refused(part, {.query = of_queries}, "d_query" + refused);
    expect_gradient_refused(part, {.score_weight = of_heads},
                            "d_score_weight" + refused);
  }
}

TEST(GradientPartErrorsTest, SharesOfRowsFollowTheParts) {
  const auto slopes = filled<float, 1>({2}, 0.5f);
  auto d_alibi = filled<float, 1>({2}, 42);
  PartCall call(KeyPart::middle);
  call.options = {.alibi = slopes, .sinks = slopes};
  call.gradients.alibi = d_alibi;
  EXPECT_EQ(call.message(),
            "attention_backward: d_alibi is given, expected none: only the "
            "last part of the keys has it");
  call.gradients.alibi = {};
  call.gradients.state.sinks = call.state.sinks;
  EXPECT_EQ(call.message(),
            "attention_backward: state.sinks is given, expected none: only the "
            "last part of the keys has it");
  PartCall last(KeyPart::last);
  last.options.alibi = slopes;
  last.gradients.alibi = d_alibi;
  EXPECT_EQ(last.message(),
            "attention_backward: state.alibi is not given, expected one with "
            "the rows' shares of d_alibi");
  PartCall queries(QueryPart::last);
  queries.options.alibi = slopes;
  queries.gradients.state.alibi = queries.state.alibi;
  EXPECT_EQ(queries.message(),
            "attention_backward: state.alibi is given, expected none in a part "
            "of the queries");
  EXPECT_THAT(d_alibi.elements(), Each(42.0f));
}

TEST(GradientPartErrorsTest, TheStateHasMemoryOfItsOwn) {
  PartCall first(KeyPart::first);
  first.gradients.state.query = first.in.query;
  EXPECT_EQ(first.message(),
            "attention_backward: state.query is in the memory of query, "
            "expected memory of its own");
  PartCall last(KeyPart::last);
  // In the other order.
  const TensorView<float, 4> d_query = last.d.query.view();
  auto strides = d_query.strides();
  strides[0] = -strides[0];
  last.gradients.state.query = {&d_query(1, 0, 0, 0), d_query.extents(),
                                strides};
  EXPECT_EQ(last.message(),
            "attention_backward: state.query is in the memory of d_query, "
            "expected memory of its own");
  PartCall queries(QueryPart::middle);
  queries.gradients.state.value = queries.state.key;
  EXPECT_EQ(queries.message(),
            "attention_backward: state.value is in the memory of state.key, "
            "expected memory of its own");
}

TEST(GradientPartErrorsTest, OnlyTheBackwardPassTakesAPartOfTheQueries) {
  const Inputs<float> in = random_inputs(kSmall, 7620);
  auto output = filled<float, 4>({2, 48, 2, 4}, 42);
  const AttentionOutputs outputs = {.output = output};
  const OperationOptions part = {.query_part = QueryPart::last};
  const TensorView<const float, 4> query = in.query;
  const std::string expected =
      "query_part is last, expected all: only attention_backward() takes a "
      "part of the queries";
  const auto message = [&output](const Status& s) {
    EXPECT_THAT(output.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  };
  EXPECT_EQ(message(attention(query, in.key, in.value, outputs, {}, part)),
            "attention: " + expected);
  EXPECT_EQ(message(reference_attention<float>(query, in.key, in.value, outputs,
                                               {}, part)),
            "attention: " + expected);
  EXPECT_EQ(message(reference_attention_backward<float>({}, {}, {}, part)),
            "attention_backward: " + expected);
}

}  // namespace
}  // namespace headwise::testing_support
