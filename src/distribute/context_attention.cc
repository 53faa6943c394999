#include "headwise/distribute/context_attention.h"

#include <string>
#include <utility>
#include <vector>

#include "attention/call_part.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/call_digest.h"
#include "distribute/chunk_stream.h"
#include "distribute/gather_keys.h"
#include "distribute/key_chunks.h"
#include "distribute/own_queries.h"
#include "distribute/rank_tensors.h"
#include "distribute/shards.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "context_attention";

// Options that parts of the keys can have. What create() makes of those of the
// whole call is the same, whichever way the keys come.
Status check_parts(const ContextCall& call, const AttentionSpec& spec) {
  auto part = internal::options_of_part(
      spec.shape, call.options, call.operation_options,
      internal::whole_call(spec.shape), kOperation);
  HEADWISE_TRY(part);
  part->operation_options.key_part = KeyPart::last;
  const auto of_part = AttentionSpec::create(
      call.tensors, part->options, part->operation_options, kOperation);
  HEADWISE_TRY(of_part);
  return ok();
}

Status check_call(const ContextCall& call) {
  HEADWISE_TRY(
      check_rank_options(kOperation, call.options, call.operation_options));
  if (call.chunk_keys == 0 || call.chunk_keys % kernels::kKeyBlock != 0) {
    return value_error(
        kOperation, "chunk_keys", std::to_string(call.chunk_keys),
        "a positive multiple of " + std::to_string(kernels::kKeyBlock));
  }
  return ok();
}

// A call that a rank has checked.
struct CheckedCall {
  AttentionSpec spec;
  Shards shards;
  bool gathers = false;
  std::vector<KeyChunk> chunks{};
};

template <class T>
Result<CheckedCall> checked(const Communicator& group, const ContextCall& call,
                            const AttentionInputsOf<T>& own,
                            const AttentionOutputsOf<T>& outputs) {
  HEADWISE_TRY(check_call(call));
  auto spec = AttentionSpec::create(call.tensors, call.options,
                                    call.operation_options, kOperation);
  HEADWISE_TRY(spec);
  auto shards = shards_of(call.plan, group.ranks(), spec->mask, kOperation);
  HEADWISE_TRY(shards);
  HEADWISE_TRY(check_rank_tensors(kOperation, spec->shape, *shards,
                                  group.rank(), own, outputs));
  CheckedCall all{*std::move(spec), *std::move(shards)};
  if (call.keys != KeyTransport::gathered) {
    HEADWISE_TRY(check_parts(call, all.spec));
    auto chunks = key_chunks(all.shards.keys, call.chunk_keys,
                             all.shards.queries, group.ranks(), kOperation);
    HEADWISE_TRY(chunks);
    all.chunks = *std::move(chunks);
  }
  all.gathers =
      call.keys == KeyTransport::gathered ||
      (call.keys == KeyTransport::automatic &&
       all.spec.shape.key_rows() * all.spec.shape.batches() <= call.chunk_keys);
  return all;
}

template <class T>
Status attend_to_chunks(Communicator& group, const CheckedCall& all,
                        const AttentionInputsOf<T>& own,
                        OwnQueries<T>& queries) {
  std::vector<Shard> keys;
  for (const KeyChunk& chunk : all.chunks) {
    keys.insert(keys.end(), chunk.shards.begin(), chunk.shards.end());
  }
  HEADWISE_TRY(queries.expect(group.rank(), all.shards.queries, keys));
  auto stream = ChunkStream<T>::create(group, all.chunks, all.spec.shape,
                                       {own.key, own.value});
  HEADWISE_TRY(stream);
  const auto take = [&](const KeyChunk& chunk,
                        const KeyViews<const T>& rows) -> Status {
    std::size_t first = 0;
    for (const Shard& shard : chunk.shards) {
      HEADWISE_TRY(queries.take(shard, rows.part({first, shard.tokens.count})));
      first += shard.tokens.count;
    }
    return ok();
  };
  HEADWISE_TRY(stream->run(take));
  return queries.finish();
}

template <class T>
Status attend_to_gathered(Communicator& group, CheckedCall& all,
                          const AttentionInputsOf<T>& own,
                          OwnQueries<T>& queries) {
  const AttentionShape& shape = all.spec.shape;
  auto keys =
      gather_keys<T>(group, shape, all.shards.keys, {own.key, own.value});
  HEADWISE_TRY(keys);
  // Whatever the mask says: the mean of all values is one of the empty rows.
  for (QueryShard& shard : all.shards.queries) {
    shard.seen = {0, shape.sequence(shard.sequence).Lkv};
  }
  std::vector<Shard> sequences;
  std::size_t rows = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    sequences.push_back({0, b, {0, shape.sequence(b).Lkv}, rows});
    rows += sequences.back().tokens.count;
  }
  HEADWISE_TRY(queries.expect(group.rank(), all.shards.queries, sequences));
  for (const Shard& sequence : sequences) {
    HEADWISE_TRY(queries.take(
        sequence, read_only(keys->views(rows))
                      .part({sequence.row, sequence.tokens.count})));
  }
  return queries.finish();
}

template <class T>
Status attend(Communicator& group, const ContextCall& call,
              const AttentionInputsOf<T>& own,
              const AttentionOutputsOf<T>& outputs) {
  group.set_step(kOperation, "the start");
  auto all = checked(group, call, own, outputs);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  Digest digest;
  digest.add(std::uint64_t{all->gathers});
  digest.add(call.chunk_keys);
  HEADWISE_TRY(group.check_same(
      "the call", describe_call(name_of(DTypeOf<T>::value), all->spec,
                                all->shards, digest)));
  OwnQueries<T> queries({all->spec.shape, call.options, call.operation_options},
                        own.query, outputs);
  return all->gathers ? attend_to_gathered(group, *all, own, queries)
                      : attend_to_chunks(group, *all, own, queries);
}

template <class T>
Status attend_or_abort(Communicator& group, const ContextCall& call,
                       const AttentionInputsOf<T>& own,
                       const AttentionOutputsOf<T>& outputs) {
  Status status =
      catching_out_of_memory([&] { return attend(group, call, own, outputs); });
  if (!status) {
    group.abort(status.error());
  }
  return status;
}

}  // namespace

Status context_attention(Communicator& group, const ContextCall& call,
                         const AttentionInputsOf<float>& own,
                         const AttentionOutputsOf<float>& outputs) {
  return attend_or_abort(group, call, own, outputs);
}
Status context_attention(Communicator& group, const ContextCall& call,
                         const AttentionInputsOf<BFloat16>& own,
                         const AttentionOutputsOf<BFloat16>& outputs) {
  return attend_or_abort(group, call, own, outputs);
}
Status context_attention(Communicator& group, const ContextCall& call,
                         const AttentionInputsOf<Float16>& own,
                         const AttentionOutputsOf<Float16>& outputs) {
  return attend_or_abort(group, call, own, outputs);
}

}  // namespace headwise::inline HEADWISE_ABI
