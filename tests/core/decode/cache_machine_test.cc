// A cache as a state machine: random operations in random order, compared with
// plain vectors after each. HEADWISE_CACHE_OPERATIONS in the environment makes
// more of them (script/fuzz).
#include "decode/cache_machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace headwise::testing_support {
namespace {

std::size_t operations() {
  const char* const text = std::getenv("HEADWISE_CACHE_OPERATIONS");
  return text == nullptr ? 4000 : std::stoull(text);
}

std::vector<std::pair<std::string, KvCacheOptions>> caches() {
  const KvCacheOptions small = {.num_kv_heads = 2,
                                .head_dim = 6,
                                .v_head_dim = 5,
                                .page_size = 16,
                                .max_tokens = 1200,
                                .max_sequences = 5};
  std::vector<std::pair<std::string, KvCacheOptions>> all;
  const auto with = [&](const std::string& name, auto change) {
    KvCacheOptions options = small;
    change(options);
    all.emplace_back(name, options);
  };
  with("pages of 16", [](KvCacheOptions&) {});
  with("pages of 64", [](KvCacheOptions& o) { o.page_size = 64; });
  with("contiguous", [](KvCacheOptions& o) {
    o.page_size = 0;
    o.max_tokens = 5 * 256;
  });
  with("window", [](KvCacheOptions& o) {
    o.window = RollingWindow{.left = 40, .keep_first = 20};
    o.max_tokens = 400;
  });
  with("contiguous window", [](KvCacheOptions& o) {
    o.window = RollingWindow{.left = 100};
    o.page_size = 0;
    o.max_tokens = 5 * 256;
  });
  with("bfloat16", [](KvCacheOptions& o) { o.dtype = DType::bfloat16; });
  with("float16", [](KvCacheOptions& o) {
    o.dtype = DType::float16;
    o.page_size = 32;
  });
  with("int8", [](KvCacheOptions& o) { o.dtype = DType::int8; });
  with("value prefix", [](KvCacheOptions& o) { o.value_is_key_prefix = true; });
  with("value prefix of whole vectors", [](KvCacheOptions& o) {
    o.value_is_key_prefix = true;
    o.head_dim = 11;
    o.v_head_dim = 8;
    o.window = RollingWindow{.left = 100, .keep_first = 4};
  });
  with("received", [](KvCacheOptions& o) { o.received_heads = 4; });
  with("received, contiguous int8", [](KvCacheOptions& o) {
    o.received_heads = 4;
    o.dtype = DType::int8;
    o.page_size = 0;
    o.max_tokens = 5 * 256;
  });
  with("received, window", [](KvCacheOptions& o) {
    o.received_heads = 4;
    o.window = RollingWindow{.left = 40, .keep_first = 20};
    o.max_tokens = 400;
  });
  with("received, value prefix", [](KvCacheOptions& o) {
    o.received_heads = 4;
    o.value_is_key_prefix = true;
    o.page_size = 64;
  });
  return all;
}

TEST(CacheMachineTest, RandomOperationsGiveWhatPlainVectorsGive) {
  const auto all = caches();
  for (std::size_t n = 0; n < all.size(); ++n) {
    SCOPED_TRACE(all[n].first);
    CacheMachine machine(all[n].second, 7 + n);
    for (std::size_t step = 0; step < operations() / all.size(); ++step) {
      ASSERT_EQ(machine.step(), "") << "operation " << step;
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
