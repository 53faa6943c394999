// Attention by ranks that own tokens: the bits of one process, for every
// number of ranks, plan, option and way of the keys.
#include "headwise/distribute/context_attention.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attention/key_parts.h"
#include "distribute/ranked_call.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const Executor& one_thread() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

template <class T>
WholeOutputs<T> attend(const WholeCall<T>& whole, const ShardPlan& plan,
                       KeyTransport keys, std::size_t chunk_keys = 256) {
  ContextCall call = {.tensors = whole.tensors,
                      .plan = plan,
                      .options = whole.options,
                      .operation_options = whole.operation_options,
                      .keys = keys,
                      .chunk_keys = chunk_keys};
  call.options.executor = &one_thread();
  return by_ranks<T>(
      whole, plan,
      [&](Communicator& group, const auto& own, const auto& outputs) {
        return context_attention(group, call, own, outputs);
      });
}

bool has_blocks_in_place(const WholeCall<float>& call) {
  const auto spec =
      AttentionSpec::create(call.tensors, call.options, call.operation_options)
          .value();
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    if (spec.mask.first_key(b) % 128 != 0) {
      return false;
    }
  }
  return true;
}

// Turns of one number of ranks after the other, so that each is tried with
// many of the other choices.
class Turns {
 public:
  std::size_t ranks() { return 1 + turn_++ * 5 % 16; }

 private:
  std::size_t turn_ = 0;
};

void expect_bits_of_one_process(const WholeCall<float>& call,
                                const std::string& name, Turns& turns) {
  const AttentionShape shape = call.shape();
  const WholeOutputs<float> want = by_one_process(call);
  for (const Deal deal : {Deal::contiguous, Deal::zig_zag, Deal::scattered}) {
    const std::size_t ranks = turns.ranks();
    EXPECT_TRUE(same_bits(
        attend(call, plan_of(shape, ranks, deal), KeyTransport::chunks), want))
        << name << ", " << ranks << " ranks";
  }
  const std::size_t ranks = turns.ranks();
  EXPECT_TRUE(same_bits(attend(call, plan_of(shape, ranks, Deal::zig_zag),
                               KeyTransport::gathered),
                        want))
      << name << ", gathered by " << ranks << " ranks";
}

const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 300, .Lkv = 520, .D = 4, .Dv = 3};

void expect_bits_for_every_option(Arithmetic arithmetic) {
  const Inputs<float> in = random_inputs(kShape, 7400);
  const EveryMask every_mask(kShape, true);
  Turns turns;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    WholeCall<float> call = {kShape, in, options_of_parts(options),
                             operation_options};
    call.options.arithmetic = arithmetic;
    if (has_blocks_in_place(call)) {
      expect_bits_of_one_process(call, name, turns);
    }
  }
}

TEST(ContextAttentionTest, EveryOptionHasTheBitsOfOneProcess) {
  expect_bits_for_every_option(Arithmetic::exact);
}

TEST(ContextAttentionTest, InBf16EveryOptionHasTheBitsOfOneProcess) {
  expect_bits_for_every_option(Arithmetic::bf16);
}

TEST(ContextAttentionTest, GatheredKeysTakeTheOptionsThatNeedAllKeys) {
  const Inputs<float> in = random_inputs(kShape, 7410);
  const EveryMask every_mask(kShape, true);
  Turns turns;
  for (const auto& [name, options, operation_options] :
       every_options(every_mask)) {
    const WholeCall<float> call = {kShape, in, options_of_ranks(options),
                                   operation_options};
    EXPECT_TRUE(
        same_bits(attend(call, plan_of(kShape, turns.ranks(), Deal::scattered),
                         KeyTransport::gathered),
                  by_one_process(call)))
        << name;
  }
}

