#include "distribute/param_gradients.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/check.h"
#include "headwise/steps/layer_norm.h"
#include "steps/embedding_gradient.h"
#include "steps/projection_gradient.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kParamGradients = "param_gradients";
constexpr std::string_view kWeightEnding = ".weight";
constexpr std::string_view kBias = ".bias";
// An id travels as the bytes of these numbers.
constexpr std::size_t kIdSize = sizeof(TokenId) / sizeof(float);
static_assert(kIdSize * sizeof(float) == sizeof(TokenId));

template <class T>
TensorView<T, 2> token_rows(TensorView<T, 3> x) {
  return {x.data(), {x.extent(1), x.extent(2)}, {x.stride(1), x.stride(2)}};
}

void copy_rows_to(TensorView<const float, 2> from, float* to) {
  const auto [rows, size] = from.extents();
  for (std::size_t row = 0; size != 0 && row < rows; ++row) {
    if (from.stride(1) == 1) {
      to = std::copy_n(&from(row, 0), size, to);
      continue;
    }
    for (std::size_t n = 0; n < size; ++n) {
      *to++ = from(row, n);
    }
  }
}

// (1, rows, size) numbers in `memory`, which grows where it is too small.
TensorView<float, 3> in_memory(std::vector<float>& memory, std::size_t rows,
                               std::size_t size) {
  if (memory.size() < rows * size) {
    memory.resize(rows * size);
  }
  return {memory.data(), {1, rows, size}};
}

// Rows of a gradient of all rows.
Result<Tensor<float, 1>> cut_rows(const Tensor<float, 1>& whole,
                                  RowRange rows) {
  auto part = Tensor<float, 1>::create_unset({rows.count});
  if (part) {
    std::copy_n(whole.data() + rows.first, rows.count, part->data());
  }
  return part;
}

Tensor<float, 1> flat(Tensor<float, 2> x) {
  const std::size_t size = x.size();
  return std::move(x).with_extents<1>({size});
}

}  // namespace

ParamGradients::ParamGradients(const ParamShards& shards, std::size_t rank,
                               double norm_eps, Arithmetic arithmetic)
    : shards_(shards),
      rank_(rank),
      norm_eps_(norm_eps),
      arithmetic_(arithmetic),
      out_(shards.ranks()),
      in_(shards.ranks()) {
  const std::vector<ShardedParam>& params = shards.params();
  const auto find = [&](const std::string& name) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(params, name, &ShardedParam::name);
    return found == params.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(
                                       found - params.begin()));
  };
  for (std::size_t n = 0; n < params.size(); ++n) {
    if (!params[n].name.ends_with(kWeightEnding)) {
      continue;
    }
    std::string name =
        params[n].name.substr(0, params[n].name.size() - kWeightEnding.size());
    Group group{.weight = n, .bias = find(name + std::string(kBias))};
    group.kind = params[n].is_table    ? Kind::table
                 : params[n].axes == 1 ? Kind::norm
                                       : Kind::projection;
    group.x_size = group.kind == Kind::table  ? kIdSize
                   : group.kind == Kind::norm ? params[n].rows
                                              : params[n].row_size;
    group.d_y_size =
        group.kind == Kind::table ? params[n].row_size : params[n].rows;
    group_of_.emplace(std::move(name), groups_.size());
    groups_.push_back(group);
  }
}

bool ParamGradients::has_rows(std::size_t rank, const Group& group) const {
  return shards_.rows(rank, group.weight).count != 0 ||
         (group.bias && shards_.rows(rank, *group.bias).count != 0);
}

std::size_t ParamGradients::numbers(std::size_t rank) const {
  std::size_t sum = 0;
  for (const Group& group : groups_) {
    sum += has_rows(rank, group) ? group.size() : 0;
  }
  return sum;
}

void ParamGradients::begin(const BatchShares& batch) {
  batch_ = batch;
  for (std::size_t rank = 0; rank < shards_.ranks(); ++rank) {
    out_[rank].resize(rank == rank_ ? 0 : batch.rows(rank_) * numbers(rank));
    in_[rank].resize(batch.rows(rank) * numbers(rank_));
  }
}

