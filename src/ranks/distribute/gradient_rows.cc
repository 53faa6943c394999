#include "distribute/gradient_rows.h"

#include <type_traits>

#include "attention/call_part.h"
#include "headwise/attention/backward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The rows of one tensor.
template <class T>
TensorView<T, 4> rows_of_shard(TensorView<T, 4> view, const Shard& shard) {
  return part_along(1, view, {shard.row, shard.tokens.count});
}

// What becomes a gradient: in its place, if it is float32, else in `memory`.
template <class T>
Result<TensorView<float, 4>> sums_of(TensorView<T, 4> gradient,
                                     const Extents<4>& extents,
                                     Tensor<float, 4>& memory) {
  if constexpr (std::is_same_v<T, float>) {
    if (gradient.data() != nullptr) {
      return gradient;
    }
  }
  HEADWISE_ASSIGN(memory, Tensor<float, 4>::create_unset(extents));
  return memory.view();
}

}  // namespace

std::vector<HeadTurn> head_turns(const AttentionShape& shape) {
  std::vector<HeadTurn> turns;
  if (shape.kv_groups.even()) {
    const std::size_t group = shape.largest_group();
    for (std::size_t n = 0; n < group; ++n) {
      turns.push_back({{n, shape.Hkv, group}, {0, shape.Hkv}, n, group});
    }
    return turns;
  }
  for (std::size_t g = 0; g < shape.Hkv; ++g) {
    const std::size_t group = shape.group_size(g);
    for (std::size_t n = 0; n < group; ++n) {
      turns.push_back({{shape.first_query_head(g) + n, 1}, {g, 1}, n, group});
    }
  }
  return turns;
}

template <class T>
Result<GradientRows<T>> GradientRows<T>::create(
    const WholeOptions& whole, const BackwardInputsOf<T>& own,
    const AttentionGradientsOf<T>& gradients, const RowShares& rows) {
  GradientRows made(whole, own, gradients, rows);
  HEADWISE_ASSIGN(
      const auto query,
      sums_of(gradients.query, own.query.extents(), made.memory_[0]));
  HEADWISE_ASSIGN(const auto key,
                  sums_of(gradients.key, own.key.extents(), made.memory_[1]));
  HEADWISE_ASSIGN(
      const auto value,
      sums_of(gradients.value, own.value.extents(), made.memory_[2]));
  made.query_sums_ = query;
  made.key_sums_ = key;
  made.value_sums_ = value;
  return made;
}

template <class T>
Status GradientRows<T>::take_keys(const Shard& queries, const PartRange& keys,
                                  const KeyViews<const T>& rows,
                                  KeyPart key_part) {
  HEADWISE_ASSIGN(const auto cut, whole_.of(queries, keys, key_part));
  AttentionGradientsOf<T> gradients;
  const PartRange own = {queries.row, queries.tokens.count};
  if (key_part == KeyPart::all || key_part == KeyPart::last) {
    gradients.query = rows_of_shard(gradients_.query, queries);
    gradients.state.sinks = part_along(2, rows_.sinks, own);
  }
  if (key_part != KeyPart::all) {
    gradients.state.query = rows_of_shard(query_sums_, queries);
  }
  gradients.state.alibi = part_along(2, rows_.alibi, own);
  return attention_backward(
      {.query = rows_of_shard(own_.query, queries),
       .key = rows.key,
       .value = rows.value,
       .output = rows_of_shard(own_.output, queries),
       .softmax_rows = part_along(2, own_.softmax_rows, own),
       .d_output = rows_of_shard(own_.d_output, queries)},
      gradients, cut.options, cut.operation_options);
}

template <class T>
Status GradientRows<T>::take_no_keys(const Shard& queries) {
  return take_keys(queries, {}, no_keys(whole_.shape, own_.query.data()),
                   KeyPart::all);
}

template <class T>
Status GradientRows<T>::take_queries(const Shard& keys,
                                     const PartRange& queries,
                                     const QueryViews<const T>& rows,
                                     const HeadTurn& turn,
                                     QueryPart query_part) {
  CallPart part = whole_.part(keys.sequence, queries, keys.tokens);
  part.heads = turn.heads;
  part.kv_heads = turn.kv_heads;
  HEADWISE_ASSIGN(
      auto cut,
      WholeOptions{whole_.shape, whole_.options, options_of_keys_}.of(part));
  cut.operation_options.query_part = query_part;
  const auto own = [&](auto view) {
    return part_along(2, rows_of_shard(view, keys), turn.kv_heads);
  };
  AttentionGradientsOf<T> gradients;
  if (query_part == QueryPart::all || query_part == QueryPart::last) {
    gradients.key = own(gradients_.key);
    gradients.value = own(gradients_.value);
  }
  if (query_part != QueryPart::all) {
    gradients.state.key = own(key_sums_);
    gradients.state.value = own(value_sums_);
  }
  return attention_backward({.query = rows.query,
                             .key = own(own_.key),
                             .value = own(own_.value),
                             .output = rows.output,
                             .softmax_rows = rows.softmax_rows,
                             .d_output = rows.d_output},
                            gradients, cut.options, cut.operation_options);
}

template <class T>
Status GradientRows<T>::take_no_queries(const Shard& keys) {
  const AttentionShape& s = whole_.shape;
  const T* memory = own_.key.data();  // of which nothing is read
  const TensorView<const T, 4> outputs = {memory, {1, 0, s.Hq, s.Dv}};
  const QueryViews<const T> none = {
      {reinterpret_cast<const float*>(memory), {1, s.Hq, 0, 2}},
      {memory, {1, 0, s.Hq, s.D}},
      outputs,
      outputs};
  return take_queries(keys, {}, none, {{0, s.Hq}, {0, s.Hkv}}, QueryPart::all);
}

template class GradientRows<float>;
template class GradientRows<BFloat16>;
template class GradientRows<Float16>;

}  // namespace headwise::inline HEADWISE_ABI
