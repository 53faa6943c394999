#include "decode/stored_blocks.h"

#include <algorithm>

#include "attention/few_rows/packed_rows.h"

namespace headwise::inline HEADWISE_ABI {

StoredBlocks::StoredBlocks(const DecodeCall& call)
    : cache_(call.cache),
      ids_(call.ids),
      first_head_(call.first_head),
      loops_(stored_loops(call.spec, call.cache.cells.layout().type)),
      reads_ahead_(call.cache.cells.layout().type !=
                   kernels::StoredType::float32) {}

bool StoredBlocks::serve(const DecodeCall& call) {
  const CellLayout& layout = call.cache.cells.layout();
  bool begin_with_panels = true;
  for (std::size_t b = 0; b < call.ids.size(); ++b) {
    begin_with_panels = begin_with_panels &&
                        call.spec.mask.first_key(b) % layout.panel_width == 0;
  }
  return !layout.keys_as_rows && begin_with_panels;
}

void StoredBlocks::begin(std::size_t b, std::size_t g) {
  slot_ = ids_[b].slot;
  g_ = first_head_ + g;
}

RowBlock StoredBlocks::block(std::size_t first, std::size_t count) {
  const SequencePages& sequences = cache_.sequences;
  const Cells& cells = cache_.cells;
  const std::size_t page_size = sequences.page_size();
  const std::size_t width = cells.layout().panel_width;
  std::size_t panels = 0;
  std::size_t parts = 0;
  finite_ = true;
  for (std::size_t n = 0; n < count;) {
    const std::size_t place = (first + n) % page_size;
    const std::size_t some = std::min(count - n, page_size - place);
    // The mask hides a page that a rolling window gave back. Its place takes
    // the last page, and no value of it is read.
    const bool held = sequences.holds(slot_, first + n);
    const PageNumber page = sequences.page_of(
        slot_, held ? first + n : sequences.length(slot_) - 1);
    finite_ = finite_ && held && !cells.not_finite(page, g_);
    for (std::size_t k = 0; k < some; k += width) {
      panels_[panels] = cells.panel(page, g_, (place + k) / width);
      if (reads_ahead_) {
        panels_[panels].next = later_panel(first + n + k);
      }
      ++panels;
    }
    values_[parts] = cells.values(page, g_, place, some);
    if (reads_ahead_) {
      values_[parts].next = later_values(first + n);
    }
    ++parts;
    n += some;
  }
  return {{panels_.data(), panels}, {values_.data(), parts}};
}

const void* StoredBlocks::later_panel(std::size_t token) const {
  const SequencePages& sequences = cache_.sequences;
  token += kernels::kKeyBlock;
  if (token >= sequences.length(slot_)) {
    return nullptr;
  }
  return cache_.cells
      .panel(sequences.page_of(slot_, token), g_,
             token % sequences.page_size() / cache_.cells.layout().panel_width)
      .keys;
}

const void* StoredBlocks::later_values(std::size_t token) const {
  const SequencePages& sequences = cache_.sequences;
  token += kernels::kKeyBlock;
  if (token >= sequences.length(slot_)) {
    return nullptr;
  }
  return cache_.cells
      .values(sequences.page_of(slot_, token), g_,
              token % sequences.page_size(), 1)
      .rows;
}

}  // namespace headwise::inline HEADWISE_ABI
