#include "decode/stored_head.h"

#include <algorithm>

#include "kernels/tile_layout.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::Rows;

float* StoredHead::take_memory(const KvCacheOptions& options, Arena& arena) {
  return arena.take<float>(options.value_is_key_prefix ? 0 : kernels::kKeyBlock,
                           options.v_head_dim);
}

RowSource::Packed StoredHead::pack(std::size_t first, std::size_t count,
                                   float* keys, float* values) const {
  const kernels::TileLayout& layout = kernels::tile_layout();
  const std::size_t Dv = cache_.options.v_head_dim;
  Rows<const float> rows = in_place(first, count);
  if (cache_.options.value_is_key_prefix) {
    if (rows.data == nullptr) {
      load(first, count, keys, nullptr);
      rows = {keys, count, static_cast<std::ptrdiff_t>(cache_.options.head_dim),
              1};
    }
    return {rows.data, values_ == Values::in_keys
                           ? all_finite(first, count)
                           : layout.pack_values(rows, Dv, values)};
  }
  load(first, count, keys, rows.data == nullptr ? memory_ : nullptr);
  if (rows.data == nullptr) {
    rows = {memory_, count, static_cast<std::ptrdiff_t>(Dv), 1};
  }
  return {keys, layout.pack_values(rows, Dv, values)};
}

const float* StoredHead::keys(std::size_t first, std::size_t count,
                              float* keys) const {
  if (cache_.options.value_is_key_prefix) {
    if (const Rows<const float> rows = in_place(first, count);
        rows.data != nullptr) {
      return rows.data;
    }
  }
  load(first, count, keys, nullptr);
  return keys;
}

bool StoredHead::all_finite(std::size_t first, std::size_t count) const {
  const SequencePages& sequences = cache_.sequences;
  const std::size_t page_size = sequences.page_size();
  bool finite = true;
  for (std::size_t token = first; token < first + count;
       token += page_size - token % page_size) {
    finite = finite &&
             (!sequences.holds(slot_, token) ||
              !cache_.cells.not_finite(sequences.page_of(slot_, token), head_));
  }
  return finite;
}

Rows<const float> StoredHead::in_place(std::size_t first,
                                       std::size_t count) const {
  const SequencePages& sequences = cache_.sequences;
  const std::size_t place = first % sequences.page_size();
  if (cache_.options.dtype != DType::float32 ||
      place + count > sequences.page_size() || !sequences.holds(slot_, first)) {
    return {};
  }
  const kernels::ValueRows rows =
      cache_.cells.values(sequences.page_of(slot_, first), head_, place, count);
  return {static_cast<const float*>(rows.rows), count, rows.row_stride, 1};
}

void StoredHead::load(std::size_t first, std::size_t count, float* keys,
                      float* values) const {
  const SequencePages& sequences = cache_.sequences;
  const std::size_t page_size = sequences.page_size();
  const std::size_t D = cache_.options.head_dim;
  const std::size_t Dv = cache_.options.v_head_dim;
  for (std::size_t n = 0; n < count;) {
    const std::size_t place = (first + n) % page_size;
    const std::size_t some = std::min(count - n, page_size - place);
    float* const values_there = values == nullptr ? nullptr : values + n * Dv;
    if (sequences.holds(slot_, first + n)) {
      cache_.cells.load(sequences.page_of(slot_, first + n), head_, place, some,
                        keys + n * D, values_there);
    } else {
      std::fill_n(keys + n * D, some * D, 0.0f);
      std::fill_n(values_there, values == nullptr ? 0 : some * Dv, 0.0f);
    }
    n += some;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
