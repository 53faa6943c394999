#include "heads/pooled_heads.h"

#include <utility>

#include "headwise/inspect/weights_statistics.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The values, or the output, of a call that computes statistics only.
TensorView<float, 4> no_values(const TensorView<const float, 4>& of) {
  Extents<4> extents = of.extents();
  extents[3] = 0;
  return {nullptr, extents};
}

Result<AttentionSpec> spec_of(TensorView<const float, 4> query,
                              TensorView<const float, 4> key,
                              TensorView<const bool, 2> separators,
                              const AttentionOptions& options) {
  HEADWISE_ASSIGN(const auto shape,
                  attention_shape(query.extents(), key.extents(),
                                  no_values(key).extents()));
  return AttentionSpec::create(
      shape, options, {.statistics = {.rows = true, .separators = separators}});
}

Result<PooledStatistics> pooled_of(TensorView<const float, 4> query,
                                   TensorView<const float, 4> key,
                                   const AttentionSpec& spec) {
  HEADWISE_ASSIGN(
      auto done,
      attention_statistics(
          CallTensors(AttentionInputsOf<float>{query, key, no_values(key)},
                      {.output = no_values(query)}),
          spec));
  return std::move(done.pooled);
}

}  // namespace

Result<PooledStatistics> pooled_statistics(TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           TensorView<const bool, 2> separators,
                                           const AttentionOptions& options) {
  HEADWISE_ASSIGN(const auto spec, spec_of(query, key, separators, options));
  return pooled_of(query, key, spec);
}

Result<PooledStatistics> known_statistics(TensorView<const float, 4> query,
                                          TensorView<const float, 4> key,
                                          TensorView<const bool, 2> separators,
                                          const AttentionOptions& options) {
  HEADWISE_ASSIGN(const auto spec, spec_of(query, key, separators, options));
  HEADWISE_ASSIGN(auto known, pooled_of(query, key, spec));
  leave_out_unknown(spec, known);
  return known;
}

}  // namespace headwise::inline HEADWISE_ABI
