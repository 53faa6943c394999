// Calls that are errors: what they say, and that nothing was changed.

#include <limits>
#include <vector>

#include "decode/plain_cache.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using enum ErrorCode;

const KvCacheOptions kCache = {.num_kv_heads = 2,
                               .head_dim = 4,
                               .v_head_dim = 3,
                               .page_size = 16,
                               .max_tokens = 64,
                               .max_sequences = 2};

TEST(KvCacheErrorsTest, OptionsThatMakeNoSense) {
  const auto create = [](auto change) {
    KvCacheOptions options = kCache;
    change(options);
    return KvCache::create(options);
  };
  using O = KvCacheOptions;
  EXPECT_THAT(create([](O& o) { o.num_kv_heads = 0; }),
              IsError(invalid_argument, "num_kv_heads"));
  EXPECT_THAT(create([](O& o) { o.head_dim = 0; }),
              IsError(invalid_argument, "head_dim"));
  EXPECT_THAT(create([](O& o) { o.max_tokens = 0; }),
              IsError(invalid_argument, "max_tokens"));
  EXPECT_THAT(create([](O& o) { o.max_sequences = 0; }),
              IsError(invalid_argument, "max_sequences"));
  EXPECT_THAT(create([](O& o) { o.page_size = 48; }),
              IsAbout("page_size", "48", "a multiple of 64"));
  EXPECT_THAT(create([](O& o) { o.dtype = DType::float64; }),
              IsAbout("dtype", "float64", "bfloat16"));
  EXPECT_THAT(create([](O& o) {
                o.value_is_key_prefix = true;
                o.v_head_dim = 5;
              }),
              IsAbout("v_head_dim", "5", "head_dim = 4"));
  EXPECT_THAT(create([](O& o) { o.window = RollingWindow{.left = -1}; }),
              IsError(out_of_range, "window.left"));
  EXPECT_THAT(create([](O& o) { o.window = RollingWindow{.keep_first = -1}; }),
              IsError(out_of_range, "window.keep_first"));
}

// A cache with a sequence of 20 tokens and one of none.
class DecodeErrorsTest : public testing::Test {
 protected:
  DecodeErrorsTest()
      : cache_(KvCache::create(kCache).value()),
        a_(cache_.add().value()),
        b_(cache_.add().value()),
        plan_(DecodePlan::create(cache_, 4, 24, {.mask = causal()}).value()),
        workspace_(Workspace::create(plan_.workspace_bytes()).value()) {
    const SequenceId ids[] = {a_};
    const auto key = uniform<4>({1, 20, 2, 4}, 1);
    const auto value = uniform<4>({1, 20, 2, 3}, 2);
    cache_.append(ids, key.view(), value.view()).value();
  }

  Status append(std::vector<SequenceId> ids, const Extents<4>& key,
                const Extents<4>& value,
                std::vector<std::int64_t> offsets = {}) {
    const auto k = filled<float, 4>(key, 1);
    const auto v = filled<float, 4>(value, 1);
    const Status s = cache_.append(
        ids, k.view(), v.view(),
        offsets.empty() ? TensorView<const std::int64_t, 1>()
                        : TensorView<const std::int64_t, 1>(offsets));
    expect_unchanged();
    return s;
  }

  // A run for both sequences, a token each, changed in one way.
  struct Call {
    std::vector<SequenceId> ids;
    Tensor<float, 4> query = filled<float, 4>({2, 1, 4, 4}, 1);
    Tensor<float, 4> key = filled<float, 4>({2, 1, 2, 4}, 1);
    Tensor<float, 4> value = filled<float, 4>({2, 1, 2, 3}, 1);
    Tensor<float, 4> output = filled<float, 4>({2, 1, 4, 3}, 42);
    std::vector<std::int64_t> offsets{};
  };
  template <class Change>
  Status run(const Change& change) {
    Call call{{a_, b_}};
    change(call);
    const Status s = plan_.run(
        call.ids, call.query.view(), call.key.view(), call.value.view(),
        {.output = call.output.view()}, workspace_,
        call.offsets.empty() ? TensorView<const std::int64_t, 1>()
                             : TensorView<const std::int64_t, 1>(call.offsets));
    EXPECT_THAT(call.output.elements(), Each(42.0f));
    expect_unchanged();
    return s;
  }

