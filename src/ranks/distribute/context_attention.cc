#include "headwise/distribute/context_attention.h"

#include <utility>
#include <vector>

#include "attention/typed_tensors.h"
#include "base/for_number_type.h"
#include "distribute/checked_context.h"
#include "distribute/chunks.h"
#include "distribute/forward_rows.h"
#include "distribute/gather_keys.h"
#include "distribute/key_stream.h"
#include "distribute/or_abort.h"
#include "distribute/own_shards.h"
#include "distribute/rank_tensors.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kContextAttention = "context_attention";

struct CheckedForward : CheckedContext {
  bool gathers = false;
  std::vector<KeyChunk>
      chunks{};  // what a chunk is, even where all are gathered
};

Result<CheckedForward> checked_forward(const Communicator& group,
                                       const ContextCall& call,
                                       const CallTensors& own) {
  const bool must_gather = call.keys == KeyTransport::gathered;
  HEADWISE_ASSIGN(auto context, checked_context(kContextAttention, call,
                                                group.ranks(), !must_gather));
  CheckedForward all{std::move(context)};
  HEADWISE_TRY(check_rank_tensors(kContextAttention, all.spec, all.shards,
                                  group.rank(), own));
  if (!must_gather) {
    HEADWISE_ASSIGN(all.chunks, key_chunks(all.shards, call.chunk_keys,
                                           group.ranks(), kContextAttention));
  }
  const AttentionShape& shape = all.spec.shape;
  all.gathers =
      must_gather || (call.keys == KeyTransport::automatic &&
                      shape.key_rows() * shape.batches() <= call.chunk_keys);
  return all;
}

// One rank's part of a call that all have checked.
template <class T>
class ContextRun {
 public:
  ContextRun(Communicator& group, const ContextCall& call, CheckedForward& all,
             const AttentionInputsOf<T>& own,
             const AttentionOutputsOf<T>& outputs)
      : group_(group), call_(call), all_(all), own_(own), outputs_(outputs) {}

  Status attend_to_chunks() {
    const std::vector<Shard> keys = shards_in<Shard>(all_.chunks);
    OwnQueries queries(group_.rank(), all_.shards.queries, keys);
    HEADWISE_ASSIGN(auto rows, forward_rows(queries.any_in_parts()));
    const auto take = [&](std::span<const Shard> shards,
                          const KeyViews<const T>& views) {
      return take_all(queries, rows, shards, views);
    };
    ChunkRoom room;
    HEADWISE_TRY(stream_keys<T>(group_, kContextAttention, all_.spec.shape,
                                all_.chunks, {own_.key, own_.value}, room,
                                take));
    return finish(queries, rows);
  }

  Status attend_to_gathered() {
    const AttentionShape& shape = all_.spec.shape;
    HEADWISE_ASSIGN(auto keys, gather_keys<T>(group_, shape, all_.shards.keys,
                                              {own_.key, own_.value}));
    // Whatever the mask says: the mean of all values is one of the empty rows.
    for (QueryShard& shard : all_.shards.queries) {
      shard.seen = {{0, shape.sequence(shard.sequence).Lkv}};
    }
    std::vector<Shard> sequences;
    std::size_t all_rows = 0;
    for (std::size_t b = 0; b < sequences_with_tokens(shape); ++b) {
      sequences.push_back({0, b, {0, shape.sequence(b).Lkv}, all_rows});
      all_rows += sequences.back().tokens.count;
    }
    OwnQueries queries(group_.rank(), all_.shards.queries, sequences);
    HEADWISE_ASSIGN(auto rows, forward_rows(false));
    HEADWISE_TRY(group_.busy_with([&] {
      return take_all(queries, rows, sequences,
                      read_only(keys.views(all_rows)));
    }));
    return finish(queries, rows);
  }

 private:
  Result<ForwardRows<T>> forward_rows(bool with_state) {
    return ForwardRows<T>::create(
        {all_.spec.shape, call_.options, call_.operation_options}, own_.query,
        outputs_, with_state);
  }

  Status take_all(OwnQueries& queries, ForwardRows<T>& rows,
                  std::span<const Shard> shards,
                  const KeyViews<const T>& views) {
    return queries.take_all(
        shards, views,
        [&](const QueryShard& own, const Shard& keys, const auto& view,
            std::size_t n, std::size_t count) {
          return rows.attend(own, keys.tokens, view,
                             part_of_calls<KeyPart>(n, count));
        });
  }

  Status finish(OwnQueries& queries, ForwardRows<T>& rows) {
    return queries.finish(
        [&](const QueryShard& own) { return rows.attend_to_none(own); });
  }

  Communicator& group_;
  const ContextCall& call_;
  CheckedForward& all_;
  const AttentionInputsOf<T>& own_;
  const AttentionOutputsOf<T>& outputs_;
};

template <class T>
Status attend_by_context(Communicator& group, const ContextCall& call,
                         const CallTensors& tensors) {
  group.set_step(kContextAttention, "the start");
  auto all = checked_forward(group, call, tensors);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_context(group, DTypeOf<T>::value, call, *all));
  const auto own = inputs_of<T>(tensors);
  const auto outputs = outputs_of<T>(tensors);
  ContextRun<T> run(group, call, *all, own, outputs);
  return all->gathers ? run.attend_to_gathered() : run.attend_to_chunks();
}

}  // namespace

Status context_attention(Communicator& group, const ContextCall& call,
                         const CallTensors& own) {
  return or_abort(group, [&] {
    return for_number_type(own[CallTensor::query].dtype(),
                           [&]<class T>(T) -> Status {
                             return attend_by_context<T>(group, call, own);
                           });
  });
}

}  // namespace headwise::inline HEADWISE_ABI
