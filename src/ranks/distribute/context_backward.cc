#include <utility>
#include <vector>

#include "attention/typed_tensors.h"
#include "base/for_number_type.h"
#include "distribute/checked_context.h"
#include "distribute/chunk_stream.h"
#include "distribute/chunks.h"
#include "distribute/gradient_rows.h"
#include "distribute/gradients_by_heads.h"
#include "distribute/key_rows.h"
#include "distribute/key_stream.h"
#include "distribute/or_abort.h"
#include "distribute/own_shards.h"
#include "distribute/query_rows.h"
#include "distribute/rank_tensors.h"
#include "distribute/row_gradients.h"
#include "headwise/distribute/context_attention.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kContextBackward = "context_attention_backward";

struct CheckedBackward : CheckedContext {
  std::vector<KeyChunk> keys{};
  std::vector<QueryChunk> queries{};
};

// Of a chunk: no more bytes than those of `most_keys` keys.
template <class T>
std::size_t most_queries(const AttentionShape& shape, std::size_t most_keys) {
  const std::size_t heads_of_turn = shape.kv_groups.even() ? shape.Hkv : 1;
  return queries_in_room_of(most_keys, KeyRows<T>::bytes_of_row(shape),
                            QueryRows<T>::bytes_of_row(shape, heads_of_turn));
}

template <class T>
Result<CheckedBackward> checked_backward(const Communicator& group,
                                         const ContextCall& call,
                                         const CallTensors& own) {
  HEADWISE_ASSIGN(auto context,
                  checked_context(kContextBackward, call, group.ranks(), true));
  CheckedBackward all{std::move(context)};
  if (own.has(CallTensor::d_attn_weights)) {
    return value_error(kContextBackward, "d_attn_weights", "given",
                       "none in a call of several ranks",
                       ErrorCode::unsupported);
  }
  HEADWISE_TRY(check_rank_tensors(kContextBackward, all.spec, all.shards,
                                  group.rank(), own));
  HEADWISE_ASSIGN(auto keys, key_chunks(all.shards, call.chunk_keys,
                                        group.ranks(), kContextBackward));
  HEADWISE_ASSIGN(
      auto queries,
      query_chunks(all.shards, most_queries<T>(all.spec.shape, call.chunk_keys),
                   group.ranks(), kContextBackward));
  all.keys = std::move(keys);
  all.queries = std::move(queries);
  return all;
}

// One rank's part of a call that all have checked.
template <class T>
class BackwardRun {
 public:
  BackwardRun(Communicator& group, const CheckedBackward& all,
              const BackwardInputsOf<T>& own, GradientRows<T>& rows)
      : group_(group), all_(all), own_(own), rows_(rows) {}

  // Keys come to the queries.
  Status query_gradients() {
    const std::vector<Shard> keys = shards_in<Shard>(all_.keys);
    OwnQueries queries(group_.rank(), all_.shards.queries, keys);
    const auto take = [&](std::span<const Shard> shards,
                          const KeyViews<const T>& views) {
      return queries.take_all(
          shards, views,
          [&](const QueryShard& own, const Shard& shard, const auto& rows,
              std::size_t n, std::size_t count) {
            return rows_.take_keys(own, shard.tokens, rows,
                                   part_of_calls<KeyPart>(n, count));
          });
    };
    HEADWISE_TRY(stream_keys<T>(group_, kContextBackward, all_.spec.shape,
                                all_.keys, {own_.key, own_.value}, room_,
                                take));
    return queries.finish(
        [&](const QueryShard& shard) { return rows_.take_no_keys(shard); });
  }

  // Queries come to the keys.
  Status key_gradients() {
    const std::vector<QueryShard> queries = shards_in<QueryShard>(all_.queries);
    OwnKeys keys(group_.rank(), all_.shards.keys, queries);
    for (const HeadTurn& turn : head_turns(all_.spec.shape)) {
      HEADWISE_TRY(take_turn(keys, turn));
      keys.restart();
    }
    return keys.finish(
        [&](const Shard& shard) { return rows_.take_no_queries(shard); });
  }

