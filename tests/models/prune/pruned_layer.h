// What is left of tensors when heads go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "support/tensors.h"

namespace headwise::testing_support {

using Heads = std::vector<std::size_t>;

// The numbers below `count` that are not among `gone`.
inline Heads heads_left(std::size_t count, const Heads& gone) {
  Heads left;
  for (std::size_t h = 0; h < count; ++h) {
    if (std::ranges::find(gone, h) == gone.end()) {
      left.push_back(h);
    }
  }
  return left;
}

// Along `axis`, `size` elements of each of these heads.
template <class T, std::size_t Rank>
Tensor<T, Rank> picked(TensorView<const T, Rank> all, std::size_t axis,
                       const Heads& heads, std::size_t size = 1) {
  Extents<Rank> extents = all.extents();
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t n = 0; n < Rank; ++n) {
    (n < axis ? outer : inner) *= n == axis ? 1 : extents[n];
  }
  const std::size_t before = extents[axis];
  extents[axis] = heads.size() * size;
  auto some = Tensor<T, Rank>::create(extents).value();
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t n = 0; n < extents[axis]; ++n) {
      const std::size_t from = heads[n / size] * size + n % size;
      std::copy_n(all.data() + (o * before + from) * inner, inner,
                  some.data() + (o * extents[axis] + n) * inner);
    }
  }
  return some;
}
template <class T, std::size_t Rank>
Tensor<T, Rank> picked(const Tensor<T, Rank>& all, std::size_t axis,
                       const Heads& heads, std::size_t size = 1) {
  return picked<T, Rank>(all.view(), axis, heads, size);
}

// 0 for the heads that go, 1 for the others.
inline Tensor<float, 1> gates_without(std::size_t count, const Heads& gone) {
  auto gates = filled<float, 1>({count}, 1);
  for (const std::size_t h : gone) {
    gates(h) = 0;
  }
  return gates;
}

// The head of keys and values that each query head reads.
inline Heads kv_heads(const MultiHeadAttentionConfig& config) {
  Heads reads;
  for (std::size_t g = 0; g < *config.num_kv_heads; ++g) {
    const std::size_t size = config.kv_group_sizes.empty()
                                 ? config.num_heads / *config.num_kv_heads
                                 : config.kv_group_sizes[g];
    reads.insert(reads.end(), size, g);
  }
  return reads;
}

// Those that are still read, in order.
inline Heads kv_heads_left(const MultiHeadAttentionConfig& config,
                           const Heads& left) {
  Heads kv;
  for (const std::size_t h : left) {
    const std::size_t g = kv_heads(config)[h];
    if (kv.empty() || kv.back() != g) {
      kv.push_back(g);
    }
  }
  return kv;
}

// The same layer without its output projection: its output are the contexts.
inline MultiHeadAttention contexts_of(const MultiHeadAttention& layer) {
  const auto copy = [](const Linear& linear) {
    const Heads all = heads_left(linear.out_features(), {});
    return Linear::from_params(picked(linear.weight(), 0, all),
                               linear.has_bias() ? picked(linear.bias(), 0, all)
                                                 : Tensor<float, 1>())
        .value();
  };
  const MultiHeadAttentionParams& params = *layer.params();
  MultiHeadAttentionParams without{copy(params.w_q), copy(params.w_k), {}, {}};
  if (params.w_v) {
    without.w_v = copy(*params.w_v);
  }
  if (params.w_score) {
    without.w_score = clone(*params.w_score);
  }
  if (params.q_norm) {
    const auto norm = [](const HeadNormParams& of) {
      return HeadNormParams{clone(of.weight), clone(of.bias)};
    };
    without.q_norm = norm(*params.q_norm);
    without.k_norm = norm(*params.k_norm);
  }
  const MultiHeadAttentionConfig& config = layer.config();
  return MultiHeadAttention::from_params(
             std::move(without),
             HeadCounts{.num_heads = config.num_heads,
                        .num_kv_heads = config.num_kv_heads,
                        .kv_group_sizes = config.kv_group_sizes,
                        .vdim = params.w_v ? std::optional<std::size_t>()
                                           : config.vdim,
                        .qk_norm = config.qk_norm})
      .value();
}

}  // namespace headwise::testing_support