  void expect_unchanged() {
    EXPECT_EQ(cache_.length(a_).value(), 20u);
    EXPECT_EQ(cache_.length(b_).value(), 0u);
    EXPECT_EQ(cache_.free_pages(), 2u);
  }

  KvCache cache_;
  SequenceId a_;
  SequenceId b_;
  DecodePlan plan_;
  Workspace workspace_;
};

TEST_F(DecodeErrorsTest, ValuesHaveTheTypeOfTheirKeys) {
  const auto key = filled<float, 4>({1, 1, 2, 4}, 1);
  const auto value = Tensor<BFloat16, 4>::create({1, 1, 2, 3}).value();
  EXPECT_EQ(cache_.append({&a_, 1}, key, value).error().message(),
            "kv_cache: value is of type bfloat16, expected float32");
  expect_unchanged();
}

TEST_F(DecodeErrorsTest, SequencesThatDoNotExist) {
  const SequenceId none{7, 0};
  const SequenceId later{a_.slot, a_.generation + 1};
  for (const SequenceId id : {none, later}) {
    EXPECT_THAT(cache_.fork(id), IsError(out_of_range, "id"));
    EXPECT_THAT(cache_.erase(id), IsError(out_of_range, "id"));
    EXPECT_THAT(cache_.truncate(id, 0), IsError(out_of_range, "id"));
    EXPECT_THAT(cache_.length(id), IsError(out_of_range, "id"));
    EXPECT_THAT(cache_.read(id, 0, {}, {}), IsError(out_of_range, "id"));
    EXPECT_THAT(append({a_, id}, {2, 1, 2, 4}, {2, 1, 2, 3}),
                IsError(out_of_range, "ids[1]"));
    EXPECT_THAT(run([&](Call& call) { call.ids[1] = id; }),
                IsError(out_of_range, "ids[1]"));
  }
  EXPECT_THAT(cache_.add(), IsError(out_of_range, "max_sequences"));
  EXPECT_THAT(cache_.fork(a_), IsError(out_of_range, "max_sequences"));
  expect_unchanged();
}

TEST_F(DecodeErrorsTest, ASequenceGivenTwice) {
  EXPECT_THAT(append({b_, a_, b_}, {3, 1, 2, 4}, {3, 1, 2, 3}),
              IsAbout("ids[2]", "ids[0]", "once"));
  EXPECT_THAT(run([&](Call& call) { call.ids[0] = b_; }),
              IsAbout("ids[1]", "ids[0]", "once"));
}

TEST_F(DecodeErrorsTest, MoreTokensThanThereIsRoomFor) {
  // 12 tokens of the last page and two free pages.
  EXPECT_THAT(append({a_}, {1, 45, 2, 4}, {1, 45, 2, 3}),
              HasError({.code = out_of_range,
                        .operation = "kv_cache",
                        .argument = "key",
                        .given = {"3"},
                        .expected = {"2"}}));
  EXPECT_THAT(append({a_, b_}, {2, 17, 2, 4}, {2, 17, 2, 3}),
              IsError(out_of_range, "key"));
  EXPECT_THAT(run([](Call& call) {
                call.query = filled<float, 4>({2, 13, 4, 4}, 1);
                call.key = filled<float, 4>({2, 13, 2, 4}, 1);
                call.value = filled<float, 4>({2, 13, 2, 3}, 1);
                call.output = filled<float, 4>({2, 13, 4, 3}, 42);
              }),
              HasError({.code = out_of_range,
                        .operation = "decode",
                        .argument = "key",
                        .given = {"26"},
                        .expected = {"24"}}));
}