Status ParamGradients::add(Kind kind, std::string_view name,
                           TensorView<const float, 2> x,
                           TensorView<const float, 2> d_y) {
  const auto found = group_of_.find(name);
  if (found == group_of_.end() || groups_[found->second].kind != kind) {
    return value_error(kParamGradients, "name", std::string(name),
                       "a parameter of the model");
  }
  const Group& group = groups_[found->second];
  const std::size_t rows = batch_->rows(rank_);
  HEADWISE_TRY(check_shape(kParamGradients, "x", x.extents(),
                           "(tokens, features)",
                           Extents<2>{rows, group.x_size}));
  HEADWISE_TRY(check_shape(kParamGradients, "d_y", d_y.extents(),
                           "(tokens, features)",
                           Extents<2>{rows, group.d_y_size}));
  for (std::size_t to = 0; to < shards_.ranks(); ++to) {
    if (!has_rows(to, group)) {
      continue;
    }
    std::size_t before = 0;
    for (std::size_t n = 0; n < found->second; ++n) {
      before += has_rows(to, groups_[n]) ? groups_[n].size() : 0;
    }
    auto& terms = to == rank_ ? in_[to] : out_[to];
    float* const place = terms.data() + rows * before;
    copy_rows_to(x, place);
    copy_rows_to(d_y, place + rows * group.x_size);
  }
  return ok();
}

Status ParamGradients::add_projection(std::string_view name,
                                      TensorView<const float, 3> x,
                                      TensorView<const float, 3> d_y) {
  return add(Kind::projection, name, token_rows(x), token_rows(d_y));
}

Status ParamGradients::add_norm(std::string_view name,
                                TensorView<const float, 2> x,
                                TensorView<const float, 2> d_y) {
  return add(Kind::norm, name, x, d_y);
}

Status ParamGradients::add_table(std::string_view name,
                                 TensorView<const TokenId, 2> ids,
                                 TensorView<const float, 3> d_embedded) {
  const std::size_t rows = ids.extent(1);
  std::vector<float> bytes(rows * kIdSize);
  for (std::size_t row = 0; row < rows; ++row) {
    const TokenId id = ids(0, row);
    std::memcpy(&bytes[row * kIdSize], &id, sizeof(id));
  }
  return add(Kind::table, name, {bytes.data(), {rows, kIdSize}},
             token_rows(d_embedded));
}

Status ParamGradients::exchange(Communicator& group) {
  std::vector<std::span<const std::byte>> out;
  std::vector<std::span<std::byte>> in;
  for (std::size_t rank = 0; rank < shards_.ranks(); ++rank) {
    out.push_back(std::as_bytes(std::span(out_[rank])));
    in.push_back(rank == rank_ ? std::span<std::byte>()
                               : std::as_writable_bytes(std::span(in_[rank])));
  }
  return group.exchange(out, in);
}

ParamGradients::Terms ParamGradients::gather(const Group& group,
                                             std::size_t before) {
  const std::size_t all = batch_->rows();
  const TensorView<float, 3> x = in_memory(x_, all, group.x_size);
  const TensorView<float, 3> d_y = in_memory(d_y_, all, group.d_y_size);
  for (std::size_t from = 0; from < shards_.ranks(); ++from) {
    const std::size_t rows = batch_->rows(from);
    const float* const of_x = in_[from].data() + rows * before;
    const float* const of_d_y = of_x + rows * group.x_size;
    const auto put = [](const float* numbers, std::size_t size,
                        std::size_t from_row, std::size_t count, float* to,
                        std::size_t to_row) {
      std::copy_n(numbers + from_row * size, count * size, to + to_row * size);
    };
    batch_->for_each(from, [&](std::size_t of_batch, std::size_t of_rank,
                               std::size_t count) {
      put(of_x, group.x_size, of_rank, count, x.data(), of_batch);
      put(of_d_y, group.d_y_size, of_rank, count, d_y.data(), of_batch);
    });
  }
  return {x, d_y};
}

