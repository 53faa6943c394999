#include "headwise/decode/decode_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "attention/ragged_weights.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "decode/cache_state.h"
#include "decode/decode_kernel.h"
#include "decode/received_pass.h"
#include "headwise/kernels/targets.h"
#include "run/arena.h"
#include "run/machine_memory.h"

namespace headwise::inline HEADWISE_ABI {

struct DecodePlanState {
  CacheState* cache;
  std::size_t num_heads;
  std::size_t max_queries;
  AttentionOptions options;  // with the window of the cache
  OperationOptions operation_options;
  std::size_t kernel_bytes;
  std::size_t workspace_bytes;
  BoundT5Bias t5_bias{};  // its buckets are found once
};

namespace {

constexpr std::string_view kDecodePlan = "decode";

// The numbers of a run that the spec looks at.
struct RunNumbers {
  RunNumbers(std::size_t sequences, Arena& arena)
      : queries(arena.take<std::int64_t>(sequences + 1)),
        keys(arena.take<std::int64_t>(sequences + 1)),
        starts(arena.take<std::int64_t>(sequences)) {}

  std::int64_t* queries;  // offsets (B + 1)
  std::int64_t* keys;     // offsets (B + 1)
  std::int64_t* starts;   // the lengths before the run (B)
};

// All memory of a run.
struct RunMemory {
  RunMemory(const DecodePlanState& plan, std::size_t sequences, Arena& arena)
      : kernel(arena.take<std::byte>(plan.kernel_bytes)),
        softmax_rows(arena.take<float>(
            plan.cache->received.collected() ? plan.max_queries : 0,
            plan.num_heads, std::size_t{2})),
        numbers(sequences, arena) {}

