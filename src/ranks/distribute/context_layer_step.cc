// A step of a layer over a cache of several ranks.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "distribute/checked_layer.h"
#include "distribute/gather_rows.h"
#include "distribute/or_abort.h"
#include "distribute/project_rows.h"
#include "distribute/visible_work.h"
#include "headwise/steps/head_groups.h"
#include "module/layer_call.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kContextLayerStep = "context_layer_step";

// The tokens of a step in one row, and where they are in their sequences.
struct NewTokens {
  std::size_t B;
  std::size_t L;
  std::vector<std::int64_t> positions{};

  std::size_t rows() const { return positions.size(); }
};

Status check_tokens(const MultiHeadAttentionConfig& config,
                    const ContextLayerInputs& tokens) {
  const auto [B, L, dim] = tokens.query.extents();
  HEADWISE_TRY(check_shape(kContextLayerStep, "query", tokens.query.extents(),
                           "(B, L, query_dim)", {{B, L, *config.query_dim}}));
  HEADWISE_TRY(check_shape(kContextLayerStep, "key", tokens.key.extents(),
                           "(B, L, kdim)", {{B, L, *config.kdim}}));
  return check_shape(kContextLayerStep, "value", tokens.value.extents(),
                     "(B, L, vdim)", {{B, L, *config.vdim}});
}

Result<NewTokens> new_tokens(const ContextCache& cache,
                             std::span<const SequenceId> ids,
                             const Extents<3>& extents,
                             const Offsets& offsets) {
  NewTokens tokens{extents[0], extents[1]};
  if (offsets.ragged()) {
    HEADWISE_TRY(offsets.check(tokens.L, tokens.L, kContextLayerStep));
  }
  const std::size_t sequences =
      offsets.ragged() ? offsets.sequences() : tokens.B;
  HEADWISE_TRY(check_shape(kContextLayerStep, "ids", {{ids.size()}}, "(B)",
                           {{sequences}}));
  for (std::size_t b = 0; b < sequences; ++b) {
    HEADWISE_ASSIGN(const auto length, cache.length(ids[b]));
    const std::size_t count =
        offsets.ragged()
            ? static_cast<std::size_t>(offsets.query(b + 1) - offsets.query(b))
            : tokens.L;
    for (std::size_t i = 0; i < count; ++i) {
      tokens.positions.push_back(static_cast<std::int64_t>(length + i));
    }
  }
  return tokens;
}

// Rows of a tensor (B, L, features) in one row: (1, count, features).
Result<Tensor<float, 3>> flat_rows(TensorView<const float, 3> from,
                                   const PartRange& rows) {
  const auto [B, L, features] = from.extents();
  HEADWISE_ASSIGN(auto flat,
                  Tensor<float, 3>::create_unset({1, rows.count, features}));
  for (std::size_t n = 0; n < rows.count; ++n) {
    const std::size_t row = rows.first + n;
    for (std::size_t f = 0; f < features; ++f) {
      flat(0, n, f) = from(row / L, row % L, f);
    }
  }
  return flat;
}

