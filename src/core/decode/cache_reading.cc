// Reading back what a cache holds.
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "decode/cache_state.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCacheReading = "kv_cache";

// Whether the cache holds the tokens [first, first + count).
Status check_held(const SequencePages& sequences, std::uint32_t slot,
                  std::size_t first, std::size_t count) {
  const std::size_t length = sequences.length(slot);
  if (first > length || count > length - first) {
    return argument_error(kCacheReading, "first",
                          message("is {} for {} tokens", first, count),
                          message("tokens below the length, {}", length),
                          ErrorCode::out_of_range);
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (!sequences.holds(slot, first + n)) {
      return value_error(kCacheReading, "first", std::to_string(first),
                         message("tokens that the cache still holds: the "
                                 "window gave back token {}",
                                 first + n),
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

// Writes the keys and the values of one token, those that are wanted.
class TokenReader {
 public:
  // Errors: out_of_memory.
  static Result<TokenReader> create(const CacheState& state) {
    HEADWISE_ASSIGN(auto rows,
                    Tensor<float, 1>::create_unset(
                        {state.options.head_dim + state.options.v_head_dim}));
    return TokenReader(state, std::move(rows));
  }

  void read(std::uint32_t slot, std::size_t token, std::size_t n,
            TensorView<float, 3> key, TensorView<float, 3> value) {
    const SequencePages& sequences = state_.sequences;
    const KvCacheOptions& options = state_.options;
    for (std::size_t g = 0; g < options.num_kv_heads; ++g) {
      state_.cells.load(sequences.page_of(slot, token), g,
                        token % sequences.page_size(), 1, rows_.data(),
                        rows_.data() + options.head_dim);
      for (std::size_t d = 0; key.data() != nullptr && d < options.head_dim;
           ++d) {
        key(n, g, d) = rows_(d);
      }
      for (std::size_t d = 0; value.data() != nullptr && d < options.v_head_dim;
           ++d) {
        value(n, g, d) = rows_(options.head_dim + d);
      }
    }
  }

 private:
  TokenReader(const CacheState& state, Tensor<float, 1> rows)
      : state_(state), rows_(std::move(rows)) {}

  const CacheState& state_;
  Tensor<float, 1> rows_;
};

}  // namespace

Status KvCache::read(SequenceId id, std::size_t first, TensorView<float, 3> key,
                     TensorView<float, 3> value) const try {
  const SequencePages& sequences = state_->sequences;
  const KvCacheOptions& options = state_->options;
  if (!sequences.exists(id)) {
    return unknown_sequence(kCacheReading, "id");
  }
  const std::size_t count =
      key.data() != nullptr ? key.extent(0) : value.extent(0);
  const std::size_t heads = options.num_kv_heads;
  if (key.data() != nullptr) {
    HEADWISE_TRY(check_shape(kCacheReading, "key", key.extents(), "(L, Hkv, D)",
                             {{count, heads, options.head_dim}}));
  }
  if (value.data() != nullptr) {
    HEADWISE_TRY(check_shape(kCacheReading, "value", value.extents(),
                             "(L, Hkv, Dv)",
                             {{count, heads, options.v_head_dim}}));
  }
  HEADWISE_TRY(check_held(sequences, id.slot, first, count));
  HEADWISE_ASSIGN(auto reader, TokenReader::create(*state_));
  const FloatEnvironment environment;
  for (std::size_t n = 0; n < count; ++n) {
    reader.read(id.slot, first + n, n, key, value);
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status KvCache::read_received(SequenceId id, std::size_t first,
                              TensorView<float, 2> sums) const try {
  const SequencePages& sequences = state_->sequences;
  const ReceivedSums& received = state_->received;
  if (!sequences.exists(id)) {
    return unknown_sequence(kCacheReading, "id");
  }
  if (!received.collected()) {
    return value_error(kCacheReading, "received_heads", "0",
                       "the number of query heads, to sum what tokens receive",
                       ErrorCode::unsupported);
  }
  const std::size_t count = sums.extent(1);
  HEADWISE_TRY(check_shape(kCacheReading, "sums", sums.extents(),
                           "(received_heads, L)", {{received.heads(), count}}));
  HEADWISE_TRY(check_held(sequences, id.slot, first, count));
  for (std::size_t h = 0; h < received.heads(); ++h) {
    for (std::size_t n = 0; n < count; ++n) {
      const float sum = *received.at(sequences, id.slot, first + n, h);
      sums(h, n) = std::isnan(sum) ? kNaN : sum;
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
