// A cache that is divided by tokens among ranks: the bits of one cache.
#include "headwise/distribute/context_cache.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headwise/decode/decode_plan.h"
#include "headwise/distribute/thread_ranks.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kShare = 128;

struct Sizes {
  std::size_t Hq = 4;
  std::size_t Hkv = 2;
  std::size_t D = 6;
  std::size_t Dv = 5;
};

// What some sequences are given: their new tokens, step by step.
struct Script {
  std::vector<std::vector<std::size_t>> steps;  // (steps, sequences)
  AttentionOptions options{};
  Sizes sizes{};
  DType dtype = DType::float32;
  std::size_t page_size = 64;
  std::size_t share_tokens = kShare;

  std::size_t sequences() const { return steps[0].size(); }
  KvCacheOptions cache() const {
    return {.num_kv_heads = sizes.Hkv,
            .head_dim = sizes.D,
            .v_head_dim = sizes.Dv,
            .dtype = dtype,
            .page_size = page_size,
            .max_tokens = 8192,
            .max_sequences = sequences()};
  }
};

// The tensors of one step: a ragged batch.
template <class T>
struct Step {
  Step(const Script& script, std::size_t n)
      : offsets(
            Tensor<std::int64_t, 1>::create({script.sequences() + 1}).value()) {
    std::int64_t end = 0;
    for (std::size_t s = 0; s < script.sequences(); ++s) {
      end += static_cast<std::int64_t>(script.steps[n][s]);
      offsets(s + 1) = end;
    }
    const auto rows = static_cast<std::size_t>(end);
    const Sizes& sizes = script.sizes;
    const auto stream = static_cast<std::uint32_t>(9100 + 3 * n);
    query = narrowed_to<T>(uniform<4>({1, rows, sizes.Hq, sizes.D}, stream));
    key = narrowed_to<T>(uniform<4>({1, rows, sizes.Hkv, sizes.D}, stream + 1));
    value =
        narrowed_to<T>(uniform<4>({1, rows, sizes.Hkv, sizes.Dv}, stream + 2));
  }

  Tensor<T, 4> output(const Script& script) const {
    return Tensor<T, 4>::create(
               {1, query.extent(1), script.sizes.Hq, script.sizes.Dv})
        .value();
  }

  Tensor<std::int64_t, 1> offsets;
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
};

template <class T>
using Outputs = std::vector<Tensor<T, 4>>;  // of each step

template <class T>
Outputs<T> by_one_process(const Script& script) {
  KvCache cache = KvCache::create(script.cache()).value();
  std::vector<SequenceId> ids;
  for (std::size_t s = 0; s < script.sequences(); ++s) {
    ids.push_back(cache.add().value());
  }
  const DecodePlan plan =
      DecodePlan::create(cache, script.sizes.Hq, 4096, script.options).value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  Outputs<T> outputs;
  for (std::size_t n = 0; n < script.steps.size(); ++n) {
    const Step<T> step(script, n);
    outputs.push_back(step.output(script));
    const Status s =
        plan.run(ids, step.query.view(), step.key.view(), step.value.view(),
                 AttentionOutputsOf<T>{.output = outputs.back()}, workspace,
                 step.offsets);
    EXPECT_TRUE(s) << s.error().message();
  }
  return outputs;
}

template <class T>
Status run_rank(Communicator& group, const Script& script,
                Outputs<T>& outputs) {
  HEADWISE_ASSIGN(auto cache,
                  ContextCache::create({.rank = script.cache(),
                                        .share_tokens = script.share_tokens},
                                       group.ranks(), group.rank()));
  std::vector<SequenceId> ids;
  for (std::size_t s = 0; s < script.sequences(); ++s) {
    ids.push_back(cache.add().value());
  }
  for (std::size_t n = 0; n < script.steps.size(); ++n) {
    const Step<T> step(script, n);
    outputs.push_back(step.output(script));
    HEADWISE_TRY(cache.step(group, ids, step.query.view(), step.key.view(),
                            step.value.view(), outputs.back().view(),
                            script.options, {}, step.offsets));
  }
  return ok();
}

template <class T = float>
void expect_same(const Script& script, const std::vector<std::size_t>& groups,
                 milliseconds deadline = Communicator::kDefaultDeadline) {
  const Outputs<T> want = by_one_process<T>(script);
  for (const std::size_t ranks : groups) {
    std::vector<Outputs<T>> got(ranks);
    const auto ended =
        run_ranks(ranks,
                  [&](Communicator& group) {
                    return run_rank<T>(group, script, got[group.rank()]);
                  },
                  {.deadline = deadline});
    for (const Status& status : ended.value()) {
      ASSERT_TRUE(status) << status.error().message();
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t n = 0; n < want.size(); ++n) {
        EXPECT_EQ(std::memcmp(got[rank][n].data(), want[n].data(),
                              want[n].size() * sizeof(T)),
                  0)
            << "step " << n << " on rank " << rank << " of " << ranks;
      }
    }
  }
}

