#include "decode/cache_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attention/number_rows.h"
#include "attention/tasks.h"
#include "base/check.h"
#include "decode/stored_range.h"
#include "headwise/steps/offsets.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Numbers per thread below which another thread does not pay.
constexpr std::size_t kNumbersOfAThread = 1 << 18;

std::string place_in(std::string_view argument, std::size_t n) {
  return std::string(argument) + "[" + std::to_string(n) + "]";
}

// Keys are float32 or narrower, and values have their type.
Status check_types(const NewTokens& tokens, std::string_view operation) {
  const DType key = tokens.key.dtype();
  const DType number = is_number_type(key) ? key : DType::float32;
  for (const auto& [name, tensor] :
       {std::pair("key", &tokens.key), std::pair("value", &tokens.value)}) {
    if (tensor->given() && tensor->dtype() != number) {
      return argument_error(operation, name,
                            message("is of type {}", name_of(tensor->dtype())),
                            name_of(number));
    }
  }
  return ok();
}

}  // namespace

Error unknown_sequence(std::string_view operation, std::string_view argument) {
  return argument_error(operation, argument, "is not in the cache",
                        "a sequence of this cache that was not erased",
                        ErrorCode::out_of_range);
}

CacheState::CacheState(const KvCacheOptions& wanted, SequencePages pages,
                       Cells stored, ReceivedSums sums)
    : options(wanted),
      sequences(std::move(pages)),
      cells(std::move(stored)),
      received(std::move(sums)),
      named_(wanted.max_sequences) {
  growth_.reserve(wanted.max_sequences);
}

// ---- Checks ----

Status CacheState::check_ids(std::span<const SequenceId> ids,
                             std::string_view operation) {
  ++calls_;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (!sequences.exists(ids[n])) {
      return unknown_sequence(operation, place_in("ids", n));
    }
    Named& named = named_[ids[n].slot];
    if (named.call == calls_) {
      return argument_error(
          operation, place_in("ids", n),
          message("is the sequence of {}", place_in("ids", named.place)),
          "each sequence once");
    }
    named = {calls_, n};
  }
  return ok();
}

Status CacheState::check_shapes(const NewTokens& tokens,
                                std::string_view operation) const {
  HEADWISE_TRY(check_types(tokens, operation));
  const bool ragged = tokens.ragged();
  const std::size_t B = ragged ? 1 : tokens.ids.size();
  const std::size_t L = tokens.key.extent(1);
  HEADWISE_TRY(check_shape(operation, "key", tokens.key.extents(),
                           ragged ? "(1, tokens, Hkv, D)" : "(B, L, Hkv, D)",
                           {{B, L, options.num_kv_heads, options.head_dim}}));
  if (options.value_is_key_prefix) {
    return tokens.value.given()
               ? Status(value_error(operation, "value", "given",
                                    "none: values are the keys' first "
                                    "features"))
               : ok();
  }
  return check_shape(operation, "value", tokens.value.extents(),
                     ragged ? "(1, tokens, Hkv, Dv)" : "(B, L, Hkv, Dv)",
                     {{B, L, options.num_kv_heads, options.v_head_dim}});
}

Status CacheState::check(const NewTokens& tokens, std::string_view operation) {
  HEADWISE_TRY(check_ids(tokens.ids, operation));
  HEADWISE_TRY(check_shapes(tokens, operation));
  if (tokens.ragged()) {
    HEADWISE_TRY(check_shape(operation, "offsets", tokens.offsets.extents(),
                             "(B + 1)", {{tokens.ids.size() + 1}}));
    const std::size_t rows = tokens.key.extent(1);
    HEADWISE_TRY(Offsets(tokens.offsets).check(rows, rows, operation));
  }
  HEADWISE_TRY(check_stored_range(operation, "key", tokens.key, options.dtype));
  HEADWISE_TRY(
      check_stored_range(operation, "value", tokens.value, options.dtype));
  growth_.clear();
  for (std::size_t n = 0; n < tokens.ids.size(); ++n) {
    growth_.push_back({tokens.ids[n].slot, tokens.count(n)});
  }
  const SequencePages::Room room = sequences.room_for(growth_);
  if (!room.enough) {
    return argument_error(
        operation, "key", message("needs {} pages", room.needed),
        message("at most the {} free pages of the cache", room.free),
        ErrorCode::out_of_range);
  }
  return ok();
}

// ---- Appending ----

void CacheState::append(const NewTokens& tokens, const Executor& executor) {
  const auto fresh = [&](PageNumber page) { cells.clear(page); };
  const auto copy = [&](PageNumber from, PageNumber to) {
    cells.copy(from, to);
  };
  sequences.grow(growth_, fresh, copy);
  for (const auto& [slot, count] : growth_) {
    received.clear(sequences, slot, sequences.length(slot) - count);
  }
  const std::size_t heads = options.num_kv_heads;
  const std::size_t numbers = tokens.key.extent(0) * tokens.key.extent(1) *
                              heads * (options.head_dim + options.v_head_dim);
  const std::size_t workers =
      std::clamp<std::size_t>(numbers / kNumbersOfAThread, 1,
                              std::max<std::size_t>(executor.threads(), 1));
  for_each_task(executor, workers, tokens.ids.size() * heads,
                [&](std::size_t, std::size_t task) {
                  store(tokens, task / heads, task % heads);
                });
}

void CacheState::store(const NewTokens& tokens, std::size_t n,
                       std::size_t head) {
  const std::uint32_t slot = tokens.ids[n].slot;
  const std::size_t count = tokens.count(n);
  const std::size_t start = sequences.length(slot) - count;
  const std::size_t page_size = sequences.page_size();
  const auto rows_of = [&](const TensorArg& tensor, std::size_t from,
                           std::size_t some) {
    return tensor.given()
               ? number_rows<const void>(tensor, tokens.batch(n),
                                         tokens.first(n) + from, head, some)
               : kernels::Rows<const float>{};
  };
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = (start + done) % page_size;
    const std::size_t some = std::min(count - done, page_size - at);
    cells.store(sequences.page_of(slot, start + done), head, at,
                rows_of(tokens.key, done, some),
                rows_of(tokens.value, done, some));
    done += some;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
