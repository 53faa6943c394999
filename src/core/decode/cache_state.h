// What a KvCache holds, and how tokens are added to it in two steps: everything
// is checked, then everything is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "decode/cells.h"
#include "decode/received_sums.h"
#include "decode/sequence_pages.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/executor.h"

namespace headwise::inline HEADWISE_ABI {

// Tokens for some sequences, as KvCache::append() takes them.
struct NewTokens {
  std::span<const SequenceId> ids;
  TensorArg key;
  TensorArg value;  // none where values are in the keys
  TensorView<const std::int64_t, 1> offsets;  // no data: the same number each

  bool ragged() const { return offsets.data() != nullptr; }
  std::size_t batch(std::size_t n) const { return ragged() ? 0 : n; }
  std::size_t first(std::size_t n) const {
    return ragged() ? static_cast<std::size_t>(offsets(n)) : 0;
  }
  std::size_t count(std::size_t n) const {
    return ragged() ? static_cast<std::size_t>(offsets(n + 1) - offsets(n))
                    : key.extent(1);
  }
};

struct CacheState {
  CacheState(const KvCacheOptions& wanted, SequencePages pages, Cells stored,
             ReceivedSums sums);

  // Errors: those of KvCache::append(). `operation` begins the messages.
  Status check(const NewTokens& tokens, std::string_view operation);
  // Then: adds them. Allocates nothing.
  void append(const NewTokens& tokens, const Executor& executor);

  // Errors: those of KvCache::keep().
  Status check_kept(SequenceId id,
                    TensorView<const std::int64_t, 1> indices) const;
  // Then: keeps these tokens. Allocates nothing.
  void keep(std::uint32_t slot, TensorView<const std::int64_t, 1> indices);

  KvCacheOptions options;
  SequencePages sequences;
  Cells cells;
  ReceivedSums received;

 private:
  Status check_ids(std::span<const SequenceId> ids, std::string_view operation);
  Status check_shapes(const NewTokens& tokens,
                      std::string_view operation) const;
  void store(const NewTokens& tokens, std::size_t n, std::size_t head);

  // Of one call.
  std::vector<Growth> growth_;
  // Of each slot, the call that named it last and its place there.
  struct Named {
    std::uint64_t call = 0;
    std::size_t place = 0;
  };
  std::vector<Named> named_;
  std::uint64_t calls_ = 0;
};

// A sequence that does not exist.
Error unknown_sequence(std::string_view operation, std::string_view argument);

}  // namespace headwise::inline HEADWISE_ABI