// A prompt, chunks, single tokens, and nothing; shares are begun on the way.
const std::vector<std::vector<std::size_t>> kSteps = {
    {700, 1, 127}, {1, 1, 1}, {1, 1, 1}, {0, 300, 5}, {60, 1, 0}, {1, 1, 1}};

TEST(ContextCacheTest, EveryNumberOfRanks) {
  expect_same({.steps = kSteps, .options = {.mask = causal()}},
              {1, 2, 3, 4, 5, 6, 7, 8});
}

TEST(ContextCacheTest, OneSequenceIsHandedOnInGroupsOfHeads) {
  expect_same({.steps = {{1000}, {1}, {17}, {1}},
               .options = {.mask = causal()},
               .sizes = {.Hq = 16, .Hkv = 8}},
              {2, 3, 8});
}

// Ranks hand on more rows than the next ones have begun to receive.
TEST(ContextCacheTest, ManySequences) {
  const std::vector<std::size_t> prompts = {300, 300, 300, 270, 300, 129, 300,
                                            300, 400, 300, 300, 300, 290, 300};
  expect_same({.steps = {prompts, std::vector<std::size_t>(14, 1)},
               .options = {.mask = causal()}},
              {2, 3, 4}, milliseconds(10000));
}

// The keys of few heads are divided among the threads of a rank.
TEST(ContextCacheTest, GroupsOfFewHeadsOnSeveralThreads) {
  const Executor executor = Executor::with_threads(2).value();
  expect_same({.steps = {{1000}, {16}},
               .options = {.mask = causal(), .executor = &executor},
               .sizes = {.Hq = 64, .Hkv = 16, .D = 4, .Dv = 4},
               .share_tokens = 1024},
              {4});
}

TEST(ContextCacheTest, Windows) {
  expect_same({.steps = kSteps, .options = {.mask = causal() & window(200, 0)}},
              {2, 3});
  expect_same(
      {.steps = kSteps, .options = {.mask = causal() & window(40, 0, 7)}},
      {2, 5});
}

TEST(ContextCacheTest, OptionsOfScores) {
  const auto slopes = uniform<1>({4}, 9200);
  const auto sinks = uniform<1>({4}, 9201);
  const auto table = uniform<2>({8, 4}, 9202);
  expect_same({.steps = kSteps,
               .options = {.mask = causal(),
                           .scale = 0.7,
                           .softcap = 2.0,
                           .t5_bias = {.table = table, .bidirectional = false},
                           .alibi = slopes,
                           .sinks = sinks}},
              {3});
}

TEST(ContextCacheTest, Dropout) {
  expect_same(
      {.steps = kSteps,
       .options = {.mask = causal(),
                   .dropout = {.p = 0.5, .training = true, .seed = Seed{3}}}},
      {3});
}

TEST(ContextCacheTest, EveryTypeOfCache) {
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::int8}) {
    expect_same(
        {.steps = kSteps, .options = {.mask = causal()}, .dtype = dtype}, {3});
  }
}

TEST(ContextCacheTest, Bf16InEveryTypeOfCache) {
  AttentionOptions options = {.mask = causal()};
  options.arithmetic = Arithmetic::bf16;
  for (const DType dtype :
       {DType::float32, DType::bfloat16, DType::float16, DType::int8}) {
    expect_same({.steps = kSteps, .options = options, .dtype = dtype}, {1, 3});
  }
}

TEST(ContextCacheTest, SixteenBitTensors) {
  expect_same<BFloat16>({.steps = kSteps,
                         .options = {.mask = causal()},
                         .dtype = DType::bfloat16},
                        {2});
  expect_same<Float16>({.steps = kSteps, .options = {.mask = causal()}}, {2});
}

TEST(ContextCacheTest, SequencesOfWhichNoKeyCounts) {
  const auto lengths = tensor_of<std::int64_t, 1>({3}, {0, 140, 129});
  for (const EmptyRow empty : {EmptyRow::zero, EmptyRow::nan}) {
    expect_same(
        {.steps = {{300, 200, 130}, {1, 1, 1}},
         .options = {.mask = key_lengths(lengths), .empty_rows = empty}},
        {2, 3});
  }
}