RowRange ParamGradients::own_rows(std::optional<std::size_t> param) const {
  return param ? shards_.rows(rank_, *param) : RowRange{};
}

Status ParamGradients::sum_norm(const Group& group, const Terms& terms,
                                const Executor& executor,
                                std::vector<Tensor<float, 1>>& gradients) {
  const auto [one, rows, E] = terms.x.extents();
  HEADWISE_ASSIGN(auto weight, Tensor<float, 1>::create({E}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({E}));
  HEADWISE_ASSIGN(auto d_x, Tensor<float, 2>::create_unset({rows, E}));
  // The weight changes only d_x, which is not used.
  const LayerNormParams params{std::move(weight), std::move(bias), norm_eps_};
  HEADWISE_ASSIGN(auto whole, layer_norm_backward(token_rows(terms.x), params,
                                                  token_rows(terms.d_y), d_x,
                                                  batch_->offsets(), executor));
  auto of_weight = cut_rows(whole.weight, own_rows(group.weight));
  auto of_bias = cut_rows(whole.bias, own_rows(group.bias));
  HEADWISE_TRY(of_weight);
  HEADWISE_TRY(of_bias);
  gradients[group.weight] = *std::move(of_weight);
  gradients[*group.bias] = *std::move(of_bias);
  return ok();
}

Status ParamGradients::sum_table(const Group& group, const Terms& terms,
                                 std::vector<Tensor<float, 1>>& gradients) {
  HEADWISE_ASSIGN(auto ids,
                  Tensor<TokenId, 2>::create_unset({1, batch_->rows()}));
  std::memcpy(ids.data(), terms.x.data(), ids.size() * sizeof(TokenId));
  HEADWISE_ASSIGN(auto table,
                  embedding_gradient(ids, terms.d_y, own_rows(group.weight),
                                     batch_->offsets()));
  gradients[group.weight] = flat(std::move(table));
  return ok();
}

// The sequences lie where they were received.
Status ParamGradients::sum_projection(
    const Group& group, std::size_t before, const Executor& executor,
    std::vector<Tensor<float, 1>>& gradients) {
  std::size_t count = 0;
  for (std::size_t from = 0; from < shards_.ranks(); ++from) {
    count += batch_->sequences(from).size();
  }
  std::vector<ProjectionTerms> sequences(count);
  for (std::size_t from = 0; from < shards_.ranks(); ++from) {
    const std::size_t all = batch_->rows(from);
    const float* const x = in_[from].data() + all * before;
    const float* const d_y = x + all * group.x_size;
    auto number = batch_->sequences(from).begin();
    batch_->for_each(from, [&](std::size_t, std::size_t row, std::size_t rows) {
      sequences[*number++] = {
          {x + row * group.x_size, {rows, group.x_size}},
          {d_y + row * group.d_y_size, {rows, group.d_y_size}}};
    });
  }
  auto weight = projection_weight_gradient(
      sequences, group.x_size, own_rows(group.weight), arithmetic_, executor);
  auto bias = projection_bias_gradient(sequences, own_rows(group.bias));
  HEADWISE_TRY(weight);
  HEADWISE_TRY(bias);
  gradients[group.weight] = flat(*std::move(weight));
  gradients[*group.bias] = *std::move(bias);
  return ok();
}

Result<std::vector<Tensor<float, 1>>> ParamGradients::sum(
    const Executor& executor) {
  std::vector<Tensor<float, 1>> gradients(shards_.params().size());
  std::size_t before = 0;
  for (const Group& group : groups_) {
    if (!has_rows(rank_, group)) {
      continue;
    }
    HEADWISE_TRY(
        group.kind == Kind::projection
            ? sum_projection(group, before, executor, gradients)
        : group.kind == Kind::norm
            ? sum_norm(group, gather(group, before), executor, gradients)
            : sum_table(group, gather(group, before), gradients));
    before += group.size();
  }
  return gradients;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