TEST_F(DecodeErrorsTest, TensorsThatDoNotFit) {
  EXPECT_THAT(append({a_}, {1, 1, 2, 5}, {1, 1, 2, 3}),
              IsError(shape_mismatch, "key"));
  EXPECT_THAT(append({a_}, {2, 1, 2, 4}, {1, 1, 2, 3}),
              IsError(shape_mismatch, "key"));
  EXPECT_THAT(append({a_}, {1, 1, 2, 4}, {1, 2, 2, 3}),
              IsError(shape_mismatch, "value"));
  const auto shape = [](Tensor<float, 4> Call::*tensor,
                        const Extents<4>& extents) {
    return [=](Call& call) { call.*tensor = filled<float, 4>(extents, 42); };
  };
  EXPECT_THAT(run(shape(&Call::query, {2, 1, 3, 4})),
              IsError(shape_mismatch, "query"));
  EXPECT_THAT(run(shape(&Call::query, {1, 2, 4, 4})),
              IsError(shape_mismatch, "query"));
  EXPECT_THAT(run(shape(&Call::output, {2, 1, 4, 4})),
              IsError(shape_mismatch, "output"));
  EXPECT_THAT(run(shape(&Call::value, {2, 1, 2, 4})),
              IsError(shape_mismatch, "value"));
}

TEST_F(DecodeErrorsTest, OffsetsThatDoNotFit) {
  EXPECT_THAT(append({a_, b_}, {1, 3, 2, 4}, {1, 3, 2, 3}, {0, 3}),
              IsError(shape_mismatch, "offsets"));
  EXPECT_THAT(append({a_, b_}, {1, 3, 2, 4}, {1, 3, 2, 3}, {0, 4, 3}),
              IsError(out_of_range, "offsets[2]"));
  EXPECT_THAT(append({a_, b_}, {1, 3, 2, 4}, {1, 3, 2, 3}, {0, 1, 2}),
              IsError(out_of_range, "offsets[2]"));
  EXPECT_THAT(append({a_, b_}, {1, 3, 2, 4}, {1, 3, 2, 3}, {1, 1, 3}),
              IsError(out_of_range, "offsets[0]"));
}

TEST_F(DecodeErrorsTest, LengthsThatThereAreNot) {
  EXPECT_THAT(cache_.truncate(a_, 21), IsAbout("length", "21", "20"));
  auto k = filled<float, 3>({3, 2, 4}, 42);
  EXPECT_THAT(cache_.read(a_, 18, k.view(), {}),
              IsError(out_of_range, "first"));
  auto one_head = filled<float, 3>({3, 1, 4}, 42);
  EXPECT_THAT(cache_.read(a_, 17, one_head.view(), {}),
              IsError(shape_mismatch, "key"));
  EXPECT_THAT(k.elements(), Each(42.0f));
  expect_unchanged();
}

TEST_F(DecodeErrorsTest, AnOutputInTheMemoryOfAnInput) {
  auto both = filled<float, 4>({2, 1, 4, 4}, 1);
  const TensorView<float, 4> output(both.data(), {2, 1, 4, 3});
  const std::vector<SequenceId> ids = {a_, b_};
  const auto other = filled<float, 4>({2, 1, 4, 4}, 1);
  const auto value = filled<float, 4>({2, 1, 2, 3}, 1);
  EXPECT_THAT(plan_.run(ids, both.view(),
                        TensorView<const float, 4>(other.data(), {2, 1, 2, 4}),
                        value.view(), {.output = output}, workspace_),
              IsError(invalid_argument, "output"));
  EXPECT_THAT(plan_.run(ids, other.view(),
                        TensorView<const float, 4>(both.data(), {2, 1, 2, 4}),
                        value.view(), {.output = output}, workspace_),
              IsError(invalid_argument, "output"));
  EXPECT_THAT(both.elements(), Each(1.0f));
  expect_unchanged();
}

TEST_F(DecodeErrorsTest, AWorkspaceThatIsTooSmall) {
  workspace_ = Workspace::create(plan_.workspace_bytes() - 1).value();
  EXPECT_THAT(run([](Call&) {}), IsError(invalid_argument, "workspace"));
}

