#include "distribute/checked_layer.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/check_exact.h"
#include "distribute/call_digest.h"
#include "module/layer_call.h"
#include "steps/check_rotation.h"

namespace headwise::inline HEADWISE_ABI {

Status check_layer(std::string_view operation, const MultiHeadAttention& layer,
                   Arithmetic asked) {
  if (!layer.params()) {
    return value_error(operation, "layer", "one with an open input size",
                       "one whose input sizes are known: call fix_sizes()");
  }
  HEADWISE_TRY(
      check_arithmetic_of_layer(operation, layer.config().arithmetic, asked));
  return layer.config().num_heads == 0
             ? Status(value_error(operation, "num_heads", "0",
                                  "a layer with heads"))
             : ok();
}

AttentionShape shape_of(const MultiHeadAttentionConfig& config, std::size_t B,
                        std::size_t Lq, std::size_t Lkv) {
  return {.B = B,
          .Hq = config.num_heads,
          .Hkv = *config.num_kv_heads,
          .Lq = Lq,
          .Lkv = Lkv,
          .D = *config.head_dim,
          .Dv = *config.v_head_dim};
}

std::string digest_of_layer(const MultiHeadAttentionConfig& config,
                            std::uint64_t more) {
  Digest digest;
  add_layer(config, digest);
  digest.add(more);
  return digest.text();
}

Status check_rotated_rows(const Rotary& rotary, const AttentionShape& shape,
                          const QueryStart& query_start,
                          const HeadPositions& positions) {
  const std::size_t B = shape.batches();
  // Views that only have extents.
  const TensorView<float, 4> query(nullptr,
                                   {B, shape.query_rows(), shape.Hq, shape.D});
  const TensorView<float, 4> key(nullptr,
                                 {B, shape.key_rows(), shape.Hkv, shape.D});
  return internal::check_rotation(rotary, {query, key}, shape, query_start,
                                  positions);
}

namespace {

Result<ContextCall> operation_of(const MultiHeadAttention& layer,
                                 const ContextLayerCall& call) {
  const MultiHeadAttentionConfig& config = layer.config();
  HEADWISE_ASSIGN(const auto kv_groups,
                  HeadGroups::create(config.kv_group_sizes));
  ContextCall operation = {
      .tensors = shape_of(config, call.B, call.Lq, call.Lkv),
      .plan = call.plan,
      .options = call.options,
      .operation_options =
          internal::operation_options_of(config, *layer.params(), kv_groups),
      .keys = call.keys,
      .chunk_keys = call.chunk_keys};
  auto& p = operation.options.dropout.p;
  p = p.value_or(config.dropout);
  operation.options.arithmetic = config.arithmetic;
  return operation;
}

Status check_positions(std::string_view operation,
                       const MultiHeadAttentionConfig& config,
                       const CheckedLayer& all,
                       const HeadPositions& positions) {
  if (!config.rotary) {
    for (const auto& [argument, data] :
         {std::pair("query_positions", positions.query_positions.data()),
          std::pair("key_positions", positions.key_positions.data())}) {
      if (data != nullptr) {
        return value_error(operation, argument, "given",
                           "a layer with rotary positions");
      }
    }
    return ok();
  }
  return check_rotated_rows(*config.rotary, all.shape(),
                            all.operation.options.query_start, positions);
}

Status check_own(std::string_view operation,
                 const MultiHeadAttentionConfig& config,
                 const CheckedLayer& all, std::size_t rank,
                 const ContextLayerInputs& own) {
  const std::size_t queries = rows_of_rank(all.context.shards.queries, rank);
  const std::size_t keys = rows_of_rank(all.context.shards.keys, rank);
  HEADWISE_TRY(check_shape(operation, "query", own.query.extents(),
                           "(1, queries, query_dim)",
                           {{1, queries, *config.query_dim}}));
  HEADWISE_TRY(check_shape(operation, "key", own.key.extents(),
                           "(1, keys, kdim)", {{1, keys, *config.kdim}}));
  return check_shape(operation, "value", own.value.extents(), "(1, keys, vdim)",
                     {{1, keys, *config.vdim}});
}

Result<CheckedLayer> checked_alone(std::string_view operation,
                                   const Communicator& group,
                                   const MultiHeadAttention& layer,
                                   const ContextLayerCall& call,
                                   const ContextLayerInputs& own) {
  HEADWISE_TRY(check_layer(operation, layer, call.options.arithmetic));
  HEADWISE_ASSIGN(auto of_heads, operation_of(layer, call));
  if (call.for_backward) {
    HEADWISE_TRY(internal::check_training_dropout(of_heads.options.dropout));
  }
  HEADWISE_ASSIGN(auto context,
                  checked_context(operation, of_heads, group.ranks(),
                                  call.keys != KeyTransport::gathered ||
                                      call.for_backward));
  CheckedLayer all{std::move(of_heads), std::move(context)};
  const MultiHeadAttentionConfig& config = layer.config();
  HEADWISE_TRY(check_own(operation, config, all, group.rank(), own));
  HEADWISE_TRY(check_positions(operation, config, all, call.positions));
  return all;
}

// The rows of a rank, each where place_of(shard, token of its sequence) says.
template <class SomeShards, class PlaceOf>
Result<Tensor<std::int64_t, 2>> places(const SomeShards& shards,
                                       std::size_t rank,
                                       const PlaceOf& place_of) {
  HEADWISE_ASSIGN(auto made, Tensor<std::int64_t, 2>::create_unset(
                                 {1, rows_of_rank(shards, rank)}));
  for (const Shard& shard : shards) {
    for (std::size_t n = 0; shard.rank == rank && n < shard.tokens.count; ++n) {
      made(0, shard.row + n) = place_of(shard, shard.tokens.first + n);
    }
  }
  return made;
}

}  // namespace

Result<CheckedLayer> checked_layer(std::string_view operation,
                                   Communicator& group,
                                   const MultiHeadAttention& layer,
                                   const ContextLayerCall& call,
                                   const ContextLayerInputs& own,
                                   const Status& more) {
  auto all = checked_alone(operation, group, layer, call, own);
  HEADWISE_TRY(group.agree(all ? more : Status(all.error())));
  HEADWISE_TRY(group.check_same(
      "the layer",
      digest_of_layer(layer.config(), std::uint64_t{call.for_backward})));
  return all;
}

Result<OwnPositions> own_positions(const CheckedLayer& all, std::size_t rank,
                                   const HeadPositions& positions) {
  const AttentionShape& shape = all.shape();
  const auto given_or = [&](TensorView<const std::int64_t, 2> given,
                            std::size_t batch, std::size_t row,
                            std::int64_t place) {
    return given.data() == nullptr ? place : given(batch, row);
  };
  auto queries = places(
      all.context.shards.queries, rank,
      [&](const Shard& shard, std::size_t token) {
        const SequencePlace place = shape.sequence(shard.sequence);
        return given_or(
            positions.query_positions, place.batch, place.first_query + token,
            all.operation.options.query_start.of(shard.sequence, shape) +
                static_cast<std::int64_t>(token));
      });
  auto keys = places(all.context.shards.keys, rank,
                     [&](const Shard& shard, std::size_t token) {
                       const SequencePlace place =
                           shape.sequence(shard.sequence);
                       return given_or(positions.key_positions, place.batch,
                                       place.first_key + token,
                                       static_cast<std::int64_t>(token));
                     });
  HEADWISE_TRY(queries);
  HEADWISE_TRY(keys);
  return OwnPositions{*std::move(queries), *std::move(keys)};
}

AttentionShape own_shape(const CheckedLayer& all, std::size_t rank) {
  const AttentionShape& shape = all.shape();
  return {.B = 1,
          .Hq = shape.Hq,
          .Hkv = shape.Hkv,
          .Lq = rows_of_rank(all.context.shards.queries, rank),
          .Lkv = rows_of_rank(all.context.shards.keys, rank),
          .D = shape.D,
          .Dv = shape.Dv,
          .kv_groups = shape.kv_groups};
}

}  // namespace headwise::inline HEADWISE_ABI
