#include "headwise/steps/t5_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/logarithm.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "headwise/steps/softmax.h"
#include "steps/rows.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// One direction's buckets: where each begins.
class Distances {
 public:
  Distances(std::size_t buckets, std::int64_t max_distance)
      : buckets_(buckets),
        exact_(static_cast<std::int64_t>(buckets / 2)),
        max_distance_(max_distance) {}

  // The distances where the buckets begin, in order.
  std::vector<std::int64_t> first() const {
    std::vector<std::int64_t> first;
    first.reserve(buckets_);
    while (first.size() < static_cast<std::size_t>(exact_)) {
      first.push_back(static_cast<std::int64_t>(first.size()));
    }
    const double width = natural_log(ratio(max_distance_));
    const auto steps = static_cast<double>(buckets_) - double(exact_);
    std::int64_t low = exact_;
    for (double step = 0; step < steps; ++step) {
      low = first_beyond(low, step, [&](std::int64_t x) {
        return natural_log(ratio(x)) / width * steps;
      });
      first.push_back(low);
    }
    return first;
  }

 private:
  double ratio(std::int64_t x) const {
    return static_cast<double>(x) / static_cast<double>(exact_);
  }

  // The least distance from `low` on whose step is at least `step`. A distance
  // that is a power of the ratio begins a bucket, however its logarithm is
  // rounded.
  template <class StepOf>
  std::int64_t first_beyond(std::int64_t low, double step,
                            const StepOf& step_of) const {
    constexpr double kRounding = 0x1p-40;
    std::int64_t high = max_distance_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (step_of(middle) >= step - kRounding) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  std::size_t buckets_;
  std::int64_t exact_;
  std::int64_t max_distance_;
};

// Buckets in which no whole number falls have no piece.
void add_piece(std::vector<BoundT5Bias::Piece>& pieces, std::int64_t first,
               std::size_t bucket) {
  if (!pieces.empty() && pieces.back().first == first) {
    pieces.back().bucket = bucket;
  } else {
    pieces.push_back({first, bucket});
  }
}

std::vector<BoundT5Bias::Piece> pieces_of(std::size_t buckets,
                                          const T5Bias& bias) {
  const std::vector<std::int64_t> first =
      Distances(buckets, bias.max_distance).first();
  std::vector<BoundT5Bias::Piece> pieces;
  pieces.reserve(2 * buckets);
  // Earlier keys: the bucket from distance d on ends at the offset -d, and
  // begins behind the end of the next.
  for (std::size_t n = buckets; n-- > 0;) {
    if (n + 1 == buckets) {
      add_piece(pieces, std::numeric_limits<std::int64_t>::min(), n);
    } else if (first[n] != first[n + 1]) {
      add_piece(pieces, 1 - first[n + 1], n);
    }
  }
  for (std::size_t n = 0; bias.bidirectional && n < buckets; ++n) {
    // The distance 0 is that of the key itself, in the first bucket of all.
    add_piece(pieces, std::max<std::int64_t>(first[n], 1), buckets + n);
  }
  return pieces;
}

Status check_buckets(const T5Bias& bias, std::string_view operation) {
  const std::size_t buckets = bias.table.extent(0);
  const std::size_t directions = bias.bidirectional ? 2 : 1;
  if (buckets < 2 * directions || buckets % directions != 0) {
    return argument_error(
        operation, "t5_bias.table",
        message("has shape {}", shape_text(bias.table.extents())),
        bias.bidirectional ? "an even number of buckets, at least 4, for "
                             "both directions"
                           : "at least 2 buckets");
  }
  const std::size_t exact = buckets / directions / 2;
  if (bias.max_distance <= static_cast<std::int64_t>(exact)) {
    return value_error(
        operation, "t5_bias.max_distance", std::to_string(bias.max_distance),
        message("more than {}, the distances with a bucket of their own",
                exact));
  }
  return ok();
}

Status check_numbers(TensorView<const float, 2> table,
                     std::string_view operation) {
  constexpr float kLargest = 2e38F;
  for (std::size_t n = 0; n < table.extent(0); ++n) {
    for (std::size_t h = 0; h < table.extent(1); ++h) {
      if (!(std::abs(table(n, h)) <= kLargest)) {
        return value_error(operation,
                           "t5_bias.table[" + std::to_string(n) + "," +
                               std::to_string(h) + "]",
                           number_text(static_cast<double>(table(n, h))),
                           "a number from -2e38 to 2e38");
      }
    }
  }
  return ok();
}

}  // namespace

Result<BoundT5Bias> BoundT5Bias::bind(const T5Bias& bias,
                                      const CallContext& context) try {
  BoundT5Bias bound;
  if (bias.table.data() == nullptr) {
    return bound;
  }
  const std::string_view operation = context.operation;
  const std::size_t buckets = bias.table.extent(0);
  HEADWISE_TRY(check_shape(operation, "t5_bias.table", bias.table.extents(),
                           "(buckets, Hq)", {{buckets, context.shape.Hq}}));
  HEADWISE_TRY(check_buckets(bias, operation));
  HEADWISE_TRY(check_numbers(bias.table, operation));
  bound.table_ = bias.table;
  bound.pieces_ = std::make_shared<const std::vector<Piece>>(
      pieces_of(bias.bidirectional ? buckets / 2 : buckets, bias));
  bound.context_ = context;
  return bound;
} catch (...) {
  return caught_out_of_memory();
}

std::size_t BoundT5Bias::bucket(std::int64_t offset) const {
  const auto next =
      std::ranges::upper_bound(*pieces_, offset, {}, &Piece::first);
  return std::prev(next)->bucket;
}

Status add_t5_bias(TensorView<const float, 4> scores, const BoundT5Bias& bias,
                   TensorView<float, 4> t5_scores,
                   const Executor& executor) try {
  HEADWISE_TRY(check_like_scores("add_t5_bias", "t5_scores",
                                 t5_scores.extents(), scores.extents()));
  if (!bias.given()) {
    return value_error("add_t5_bias", "t5_bias", "not given", "a table");
  }
  HEADWISE_TRY(check_bound_to_scores("add_t5_bias", "t5_bias", bias.shape(),
                                     scores.extents()));
  HEADWISE_TRY(check_in_place("add_t5_bias", "t5_scores", t5_scores,
                              {{"scores", scores}}));
  if (Status s =
          check_overlap("add_t5_bias", {{"t5_scores", Footprint(t5_scores)}},
                        {{"t5_bias.table", Footprint(bias.table())}});
      !s || scores.size() == 0) {
    return s;
  }
  const auto [B, Hq, Lq, Lkv] = scores.extents();
  for_each_row(executor, {B, Hq, Lq},
               [&, keys = Lkv](std::size_t b, std::size_t h, std::size_t i) {
                 for (std::size_t j = 0; j < keys; ++j) {
                   const float sum =
                       scores(b, h, i, j) + bias(h, bias.offset(b, i, j));
                   t5_scores(b, h, i, j) = std::isnan(sum) ? kNaN : sum;
                 }
               });
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
