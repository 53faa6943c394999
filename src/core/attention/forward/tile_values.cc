#include "attention/forward/tile_values.h"

#include "attention/packed_numbers.h"

namespace headwise::inline HEADWISE_ABI {

TileValues::TileValues(const AttentionSpec& spec, Arena& arena)
    : Dv_(spec.shape.Dv),
      loops_(kernels::attention_tile()),
      pairs_(values_in_pairs(spec) ? &kernels::pair_tile() : nullptr),
      p_pairs_(pairs_ != nullptr
                   ? arena.take<float>(kernels::count_pairs(kernels::kKeyBlock),
                                       kernels::kMaxQueryLanes)
                   : nullptr) {}

void TileValues::weigh(const float* p, bool rounded, const float* values,
                       std::size_t rows, kernels::MaskWord* allowed,
                       std::size_t keys, std::size_t queries, std::size_t lanes,
                       const kernels::Fold& fold, float* context) const {
  if (pairs_ != nullptr) {
    if (!rounded) {
      pairs_->pair_rows(p, keys, lanes, p_pairs_);
      p = p_pairs_;
    }
    if (allowed != nullptr && keys % 2 != 0) {
      allowed[keys] = 0;
    }
  }
  if (allowed == nullptr) {
    const auto weigh = pairs_ != nullptr ? pairs_->weigh : loops_.weigh;
    weigh(p, values, rows, keys, Dv_, queries, fold, context);
  } else {
    const auto weigh =
        pairs_ != nullptr ? pairs_->weigh_allowed : loops_.weigh_allowed;
    weigh(p, values, rows, allowed, keys, Dv_, queries, fold, context);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
