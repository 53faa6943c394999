#include "heads/pooled_heads.h"

#include <utility>

#include "headwise/inspect/weights_statistics.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// A call of attention without values.
struct Call {
  TensorView<const float, 4> query;
  TensorView<const float, 4> key;
  AttentionOptions options{};
  OperationOptions operation_options{};

  TensorView<float, 4> without_features(Extents<4> extents) const {
    extents[3] = 0;
    return {nullptr, extents};
  }
  TensorView<float, 4> value() const { return without_features(key.extents()); }
  TensorView<float, 4> output() const {
    return without_features(query.extents());
  }
};

Call call_of(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const bool, 2> separators, bool causal,
             const Executor& executor) {
  Call call{.query = query, .key = key};
  call.options.mask = causal ? headwise::causal() : Mask();
  call.options.executor = &executor;
  call.operation_options.statistics = {.rows = true, .separators = separators};
  return call;
}

}  // namespace

Result<PooledStatistics> pooled_statistics(TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           TensorView<const bool, 2> separators,
                                           bool causal,
                                           const Executor& executor) {
  const Call call = call_of(query, key, separators, causal, executor);
  HEADWISE_ASSIGN(
      auto done,
      attention_statistics(query, key, call.value(), {.output = call.output()},
                           call.options, call.operation_options));
  return std::move(done.pooled);
}

Result<PooledStatistics> known_statistics(TensorView<const float, 4> query,
                                          TensorView<const float, 4> key,
                                          TensorView<const bool, 2> separators,
                                          bool causal,
                                          const Executor& executor) {
  HEADWISE_ASSIGN(auto pooled,
                  pooled_statistics(query, key, separators, causal, executor));
  const Call call = call_of(query, key, separators, causal, executor);
  HEADWISE_ASSIGN(
      const auto shape,
      attention_shape(query.extents(), key.extents(), call.value().extents()));
  HEADWISE_ASSIGN(
      const auto spec,
      AttentionSpec::create(shape, call.options, call.operation_options));
  leave_out_unknown(spec, pooled);
  return pooled;
}

}  // namespace headwise::inline HEADWISE_ABI
