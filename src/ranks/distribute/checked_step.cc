#include "distribute/checked_step.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "attention/check_call.h"
#include "base/check.h"
#include "decode/stored_range.h"
#include "distribute/append_tokens.h"
#include "distribute/rank_tensors.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

TensorView<const std::int64_t, 1> view_of(
    const std::vector<std::int64_t>& numbers) {
  return {numbers.data(), {numbers.size()}};
}

Status check_options(const AttentionOptions& options,
                     const OperationOptions& operation_options) {
  HEADWISE_TRY(check_rank_options(kContextCache, options, operation_options));
  if (options.offsets.ragged()) {
    return value_error(kContextCache, "offsets", "given",
                       "none: they are an argument of each run");
  }
  if (options.query_start.given()) {
    return value_error(kContextCache, "query_start", "given",
                       "none: queries begin at the length of their sequence");
  }
  return operation_options.added_keys.bias_k.data() == nullptr &&
                 !operation_options.added_keys.zero_attn
             ? ok()
             : Status(value_error(kContextCache, "added_keys", "given",
                                  "none with a cache", ErrorCode::unsupported));
}

std::string place_in_ids(std::size_t n) {
  return "ids[" + std::to_string(n) + "]";
}

Status check_ids(const ContextSequences& sequences,
                 std::span<const SequenceId> ids) {
  for (std::size_t n = 0; n < ids.size(); ++n) {
    HEADWISE_TRY(sequences.check(ids[n], kContextCache, place_in_ids(n)));
    const auto same = std::ranges::find(ids.first(n), ids[n]);
    if (same != ids.first(n).end()) {
      const auto earlier = static_cast<std::size_t>(same - ids.begin());
      return argument_error(
          kContextCache, place_in_ids(n),
          message("is the sequence of {}", place_in_ids(earlier)),
          "each sequence once");
    }
  }
  return ok();
}

template <class T>
Status check_tensors(const ContextCacheState& state,
                     const ContextStep<T>& step) {
  const KvCacheOptions& stored = state.options.rank;
  const std::size_t B = step.ragged() ? 1 : step.ids.size();
  const std::size_t L = step.query.extent(1);
  const std::size_t Hq = step.query.extent(2);
  HEADWISE_TRY(check_shape(kContextCache, "query", step.query.extents(),
                           "(B, L, Hq, D)", {{B, L, Hq, stored.head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "key", step.key.extents(),
                           "(B, L, Hkv, D)",
                           {{B, L, stored.num_kv_heads, stored.head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "value", step.value.extents(),
                           "(B, L, Hkv, Dv)",
                           {{B, L, stored.num_kv_heads, stored.v_head_dim}}));
  HEADWISE_TRY(check_shape(kContextCache, "output", step.output.extents(),
                           "(B, L, Hq, Dv)", {{B, L, Hq, stored.v_head_dim}}));
  if (!step.ragged()) {
    return ok();
  }
  HEADWISE_TRY(check_shape(kContextCache, "offsets", step.offsets.extents(),
                           "(B + 1)", {{step.ids.size() + 1}}));
  return Offsets(step.offsets).check(L, L, kContextCache);
}

// Whether the output has memory of its own.
template <class T>
Status check_memory(const AttentionSpec& spec, const ContextStep<T>& step) {
  const CallTensors tensors(
      AttentionInputsOf<T>{step.query, step.key, step.value},
      AttentionOutputsOf<T>{.output = step.output});
  return check_cached_call(kContextCache, spec, tensors);
}

template <class T>
StepNumbers step_numbers(const ContextSequences& sequences,
                         const ContextStep<T>& step) {
  StepNumbers numbers;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    const auto count = static_cast<std::int64_t>(step.count(n));
    const auto before =
        static_cast<std::int64_t>(sequences[step.ids[n]].length);
    numbers.starts.push_back(before);
    numbers.queries.push_back(numbers.queries.back() + count);
    numbers.keys.push_back(numbers.keys.back() + before + count);
  }
  return numbers;
}

template <class T>
AttentionOptions options_of(const ContextStep<T>& step,
                            const StepNumbers& numbers) {
  AttentionOptions options = step.options;
  options.query_start = view_of(numbers.starts);
  options.offsets =
      step.ragged() ? Offsets(view_of(numbers.queries), view_of(numbers.keys))
                    : Offsets::with_batched_queries(view_of(numbers.queries),
                                                    view_of(numbers.keys));
  return options;
}

}  // namespace

template <class T>
Result<CheckedStep> checked_step(const Communicator& group,
                                 const ContextCacheState& state,
                                 const ContextStep<T>& step) {
  HEADWISE_TRY(check_group(kContextCache, group, state.ranks, state.rank));
  HEADWISE_TRY(check_options(step.options, step.operation_options));
  HEADWISE_TRY(check_ids(state.sequences, step.ids));
  HEADWISE_TRY(check_tensors(state, step));
  for (const auto& [name, tensor] :
       {std::pair("key", step.key), std::pair("value", step.value)}) {
    HEADWISE_TRY(check_stored_range(kContextCache, name, tensor,
                                    state.options.rank.dtype));
  }
  HEADWISE_TRY(check_room(state, step));
  StepNumbers numbers = step_numbers(state.sequences, step);
  AttentionOptions options = options_of(step, numbers);
  const KvCacheOptions& stored = state.options.rank;
  const AttentionShape tensors = {
      .B = 1,
      .Hq = step.query.extent(2),
      .Hkv = stored.num_kv_heads,
      .Lq = static_cast<std::size_t>(numbers.queries.back()),
      .Lkv = static_cast<std::size_t>(numbers.keys.back()),
      .D = stored.head_dim,
      .Dv = stored.v_head_dim};
  HEADWISE_ASSIGN(
      auto spec, AttentionSpec::create(tensors, options, step.operation_options,
                                       kContextCache));
  HEADWISE_TRY(spec.check_keys_in_parts(kContextCache));
  HEADWISE_TRY(check_memory(spec, step));
  return CheckedStep{std::move(numbers), std::move(options), std::move(spec)};
}

template Result<CheckedStep> checked_step(const Communicator&,
                                          const ContextCacheState&,
                                          const ContextStep<float>&);
template Result<CheckedStep> checked_step(const Communicator&,
                                          const ContextCacheState&,
                                          const ContextStep<BFloat16>&);
template Result<CheckedStep> checked_step(const Communicator&,
                                          const ContextCacheState&,
                                          const ContextStep<Float16>&);

}  // namespace headwise::inline HEADWISE_ABI
