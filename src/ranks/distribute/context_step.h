// One step of a ContextCache: its new tokens, and attention over everything
// that its sequences hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "distribute/context_sequences.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_cache.h"
#include "headwise/run/workspace.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kContextCache = "context_cache";

struct ContextCacheState {
  ContextCacheOptions options;  // with v_head_dim filled in
  std::size_t ranks;
  std::size_t rank;
  ContextSequences sequences;
  KvCache cache;  // each of its sequences is a share
  std::optional<Workspace> workspace{};
};

template <class T>
struct ContextStep {
  std::span<const SequenceId> ids;
  TensorView<const T, 4> query;
  TensorView<const T, 4> key;
  TensorView<const T, 4> value;
  TensorView<T, 4> output;
  const AttentionOptions& options;
  const OperationOptions& operation_options;
  TensorView<const std::int64_t, 1> offsets;

  bool ragged() const { return offsets.data() != nullptr; }
  // The tokens of sequence n of the call.
  std::size_t count(std::size_t n) const {
    return ragged() ? static_cast<std::size_t>(offsets(n + 1) - offsets(n))
                    : query.extent(1);
  }
  // Some of them in one of the four tensors.
  template <class U>
  TensorView<U, 4> rows(TensorView<U, 4> tensor, std::size_t n,
                        const PartRange& some) const {
    const std::size_t first =
        ragged() ? static_cast<std::size_t>(offsets(n)) : 0;
    return internal::part_along(
        1, internal::part_along(0, tensor, {ragged() ? 0 : n, 1}),
        {first + some.first, some.count});
  }
};

// Errors: those of ContextCache::step().
template <class T>
Status run_step(Communicator& group, ContextCacheState& state,
                const ContextStep<T>& step);

}  // namespace headwise::inline HEADWISE_ABI
