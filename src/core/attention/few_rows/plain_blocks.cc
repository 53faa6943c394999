#include "attention/few_rows/plain_blocks.h"

#include <algorithm>

#include "attention/few_rows/packed_rows.h"
#include "attention/number_rows.h"
#include "kernels/row_tile.h"
#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::kKeyBlock;
using kernels::kPanelKeys;
using kernels::StoredType;

PlainBlocks::PlainBlocks(const AttentionSpec& spec, Arena& arena)
    : spec_(spec),
      panel_loops_(keys_in_pairs(spec)
                       ? kernels::panels_of_pairs()
                       : kernels::stored_tile(StoredType::float32)),
      loops_(&panel_loops_) {
  for (float*& memory : panel_memory_) {
    memory = arena.take<float>(spec.shape.D, kPanelKeys);
  }
  value_memory_ = arena.take<float>(kKeyBlock, spec.shape.Dv);
  widened_ =
      arena.take<float>(keys_in_pairs(spec) ? spec.shape.D : 0, kPanelKeys);
}

void PlainBlocks::read(const CallTensors& tensors) {
  key_ = tensors[CallTensor::key];
  value_ = tensors[CallTensor::value];
  loops_ = value_.stride(3) == 1
               ? &stored_loops(spec_, kernels::stored_type(value_.dtype()))
               : &panel_loops_;
}

void PlainBlocks::begin(std::size_t b, std::size_t g) {
  place_ = spec_.shape.sequence(b);
  g_ = g;
}

kernels::NumberRows<const void> PlainBlocks::keys(std::size_t first,
                                                  std::size_t end) const {
  return number_rows<const void>(key_, place_.batch, place_.first_key + first,
                                 g_, std::min(kPanelKeys, end - first));
}

kernels::ValueRows PlainBlocks::values(std::size_t first,
                                       std::size_t count) const {
  const auto rows = number_rows<const void>(
      value_, place_.batch, place_.first_key + first, g_, count);
  if (rows.stride == 1) {
    return {rows.data, nullptr, count, rows.row_stride};
  }
  kernels::tile_layout().pack_keys(rows, spec_.shape.Dv, value_memory_);
  return {value_memory_, nullptr, count,
          static_cast<std::ptrdiff_t>(spec_.shape.Dv)};
}

void PlainBlocks::pack_panel(const kernels::NumberRows<const void>& keys,
                             std::size_t following, float* panel) const {
  const std::size_t D = spec_.shape.D;
  if (!keys_in_pairs(spec_)) {
    kernels::row_tile().pack_panel(keys, following, D, panel);
    return;
  }
  kernels::row_tile().pack_panel(keys, following, D, widened_);
  kernels::pair_tile().pair_rows(widened_, D, kernels::panel_width(keys.count),
                                 panel);
}

RowBlock PlainBlocks::block(std::size_t first, std::size_t count) {
  const std::size_t end = first + count;
  const std::size_t panels = (count + kPanelKeys - 1) / kPanelKeys;
  for (std::size_t n = 0; n < panels; ++n) {
    const std::size_t from = first + n * kPanelKeys;
    const kernels::NumberRows<const void> rows = keys(from, end);
    pack_panel(rows, place_.Lkv - from - rows.count, panel_memory_[n]);
    panels_[n] = {panel_memory_[n], nullptr, kernels::panel_width(rows.count)};
  }
  values_ = values(first, count);
  return {{panels_.data(), panels}, {&values_, 1}};
}

bool PlainBlocks::all_finite(const RowBlock& block) const {
  return loops_->all_finite(block.values.front(), spec_.shape.Dv);
}

}  // namespace headwise::inline HEADWISE_ABI