TEST_F(DecodeErrorsTest, OptionsThatACacheDecides) {
  const auto create = [&](const AttentionOptions& options,
                          const OperationOptions& operation = {},
                          std::size_t heads = 4, std::size_t queries = 1) {
    return DecodePlan::create(cache_, heads, queries, options, operation);
  };
  const auto offsets = tensor_of<std::int64_t, 1>({2}, {0, 1});
  EXPECT_THAT(create({.query_start = 3}),
              IsError(invalid_argument, "query_start"));
  EXPECT_THAT(create({.query_start = QueryStart::bottom_right()}),
              IsError(invalid_argument, "query_start"));
  EXPECT_THAT(create({.offsets = offsets.view()}),
              IsError(invalid_argument, "offsets"));
  EXPECT_THAT(create({.empty_rows = EmptyRow::uniform}),
              IsError(unsupported, "empty_rows"));
  EXPECT_THAT(create({}, {.statistics = {.top_keys = 65}}),
              IsError(invalid_argument, "statistics.top_keys"));
  EXPECT_THAT(create({}, {.key_part = KeyPart::first}),
              IsError(unsupported, "key_part"));
  EXPECT_THAT(create({}, {}, 3), IsError(invalid_argument, "query"));
  EXPECT_THAT(create({}, {}, 4, 0), IsError(invalid_argument, "max_queries"));
  EXPECT_THAT(create({.softcap = -1.0}), IsError(invalid_argument, "softcap"));
}

TEST_F(DecodeErrorsTest, TokensThatCannotBeKept) {
  const auto keep = [&](SequenceId id, std::vector<std::int64_t> indices) {
    const Status s = cache_.keep(id, indices);
    expect_unchanged();
    return s;
  };
  EXPECT_THAT(keep({7, 0}, {}), IsError(out_of_range, "id"));
  EXPECT_THAT(keep(a_, {0, 3, 20}), IsAbout("indices[2]", "20", "length, 20"));
  EXPECT_THAT(keep(a_, {-1, 3}), IsError(out_of_range, "indices[0]"));
  EXPECT_THAT(keep(a_, {0, 3, 3}), IsAbout("indices[2]", "3", "more than 3"));
  EXPECT_THAT(keep(a_, {4, 2}), IsError(invalid_argument, "indices[1]"));
  EXPECT_THAT(keep(b_, {0}), IsAbout("indices[0]", "0", "length, 0"));
  EXPECT_THAT(cache_.read_received(a_, 0, {}),
              IsError(unsupported, "received_heads"));
}

// Two sequences that share every page of the cache.
TEST(KvCacheErrorsTest, KeepNeedsAPageForEachThatItShares) {
  auto cache = KvCache::create(kCache).value();
  const SequenceId id = cache.add().value();
  const SequenceId ids[] = {id};
  const auto key = uniform<4>({1, 64, 2, 4}, 3);
  const auto value = uniform<4>({1, 64, 2, 3}, 4);
  ASSERT_TRUE(cache.append(ids, key.view(), value.view()));
  const SequenceId fork = cache.fork(id).value();
  const std::vector<std::int64_t> indices = {0, 2, 40};
  EXPECT_THAT(cache.keep(fork, indices), HasError({.code = out_of_range,
                                                   .operation = "kv_cache",
                                                   .argument = "indices",
                                                   .given = {"1"},
                                                   .expected = {"0"}}));
  EXPECT_EQ(cache.length(fork).value(), 64u);
  ASSERT_TRUE(cache.erase(id));
  EXPECT_TRUE(cache.keep(fork, indices));
  EXPECT_EQ(cache.length(fork).value(), 3u);
  EXPECT_EQ(cache.free_pages(), 3u);
}