TEST(ContextAttentionTest, PaddingSharedIdsAndUnevenGroups) {
  const Inputs<float> in = random_inputs(kShape, 7420);
  const auto starts = tensor_of<std::int64_t, 1>({2}, {256, 128});
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 390});
  const auto query_starts = tensor_of<std::int64_t, 1>({2}, {220, 3});
  std::vector<std::int64_t> query_ids;
  std::vector<std::int64_t> key_ids;
  for (std::size_t j = 0; j < kShape.Lkv; ++j) {
    key_ids.push_back(static_cast<std::int64_t>(j / 150));
  }
  for (std::size_t i = 0; i < kShape.Lq; ++i) {
    query_ids.push_back(static_cast<std::int64_t>(i / 100));
  }
  const Mask ids = documents(TensorView<const std::int64_t, 1>(query_ids),
                             TensorView<const std::int64_t, 1>(key_ids));
  const OperationOptions groups = {.kv_groups = groups_of({1, 3})};
  const OptionsCase cases[] = {
      {"starts", {.mask = key_starts(starts) & causal(), .query_start = 220}},
      {"lengths", {.mask = key_lengths(lengths)}},
      {"query starts", {.mask = causal(), .query_start = query_starts}},
      {"window and first keys",
       {.mask = window(40, 0, 130), .query_start = query_starts}},
      {"ids", {.mask = ids}},
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}},
      {"groups", {.mask = causal()}, groups},
      {"groups and lengths", {.mask = key_lengths(lengths)}, groups}};
  Turns turns;
  for (const auto& [name, options, operation_options] : cases) {
    expect_bits_of_one_process({kShape, in, options, operation_options}, name,
                               turns);
  }
}

TEST(ContextAttentionTest, RaggedBatchesWithEmptyAndShortSequences) {
  const AttentionShape tensors = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 520, .Lkv = 700, .D = 4, .Dv = 3};
  const AttentionShape sequences = {
      .B = 5, .Hq = 4, .Hkv = 2, .Lq = 400, .Lkv = 450, .D = 4, .Dv = 3};
  const Inputs<float> in = random_inputs(tensors, 7430);
  const EveryMask every_mask(sequences, true);
  const auto queries =
      tensor_of<std::int64_t, 1>({6}, {0, 50, 450, 450, 457, 520});
  const auto keys = tensor_of<std::int64_t, 1>({6}, {0, 0, 450, 451, 570, 700});
  const std::vector<OptionsCase> cases = {
      {"all", {}},
      {"causal", {.mask = causal()}},
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}},
      {"window and bias",
       {.mask = window(100, 5),
        .bias = every_mask.biases().finite(),
        .alibi = every_mask.biases().slopes()}},
      {"nan", {.mask = window(5, 5), .empty_rows = EmptyRow::nan}}};
  Turns turns;
  for (OptionsCase one : cases) {
    one.options.offsets = {queries, keys};
    expect_bits_of_one_process({tensors, in, one.options}, one.name, turns);
  }
}

TEST(ContextAttentionTest, FewerTokensThanRanks) {
  for (const std::size_t length : {0u, 1u, 5u, 129u}) {
    AttentionShape shape = kShape;
    shape.Lq = shape.Lkv = length;
    const Inputs<float> in = random_inputs(shape, 7440);
    Turns turns;
    for (const Mask& mask : {Mask(), causal()}) {
      expect_bits_of_one_process({shape, in, {.mask = mask}},
                                 std::to_string(length) + " tokens", turns);
    }
  }
}

TEST(ContextAttentionTest, ShortWindowsOnManyRanks) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 2100, .Lkv = 2100, .D = 4, .Dv = 3};
  const Inputs<float> in = random_inputs(shape, 7455);
  for (const Mask& mask : {window(100, 0), window(100, 90), window(300, 0, 130),
                           window(10, 0, 5), window(700, 0)}) {
    const WholeCall<float> call = {shape, in, {.mask = mask}};
    const WholeOutputs<float> want = by_one_process(call);
    for (const std::size_t ranks : {2u, 3u, 7u, 12u}) {
      for (const Deal deal : {Deal::contiguous, Deal::zig_zag}) {
        EXPECT_TRUE(same_bits(attend(call, plan_of(shape, ranks, deal),
                                     KeyTransport::chunks, 128),
                              want))
            << ranks << " ranks";
      }
    }
  }
}

// All ranks compute at the same time: none waits for what another computes.
TEST(ContextAttentionTest, UnderAShortWindowRanksStartTogether) {
  constexpr std::size_t kRanks = 4;
  const AttentionShape shape = {
      .B = 1, .Hq = 8, .Hkv = 8, .Lq = 2048, .Lkv = 2048, .D = 32, .Dv = 32};
  const Inputs<float> in = random_inputs(shape, 7456);
  const WholeCall<float> whole = {shape, in, {.mask = window(100, 0)}};
  const ShardPlan plan = plan_of(shape, kRanks, Deal::contiguous);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t started = 0;
  const WholeOutputs<float> got = by_ranks<float>(
      whole, plan,
      [&](Communicator& group, const auto& own, const auto& outputs) {
        bool is_first = true;
        const Executor executor =
            Executor::with_pool(2, [&](std::size_t workers,
                                       FunctionRef<void(std::size_t)> work) {
              if (std::exchange(is_first, false)) {
                std::unique_lock lock(mutex);
                ++started;
                changed.notify_all();
                EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(20),
                                             [&] { return started == kRanks; }))
                    << "rank " << group.rank();
              }
              for (std::size_t n = 0; n < workers; ++n) {
                work(n);
              }
            }).value();
        ContextCall call = {.tensors = shape,
                            .plan = plan,
                            .options = whole.options,
                            .keys = KeyTransport::chunks,
                            .chunk_keys = 128};
        call.options.executor = &executor;
        return context_attention(group, call, own, outputs);
      });
  EXPECT_EQ(started, kRanks);
  EXPECT_TRUE(same_bits(got, by_one_process(whole)));
}

