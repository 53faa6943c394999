// What a cache holds, and what its numbers are when they are read back.
#include "headwise/decode/kv_cache.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "decode/plain_cache.h"
#include "support/failures.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using testing::AllOf;

KvCacheOptions small_cache(std::size_t page_size = 16) {
  return {.num_kv_heads = 2,
          .head_dim = 4,
          .v_head_dim = 3,
          .page_size = page_size,
          .max_tokens = 64,
          .max_sequences = 3};
}

Status append(KvCache& cache, SequenceId id, std::size_t count,
              std::uint32_t stream = 10) {
  const KvCacheOptions& o = cache.options();
  const auto key = uniform<4>({1, count, o.num_kv_heads, o.head_dim}, stream);
  const auto value =
      uniform<4>({1, count, o.num_kv_heads, o.v_head_dim}, stream + 1);
  const SequenceId ids[] = {id};
  return cache.append(ids, key.view(), value.view());
}

TEST(KvCacheTest, OptionsAreFilledIn) {
  const auto cache =
      KvCache::create({.num_kv_heads = 1, .head_dim = 8, .max_tokens = 129})
          .value();
  EXPECT_EQ(cache.options().v_head_dim, 8u);
  EXPECT_EQ(cache.pages(), 2u);
  EXPECT_EQ(cache.free_pages(), 2u);
  EXPECT_EQ(cache.bytes(), 2u * 128 * (8 + 8) * 4);
}

TEST(KvCacheTest, PagesAreTakenAndGivenBack) {
  auto cache = KvCache::create(small_cache()).value();
  const SequenceId a = cache.add().value();
  EXPECT_EQ(cache.free_pages(), 4u);
  ASSERT_TRUE(append(cache, a, 17));
  EXPECT_EQ(cache.free_pages(), 2u);
  const SequenceId b = cache.fork(a).value();
  EXPECT_EQ(cache.free_pages(), 2u) << "a fork shares its pages";
  ASSERT_TRUE(append(cache, b, 1));
  EXPECT_EQ(cache.free_pages(), 1u) << "it wrote to a shared page";
  ASSERT_TRUE(append(cache, a, 1));
  EXPECT_EQ(cache.free_pages(), 1u) << "the other one has the page alone";
  ASSERT_TRUE(cache.truncate(a, 16));
  EXPECT_EQ(cache.free_pages(), 2u);
  ASSERT_TRUE(cache.erase(a));
  EXPECT_EQ(cache.free_pages(), 2u) << "the first page is b's, too";
  ASSERT_TRUE(cache.erase(b));
  EXPECT_EQ(cache.free_pages(), 4u);
  EXPECT_EQ(cache.sequences(), 0u);
}

// Both forks write to the page they share, which has room for one copy only.
TEST(KvCacheTest, TheLastHolderOfAPageWritesToItself) {
  auto cache = KvCache::create(small_cache()).value();
  const SequenceId a = cache.add().value();
  ASSERT_TRUE(append(cache, a, 40));  // three pages of four
  const std::vector<SequenceId> ids = {a, cache.fork(a).value()};
  const auto key = uniform<4>({2, 1, 2, 4}, 20);
  const auto value = uniform<4>({2, 1, 2, 3}, 21);
  ASSERT_TRUE(cache.append(ids, key.view(), value.view()));
  EXPECT_EQ(cache.free_pages(), 0u);
  for (std::size_t n = 0; n < 2; ++n) {
    auto k = filled<float, 3>({1, 2, 4}, 42);
    ASSERT_TRUE(cache.read(ids[n], 40, k.view(), {}));
    EXPECT_TRUE(same_bits(k.elements(), {&key(n, 0, 0, 0), 8}));
  }
}

TEST(KvCacheTest, AnErasedSequenceDoesNotComeBack) {
  auto cache = KvCache::create(small_cache()).value();
  const SequenceId a = cache.add().value();
  ASSERT_TRUE(cache.erase(a));
  const SequenceId b = cache.add().value();
  EXPECT_EQ(b.slot, a.slot);
  EXPECT_NE(b, a);
  EXPECT_FALSE(cache.length(a));
  EXPECT_EQ(cache.length(b).value(), 0u);
}

TEST(KvCacheTest, AMovedCacheHoldsTheSame) {
  auto cache = KvCache::create(small_cache()).value();
  const SequenceId a = cache.add().value();
  ASSERT_TRUE(append(cache, a, 5));
  const KvCache moved = std::move(cache);
  EXPECT_EQ(moved.length(a).value(), 5u);
}

TEST(KvCacheTest, AContiguousCacheGivesEachSequenceItsShare) {
  auto cache = KvCache::create(small_cache(0)).value();
  EXPECT_EQ(cache.pages(), 3u) << "64 / 3 tokens, rounded up to a page of 128";
  const SequenceId a = cache.add().value();
  ASSERT_TRUE(append(cache, a, 100));
  EXPECT_EQ(cache.free_pages(), 2u);
  const SequenceId b = cache.fork(a).value();
  EXPECT_EQ(cache.free_pages(), 1u) << "a fork is a copy";
  EXPECT_EQ(cache.length(b).value(), 100u);
  EXPECT_FALSE(append(cache, a, 29));
  EXPECT_TRUE(append(cache, a, 28));
}