TEST(ContextCacheTest, ABatchWithoutOffsets) {
  const Script script = {.steps = {{1, 1}}, .options = {.mask = causal()}};
  const auto q = uniform<4>({2, 3, 4, 6}, 9300);
  const auto k = uniform<4>({2, 3, 2, 6}, 9301);
  const auto v = uniform<4>({2, 3, 2, 5}, 9302);
  auto want = Tensor<float, 4>::create({2, 3, 4, 5}).value();
  KvCache one = KvCache::create(script.cache()).value();
  const std::vector<SequenceId> ids = {one.add().value(), one.add().value()};
  const DecodePlan plan = DecodePlan::create(one, 4, 6, script.options).value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  ASSERT_TRUE(
      plan.run(ids, q.view(), k.view(), v.view(), {.output = want}, workspace));
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(auto cache, ContextCache::create({.rank = script.cache(),
                                                      .share_tokens = kShare},
                                                     2, group.rank()));
    const std::vector<SequenceId> own = {cache.add().value(),
                                         cache.add().value()};
    auto got = Tensor<float, 4>::create({2, 3, 4, 5}).value();
    HEADWISE_TRY(cache.step(group, own, q.view(), k.view(), v.view(),
                            got.view(), script.options));
    EXPECT_TRUE(same_bits(got, want));
    return ok();
  });
  for (const Status& status : ended.value()) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

// Every rank has some of the tokens, and none more than its share.
TEST(ContextCacheTest, TokensAreDivided) {
  const Script script = {.steps = {{1500, 700}}};
  std::vector<std::size_t> tokens(4);
  const auto ended = run_ranks(4, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(auto cache, ContextCache::create({.rank = script.cache(),
                                                      .share_tokens = kShare},
                                                     4, group.rank()));
    const std::vector<SequenceId> ids = {cache.add().value(),
                                         cache.add().value()};
    const Step<float> step(script, 0);
    auto output = step.output(script);
    HEADWISE_TRY(cache.step(group, ids, step.query.view(), step.key.view(),
                            step.value.view(), output.view(), script.options,
                            {}, step.offsets));
    tokens[group.rank()] = cache.own_tokens();
    return ok();
  });
  EXPECT_TRUE(ended.value()[0]);
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::size_t{0}),
            2200u);
  for (const std::size_t own : tokens) {
    EXPECT_LE(own, 550 + 2 * kShare);
    EXPECT_GE(own, 550 - 2 * kShare);
  }
}

// The state after other tokens, which were taken back, is as if they had not
// been there.
TEST(ContextCacheTest, TokensThatAreTakenBack) {
  const Script script = {.steps = {{500}, {40}}, .options = {.mask = causal()}};
  const Outputs<float> want = by_one_process<float>(script);
  const Script detour = {.steps = {{500}, {300}}, .options = script.options};
  const auto ended = run_ranks(3, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(auto cache, ContextCache::create({.rank = script.cache(),
                                                      .share_tokens = kShare},
                                                     3, group.rank()));
    const std::vector<SequenceId> ids = {cache.add().value()};
    const auto take = [&](const Script& from, std::size_t n,
                          Tensor<float, 4>& output) {
      const Step<float> step(from, n);
      output = step.output(from);
      return cache.step(group, ids, step.query.view(), step.key.view(),
                        step.value.view(), output.view(), from.options, {},
                        step.offsets);
    };
    Tensor<float, 4> output;
    HEADWISE_TRY(take(script, 0, output));
    HEADWISE_TRY(take(detour, 1, output));
    HEADWISE_TRY(cache.truncate(ids[0], 500));
    HEADWISE_TRY(take(script, 1, output));
    EXPECT_TRUE(same_bits(output, want[1]));
    HEADWISE_TRY(cache.erase(ids[0]));
    EXPECT_EQ(cache.own_tokens(), 0u);
    EXPECT_FALSE(cache.length(ids[0]));
    EXPECT_TRUE(cache.add());
    return ok();
  });
  for (const Status& status : ended.value()) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

TEST(ContextCacheTest, OneShareOfAnySize) {
  expect_same({.steps = {{300}, {1}},
               .options = {.mask = causal()},
               .share_tokens = ~std::size_t{127}},
              {2});
}

// ---- Errors ----

std::vector<std::string> messages_of(
    const FunctionRef<Status(Communicator&, ContextCache&, SequenceId,
                             const Step<float>&, Tensor<float, 4>&)>& work) {
  Script script = {.steps = {{20}}};
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    KvCacheOptions options = script.cache();
    options.max_tokens = 128;
    HEADWISE_ASSIGN(auto cache, ContextCache::create(
                                    {.rank = options, .share_tokens = kShare},
                                    2, group.rank()));
    const SequenceId id = cache.add().value();
    const Step<float> step(script, 0);
    auto output = step.output(script);
    const Status s = work(group, cache, id, step, output);
    messages[group.rank()] = s ? "no error" : s.error().message();
    return s;
  });
  EXPECT_TRUE(ended);
  return messages;
}