 private:
  // Each key goes through all queries of a head before those of the next.
  Status take_turn(OwnKeys& keys, const HeadTurn& turn) {
    auto stream = ChunkStream<QueryChunk, QueryRows<T>>::create(
        group_, all_.queries, room_,
        [&](std::size_t most, Tensor<std::byte, 2> memory) {
          return QueryRows<T>::create(all_.spec.shape, turn.heads.count, most,
                                      std::move(memory));
        });
    HEADWISE_TRY(stream);
    const QueryViews<const T> own = {own_.softmax_rows, own_.query, own_.output,
                                     own_.d_output};
    const auto load = [&](const QueryChunk& chunk, QueryRows<T>& cargo) {
      copy_queries(own.heads(turn.heads).part({chunk.row, chunk.rows}),
                   cargo.views(chunk.rows));
    };
    const auto take = [&](const QueryChunk& chunk, QueryRows<T>& cargo) {
      return keys.take_all(
          chunk.shards, read_only(cargo.views(chunk.rows)),
          [&](const Shard& mine, const QueryShard& shard, const auto& rows,
              std::size_t n, std::size_t count) {
            return rows_.take_queries(
                mine, shard.tokens, rows, turn,
                part_of_calls<QueryPart>(turn.number * count + n,
                                         turn.group * count));
          });
    };
    return stream->run(kContextBackward, load, take);
  }

  Communicator& group_;
  const CheckedBackward& all_;
  const BackwardInputsOf<T>& own_;
  GradientRows<T>& rows_;
  ChunkRoom room_;
};

// The gradients that no part of the tokens has: sums over pairs of tokens of
// all ranks. They are computed by heads.
CallTensors sums_over_pairs(const CallTensors& tensors) {
  using enum CallTensor;
  CallTensors sums;
  for (const CallTensor gradient :
       {d_bias, d_t5_bias, d_score_weight, d_bias_k, d_bias_v}) {
    sums.set(gradient, tensors[gradient]);
  }
  return sums;
}

template <class T>
AttentionGradientsOf<T> gradients_of_tensors(const CallTensors& tensors) {
  using enum CallTensor;
  return {.query = tensors[d_query].view<T, 4>(),
          .key = tensors[d_key].view<T, 4>(),
          .value = tensors[d_value].view<T, 4>()};
}

template <class T>
Status backward_by_context(Communicator& group, const ContextCall& call,
                           const CallTensors& tensors) {
  group.set_step(kContextBackward, "the start");
  auto all = checked_backward<T>(group, call, tensors);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_context(group, DTypeOf<T>::value, call, *all));
  const AttentionShape& shape = all->spec.shape;
  const WholeOptions whole = {shape, call.options, call.operation_options};
  const auto own = backward_inputs_of<T>(tensors);
  HEADWISE_ASSIGN(
      auto row_gradients,
      RowGradients::create(group, shape,
                           rows_of_rank(all->shards.queries, group.rank()),
                           tensors));
  HEADWISE_ASSIGN(auto rows, GradientRows<T>::create(
                                 whole, own, gradients_of_tensors<T>(tensors),
                                 row_gradients.shares()));
  BackwardRun<T> run(group, *all, own, rows);
  HEADWISE_TRY(run.query_gradients());
  HEADWISE_TRY(run.key_gradients());
  const RankHeads heads = planned_heads(shape, group.ranks());
  HEADWISE_TRY(row_gradients.add_up(group, shape, all->shards, heads, tensors));
  return gradients_by_heads(
      group, {kContextBackward, all->spec, whole, all->shards, heads}, own,
      sums_over_pairs(tensors));
}

}  // namespace

Status context_attention_backward(Communicator& group, const ContextCall& call,
                                  const CallTensors& own) {
  return or_abort(group, [&] {
    return for_number_type(own[CallTensor::query].dtype(),
                           [&]<class T>(T) -> Status {
                             return backward_by_context<T>(group, call, own);
                           });
  });
}

}  // namespace headwise::inline HEADWISE_ABI
