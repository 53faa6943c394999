#include "headwise/attention/statistics.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "attention/check_call.h"
#include "attention/planned_call.h"
#include "base/out_of_memory.h"
#include "kernels/gradient_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// One head's sums: rows in blocks of 48 aligned at query 0 of their sequence,
// the blocks added in order.
class Pool {
 public:
  void add(const float* row, std::ptrdiff_t stride) {
    const auto of = [&](Statistic k) {
      return row[static_cast<std::ptrdiff_t>(index_of(k)) * stride];
    };
    // Next to a much larger sink the largest weight of a key may be 0.
    if (of(Statistic::largest) == 0 && std::isnan(of(Statistic::entropy))) {
      ++without_key_;
      return;
    }
    ++rows_;
    for (std::size_t k = 0; k < kStatistics; ++k) {
      block_[k] += row[static_cast<std::ptrdiff_t>(k) * stride];
    }
  }
  void end_block() {
    for (std::size_t k = 0; k < kStatistics; ++k) {
      sum_[k] += block_[k];
      block_[k] = 0;
    }
  }
  void store(std::size_t h, PooledStatistics& to) const {
    for (std::size_t k = 0; k < kStatistics; ++k) {
      const float mean = sum_[k] / static_cast<float>(rows_);
      to.means(h, k) = std::isnan(mean) ? kNaN : mean;
    }
    to.rows(h) = rows_;
    to.rows_without_key(h) = without_key_;
  }

 private:
  std::array<float, kStatistics> sum_{};
  std::array<float, kStatistics> block_{};
  std::int64_t rows_ = 0;
  std::int64_t without_key_ = 0;
};

Result<AttentionStatistics> run(const PlannedCall& call, CallTensors& tensors) {
  const AttentionSpec& spec = call.spec();
  HEADWISE_ASSIGN(auto statistics, AttentionStatistics::create(spec));
  tensors.set(statistics.views());
  HEADWISE_TRY(call.run(tensors));
  if (spec.statistics.wanted().rows) {
    HEADWISE_ASSIGN(statistics.pooled, pool_statistics(statistics.rows, spec));
  }
  return statistics;
}

}  // namespace

Result<AttentionStatistics> AttentionStatistics::create(
    const AttentionSpec& spec) try {
  AttentionStatistics made;
  const auto make = [&]<class T, std::size_t Rank>(
                        CallTensor tensor, Tensor<T, Rank>& place) -> Status {
    if (const TensorArg expected = expected_tensor(spec, tensor);
        expected.rank() != 0) {
      HEADWISE_ASSIGN(
          place, Tensor<T, Rank>::create(expected.view<T, Rank>().extents()));
    }
    return ok();
  };
  HEADWISE_TRY(make(CallTensor::rows, made.rows));
  HEADWISE_TRY(make(CallTensor::top_keys, made.top_keys));
  HEADWISE_TRY(make(CallTensor::top_weights, made.top_weights));
  HEADWISE_TRY(make(CallTensor::columns, made.columns));
  HEADWISE_TRY(make(CallTensor::map_mean, made.map_mean));
  HEADWISE_TRY(make(CallTensor::map_largest, made.map_largest));
  return made;
} catch (...) {
  return caught_out_of_memory();
}

StatisticsViews AttentionStatistics::views() {
  const auto view_of = [](auto& tensor) {
    return tensor.size() == 0 ? decltype(tensor.view()){} : tensor.view();
  };
  return {view_of(rows),    view_of(top_keys), view_of(top_weights),
          view_of(columns), view_of(map_mean), view_of(map_largest)};
}

Result<PooledStatistics> pool_statistics(TensorView<const float, 4> rows,
                                         const AttentionSpec& spec) try {
  const AttentionShape& shape = spec.shape;
  HEADWISE_ASSIGN(auto means,
                  Tensor<float, 2>::create({shape.Hq, kStatistics}));
  HEADWISE_ASSIGN(auto counted, Tensor<std::int64_t, 1>::create({shape.Hq}));
  HEADWISE_ASSIGN(auto without_key,
                  Tensor<std::int64_t, 1>::create({shape.Hq}));
  PooledStatistics pooled{std::move(means), std::move(counted),
                          std::move(without_key)};
  for (std::size_t h = 0; h < shape.Hq; ++h) {
    Pool pool;
    // Empty sequences may be too many to visit.
    for (std::size_t b = 0; shape.Lq != 0 && b < shape.B; ++b) {
      const SequencePlace place = shape.sequence(b);
      const std::size_t queries = spec.statistics.queries(b);
      for (std::size_t i = 0; i < queries; ++i) {
        pool.add(&rows(place.batch, h, place.first_query + i, 0),
                 rows.stride(3));
        if ((i + 1) % kernels::kQueryBlock == 0 || i + 1 == queries) {
          pool.end_block();
        }
      }
    }
    pool.store(h, pooled);
  }
  return pooled;
} catch (...) {
  return caught_out_of_memory();
}

Result<AttentionStatistics> attention_statistics(
    CallTensors tensors, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  HEADWISE_ASSIGN(const auto shape, attention_shape(tensors));
  HEADWISE_ASSIGN(const auto& call,
                  PlannedCall::create(shape, options, operation_options));
  return run(call, tensors);
}

Result<AttentionStatistics> attention_statistics(
    CallTensors tensors, const AttentionSpec& spec) try {
  HEADWISE_ASSIGN(const auto& call, PlannedCall::create(AttentionSpec(spec)));
  return run(call, tensors);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
