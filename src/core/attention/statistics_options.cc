#include "headwise/attention/statistics_options.h"

#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kMostTopKeys = 64;

Status check_query_lengths(TensorView<const std::int64_t, 1> lengths,
                           const AttentionShape& shape,
                           std::string_view operation) {
  if (lengths.data() == nullptr) {
    return ok();
  }
  HEADWISE_TRY(check_shape(operation, "statistics.query_lengths",
                           lengths.extents(), "(B)", {{shape.B}}));
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t Lq = shape.sequence(b).Lq;
    if (lengths(b) < 0 || static_cast<std::uint64_t>(lengths(b)) > Lq) {
      return value_error(operation,
                         "statistics.query_lengths[" + std::to_string(b) + "]",
                         std::to_string(lengths(b)),
                         message("a number from 0 to the {} queries", Lq),
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

}  // namespace

Result<BoundStatistics> BoundStatistics::bind(const StatisticsOptions& options,
                                              const CallContext& context) try {
  const AttentionShape& shape = context.shape;
  const std::string_view operation = context.operation;
  if (options.top_keys > kMostTopKeys) {
    return value_error(operation, "statistics.top_keys",
                       std::to_string(options.top_keys), "at most 64");
  }
  if (options.separators.data() != nullptr) {
    HEADWISE_TRY(check_shape(operation, "statistics.separators",
                             options.separators.extents(), "(B, Lkv)",
                             {{shape.B, shape.Lkv}}));
  }
  HEADWISE_TRY(check_query_lengths(options.query_lengths, shape, operation));
  BoundStatistics bound;
  bound.options_ = options;
  bound.context_ = context;
  return bound;
} catch (...) {
  return caught_out_of_memory();
}

std::size_t BoundStatistics::queries(std::size_t b) const {
  return options_.query_lengths.data() == nullptr
             ? context_.shape.sequence(b).Lq
             : static_cast<std::size_t>(options_.query_lengths(b));
}

Status BoundStatistics::set_offsets(const Offsets& offsets) try {
  AttentionShape shape = context_.shape;
  shape.offsets = offsets;
  HEADWISE_TRY(check_query_lengths(options_.query_lengths, shape, "attention"));
  context_.shape.offsets = offsets;
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
