#include "headwise/steps/dropout.h"

#include <cmath>
#include <string>

#include "base/check.h"
#include "base/memory_overlap.h"
#include "base/out_of_memory.h"
#include "steps/one_nan.h"
#include "steps/step_checks.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_sequence_ids(TensorView<const std::int64_t, 1> ids,
                          const AttentionShape& shape,
                          std::string_view operation) {
  HEADWISE_TRY(check_shape(operation, "dropout.sequence_ids", ids.extents(),
                           "(B)", {{shape.B}}));
  for (std::size_t b = 0; b < shape.B; ++b) {
    if (ids(b) < 0 || ids(b) >= (std::int64_t{1} << 32)) {
      return value_error(
          operation, "dropout.sequence_ids[" + std::to_string(b) + "]",
          std::to_string(ids(b)), "0 to 2^32 - 1", ErrorCode::out_of_range);
    }
  }
  return ok();
}

std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}

// The key of one (seed, step, layer), itself a random number.
PhiloxKey dropout_key(const Dropout& dropout) {
  const std::uint64_t step = dropout.step.value_or(0);
  const PhiloxCounter words =
      philox4x32({low_word(step), high_word(step), dropout.layer, 0},
                 {low_word(dropout.seed.value), high_word(dropout.seed.value)});
  return {words[0], words[1]};
}

}  // namespace

Result<BoundDropout> BoundDropout::bind(const Dropout& dropout,
                                        const CallContext& context,
                                        const BoundAddedKeys& added) try {
  const AttentionShape& shape = context.shape;
  const std::string_view operation = context.operation;
  const double p = dropout.p.value_or(0);
  if (!(p >= 0 && p <= 1)) {
    return value_error(operation, "dropout.p", number_text(p),
                       "a number from 0 to 1");
  }
  if (dropout.sequence_ids.data() != nullptr) {
    HEADWISE_TRY(check_sequence_ids(dropout.sequence_ids, shape, operation));
  }
  if (dropout.keep_mask.data() != nullptr) {
    HEADWISE_TRY(check_shape(
        operation, "dropout.keep_mask", dropout.keep_mask.extents(),
        pair_axes(added),
        {{shape.B, shape.Hq, shape.Lq, shape.Lkv + added.count()}}));
  }
  return BoundDropout(dropout, context, added);
} catch (...) {
  return caught_out_of_memory();
}

BoundDropout::BoundDropout(const Dropout& dropout, const CallContext& context,
                           const BoundAddedKeys& added)
    : dropout_(dropout), context_(context), added_(added) {
  const double p = dropout.p.value_or(0);
  key_ = dropout_key(dropout);
  threshold_ = static_cast<std::uint64_t>(std::floor(p * 0x1p32));
  factor_ = p < 1 ? 1 / (1 - p) : 0;
  active_ = dropout.keep_mask.data() != nullptr || (dropout.training && p > 0);
}

bool BoundDropout::keeps(std::size_t b, std::size_t h, std::size_t i,
                         std::size_t j) const {
  if (dropout_.keep_mask.data() != nullptr) {
    return dropout_.keep_mask(b, h, i, column(j));
  }
  const PhiloxCounter words = philox4x32(
      {sequence_id(b), head(h), position(b, i), low_word(key(j) / 4)}, key_);
  return words[key(j) % 4] >= threshold_;
}

std::uint32_t BoundDropout::sequence_id(std::size_t b) const {
  return low_word(dropout_.sequence_ids.data() != nullptr
                      ? static_cast<std::uint64_t>(dropout_.sequence_ids(b))
                      : b);
}

std::uint32_t BoundDropout::head(std::size_t h) const {
  return low_word(dropout_.place.first_head + h * dropout_.place.head_step);
}

// In a part of the keys, positions count from the part's first key.
std::uint32_t BoundDropout::position(std::size_t b, std::size_t i) const {
  return low_word(i + static_cast<std::uint64_t>(context_.first_position(b)) +
                  dropout_.place.first_key);
}

std::size_t BoundDropout::key(std::size_t j) const {
  return BoundAddedKeys::is_number(j) ? j : j + dropout_.place.first_key;
}

Result<Tensor<bool, 4>> BoundDropout::materialize() const try {
  const AttentionShape& shape = context_.shape;
  const auto [B, Hq, Lq, columns] =
      Extents<4>{shape.B, shape.Hq, shape.Lq, shape.Lkv + added_.count()};
  auto mask = Tensor<bool, 4>::create({B, Hq, Lq, columns});
  if (!mask || mask->size() == 0) {
    return mask;
  }
  bool* to = mask->data();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < Hq; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          *to++ =
              keeps(b, h, i, j < shape.Lkv ? j : added_.number(j - shape.Lkv));
        }
      }
    }
  }
  return mask;
} catch (...) {
  return caught_out_of_memory();
}

Status apply_dropout(TensorView<const float, 4> attn_weights,
                     const BoundDropout& dropout,
                     TensorView<float, 4> dropped) try {
  HEADWISE_TRY(check_like_scores("apply_dropout", "dropped", dropped.extents(),
                                 attn_weights.extents()));
  HEADWISE_TRY(check_bound_to_scores("apply_dropout", "dropout",
                                     dropout.shape(), attn_weights.extents()));
  HEADWISE_TRY(check_in_place("apply_dropout", "dropped", dropped,
                              {{"attn_weights", attn_weights}}));
  const auto [B, Hq, Lq, Lkv] = attn_weights.extents();
  const auto factor = static_cast<float>(dropout.factor());
  for (std::size_t b = 0; attn_weights.size() != 0 && b < B; ++b) {
    for (std::size_t h = 0; h < Hq; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < Lkv; ++j) {
          dropped(b, h, i, j) = dropout.keeps(b, h, i, j)
                                    ? one_nan(attn_weights(b, h, i, j) * factor)
                                    : 0;
        }
      }
    }
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