TEST(KvCacheErrorsTest, WhatSumsOfReceivedAttentionRefuse) {
  KvCacheOptions options = kCache;
  options.received_heads = 4;
  auto cache = KvCache::create(options).value();
  const SequenceId ids[] = {cache.add().value()};
  const auto key = filled<float, 4>({1, 10, 2, 4}, 1);
  const auto value = filled<float, 4>({1, 10, 2, 3}, 1);
  ASSERT_TRUE(cache.append(ids, key.view(), value.view()));
  EXPECT_THAT(cache.truncate(ids[0], 9),
              HasError({.code = unsupported,
                        .operation = "kv_cache",
                        .argument = "received_heads",
                        .given = {"4"},
                        .expected = {"0", "truncate()"}}));
  EXPECT_EQ(cache.length(ids[0]).value(), 10u);
  EXPECT_THAT(DecodePlan::create(cache, 6, 1, {}),
              IsAbout("num_heads", "6", "received_heads = 4"));
  const auto score_weight = uniform<2>({4, 4}, 5);
  EXPECT_THAT(
      DecodePlan::create(cache, 4, 1, {}, {.score_weight = score_weight}),
      IsError(unsupported, "score_weight"));
  auto sums = filled<float, 2>({4, 11}, 42);
  EXPECT_THAT(cache.read_received({7, 0}, 0, sums.view()),
              IsError(out_of_range, "id"));
  EXPECT_THAT(cache.read_received(ids[0], 0, sums.view()),
              IsAbout("first", "0 for 11", "length, 10"));
  auto three = filled<float, 2>({3, 10}, 42);
  EXPECT_THAT(cache.read_received(ids[0], 0, three.view()),
              IsError(shape_mismatch, "sums"));
  EXPECT_THAT(sums.elements(), Each(42.0f));
  options.received_heads = std::numeric_limits<std::size_t>::max() / 8;
  EXPECT_THAT(KvCache::create(options), IsError(out_of_memory, ""));
  options.received_heads = 4;
  options.window = RollingWindow{.left = 20};
  auto rolling = KvCache::create(options).value();
  EXPECT_THAT(rolling.keep(rolling.add().value(), {}),
              IsError(unsupported, "window"));
}

TEST(KvCacheErrorsTest, ARollingWindowDoesNotGoBackToWhatIsGone) {
  KvCacheOptions options = kCache;
  options.window = RollingWindow{.left = 20, .keep_first = 3};
  auto cache = KvCache::create(options).value();
  const SequenceId id = cache.add().value();
  const SequenceId ids[] = {id};
  const auto key = filled<float, 4>({1, 10, 2, 4}, 1);
  const auto value = filled<float, 4>({1, 10, 2, 3}, 1);
  for (int n = 0; n < 10; ++n) {
    ASSERT_TRUE(cache.append(ids, key.view(), value.view()));
  }
  // Pages 1 to 3 were given back before the last ten tokens came.
  EXPECT_THAT(cache.truncate(id, 83), IsAbout("length", "83", "84"));
  EXPECT_THAT(cache.truncate(id, 17), IsError(out_of_range, "length"));
  auto k = filled<float, 3>({1, 2, 4}, 42);
  EXPECT_THAT(cache.read(id, 63, k.view(), {}), IsError(out_of_range, "first"));
  EXPECT_TRUE(cache.read(id, 64, k.view(), {}));
  EXPECT_TRUE(cache.read(id, 14, k.view(), {}));
  EXPECT_TRUE(cache.truncate(id, 84));
  EXPECT_TRUE(cache.truncate(id, 16));
  EXPECT_EQ(cache.free_pages(), 3u);
}

TEST(KvCacheErrorsTest, ValuesThatTheKeysHold) {
  KvCacheOptions options = kCache;
  options.value_is_key_prefix = true;
  auto cache = KvCache::create(options).value();
  const SequenceId ids[] = {cache.add().value()};
  const auto key = filled<float, 4>({1, 1, 2, 4}, 1);
  const auto value = filled<float, 4>({1, 1, 2, 3}, 1);
  EXPECT_THAT(cache.append(ids, key.view(), value.view()),
              IsError(invalid_argument, "value"));
  EXPECT_TRUE(cache.append(ids, key.view(), {}));
}

}  // namespace
}  // namespace headwise::testing_support