// Of 384 tokens and more, as the planner cuts.
TEST(ContextAttentionTest, PlansOfThePlannerOnEveryNumberOfRanks) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 1700, .Lkv = 1700, .D = 4, .Dv = 4};
  const Inputs<float> in = random_inputs(shape, 7450);
  for (const bool is_causal : {true, false}) {
    const WholeCall<float> call = {
        shape, in, {.mask = is_causal ? causal() : Mask()}};
    const WholeOutputs<float> want = by_one_process(call);
    for (std::size_t ranks = 1; ranks <= 16; ++ranks) {
      const ShardPlan plan =
          plan_shards({.ranks = ranks,
                       .parallel = Parallel::context,
                       .sequences = {{shape.Lq, shape.Lkv}},
                       .heads = shape.Hq,
                       .kv_heads = shape.Hkv,
                       .band = is_causal ? KeyBand::causal() : KeyBand{}})
              .value();
      for (const std::size_t chunk_keys : {384u, 3072u}) {
        EXPECT_TRUE(same_bits(
            attend(call, plan, KeyTransport::automatic, chunk_keys), want))
            << ranks << " ranks";
      }
    }
  }
}

template <class T>
void expect_bits_of_type() {
  const Inputs<T> in = narrowed_to<T>(random_inputs(kShape, 7460));
  const WholeCall<T> call = {
      kShape, in, {.mask = causal(), .query_start = 200}};
  const WholeOutputs<T> want = by_one_process(call);
  for (const KeyTransport keys :
       {KeyTransport::chunks, KeyTransport::gathered}) {
    EXPECT_TRUE(
        same_bits(attend(call, plan_of(kShape, 3, Deal::zig_zag), keys), want));
  }
}

TEST(ContextAttentionTest, SixteenBitTensorsAreRoundedOnce) {
  expect_bits_of_type<BFloat16>();
  expect_bits_of_type<Float16>();
}

TEST(ContextAttentionTest, ARankMayUseSeveralThreads) {
  const Inputs<float> in = random_inputs(kShape, 7470);
  const WholeCall<float> whole = {kShape, in, {.mask = window(300, 40)}};
  const ShardPlan plan = plan_of(kShape, 2, Deal::contiguous);
  const Executor executor = Executor::with_threads(3).value();
  ContextCall call = {.tensors = kShape,
                      .plan = plan,
                      .options = whole.options,
                      .keys = KeyTransport::chunks,
                      .chunk_keys = 128};
  call.options.executor = &executor;
  const WholeOutputs<float> got = by_ranks<float>(
      whole, plan,
      [&](Communicator& group, const auto& own, const auto& outputs) {
        return context_attention(group, call, own, outputs);
      });
  EXPECT_TRUE(same_bits(got, by_one_process(whole)));
}

// ---- Errors ----

// A call that each rank may change. The messages of the ranks.
template <class Change>
std::vector<std::string> messages_of(ContextCall call, const Change& change) {
  const Inputs<float> in = random_inputs(kShape, 7480);
  const WholeCall<float> whole = {kShape, in};
  call.tensors = kShape;
  call.plan = plan_of(kShape, 3, Deal::contiguous);
  std::vector<std::string> messages(3);
  const auto ended = run_ranks(3, [&](Communicator& group) {
    ContextCall own_call = call;
    RankTensors<float> tensors(whole, call.plan.ranks[group.rank()]);
    AttentionInputsOf<float> own = tensors.inputs();
    change(group.rank(), own_call, own);
    const Status s =
        context_attention(group, own_call, own, tensors.out.views());
    messages[group.rank()] = s ? "no error" : s.error().message();
    return s;
  });
  EXPECT_TRUE(ended);
  return messages;
}