std::vector<std::string> messages_of_options(
    const FunctionRef<AttentionOptions(std::size_t rank)>& options) {
  return messages_of([&](Communicator& group, ContextCache& cache,
                         SequenceId id, const Step<float>& step,
                         Tensor<float, 4>& output) {
    return cache.step(group, {{id}}, step.query.view(), step.key.view(),
                      step.value.view(), output.view(), options(group.rank()));
  });
}

TEST(ContextCacheErrorsTest, WhatNeedsAllKeysIsRefusedByName) {
  const std::vector<std::pair<AttentionOptions, std::string>> refused = {
      {{.attn_weights = AttnWeights::per_head}, "attn_weights"},
      {{.empty_rows = EmptyRow::uniform}, "empty_rows"},
      {{.query_start = 3}, "query_start"}};
  for (const auto& [options, name] : refused) {
    for (const std::string& message : messages_of_options(
             [&given = options](std::size_t) { return given; })) {
      EXPECT_THAT(message, HasSubstr(name));
    }
  }
}

TEST(ContextCacheErrorsTest, RanksWithOtherCallsAreToldApart) {
  for (const std::string& message : messages_of_options([](std::size_t rank) {
         return AttentionOptions{.scale = rank == 0 ? 0.5 : 0.25};
       })) {
    EXPECT_THAT(message, HasSubstr("on rank 1, expected"));
  }
}

TEST(ContextCacheErrorsTest, RanksWithOtherNumbersInAMaskAreToldApart) {
  for (const std::string& message : messages_of_options([](std::size_t rank) {
         return AttentionOptions{.mask = window(rank == 0 ? 10 : 5, 0)};
       })) {
    EXPECT_THAT(message, HasSubstr("on rank 1, expected"));
  }
}

TEST(ContextCacheErrorsTest, AnOutputInTheMemoryOfAnInputIsRefused) {
  const auto work = [&](Communicator& group, ContextCache& cache, SequenceId id,
                        const Step<float>& step, Tensor<float, 4>&) {
    auto both = uniform<4>({1, 20, 4, 6}, 9400);
    const TensorView<float, 4> output(both.data(), {1, 20, 4, 5});
    return cache.step(group, {{id}}, std::as_const(both).view(),
                      step.key.view(), step.value.view(), output);
  };
  for (const std::string& message : messages_of(work)) {
    EXPECT_THAT(message, HasSubstr("output"));
    EXPECT_THAT(message, HasSubstr("query"));
  }
}

TEST(ContextCacheErrorsTest, ARankWithoutRoomEndsTheStepOfAll) {
  const Script script = {.steps = {{300}}};
  const Step<float> large(script, 0);
  const auto work = [&](Communicator& group, ContextCache& cache, SequenceId id,
                        const Step<float>&, Tensor<float, 4>&) {
    auto output = large.output(script);
    return cache.step(group, {{id}}, large.query.view(), large.key.view(),
                      large.value.view(), output.view());
  };
  for (const std::string& message : messages_of(work)) {
    EXPECT_THAT(message, HasSubstr("key needs 3 pages, expected at most the 2 "
                                   "free pages of the cache; on rank 0"));
  }
}

TEST(ContextCacheErrorsTest, CachesThatCannotBeDivided) {
  const Script script = {.steps = {{1}}};
  const auto message = [](const KvCacheOptions& rank, std::size_t share,
                          std::size_t ranks, std::size_t own) {
    return ContextCache::create({.rank = rank, .share_tokens = share}, ranks,
                                own)
        .error()
        .message();
  };
  KvCacheOptions options = script.cache();
  EXPECT_THAT(message(options, 100, 2, 0), HasSubstr("share_tokens is 100"));
  EXPECT_THAT(message(options, 128, 2, 2), HasSubstr("rank is 2"));
  EXPECT_THAT(message(options, 128, 0, 0), HasSubstr("ranks is 0"));
  options.max_sequences = ~std::size_t{0};
  EXPECT_THAT(message(options, 128, 2, 0), HasSubstr("memory"));
  options = script.cache();
  options.window = RollingWindow{.left = 3};
  EXPECT_THAT(message(options, 128, 2, 0), HasSubstr("rank.window is given"));
  options = script.cache();
  options.page_size = 0;
  EXPECT_THAT(message(options, 128, 2, 0), HasSubstr("rank.page_size is 0"));
}

}  // namespace
}  // namespace headwise::testing_support
