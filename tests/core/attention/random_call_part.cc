// A part of the keys of a random call.
#include <algorithm>

#include "attention/random_call_tensors.h"

namespace headwise::testing_support {
namespace {

// The keys of every sequence of (B, rows, H, D), or of the one axis of a ragged
// batch: sequence b begins at row starts[b] there.
Tensor<float, 4> rows_of_part(const Tensor<float, 4>& x,
                              const std::vector<KeyRange>& keys,
                              const std::vector<std::size_t>& starts,
                              std::size_t rows) {
  const auto [B, L, H, D] = x.extents();
  auto part = Tensor<float, 4>::create({B, rows, H, D}).value();
  float* to = part.data();
  for (std::size_t b = 0; b < keys.size(); ++b) {
    const std::size_t first = starts[b] + keys[b].first;
    to = std::copy_n(x.data() + first * H * D, keys[b].count * H * D, to);
  }
  return part;
}

// (B or 1, H, Lq, Lkv) for the part's keys. The sequences of a ragged batch
// begin at keys of their own, and what follows them is never read.
template <class T>
Tensor<T, 4> columns_of_part(const Tensor<T, 4>& x,
                             const std::vector<KeyRange>& keys, bool ragged,
                             std::size_t columns) {
  const auto [B, H, Lq, Lkv] = x.extents();
  auto part =
      Tensor<T, 4>::create({ragged ? keys.size() : B, H, Lq, columns}).value();
  for (std::size_t b = 0; b < part.extent(0); ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          part(b, h, i, j) =
              x(B == 1 ? 0 : b, h, i, std::min(keys[b].first + j, Lkv - 1));
        }
      }
    }
  }
  return part;
}
template <class T>
Tensor<T, 2> columns_of_part(const Tensor<T, 2>& x,
                             const std::vector<KeyRange>& keys,
                             std::size_t columns) {
  auto part = Tensor<T, 2>::create({keys.size(), columns}).value();
  for (std::size_t b = 0; b < keys.size(); ++b) {
    for (std::size_t j = 0; j < columns; ++j) {
      part(b, j) = x(b, std::min(keys[b].first + j, x.extent(1) - 1));
    }
  }
  return part;
}

}  // namespace

std::vector<std::size_t> RandomCallTensors::keys() const {
  std::vector<std::size_t> keys(call_.B, call_.Lkv);
  for (std::size_t b = 0; call_.has(Feature::ragged) && b < call_.B; ++b) {
    keys[b] = static_cast<std::size_t>(key_offsets_(b + 1) - key_offsets_(b));
  }
  return keys;
}

RandomCallTensors::RandomCallTensors(const RandomCallTensors& whole,
                                     const std::vector<KeyRange>& keys,
                                     std::size_t threads)
    : call_(whole.call_),
      padded_(whole.padded_),
      tensors_(whole.tensors_),
      executor_(Executor::with_threads(threads).value()),
      query_offsets_(clone(whole.query_offsets_)),
      kv_groups_(whole.kv_groups_),
      query_ids_(clone(whole.query_ids_)),
      t5_table_(clone(whole.t5_table_)),
      slopes_(clone(whole.slopes_)),
      score_weight_(clone(whole.score_weight_)),
      sinks_(clone(whole.sinks_)),
      bias_k_(clone(whole.bias_k_)),
      bias_v_(clone(whole.bias_v_)) {
  const bool ragged = call_.has(Feature::ragged);
  padded_.Lkv = std::ranges::max(keys, {}, &KeyRange::count).count;
  call_.Lkv = padded_.Lkv;
  key_offsets_ = filled<std::int64_t, 1>({call_.B + 1}, 0);
  std::vector<std::size_t> starts;
  for (std::size_t b = 0; b < call_.B; ++b) {
    starts.push_back(ragged ? static_cast<std::size_t>(whole.key_offsets_(b))
                            : b * whole.padded_.Lkv);
    key_offsets_(b + 1) =
        key_offsets_(b) + static_cast<std::int64_t>(keys[b].count);
  }
  tensors_.Lkv =
      ragged ? static_cast<std::size_t>(key_offsets_(call_.B)) : padded_.Lkv;
  inputs_ = {clone(whole.inputs_.query),
             rows_of_part(whole.inputs_.key, keys, starts, tensors_.Lkv),
             rows_of_part(whole.inputs_.value, keys, starts, tensors_.Lkv)};
  call_.features[static_cast<std::size_t>(Feature::rotary)] = false;

  padding_ = columns_of_part(whole.padding_, keys, padded_.Lkv);
  key_ids_ = columns_of_part(whole.key_ids_, keys, padded_.Lkv);
  dense_ = columns_of_part(whole.dense_, keys, ragged, padded_.Lkv);
  bias_ = columns_of_part(whole.bias_, keys, ragged, padded_.Lkv);

  lengths_ = clone(whole.lengths_);
  row_lengths_ = clone(whole.row_lengths_);
  starts_ = clone(whole.starts_);
  query_starts_ = clone(whole.query_starts_);
  AttentionShape sequences = whole.padded_;
  sequences.offsets = whole.options().offsets;
  for (std::size_t b = 0; b < call_.B; ++b) {
    const auto first = static_cast<std::int64_t>(keys[b].first);
    const auto of_part = [&](std::int64_t& keys_before) {
      keys_before = std::clamp<std::int64_t>(
          keys_before - first, 0, static_cast<std::int64_t>(padded_.Lkv));
    };
    of_part(lengths_(b));
    of_part(starts_(b));
    for (std::size_t i = 0; i < call_.Lq; ++i) {
      of_part(row_lengths_(b, i));
    }
    query_starts_(b) = whole.options().query_start.of(b, sequences) - first;
  }
  call_.features[static_cast<std::size_t>(Feature::query_start)] = true;
  call_.start_form = 1;  // one a sequence
}

}  // namespace headwise::testing_support
