// What a rank has of a call's tensors after the exchange: all tokens of its
// heads.
#pragma once

#include <cstddef>
#include <utility>

#include "distribute/exchange_heads.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
struct HeadInputs {
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
};

// Of a backward call.
template <class T>
struct HeadTensors : HeadInputs<T> {
  using HeadInputs<T>::query;
  using HeadInputs<T>::key;
  using HeadInputs<T>::value;
  Tensor<T, 4> output;
  Tensor<float, 4> softmax_rows;
  Tensor<T, 4> d_output;
  TensorView<const float, 4> d_attn_weights{};  // the caller's

  BackwardInputsOf<T> views() const {
    return {.query = query.view(),
            .key = key.view(),
            .value = value.view(),
            .output = output.view(),
            .softmax_rows = softmax_rows.view(),
            .d_output = d_output.view(),
            .d_attn_weights = d_attn_weights};
  }

  // Of one sequence.
  BackwardInputsOf<T> views(const SequencePlace& place) const {
    const PartRange queries = {place.first_query, place.Lq};
    const PartRange keys = {place.first_key, place.Lkv};
    const auto part = [&](const auto& tensor, std::size_t axis,
                          const PartRange& rows) {
      return part_along(axis, part_along(0, tensor.view(), {place.batch, 1}),
                        rows);
    };
    return {.query = part(query, 1, queries),
            .key = part(key, 1, keys),
            .value = part(value, 1, keys),
            .output = part(output, 1, queries),
            .softmax_rows = part(softmax_rows, 2, queries),
            .d_output = part(d_output, 1, queries)};
  }
};

template <class T, std::size_t Rank>
Status make_unset(const Extents<Rank>& extents, Tensor<T, Rank>& tensor) {
  HEADWISE_ASSIGN(tensor, Tensor<T, Rank>::create_unset(extents));
  return ok();
}

template <class Exchange, class View, class T>
Status to_heads(const Exchange& exchange, const View& from,
                const Extents<4>& extents, Tensor<T, 4>& to) {
  HEADWISE_TRY(make_unset(extents, to));
  return exchange.to_heads(from, to);
}

// `own` has query, key and value. Errors of both: out_of_memory, rank_failure.
template <class T, class Own>
Status exchange_inputs(const HeadExchanges& exchanges,
                       const AttentionShape& shape, std::size_t Hq,
                       std::size_t Hkv, const Own& own, HeadInputs<T>& whole) {
  const std::size_t B = shape.batches();
  const std::size_t keys = shape.key_rows();
  const auto of_keys = exchanges.keys<T>();
  HEADWISE_TRY(to_heads(exchanges.queries<T>(), own.query,
                        {B, shape.query_rows(), Hq, shape.D}, whole.query));
  HEADWISE_TRY(to_heads(of_keys, own.key, {B, keys, Hkv, shape.D}, whole.key));
  return to_heads(of_keys, own.value, {B, keys, Hkv, shape.Dv}, whole.value);
}

template <class T>
Result<HeadTensors<T>> exchange_for_heads(const HeadExchanges& exchanges,
                                          const AttentionShape& shape,
                                          std::size_t Hq, std::size_t Hkv,
                                          const BackwardInputsOf<T>& own) {
  const std::size_t B = shape.batches();
  const std::size_t queries = shape.query_rows();
  HeadTensors<T> whole;
  HEADWISE_TRY(exchange_inputs<T>(exchanges, shape, Hq, Hkv, own, whole));
  const auto of_queries = exchanges.queries<T>();
  HEADWISE_TRY(to_heads(of_queries, own.output, {B, queries, Hq, shape.Dv},
                        whole.output));
  HEADWISE_TRY(to_heads(exchanges.queries<float>(kHeadsFirst), own.softmax_rows,
                        {B, Hq, queries, 2}, whole.softmax_rows));
  HEADWISE_TRY(to_heads(of_queries, own.d_output, {B, queries, Hq, shape.Dv},
                        whole.d_output));
  whole.d_attn_weights = own.d_attn_weights;
  return whole;
}

}  // namespace headwise::inline HEADWISE_ABI
