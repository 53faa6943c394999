#include "headwise/distribute/context_backward.h"

#include <array>
#include <utility>
#include <vector>

#include "base/check.h"
#include "distribute/checked_context.h"
#include "distribute/chunk_stream.h"
#include "distribute/chunks.h"
#include "distribute/gradient_rows.h"
#include "distribute/or_abort.h"
#include "distribute/own_shards.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "context_attention_backward";

template <class T>
Status check_gradients(const AttentionGradientsOf<T>& gradients) {
  for (const auto& [argument, given] :
       {std::pair("gradients.bias", gradients.bias.data() != nullptr),
        std::pair("gradients.t5_bias", gradients.t5_bias.data() != nullptr),
        std::pair("gradients.alibi", gradients.alibi.data() != nullptr),
        std::pair("gradients.score_weight",
                  gradients.score_weight.data() != nullptr),
        std::pair("gradients.sinks", gradients.sinks.data() != nullptr),
        std::pair("gradients.bias_k", gradients.bias_k.data() != nullptr),
        std::pair("gradients.bias_v", gradients.bias_v.data() != nullptr)}) {
    if (given) {
      return value_error(kOperation, argument, "asked for",
                         "none in a call of several ranks",
                         ErrorCode::unsupported);
    }
  }
  return ok();
}

struct CheckedCall : CheckedContext {
  std::vector<KeyChunk> keys{};
  std::vector<QueryChunk> queries{};
};

template <class T>
Status check_tensors(const CheckedContext& all, std::size_t rank,
                     const BackwardInputsOf<T>& own,
                     const AttentionGradientsOf<T>& gradients) {
  const AttentionShape& shape = all.spec.shape;
  const std::size_t queries = rows_of_rank(all.shards.queries, rank);
  const std::size_t keys = rows_of_rank(all.shards.keys, rank);
  // The gradient of the queries is like them, and the saved output is one.
  HEADWISE_TRY(check_rank_tensors<T>(
      kOperation, shape, all.shards, rank, {own.query, own.key, own.value},
      {.output = {const_cast<T*>(own.output.data()), own.output.extents(),
                  own.output.strides()}}));
  HEADWISE_TRY((check_rank_tensor<const float, 4>(
      kOperation, "softmax_rows", own.softmax_rows, "(1, Hq, queries, 2)",
      {1, shape.Hq, queries, 2})));
  HEADWISE_TRY((check_rank_tensor<const T, 4>(
      kOperation, "d_output", own.d_output, "(1, queries, Hq, Dv)",
      {1, queries, shape.Hq, shape.Dv})));
  HEADWISE_TRY((check_rank_tensor<T, 4>(kOperation, "gradients.query",
                                        gradients.query, "(1, queries, Hq, D)",
                                        {1, queries, shape.Hq, shape.D})));
  HEADWISE_TRY((check_rank_tensor<T, 4>(kOperation, "gradients.key",
                                        gradients.key, "(1, keys, Hkv, D)",
                                        {1, keys, shape.Hkv, shape.D})));
  return check_rank_tensor<T, 4>(kOperation, "gradients.value", gradients.value,
                                 "(1, keys, Hkv, Dv)",
                                 {1, keys, shape.Hkv, shape.Dv});
}

template <class T>
Result<CheckedCall> checked(const Communicator& group, const ContextCall& call,
                            const BackwardInputsOf<T>& own,
                            const AttentionGradientsOf<T>& gradients) {
  HEADWISE_TRY(check_gradients(gradients));
  auto context = checked_context(kOperation, call, group.ranks(), true);
  HEADWISE_TRY(context);
  CheckedCall all{*std::move(context)};
  HEADWISE_TRY(check_tensors(all, group.rank(), own, gradients));
  auto keys =
      key_chunks(all.shards, call.chunk_keys, group.ranks(), kOperation);
  HEADWISE_TRY(keys);
  auto queries =
      query_chunks(all.shards, call.chunk_keys, group.ranks(), kOperation);
  HEADWISE_TRY(queries);
  all.keys = *std::move(keys);
  all.queries = *std::move(queries);
  return all;
}

template <class SomeShard>
std::vector<SomeShard> shards_in(std::span<const Chunk<SomeShard>> chunks) {
  std::vector<SomeShard> shards;
  for (const Chunk<SomeShard>& chunk : chunks) {
    shards.insert(shards.end(), chunk.shards.begin(), chunk.shards.end());
  }
  return shards;
}

// One rank's part of a call that all have checked.
template <class T>
class BackwardRun {
 public:
  BackwardRun(Communicator& group, const CheckedCall& all,
              const BackwardInputsOf<T>& own, GradientRows<T>& rows)
      : group_(group), all_(all), own_(own), rows_(rows) {}

