#include "decode/stored_head.h"

#include <algorithm>

#include "attention/packed_numbers.h"

namespace headwise::inline HEADWISE_ABI {

using kernels::Rows;

StoredHead::Memory StoredHead::take_memory(const AttentionSpec& spec,
                                           const KvCacheOptions& options,
                                           Arena& arena) {
  return {
      arena.take<float>(keys_in_pairs(spec) ? kernels::kKeyBlock : 0,
                        options.head_dim),
      arena.take<float>(options.value_is_key_prefix ? 0 : kernels::kKeyBlock,
                        options.v_head_dim)};
}

RowSource::Packed StoredHead::pack(std::size_t first, std::size_t count,
                                   float* keys, float* values) const {
  float* const widened = keys_in_pairs(spec_) ? memory_.keys : keys;
  const Rows<const float> stored = in_place(first, count);
  if (cache_.options.value_is_key_prefix) {
    const float* const rows = this->rows(first, count, widened);
    return {packed(rows, count, keys),
            values_ == Values::in_keys
                ? all_finite(first, count)
                : pack_values(spec_,
                              Rows<const float>{rows, count, row_stride(), 1},
                              values)};
  }
  load(first, count, widened,
       stored.data == nullptr ? memory_.values : nullptr);
  const Rows<const float> rows =
      stored.data != nullptr
          ? stored
          : Rows<const float>{
                memory_.values, count,
                static_cast<std::ptrdiff_t>(cache_.options.v_head_dim), 1};
  return {packed(widened, count, keys), pack_values(spec_, rows, values)};
}

const float* StoredHead::keys(std::size_t first, std::size_t count,
                              float* keys) const {
  return packed(rows(first, count, keys_in_pairs(spec_) ? memory_.keys : keys),
                count, keys);
}

const float* StoredHead::rows(std::size_t first, std::size_t count,
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

const float* StoredHead::packed(const float* rows, std::size_t count,
                                float* keys) const {
  if (!keys_in_pairs(spec_)) {
    return rows;
  }
  pack_keys(spec_, Rows<const float>{rows, count, row_stride(), 1}, keys);
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
