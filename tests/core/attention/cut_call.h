// A padded call of attention that has some of the queries, keys and heads of a
// larger one: its tensors as views, its options as those of the smaller call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "support/tensors.h"

namespace headwise::testing_support {

struct Cut {
  std::size_t first_query;
  std::size_t queries;
  std::size_t first_key;
  std::size_t keys;
  // Query heads first_head, first_head + head_step, ...
  std::size_t first_head;
  std::size_t head_step;
  std::size_t heads;
  std::size_t first_key_head;
  std::size_t key_heads;
};

// Of the whole call.
inline Cut no_cut(const AttentionShape& s) {
  return {0, s.Lq, 0, s.Lkv, 0, 1, s.Hq, 0, s.Hkv};
}
inline Cut keys_cut(const AttentionShape& s, std::size_t first,
                    std::size_t count) {
  Cut cut = no_cut(s);
  cut.first_key = first;
  cut.keys = count;
  return cut;
}
inline Cut queries_cut(const AttentionShape& s, std::size_t first,
                       std::size_t count) {
  Cut cut = no_cut(s);
  cut.first_query = first;
  cut.queries = count;
  return cut;
}

// Every `step`-th of `count` elements of an axis, from `first` on.
template <class T, std::size_t Rank>
TensorView<T, Rank> cut_axis(const TensorView<T, Rank>& view, std::size_t axis,
                             std::size_t first, std::size_t count,
                             std::size_t step = 1) {
  if (view.data() == nullptr) {
    return {};
  }
  Extents<Rank> extents = view.extents();
  Strides<Rank> strides = view.strides();
  T* data = view.data() + static_cast<std::ptrdiff_t>(first) * strides[axis];
  extents[axis] = count;
  strides[axis] *= static_cast<std::ptrdiff_t>(step);
  return {data, extents, strides};
}

// (B, Lq, Hq, D), (B, Hq, Lq, 2) and (B, Lkv, Hkv, D).
template <class T>
TensorView<T, 4> queries_of(const TensorView<T, 4>& view, const Cut& cut) {
  return cut_axis(cut_axis(view, 1, cut.first_query, cut.queries), 2,
                  cut.first_head, cut.heads, cut.head_step);
}
template <class T>
TensorView<T, 4> rows_of(const TensorView<T, 4>& view, const Cut& cut) {
  return cut_axis(cut_axis(view, 2, cut.first_query, cut.queries), 1,
                  cut.first_head, cut.heads, cut.head_step);
}
template <class T>
TensorView<T, 4> keys_of(const TensorView<T, 4>& view, const Cut& cut) {
  return cut_axis(cut_axis(view, 1, cut.first_key, cut.keys), 2,
                  cut.first_key_head, cut.key_heads);
}

// All rules become one dense mask, all biases one dense bias.
class CutOptions {
 public:
  CutOptions(const AttentionSpec& whole, AttentionOptions options,
             const OperationOptions& operation_options, const Cut& cut)
      : options_(std::move(options)),
        operation_options_(operation_options),
        mask_(filled<bool, 4>({whole.shape.B, cut.heads, cut.queries, cut.keys},
                              true)),
        bias_(filled<float, 4>(mask_.extents(), 0)) {
    for (std::size_t b = 0; b < whole.shape.B; ++b) {
      starts_.push_back(whole.mask.query_start(b) +
                        static_cast<std::int64_t>(cut.first_query) -
                        static_cast<std::int64_t>(cut.first_key));
      for (std::size_t h = 0; h < cut.heads; ++h) {
        const std::size_t head = cut.first_head + h * cut.head_step;
        for (std::size_t i = 0; i < cut.queries; ++i) {
          for (std::size_t j = 0; j < cut.keys; ++j) {
            copy_pair(whole, {b, head, cut.first_query + i, cut.first_key + j},
                      {b, h, i, j});
          }
        }
      }
    }
    options_.dropout.place = {cut.first_head, cut.head_step, cut.first_key};
    if (cut.heads != whole.shape.Hq) {
      cut_heads(cut);
    }
  }

  AttentionOptions options() const {
    const std::array<Axis, 4> axes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
    AttentionOptions part = options_;
    part.query_start = starts_;
    if (options_.mask.rule_count() != 0) {
      part.mask = dense(view_of(mask_), axes);
    }
    if (options_.bias.given()) {
      part.bias = dense(view_of(bias_), axes);
    }
    return part;
  }
  const OperationOptions& operation_options() const {
    return operation_options_;
  }

 private:
  void copy_pair(const AttentionSpec& whole, const Extents<4>& from,
                 const Extents<4>& to) {
    const auto [b, h, i, j] = from;
    mask_(to[0], to[1], to[2], to[3]) = whole.mask.may_attend(b, h, i, j);
    if (whole.bias.given()) {
      bias_(to[0], to[1], to[2], to[3]) = whole.bias(b, h, i, j);
    }
  }
  // One query head a key head.
  void cut_heads(const Cut& cut) {
    const auto of_query_heads = [&cut](auto& view, std::size_t axis) {
      view = cut_axis(view, axis, cut.first_head, cut.heads, cut.head_step);
    };
    of_query_heads(options_.alibi, 0);
    of_query_heads(options_.sinks, 0);
    of_query_heads(options_.t5_bias.table, 1);
    of_query_heads(operation_options_.score_weight, 0);
    AddedKeys& added = operation_options_.added_keys;
    added.bias_k = cut_axis(added.bias_k, 0, cut.first_key_head, cut.key_heads);
    added.bias_v = cut_axis(added.bias_v, 0, cut.first_key_head, cut.key_heads);
    operation_options_.kv_groups = {};
  }

  AttentionOptions options_;
  OperationOptions operation_options_;
  Tensor<bool, 4> mask_;
  Tensor<float, 4> bias_;
  std::vector<std::int64_t> starts_;
};

}  // namespace headwise::testing_support