  std::byte* kernel;
  float* softmax_rows;  // of all queries, where received attention is summed
  RunNumbers numbers;
};

// ---- The plan ----

Status check_decode_options(const AttentionOptions& options,
                            const OperationOptions& operation_options) {
  HEADWISE_TRY(check_no_part(kDecodePlan, operation_options));
  if (options.offsets.ragged()) {
    return value_error(kDecodePlan, "offsets", "given",
                       "none: they are an argument of each run");
  }
  if (options.query_start.given()) {
    return value_error(kDecodePlan, "query_start", "given",
                       "none: queries begin at the length of their sequence");
  }
  if (options.empty_rows == EmptyRow::uniform) {
    return value_error(kDecodePlan, "empty_rows", "uniform",
                       "zero or nan with a cache", ErrorCode::unsupported);
  }
  if (operation_options.added_keys.bias_k.data() != nullptr ||
      operation_options.added_keys.zero_attn) {
    return value_error(kDecodePlan, "added_keys", "given", "none with a cache",
                       ErrorCode::unsupported);
  }
  return ok();
}

// What needs keys, or a sum for each key, that a rolling window gave back.
Status check_rolling(const DecodePlanState& plan) {
  if (!plan.cache->options.window) {
    return ok();
  }
  const ScoresStage scores = plan.options.scores;
  if (scores == ScoresStage::raw || scores == ScoresStage::softcap) {
    return value_error(kDecodePlan, "scores", "asked for before the mask",
                       "a stage after the mask with a rolling window",
                       ErrorCode::unsupported);
  }
  if (plan.options.attn_weights == AttnWeights::mean) {
    return value_error(kDecodePlan, "attn_weights", "mean",
                       "none, per_head or after_dropout with a rolling window",
                       ErrorCode::unsupported);
  }
  if (plan.operation_options.statistics.columns) {
    return value_error(kDecodePlan, "statistics.columns", "asked for",
                       "none with a rolling window", ErrorCode::unsupported);
  }
  return ok();
}

Status check_received(const DecodePlanState& plan) {
  const ReceivedSums& received = plan.cache->received;
  if (!received.collected()) {
    return ok();
  }
  if (plan.num_heads != received.heads()) {
    return value_error(
        kDecodePlan, "num_heads", std::to_string(plan.num_heads),
        message("the cache's received_heads = {}", received.heads()));
  }
  return plan.operation_options.score_weight.data() == nullptr
             ? ok()
             : Status(
                   value_error(kDecodePlan, "score_weight", "given",
                               "none with a cache that sums received attention",
                               ErrorCode::unsupported));
}

// A spec without what must fit the lengths of a run.
Result<AttentionSpec> spec_of_any_run(const DecodePlanState& plan) {
  const KvCacheOptions& cache = plan.cache->options;
  AttentionOptions options = plan.options;
  options.mask = {};
  options.bias = {};
  options.dropout.sequence_ids = {};
  options.dropout.training |= options.dropout.keep_mask.data() != nullptr;
  options.dropout.keep_mask = {};
  OperationOptions operation_options = plan.operation_options;
  operation_options.statistics.separators = {};
  operation_options.statistics.query_lengths = {};
  return AttentionSpec::create({.B = 1,
                                .Hq = plan.num_heads,
                                .Hkv = cache.num_kv_heads,
                                .Lq = 1,
                                .Lkv = 1,
                                .D = cache.head_dim,
                                .Dv = cache.v_head_dim},
                               options, operation_options, kDecodePlan);
}

// ---- A run ----

struct Run {
  const DecodePlanState& plan;
  NewTokens tokens;
  CallTensors& tensors;
};

Status check_rows(const Run& run) {
  const TensorArg& key = run.tokens.key;
  const std::size_t rows =
      run.tokens.ragged() ? key.extent(1) : key.extent(0) * key.extent(1);
  return rows <= run.plan.max_queries
             ? ok()
             : Status(argument_error(
                   kDecodePlan, "key", message("has {} tokens", rows),
                   message("at most the plan's {}", run.plan.max_queries),
                   ErrorCode::out_of_range));
}

// Where queries and keys are; after the tokens were checked.
void fill(const Run& run, const RunNumbers& numbers) {
  const SequencePages& sequences = run.plan.cache->sequences;
  numbers.queries[0] = 0;
  numbers.keys[0] = 0;
  for (std::size_t n = 0; n < run.tokens.ids.size(); ++n) {
    const auto count = static_cast<std::int64_t>(run.tokens.count(n));
    const auto length =
        static_cast<std::int64_t>(sequences.length(run.tokens.ids[n].slot));
    numbers.starts[n] = length;
    numbers.queries[n + 1] = numbers.queries[n] + count;
    numbers.keys[n + 1] = numbers.keys[n] + length + count;
  }
}

Result<AttentionSpec> spec_of(const Run& run, const RunNumbers& numbers) {
  const DecodePlanState& plan = run.plan;
  const KvCacheOptions& cache = plan.cache->options;
  const std::size_t B = run.tokens.ids.size();
  const TensorView<const std::int64_t, 1> queries(numbers.queries, {B + 1});
  const TensorView<const std::int64_t, 1> keys(numbers.keys, {B + 1});
  AttentionOptions options = plan.options;
  options.offsets = run.tokens.ragged()
                        ? Offsets(queries, keys)
                        : Offsets::with_batched_queries(queries, keys);
  options.query_start = TensorView<const std::int64_t, 1>(numbers.starts, {B});
  options.t5_bias = {};
  auto spec =
      AttentionSpec::create({.B = 1,
                             .Hq = plan.num_heads,
                             .Hkv = cache.num_kv_heads,
                             .Lq = static_cast<std::size_t>(numbers.queries[B]),
                             .Lkv = static_cast<std::size_t>(numbers.keys[B]),
                             .D = cache.head_dim,
                             .Dv = cache.v_head_dim},
                            options, plan.operation_options, kDecodePlan);
  if (spec) {
    spec->t5_bias =
        plan.t5_bias.bound_to({spec->shape, options.query_start, kDecodePlan});
  }
  return spec;
}

// The second pass reads M and sum of every row, whether or not the caller wants
// them.
void give_softmax_rows(const Run& run, const RunMemory& memory) {
  if (!run.tensors.has(CallTensor::softmax_rows)) {
    const TensorArg& query = run.tensors[CallTensor::query];
    run.tensors.set(CallTensor::softmax_rows,
                    TensorView<float, 4>(memory.softmax_rows,
                                         {query.extent(0), run.plan.num_heads,
                                          query.extent(1), 2}));
  }
}

Status run_in(const Run& run, Workspace& workspace) {
  const DecodePlanState& plan = run.plan;
  CacheState& cache = *plan.cache;
  if (workspace.bytes() < plan.workspace_bytes) {
    return argument_error(kDecodePlan, "workspace",
                          message("is {} bytes", workspace.bytes()),
                          message("{} or more", plan.workspace_bytes));
  }
  HEADWISE_TRY(cache.check(run.tokens, kDecodePlan));
  HEADWISE_TRY(check_rows(run));
  Arena arena(workspace.data());
  const RunMemory memory(plan, run.tokens.ids.size(), arena);
  fill(run, memory.numbers);
  HEADWISE_ASSIGN(const auto spec, spec_of(run, memory.numbers));
  HEADWISE_TRY(check_cached_call(kDecodePlan, spec, run.tensors));

  cache.append(run.tokens, *spec.executor);
  if (spec.shape.B == 0 || spec.shape.Lq == 0) {
    return ok();
  }
  const DecodeCall call = {spec, cache, run.tokens.ids, run.tensors};
  if (cache.received.collected()) {
    give_softmax_rows(run, memory);
  }
  decode_kernel(call, memory.kernel);
  if (cache.received.collected()) {
    add_received(call, cache.received, memory.kernel);
  }
  fill_beyond_sequences<float>(spec, run.tensors);
  return ok();
}

}  // namespace

Result<DecodePlan> DecodePlan::create(
    KvCache& cache, std::size_t num_heads, std::size_t max_queries,
    const AttentionOptions& options,
    const OperationOptions& operation_options) try {
  HEADWISE_TRY(check_target());
  HEADWISE_TRY(check_at_least_one(kDecodePlan, "max_queries", max_queries));
  HEADWISE_TRY(check_decode_options(options, operation_options));
  auto plan = std::make_unique<DecodePlanState>(
      DecodePlanState{cache.state_.get(), num_heads, max_queries, options,
                      operation_options, 0, 0});
  HEADWISE_TRY(check_received(*plan));
  HEADWISE_TRY(check_rolling(*plan));
  if (const auto& rolling = plan->cache->options.window) {
    plan->options.mask =
        plan->options.mask &
        window(rolling->left, std::nullopt, rolling->keep_first);
  }
  HEADWISE_ASSIGN(const auto spec, spec_of_any_run(*plan));
  plan->t5_bias = spec.t5_bias;
  plan->kernel_bytes = std::max(
      decode_workspace_bytes(spec, *plan->cache, max_queries),
      plan->cache->received.collected() ? received_pass_bytes(spec) : 0);
  Arena arena(nullptr);
  const RunMemory memory(*plan, plan->cache->options.max_sequences, arena);
  plan->workspace_bytes = arena.bytes();
  HEADWISE_TRY(check_machine_has(plan->workspace_bytes));
  return DecodePlan(std::move(plan));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t DecodePlan::workspace_bytes() const {
  return state_->workspace_bytes;
}

Status DecodePlan::run(std::span<const SequenceId> ids, CallTensors tensors,
                       Workspace& workspace,
                       TensorView<const std::int64_t, 1> offsets) const try {
  const NewTokens tokens = {ids, tensors[CallTensor::key],
                            tensors[CallTensor::value], offsets};
  return run_in({*state_, tokens, tensors}, workspace);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