TEST(KvCacheTest, EveryAllocationMayFail) {
  KvCacheOptions options = small_cache();
  EXPECT_GT(failures_of([&] { return KvCache::create(options); }), 3);
  options.max_tokens = std::numeric_limits<std::size_t>::max();
  const auto huge = KvCache::create(options);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code(), ErrorCode::out_of_memory);
}

// The largest numbers that are not stored as an infinity.
const std::pair<DType, float> kLargestOfType[] = {
    {DType::float32, 0x1.fffffep127f},
    {DType::bfloat16, 0x1.fefffep127f},
    {DType::float16, 0x1.ffdffep15f},
    {DType::int8, 0x1.fffffcp127f}};

TEST(StoredNumbersTest, ThatWouldBecomeInfiniteAreErrors) {
  for (const auto& [dtype, largest] : kLargestOfType) {
    KvCacheOptions options = small_cache();
    options.dtype = dtype;
    auto cache = KvCache::create(options).value();
    const SequenceId ids[] = {cache.add().value()};
    auto key = uniform<4>({1, 2, 2, 4}, 1);
    auto value = uniform<4>({1, 2, 2, 3}, 2);
    key(0, 1, 0, 2) = largest;
    EXPECT_TRUE(cache.append(ids, key.view(), value.view()));
    const float more =
        std::nextafter(-largest, -std::numeric_limits<float>::infinity());
    if (std::isinf(more)) {
      continue;  // float32 has all of them
    }
    value(0, 0, 1, 2) = more;
    const Status refused = cache.append(ids, key.view(), value.view());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::out_of_range);
    EXPECT_THAT(refused.error().message(),
                AllOf(HasSubstr("value(0, 0, 1, 2) is -"),
                      HasSubstr(" would store an infinity")));
    EXPECT_EQ(cache.length(ids[0]).value(), 2u) << "nothing has changed";
    // What is infinite already is stored as it is.
    value(0, 0, 1, 2) = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(cache.append(ids, key.view(), value.view()));
  }
}

// Numbers on all sides of the roundings, as each type holds them.
TEST(StoredNumbersTest, AreRoundedOnce) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> rows;
  const auto row = [&](float a, float b, float c, float d) {
    rows.insert(rows.end(), {a, b, c, d});
  };
  row(0, -0.0f, 1, -1);
  row(1e-40f, -1e-40f, 1e-45f, 0);                   // float32 denormals
  row(0x1p-24f, 0x1.8p-24f, 0x1p-25f, -0x1.8p-25f);  // float16 denormals
  row(65504, 65519.99f, 65504, -65519.99f);
  row(0x1.01p0f, 0x1.03p0f, 0x1.010002p0f, 0x1.00fffep0f);  // bfloat16 ties
  row(0x1.002p0f, 0x1.006p0f, 0x1.002002p0f, 6.5e4f);       // float16 ties
  row(127, 0.5f, 1.5f, 2.5f);                               // int8 ties
  row(127, -0.5f, -1.5f, 126.5f);
  row(1e-37f, -1e-38f, 5e-38f, 0);
  row(1.5e-36f, 1e-36f, -1e-36f, 3e-37f);
  for (const float special : {kInf, -kInf, -kInf * 0}) {
    row(1, special, 2, 3);
  }
  const std::size_t count = rows.size() / 4 + 1;
  for (const auto& [dtype, largest] : kLargestOfType) {
    std::vector<float> last = {largest, -largest, largest / 3, 1};
    rows.resize(4 * (count - 1));
    rows.insert(rows.end(), last.begin(), last.end());
    for (const bool prefix : {false, true}) {
      auto cache = KvCache::create({.num_kv_heads = 1,
                                    .head_dim = 4,
                                    .dtype = dtype,
                                    .max_tokens = count,
                                    .value_is_key_prefix = prefix})
                       .value();
      const SequenceId ids[] = {cache.add().value()};
      const TensorView<const float, 4> view(rows.data(), {1, count, 1, 4});
      ASSERT_TRUE(cache.append(ids, view,
                               prefix ? TensorView<const float, 4>() : view));
      auto k = filled<float, 3>({count, 1, 4}, 42);
      auto v = filled<float, 3>({count, 1, 4}, 42);
      ASSERT_TRUE(cache.read(ids[0], 0, k.view(), v.view()));
      std::vector<float> want = rows;
      for (std::size_t n = 0; n < count; ++n) {
        round_as(dtype, want.data() + 4 * n, 4);
      }
      for (std::size_t n = 0; n < want.size(); ++n) {
        for (const float got : {k.data()[n], v.data()[n]}) {
          EXPECT_TRUE(std::isnan(got) ? std::isnan(want[n])
                                      : bits(got) == bits(want[n]))
              << name_of(dtype) << ": " << rows[n] << " is read as " << got
              << ", expected " << want[n];
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