TEST(ContextAttentionErrorsTest, AMistakeOfOneRankIsAnErrorOnAll) {
  const auto messages = messages_of({}, [](std::size_t rank, auto&, auto& own) {
    if (rank == 1) {
      own.key = {own.key.data(), {1, 5, 2, 4}};
    }
  });
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("key has shape (1, 5, 2, 4), expected (1, "
                                   "keys, Hkv, D) = (1, "));
    EXPECT_THAT(message, HasSubstr("rank 1"));
  }
}

TEST(ContextAttentionErrorsTest, DifferentOptionsAreAnErrorOnAll) {
  const auto change_mask = [](std::size_t rank, ContextCall& call, auto&) {
    if (rank == 2) {
      call.options.mask = causal();
    }
  };
  for (const std::string& message : messages_of({}, change_mask)) {
    EXPECT_THAT(message, HasSubstr("no mask"));
    EXPECT_THAT(message, HasSubstr("causal_mask"));
  }
  const auto change_scale = [](std::size_t rank, ContextCall& call, auto&) {
    call.options.scale = rank == 2 ? 0.5 : 0.25;
  };
  for (const std::string& message : messages_of({}, change_scale)) {
    EXPECT_THAT(message, HasSubstr("rank 2"));
    EXPECT_THAT(message, HasSubstr("digest"));
  }
  const auto change_arithmetic = [](std::size_t rank, ContextCall& call,
                                    auto&) {
    call.options.arithmetic = rank == 2 ? Arithmetic::bf16 : Arithmetic::exact;
  };
  for (const std::string& message : messages_of({}, change_arithmetic)) {
    EXPECT_THAT(message, HasSubstr("rank 2"));
    EXPECT_THAT(message, HasSubstr("digest"));
  }
  // Both fit the call.
  const std::size_t Lq = kShape.Lq;
  const std::size_t Lkv = kShape.Lkv;
  const std::vector<float> bias(kShape.Hq * Lq * Lkv);
  const auto change_bias = [&](std::size_t rank, ContextCall& call, auto&) {
    call.options.bias =
        rank == 2 ? dense<2>({bias.data(), {Lq, Lkv}}, {Axis::Lq, Axis::Lkv})
                  : dense<3>({bias.data(), {kShape.Hq, Lq, Lkv}},
                             {Axis::H, Axis::Lq, Axis::Lkv});
  };
  for (const std::string& message : messages_of({}, change_bias)) {
    EXPECT_THAT(message, HasSubstr("rank 2"));
    EXPECT_THAT(message, HasSubstr("digest"));
  }
}

TEST(ContextAttentionErrorsTest, WhatNeedsAllKeysIsRefusedUnlessGathered) {
  const auto none = [](std::size_t, auto&, auto&) {};
  const ContextCall uniform = {.options = {.empty_rows = EmptyRow::uniform}};
  for (const std::string& message : messages_of(uniform, none)) {
    EXPECT_THAT(message, HasSubstr("empty_rows is uniform, expected zero or "
                                   "nan in a part of the keys"));
  }
  ContextCall gathered = uniform;
  gathered.keys = KeyTransport::gathered;
  for (const std::string& message : messages_of(gathered, none)) {
    EXPECT_EQ(message, "no error");
  }
  const ContextCall weights = {.options = {.attn_weights = AttnWeights::mean}};
  for (const std::string& message : messages_of(weights, none)) {
    EXPECT_THAT(message, HasSubstr("attn_weights is asked for, expected none "
                                   "in a call of several ranks"));
  }
}

TEST(ContextAttentionErrorsTest, AChunkAndAPlanMustFit) {
  const auto none = [](std::size_t, auto&, auto&) {};
  for (const std::string& message : messages_of({.chunk_keys = 100}, none)) {
    EXPECT_THAT(message, HasSubstr("chunk_keys is 100, expected a positive "
                                   "multiple of 128"));
  }
  const auto lose_piece = [](std::size_t, ContextCall& call, auto&) {
    call.plan.keys.pop_back();
  };
  for (const std::string& message : messages_of({}, lose_piece)) {
    EXPECT_THAT(message, HasSubstr("plan.keys is not a division of sequence 1 "
                                   "of 520 tokens"));
  }
  const auto cut_anywhere = [](std::size_t, ContextCall& call, auto&) {
    --call.plan.keys[0].piece.range.tokens;
    --call.plan.keys[1].piece.range.first;
    ++call.plan.keys[1].piece.range.tokens;
  };
  for (const std::string& message : messages_of({}, cut_anywhere)) {
    EXPECT_THAT(message,
                HasSubstr("plan.keys is cut at token 127 of a sequence, "
                          "expected cuts at multiples of 128"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