class LayerStep {
 public:
  LayerStep(Communicator& group, const MultiHeadAttention& layer,
            const AttentionOptions& options, const NewTokens& tokens)
      : group_(group),
        layer_(layer),
        options_(options),
        tokens_(tokens),
        executor_(options.executor ? *options.executor
                                   : Executor::default_executor()) {
    const std::size_t ranks = group.ranks();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t first = rank * tokens.rows() / ranks;
      const std::size_t end = (rank + 1) * tokens.rows() / ranks;
      shards_.push_back({rank, 0, {first, end - first}, 0});
    }
  }

  Result<Tensor<float, 3>> run(ContextCache& cache,
                               std::span<const SequenceId> ids,
                               const ContextLayerInputs& tokens) const {
    group_.set_step(kContextLayerStep, "projections");
    HEADWISE_ASSIGN(auto own,
                    work_visibly(group_, [&] { return project(tokens); }));
    const AttentionShape shape =
        shape_of(layer_.config(), 1, tokens_.rows(), tokens_.rows());
    HEADWISE_ASSIGN(auto all, all_heads(own, shape));
    HEADWISE_ASSIGN(auto merged, Tensor<float, 3>::create_unset(
                                     {1, tokens_.rows(), shape.Hq * shape.Dv}));
    HEADWISE_TRY(attend(cache, ids, shape, all, merged));
    return output_of(std::move(merged));
  }

 private:
  const PartRange& own_rows() const { return shards_[group_.rank()].tokens; }

  // The rank's tokens, as they are compared.
  Result<Projected> project(const ContextLayerInputs& tokens) const {
    HEADWISE_ASSIGN(const auto query, flat_rows(tokens.query, own_rows()));
    HEADWISE_ASSIGN(const auto key, flat_rows(tokens.key, own_rows()));
    HEADWISE_ASSIGN(auto value, flat_rows(tokens.value, own_rows()));
    const ContextLayerInputs rows = {query, key, value};
    const TensorView<const std::int64_t, 2> positions(
        tokens_.positions.data() + own_rows().first, {1, own_rows().count});
    HEADWISE_ASSIGN(auto run,
                    project_rows(layer_,
                                 shape_of(layer_.config(), 1, own_rows().count,
                                          own_rows().count),
                                 rows, {positions, positions}, executor_));
    const bool normed = layer_.config().qk_norm.has_value();
    return Projected{
        std::move(normed ? run.normed_query : run.query),
        std::move(normed ? run.normed_key : run.key),
        layer_.params()->w_v ? std::move(run.value) : std::move(value)};
  }

  // Those of all ranks.
  Result<Projected> all_heads(const Projected& own,
                              const AttentionShape& shape) const {
    group_.set_step(kContextLayerStep, "gathering queries, keys and values");
    const RowGathering tokens(group_, 1, shape.Lq, shards_);
    const auto gather = [&](const Tensor<float, 3>& rows) {
      return tokens.to_all(rows.view());
    };
    HEADWISE_ASSIGN(auto query, gather(own.query));
    HEADWISE_ASSIGN(auto key, gather(own.key));
    HEADWISE_ASSIGN(auto value, gather(own.value));
    return Projected{std::move(query), std::move(key), std::move(value)};
  }

  Status attend(ContextCache& cache, std::span<const SequenceId> ids,
                const AttentionShape& shape, const Projected& all,
                Tensor<float, 3>& merged) const {
    const MultiHeadAttentionConfig& config = layer_.config();
    HEADWISE_ASSIGN(const auto kv_groups,
                    HeadGroups::create(config.kv_group_sizes));
    AttentionOptions options = options_;
    options.dropout.p = options.dropout.p.value_or(config.dropout);
    options.arithmetic = config.arithmetic;
    options.offsets = {};
    const auto heads = [&]<class T>(TensorView<T, 3> rows, std::size_t H) {
      return in_heads(
          TensorView<T, 3>(rows.data(), {tokens_.B, tokens_.L, rows.extent(2)}),
          H);
    };
    return cache.step(
        group_, ids, heads(all.query.view(), shape.Hq),
        heads(all.key.view(), shape.Hkv), heads(all.value.view(), shape.Hkv),
        heads(merged.view(), shape.Hq), options,
        internal::operation_options_of(config, *layer_.params(), kv_groups),
        options_.offsets.ragged() ? options_.offsets.query
                                  : TensorView<const std::int64_t, 1>());
  }

  Result<Tensor<float, 3>> output_of(Tensor<float, 3> merged) const {
    const std::optional<Linear>& w_o = layer_.params()->w_o;
    if (w_o) {
      group_.set_step(kContextLayerStep, "the output projection");
      const auto own = work_visibly(group_, [&] {
        return w_o->forward(
            internal::part_along(1, std::as_const(merged).view(), own_rows()),
            "merged", executor_);
      });
      HEADWISE_TRY(own);
      HEADWISE_ASSIGN(
          merged,
          RowGathering(group_, 1, tokens_.rows(), shards_).to_all(own->view()));
    }
    const Extents<3> extents = {tokens_.B, tokens_.L, merged.extent(2)};
    return std::move(merged).with_extents(extents);
  }

  Communicator& group_;
  const MultiHeadAttention& layer_;
  const AttentionOptions& options_;
  const NewTokens& tokens_;
  const Executor& executor_;
  std::vector<Shard> shards_;  // of the tokens in one row
};

Result<NewTokens> checked_tokens(const MultiHeadAttention& layer,
                                 const ContextCache& cache,
                                 std::span<const SequenceId> ids,
                                 const ContextLayerInputs& tokens,
                                 const AttentionOptions& options) {
  HEADWISE_TRY(check_layer(kContextLayerStep, layer, options.arithmetic));
  HEADWISE_TRY(check_tokens(layer.config(), tokens));
  auto all = new_tokens(cache, ids, tokens.query.extents(), options.offsets);
  const MultiHeadAttentionConfig& config = layer.config();
  if (all && config.rotary) {
    const TensorView<const std::int64_t, 2> positions(all->positions.data(),
                                                      {all->B, all->L});
    HEADWISE_TRY(check_rotated_rows(*config.rotary,
                                    shape_of(config, all->B, all->L, all->L),
                                    {}, {positions, positions}));
  }
  return all;
}

}  // namespace

Result<Tensor<float, 3>> context_layer_step(Communicator& group,
                                            const MultiHeadAttention& layer,
                                            ContextCache& cache,
                                            std::span<const SequenceId> ids,
                                            const ContextLayerInputs& tokens,
                                            const AttentionOptions& options) {
  return or_abort(group, [&]() -> Result<Tensor<float, 3>> {
    group.set_step(kContextLayerStep, "the start");
    const auto all = checked_tokens(layer, cache, ids, tokens, options);
    HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
    HEADWISE_TRY(group.check_same(
        "the layer", digest_of_layer(layer.config(), all->rows())));
    return LayerStep(group, layer, options, *all).run(cache, ids, tokens);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