  // Keys come to the queries.
  Status query_gradients() {
    const std::vector<Shard> keys = shards_in<Shard>(all_.keys);
    OwnQueries queries(group_.rank(), all_.shards.queries, keys);
    auto stream = ChunkStream<KeyChunk, KeyRows<T>>::create(
        group_, all_.keys, [&](std::size_t most) {
          return KeyRows<T>::create(all_.spec.shape, most);
        });
    HEADWISE_TRY(stream);
    const KeyViews<const T> own = {own_.key, own_.value};
    const auto load = [&](const KeyChunk& chunk, KeyRows<T>& cargo) {
      copy_keys(own.part({chunk.row, chunk.rows}), cargo.views(chunk.rows));
    };
    const auto take = [&](const KeyChunk& chunk, KeyRows<T>& cargo) {
      return take_keys(queries, chunk, read_only(cargo.views(chunk.rows)));
    };
    HEADWISE_TRY(stream->run(kOperation, load, take));
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
  Status take_turn(OwnKeys& keys, const HeadTurn& turn) {
    auto stream = ChunkStream<QueryChunk, QueryRows<T>>::create(
        group_, all_.queries, [&](std::size_t most) {
          return QueryRows<T>::create(all_.spec.shape, turn.heads.count, most);
        });
    HEADWISE_TRY(stream);
    const QueryViews<const T> own = {own_.softmax_rows, own_.query, own_.output,
                                     own_.d_output};
    const auto load = [&](const QueryChunk& chunk, QueryRows<T>& cargo) {
      copy_queries(own.heads(turn.heads).part({chunk.row, chunk.rows}),
                   cargo.views(chunk.rows));
    };
    const auto take = [&](const QueryChunk& chunk, QueryRows<T>& cargo) {
      return take_queries(keys, chunk, read_only(cargo.views(chunk.rows)),
                          turn);
    };
    return stream->run(kOperation, load, take);
  }

  Status take_keys(OwnQueries& queries, const KeyChunk& chunk,
                   const KeyViews<const T>& views) {
    std::size_t first = 0;
    for (const Shard& keys : chunk.shards) {
      const auto view = views.part({first, keys.tokens.count});
      HEADWISE_TRY(queries.take(
          keys, [&](const QueryShard& own, std::size_t n, std::size_t count) {
            return rows_.take_keys(own, keys.tokens, view,
                                   part_of_calls<KeyPart>(n, count));
          }));
      first += keys.tokens.count;
    }
    return ok();
  }

  // Each key goes through all queries of a head before those of the next.
  Status take_queries(OwnKeys& keys, const QueryChunk& chunk,
                      const QueryViews<const T>& views, const HeadTurn& turn) {
    std::size_t first = 0;
    for (const QueryShard& queries : chunk.shards) {
      const auto view = views.part({first, queries.tokens.count});
      HEADWISE_TRY(keys.take(
          queries, [&](const Shard& own, std::size_t n, std::size_t count) {
            return rows_.take_queries(
                own, queries.tokens, view, turn,
                part_of_calls<QueryPart>(turn.number * count + n,
                                         turn.group * count));
          }));
      first += queries.tokens.count;
    }
    return ok();
  }

  Communicator& group_;
  const CheckedCall& all_;
  const BackwardInputsOf<T>& own_;
  GradientRows<T>& rows_;
};

template <class T>
Status go_back(Communicator& group, const ContextCall& call,
               const BackwardInputsOf<T>& own,
               const AttentionGradientsOf<T>& gradients) {
  group.set_step(kOperation, "the start");
  auto all = checked(group, call, own, gradients);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_context(group, DTypeOf<T>::value, call, *all));
  auto rows = GradientRows<T>::create(
      {all->spec.shape, call.options, call.operation_options}, own, gradients);
  HEADWISE_TRY(rows);
  BackwardRun<T> run(group, *all, own, *rows);
  HEADWISE_TRY(run.query_gradients());
  return run.key_gradients();
}

}  // namespace

Status context_attention_backward(
    Communicator& group, const ContextCall& call,
    const BackwardInputsOf<float>& own,
    const AttentionGradientsOf<float>& gradients) {
  return or_abort(group, [&] { return go_back(group, call, own, gradients); });
}
Status context_attention_backward(
    Communicator& group, const ContextCall& call,
    const BackwardInputsOf<BFloat16>& own,
    const AttentionGradientsOf<BFloat16>& gradients) {
  return or_abort(group, [&] { return go_back(group, call, own, gradients); });
}
Status context_attention_backward(
    Communicator& group, const ContextCall& call,
    const BackwardInputsOf<Float16>& own,
    const AttentionGradientsOf<Float16>& gradients) {
  return or_abort(group, [&] { return go_back(group, call, own, gradients); });
}

}  // namespace headwise::inline HEADWISE_ABI
