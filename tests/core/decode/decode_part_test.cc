// Attention over some heads of a cache, in the memory that it asks for.
#include "decode/decode_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "headwise/run/executor.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kTokens = 1024;
constexpr std::size_t kSize = 4;

KvCache cache_with(std::size_t heads, SequenceId& id) {
  KvCache cache = KvCache::create({.num_kv_heads = heads,
                                   .head_dim = kSize,
                                   .page_size = 64,
                                   .max_tokens = kTokens,
                                   .max_sequences = 1})
                      .value();
  id = cache.add().value();
  const auto key = uniform<4>({1, kTokens, heads, kSize}, 9500);
  const auto value = uniform<4>({1, kTokens, heads, kSize}, 9501);
  EXPECT_TRUE(cache.append({&id, 1}, key.view(), value.view()));
  return cache;
}

// The cache has enough heads for the threads, the part has not: its tasks are
// blocks of keys.
TEST(DecodePartTest, FewHeadsOfManyKeepToTheirMemory) {
  SequenceId id{};
  KvCache cache = cache_with(16, id);
  const Executor executor = Executor::with_threads(2).value();
  for (const std::size_t queries : {1u, 8u, 16u}) {
    const AttentionSpec spec = AttentionSpec::create({.B = 1,
                                                      .Hq = 12,
                                                      .Hkv = 2,
                                                      .Lq = queries,
                                                      .Lkv = kTokens,
                                                      .D = kSize,
                                                      .Dv = kSize},
                                                     {.executor = &executor})
                                   .value();
    const auto query = uniform<4>({1, queries, 12, kSize}, 9502);
    auto output = Tensor<float, 4>::create({1, queries, 12, kSize}).value();
    DecodePart part(cache, id, 6);
    const std::size_t bytes = part.workspace_bytes(spec);
    constexpr std::size_t kBeyond = 1 << 20;
    Workspace workspace = Workspace::create(bytes + kBeyond).value();
    const std::span<std::byte> beyond(workspace.data() + bytes, kBeyond);
    std::ranges::fill(beyond, std::byte{0xa5});
    part.attend(spec,
                CallTensors(AttentionInputsOf<float>{query, {}, {}},
                            AttentionOutputs{.output = output}),
                workspace);
    EXPECT_EQ(std::ranges::count(beyond, std::byte{0xa5}), kBeyond)
        << queries << " queries";
  }
}

}  // namespace
}  // namespace headwise::testing_support
