#include "transformer/distance_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "run/float_environment.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// The table's row of a distance. Logarithms are float's, as when the models
// were trained: those of double move the edges of buckets.
std::size_t table_row(const DistanceSpec& spec, std::ptrdiff_t distance) {
  const auto middle = static_cast<std::ptrdiff_t>(spec.buckets / 2);
  const std::ptrdiff_t away = std::abs(distance);
  if (spec.buckets != 0 && away > middle) {
    const auto ratio = [middle](std::ptrdiff_t number) {
      return std::log(static_cast<float>(static_cast<double>(number) /
                                         static_cast<double>(middle)));
    };
    const float share =
        ratio(away) / ratio(static_cast<std::ptrdiff_t>(spec.longest) - 1);
    const auto far = static_cast<std::ptrdiff_t>(
        std::ceil(share * static_cast<float>(middle - 1)));
    distance = (distance < 0 ? -1 : 1) * (far + middle);
  }
  const auto span = static_cast<std::ptrdiff_t>(spec.span);
  return static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(distance + span, 0, 2 * span - 1));
}

// Of query i and key j: at i + (L - 1) - j.
std::vector<std::size_t> table_rows(const DistanceSpec& spec, std::size_t L) {
  std::vector<std::size_t> rows;
  for (std::size_t n = 0; n + 1 < 2 * L; ++n) {
    rows.push_back(table_row(spec, static_cast<std::ptrdiff_t>(n) -
                                       static_cast<std::ptrdiff_t>(L - 1)));
  }
  return rows;
}

// Of all heads: each row of x, projected, with each row of the table:
// (heads, L, 2 * span).
Result<Tensor<float, 3>> products(const Linear& projection,
                                  const std::vector<Linear>& tables,
                                  const HeadsSpec& heads,
                                  TensorView<const float, 3> x,
                                  const Executor& executor) {
  HEADWISE_ASSIGN(const auto rows, projection.forward(x, "hidden", executor));
  const std::size_t L = x.extent(1);
  const std::size_t table = tables.front().out_features();
  HEADWISE_ASSIGN(auto made,
                  Tensor<float, 3>::create_unset({tables.size(), L, table}));
  for (std::size_t h = 0; h < tables.size(); ++h) {
    const TensorView<const float, 3> head(
        rows.data() + h * heads.head_dim, {1, L, heads.head_dim},
        {0, static_cast<std::ptrdiff_t>(rows.extent(2)), 1});
    HEADWISE_TRY(tables[h].forward_into(head, {&made(h, 0, 0), {1, L, table}},
                                        "heads", executor));
  }
  return made;
}

// The gradient by x, from that by products().
Result<Rows> back_through_products(const Linear& projection,
                                   const std::vector<Linear>& tables,
                                   const HeadsSpec& heads,
                                   const Tensor<float, 3>& d_products,
                                   const Executor& executor) {
  const auto [H, L, table] = d_products.extents();
  HEADWISE_ASSIGN(auto d_rows, Rows::create_unset({1, L, H * heads.head_dim}));
  for (std::size_t h = 0; h < H; ++h) {
    HEADWISE_ASSIGN(
        const auto d_head,
        tables[h].backward_input({&d_products(h, 0, 0), {1, L, table}}, "d_y",
                                 executor));
    for (std::size_t i = 0; i < L; ++i) {
      std::copy_n(&d_head(0, i, 0), heads.head_dim,
                  &d_rows(0, i, h * heads.head_dim));
    }
  }
  return projection.backward_input(d_rows, "d_y", executor);
}

}  // namespace

Result<Tensor<float, 3>> distance_bias(const Block& block,
                                       const HeadsSpec& heads,
                                       TensorView<const float, 3> x,
                                       const Executor& executor) {
  const DistanceSpec& spec = *heads.distances;
  const MultiHeadAttentionParams& params = *block.attention.params();
  const std::size_t L = x.extent(1);
  if (block.attention.config().num_heads == 0) {
    return Tensor<float, 3>();
  }
  Tensor<float, 3> with_keys, with_queries;
  if (spec.with_keys) {
    HEADWISE_ASSIGN(with_keys, products(params.w_q, block.distances.keys, heads,
                                        x, executor));
  }
  if (spec.with_queries) {
    HEADWISE_ASSIGN(with_queries, products(params.w_k, block.distances.queries,
                                           heads, x, executor));
  }
  const std::size_t H = block.attention.config().num_heads;
  HEADWISE_ASSIGN(auto bias, Tensor<float, 3>::create({H, L, L}));
  const std::vector<std::size_t> rows = table_rows(spec, L);
  const auto scale = static_cast<float>(heads.scale);
  executor.parallel_for(H * L, 16, [&](std::size_t begin, std::size_t end) {
    const FloatEnvironment environment;
    for (std::size_t n = begin; n < end; ++n) {
      const std::size_t h = n / L;
      const std::size_t i = n % L;
      for (std::size_t j = 0; j < L; ++j) {
        const std::size_t row = rows[i + (L - 1) - j];
        bias(h, i, j) =
            scale * ((spec.with_keys ? with_keys(h, i, row) : 0) +
                     (spec.with_queries ? with_queries(h, j, row) : 0));
      }
    }
  });
  return bias;
}

Result<Rows> distance_bias_backward(const Block& block, const HeadsSpec& heads,
                                    const Tensor<float, 4>& d_bias,
                                    const Executor& executor) {
  const DistanceSpec& spec = *heads.distances;
  const MultiHeadAttentionParams& params = *block.attention.params();
  const std::size_t L = d_bias.extent(2);
  const std::vector<std::size_t> rows = table_rows(spec, L);
  const auto scale = static_cast<float>(heads.scale);
  HEADWISE_ASSIGN(auto d_x, Rows::create({1, L, params.w_q.in_features()}));
  // `row_of`: the query or the key of a pair.
  const auto back = [&](const Linear& projection,
                        const std::vector<Linear>& tables,
                        const auto& row_of) -> Status {
    HEADWISE_ASSIGN(auto d_products,
                    Tensor<float, 3>::create(
                        {tables.size(), L, tables.front().out_features()}));
    const FloatEnvironment environment;
    for (std::size_t h = 0; h < tables.size(); ++h) {
      for (std::size_t i = 0; i < L; ++i) {
        for (std::size_t j = 0; j < L; ++j) {
          d_products(h, row_of(i, j), rows[i + (L - 1) - j]) +=
              scale * d_bias(0, h, i, j);
        }
      }
    }
    HEADWISE_ASSIGN(
        const auto part,
        back_through_products(projection, tables, heads, d_products, executor));
    add_to(d_x, part);
    return ok();
  };
  if (spec.with_keys) {
    HEADWISE_TRY(back(params.w_q, block.distances.keys,
                      [](std::size_t i, std::size_t) { return i; }));
  }
  if (spec.with_queries) {
    HEADWISE_TRY(back(params.w_k, block.distances.queries,
                      [](std::size_t, std::size_t j) { return j; }));
  }
  return d_x;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
