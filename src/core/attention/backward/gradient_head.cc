#include "attention/backward/gradient_head.h"

#include "attention/check_parts.h"
#include "attention/number_rows.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::row_size;

namespace {

// A block more than the keys fill: those in front have blocks of their own. And
// those of the added keys.
std::size_t most_blocks(const AttentionSpec& spec) {
  return key_blocks(spec.shape.Lkv) + 1 + spec.added_keys.count();
}

std::size_t panels_size(const AttentionSpec& spec,
                        const WantedGradients& wanted) {
  const bool needed = wanted.queries && !spec.additive();
  const std::size_t rows =
      keys_in_pairs(spec) ? kernels::count_pairs(kKeyBlock) : kKeyBlock;
  return needed ? kernels::value_columns(spec.shape.D) / kernels::kValuePanel *
                      kernels::value_panel_size(rows)
                : 0;
}

template <class Void>
kernels::NumberRows<Void> key_rows(const TensorArg& tensor,
                                   const SequencePlace& place, std::size_t g,
                                   std::size_t first, std::size_t count) {
  return number_rows<Void>(tensor, place.batch, place.first_key + first, g,
                           count);
}

}  // namespace

GradientHead::GradientHead(const AttentionSpec& spec,
                           const WantedGradients& wanted, Arena& arena)
    : added_(spec.added_keys),
      added_blocks_(has_last_keys(spec.key_part) ? added_.count() : 0),
      D_(spec.shape.D),
      Dv_(spec.shape.Dv),
      key_pairs_(keys_in_pairs(spec)),
      value_pairs_(values_in_pairs(spec)),
      key_size_(packed_key_size(spec)),
      value_size_(packed_value_row(spec)),
      wanted_(wanted),
      panels_size_(panels_size(spec, wanted)),
      keys_(arena.take<float>(most_blocks(spec), kKeyBlock, key_size_)),
      values_(arena.take<float>(most_blocks(spec), kKeyBlock, value_size_)),
      panels_(arena.take<float>(most_blocks(spec), panels_size_)),
      d_keys_(wanted.keys ? arena.take<float>(most_blocks(spec), kKeyBlock,
                                              row_size(D_))
                          : nullptr),
      d_values_(wanted.values ? arena.take<float>(most_blocks(spec), kKeyBlock,
                                                  row_size(Dv_))
                              : nullptr),
      finite_(arena.take<bool>(most_blocks(spec))),
      added_rows_(arena.take<float>(added_.count(), D_ + Dv_)) {}

void GradientHead::begin(const AttentionSpec& spec, std::size_t b,
                         std::size_t g) {
  g_ = g;
  place_ = spec.shape.sequence(b);
  // A ragged sequence may end before its first key.
  first_ = std::min(spec.mask.first_key(b), place_.Lkv);
  begin_ = first_;
  end_ = first_;
  const bool uniform = spec.empty_rows == EmptyRow::uniform && place_.Lq != 0;
  if (uniform || spec.query_part != QueryPart::all) {
    begin_ = 0;
    end_ = place_.Lkv;
    return;
  }
  if (place_.Lq == 0) {
    return;
  }
  const std::size_t visible = spec.mask.visible_begin(b, 0, place_.Lq);
  if (visible > first_) {
    first_ += (visible - first_) / kKeyBlock * kKeyBlock;
  }
  begin_ = first_;
  end_ = std::max(first_,
                  std::min(place_.Lkv, spec.mask.visible_end(b, 0, place_.Lq)));
}

void GradientHead::pack_rows(const kernels::NumberRows<const void>& keys,
                             const kernels::NumberRows<const void>& values,
                             std::size_t block) {
  const kernels::TileLayout& layout = kernels::tile_layout();
  const kernels::PairTile& pairs = kernels::pair_tile();
  (key_pairs_ ? pairs.pack_keys : layout.pack_keys)(keys, D_,
                                                    this->keys(block));
  if (panels_size_ != 0) {
    finite_[block] = (key_pairs_ ? pairs.pack_values : layout.pack_values)(
        keys, D_, key_panels(block));
  }
  (value_pairs_ ? pairs.pack_keys : layout.pack_keys)(values, Dv_,
                                                      this->values(block));
}

