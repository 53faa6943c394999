// Caches with a plan, and texts to give them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decode/plain_cache.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/run/executor.h"
#include "headwise/run/workspace.h"
#include "support/tensors.h"

namespace headwise::testing_support {

inline constexpr std::size_t kHeads = 4;
inline constexpr std::size_t kKeyHeads = 2;
inline constexpr std::size_t kD = 20;
inline constexpr std::size_t kDv = 16;

inline KvCacheOptions cache_of(std::size_t page_size,
                               DType dtype = DType::float32,
                               bool value_is_key_prefix = false) {
  return {.num_kv_heads = kKeyHeads,
          .head_dim = kD,
          .v_head_dim = kDv,
          .dtype = dtype,
          .page_size = page_size,
          .max_tokens = 4 * 1024,
          .max_sequences = 4,
          .value_is_key_prefix = value_is_key_prefix};
}

// The tokens of one sequence.
struct Text {
  explicit Text(std::size_t length, std::uint32_t stream = 1)
      : query(uniform<4>({1, length, kHeads, kD}, stream, -2, 2)),
        key(uniform<4>({1, length, kKeyHeads, kD}, stream + 1, -2, 2)),
        value(uniform<4>({1, length, kKeyHeads, kDv}, stream + 2, -2, 2)) {}

  std::size_t length() const { return key.extent(1); }

  Tensor<float, 4> query;
  Tensor<float, 4> key;
  Tensor<float, 4> value;
};

template <class T>
TensorView<T, 4> rows(TensorView<T, 4> all, std::size_t first,
                      std::size_t count) {
  return {count == 0 ? all.data() : &all(0, first, 0, 0),
          {1, count, all.extent(2), all.extent(3)},
          all.strides()};
}

// Plans, caches and their memory, for one thread unless told otherwise.
struct Decoder {
  Decoder(const KvCacheOptions& cache_options, AttentionOptions options,
          std::size_t threads = 1, const OperationOptions& operation = {})
      : executor(Executor::with_threads(threads).value()),
        cache(KvCache::create(cache_options).value()),
        plan(create_plan(options, operation)),
        workspace(Workspace::create(plan.workspace_bytes()).value()) {}

  DecodePlan create_plan(AttentionOptions options,
                         const OperationOptions& operation) {
    options.executor = &executor;
    return DecodePlan::create(cache, kHeads, 2048, options, operation).value();
  }
  TensorView<const float, 4> values(TensorView<const float, 4> value) const {
    return cache.options().value_is_key_prefix ? TensorView<const float, 4>()
                                               : value;
  }
  // The tokens [first, first + count) of the text, at the end of the sequence.
  void take(SequenceId id, const Text& text, std::size_t first,
            std::size_t count, Tensor<float, 4>& output) {
    const SequenceId ids[] = {id};
    const Status s =
        plan.run(ids, rows(text.query.view(), first, count),
                 rows(text.key.view(), first, count),
                 values(rows(text.value.view(), first, count)),
                 {.output = rows(output.view(), first, count)}, workspace);
    ASSERT_TRUE(s) << s.error().message();
  }
  // All tokens, `chunk` at a time.
  Tensor<float, 4> take_all(SequenceId id, const Text& text,
                            std::size_t chunk) {
    auto output = filled<float, 4>({1, text.length(), kHeads, kDv}, 42);
    for (std::size_t n = 0; n < text.length(); n += chunk) {
      take(id, text, n, std::min(chunk, text.length() - n), output);
    }
    return output;
  }

  Executor executor;
  KvCache cache;
  DecodePlan plan;
  Workspace workspace;
};

inline PlainSequence plain(const Text& text, const KvCacheOptions& options) {
  PlainSequence sequence;
  add_tokens(sequence, options, text.key, text.value, 0, 0, text.length());
  return sequence;
}

// What one call of attention() gives on the numbers that the cache holds.
inline Tensor<float, 4> one_call(const Text& text,
                                 const KvCacheOptions& options,
                                 const AttentionOptions& attention_options,
                                 const OperationOptions& operation = {}) {
  return attend_plainly(plain(text, options), options, text.query,
                        attention_options, operation);
}

inline std::vector<KvCacheOptions> every_cache() {
  std::vector<KvCacheOptions> all;
  for (const std::size_t page : {0u, 16u, 32u, 64u, 128u, 192u}) {
    all.push_back(cache_of(page));
  }
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::int8}) {
    all.push_back(cache_of(0, dtype));
    all.push_back(cache_of(32, dtype));
  }
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::int8}) {
    all.push_back(cache_of(16, dtype, true));
  }
  return all;
}

inline std::string name_of(const KvCacheOptions& o) {
  return std::string(headwise::name_of(o.dtype)) + ", pages of " +
         std::to_string(o.page_size) +
         (o.value_is_key_prefix ? ", value prefix" : "");
}

}  // namespace headwise::testing_support