void GradientHead::pack_added(std::size_t block) {
  const std::size_t n = block - blocks();
  // Threads may pack several at a time.
  float* const key = added_rows_ + n * (D_ + Dv_);
  float* const value = key + D_;
  for (std::size_t d = 0; d < D_; ++d) {
    key[d] = added_.key(n, g_, d);
  }
  for (std::size_t c = 0; c < Dv_; ++c) {
    value[c] = added_.value(n, g_, c);
  }
  const auto row = [](const float* x, std::size_t size) {
    return kernels::Rows<const float>{x, 1, static_cast<std::ptrdiff_t>(size),
                                      1};
  };
  pack_rows(row(key, D_), row(value, Dv_), block);
}

void GradientHead::pack(const CallTensors& tensors, std::size_t block) {
  if (wanted_.keys) {
    std::fill_n(d_keys(block), count(block) * row_size(D_), 0.0f);
  }
  if (wanted_.values) {
    std::fill_n(d_values(block), count(block) * row_size(Dv_), 0.0f);
  }
  if (is_added(block)) {
    pack_added(block);
    return;
  }
  const auto rows_of = [&](CallTensor tensor) {
    return key_rows<const void>(tensors[tensor], place_, g_, first_key(block),
                                count(block));
  };
  pack_rows(rows_of(CallTensor::key), rows_of(CallTensor::value), block);
}

void GradientHead::resume(const CallTensors& tensors, std::size_t block) {
  if (is_added(block)) {
    return;
  }
  const auto load = [&](CallTensor from, std::size_t columns, float* to) {
    kernels::tile_layout().pack_rows(
        key_rows<const void>(tensors[from], place_, g_, first_key(block),
                             count(block)),
        columns, row_size(columns), to);
  };
  load(CallTensor::state_d_key, D_, d_keys(block));
  load(CallTensor::state_d_value, Dv_, d_values(block));
}

void GradientHead::store(const CallTensors& tensors, float scale,
                         std::size_t block) const {
  store_block(tensors[CallTensor::d_key], scale, tensors[CallTensor::d_value],
              block);
}

void GradientHead::save(const CallTensors& tensors, std::size_t block) const {
  store_block(tensors[CallTensor::state_d_key], 1,
              tensors[CallTensor::state_d_value], block);
}

void GradientHead::store_block(const TensorArg& key, float scale,
                               const TensorArg& value,
                               std::size_t block) const {
  const kernels::TileLayout& layout = kernels::tile_layout();
  if (key.given()) {
    layout.store_rows(
        d_keys(block), scale, D_, row_size(D_),
        key_rows<void>(key, place_, g_, first_key(block), count(block)));
  }
  if (value.given()) {
    layout.store_rows(
        d_values(block), 1, Dv_, row_size(Dv_),
        key_rows<void>(value, place_, g_, first_key(block), count(block)));
  }
}

void GradientHead::store_learned(float scale, float* d_key,
                                 float* d_value) const {
  for (std::size_t d = 0; d_key != nullptr && d < D_; ++d) {
    d_key[d] = d_keys(blocks())[d] * scale;
  }
  for (std::size_t c = 0; d_value != nullptr && c < Dv_; ++c) {
    d_value[c] = d_values(blocks())[c];
  }
}

void GradientHead::clear_others(const CallTensors& tensors) const {
  const auto clear = [&](const auto& gradient) {
    for (std::size_t j = 0; gradient.data() != nullptr && j < place_.Lkv; ++j) {
      for (std::size_t c = 0;
           (j < begin_ || j >= end_) && c < gradient.extent(3); ++c) {
        gradient(place_.batch, place_.first_key + j, g_, c) = {};
      }
    }
  };
  visit_numbers<void>(tensors[CallTensor::d_key], clear);
  visit_numbers<void>(tensors[CallTensor::d_value], clear);
}

}  // namespace headwise::inline HEADWISE_ABI
