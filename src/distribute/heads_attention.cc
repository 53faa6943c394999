#include "headwise/distribute/heads_attention.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attention/call_part.h"
#include "base/check.h"
#include "distribute/call_digest.h"
#include "distribute/exchange_heads.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"
#include "distribute/shards.h"
#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "heads_attention";

// The heads of each rank.
struct RankHeads {
  std::vector<PartRange> query;
  std::vector<PartRange> key;
};

// Errors: invalid_argument unless each head belongs to one rank, with the key
// head that it reads.
Result<RankHeads> heads_of(const ShardPlan& plan, std::size_t ranks,
                           const AttentionShape& shape) {
  RankHeads heads;
  std::size_t next = 0;
  bool fits = plan.ranks.size() == ranks;
  for (const RankShare& rank : plan.ranks) {
    const HeadRange& kv = rank.kv_heads;
    if (kv.count == 0) {
      heads.query.push_back({});
      heads.key.push_back({});
      continue;
    }
    fits = fits && kv.first == next && kv.count <= shape.Hkv - next;
    if (!fits) {
      break;
    }
    next += kv.count;
    const std::size_t first = shape.first_query_head(kv.first);
    const std::size_t end = shape.first_query_head(next);
    fits = rank.heads == HeadRange{first, end - first};
    heads.query.push_back({first, end - first});
    heads.key.push_back({kv.first, kv.count});
  }
  if (!fits || next != shape.Hkv) {
    return value_error(kOperation, "heads.ranks",
                       "not a division of " + std::to_string(shape.Hkv) +
                           " key heads among " + std::to_string(ranks) +
                           " ranks",
                       "each key head and its query heads on one rank");
  }
  return heads;
}

struct CheckedCall {
  AttentionSpec spec;
  Shards shards;
  RankHeads heads;
};

template <class T>
Result<CheckedCall> checked(const Communicator& group, const HeadsCall& call,
                            const AttentionInputsOf<T>& own,
                            const AttentionOutputsOf<T>& outputs) {
  HEADWISE_TRY(
      check_rank_options(kOperation, call.options, call.operation_options));
  auto spec = AttentionSpec::create(call.tensors, call.options,
                                    call.operation_options, kOperation);
  HEADWISE_TRY(spec);
  if (spec->dropout.active() &&
      call.options.dropout.keep_mask.data() == nullptr) {
    return value_error(kOperation, "dropout", "asked for",
                       "none in a part of the heads", ErrorCode::unsupported);
  }
  auto shards = shards_of(call.tokens, group.ranks(), spec->mask, kOperation);
  HEADWISE_TRY(shards);
  HEADWISE_TRY(check_rank_tensors(kOperation, spec->shape, *shards,
                                  group.rank(), own, outputs));
  auto heads = heads_of(call.heads, group.ranks(), spec->shape);
  HEADWISE_TRY(heads);
  return CheckedCall{*std::move(spec), *std::move(shards), *std::move(heads)};
}

// Where the queries, or the keys, of each shard are in the whole tensors.
std::vector<WholeRows> places_of(const AttentionShape& shape,
                                 std::span<const Shard> shards, bool keys) {
  std::vector<WholeRows> places;
  for (const Shard& shard : shards) {
    const SequencePlace place = shape.sequence(shard.sequence);
    const std::size_t first = keys ? place.first_key : place.first_query;
    places.push_back(
        {place.batch, {first + shard.tokens.first, shard.tokens.count}});
  }
  return places;
}

// All tokens of a rank's heads.
template <class T>
struct WholeTensors {
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
  Tensor<T, 4> output;
  Tensor<float, 4> lse;  // with an axis of 1 behind the rows
  Tensor<float, 4> softmax_rows;
};

template <class T>
Status make(const Extents<4>& extents, Tensor<T, 4>& tensor) {
  auto made = Tensor<T, 4>::create_unset(extents);
  HEADWISE_TRY(made);
  tensor = *std::move(made);
  return ok();
}

template <class T>
Result<WholeTensors<T>> make_tensors(const AttentionShape& shape,
                                     std::size_t Hq, std::size_t Hkv) {
  const std::size_t B = shape.batches();
  const std::size_t queries = shape.query_rows();
  const std::size_t keys = shape.key_rows();
  WholeTensors<T> whole;
  HEADWISE_TRY(make({B, queries, Hq, shape.D}, whole.query));
  HEADWISE_TRY(make({B, keys, Hkv, shape.D}, whole.key));
  HEADWISE_TRY(make({B, keys, Hkv, shape.Dv}, whole.value));
  HEADWISE_TRY(make({B, queries, Hq, shape.Dv}, whole.output));
  HEADWISE_TRY(make({B, Hq, queries, 1}, whole.lse));
  HEADWISE_TRY(make({B, Hq, queries, 2}, whole.softmax_rows));
  return whole;
}

// Outputs that at least one rank asks for. All ranks then exchange them.
struct WantedRows {
  bool lse = false;
  bool softmax_rows = false;
};

Result<WantedRows> wanted_by_any(Communicator& group, const WantedRows& own) {
  const std::array<std::byte, 2> told = {std::byte{own.lse},
                                         std::byte{own.softmax_rows}};
  std::vector<std::array<std::byte, 2>> heard(group.ranks());
  const std::vector<std::span<const std::byte>> out(group.ranks(), told);
  const std::vector<std::span<std::byte>> in(heard.begin(), heard.end());
  HEADWISE_TRY(group.exchange(out, in));
  WantedRows any;
  for (const auto& [lse, softmax_rows] : heard) {
    any.lse = any.lse || lse != std::byte{0};
    any.softmax_rows = any.softmax_rows || softmax_rows != std::byte{0};
  }
  return any;
}

// With an axis of 1 behind the rows.
TensorView<float, 4> with_last_axis(TensorView<float, 3> lse) {
  const auto [B, Hq, rows] = lse.extents();
  const auto [next, per_head, per_row] = lse.strides();
  return {lse.data(), {B, Hq, rows, 1}, {next, per_head, per_row, 1}};
}

template <class T>
class HeadsRun {
 public:
  HeadsRun(Communicator& group, const HeadsCall& call, const CheckedCall& all)
      : group_(group), call_(call), all_(all) {}

  Status run(const AttentionInputsOf<T>& own,
             const AttentionOutputsOf<T>& outputs) {
    const std::size_t rank = group_.rank();
    auto whole = make_tensors<T>(all_.spec.shape, all_.heads.query[rank].count,
                                 all_.heads.key[rank].count);
    HEADWISE_TRY(whole);
    group_.set_step(kOperation, "exchanging queries, keys and values");
    HEADWISE_TRY(queries<T>(kRowsFirst).to_heads(own.query, whole->query));
    HEADWISE_TRY(keys().to_heads(own.key, whole->key));
    HEADWISE_TRY(keys().to_heads(own.value, whole->value));
    const auto wanted =
        wanted_by_any(group_, {outputs.lse.data() != nullptr,
                               outputs.softmax_rows.data() != nullptr});
    HEADWISE_TRY(wanted);
    if (all_.heads.query[rank].count != 0) {
      HEADWISE_TRY(group_.busy_with([&] { return attend(*wanted, *whole); }));
    }
    group_.set_step(kOperation, "exchanging outputs");
    HEADWISE_TRY(
        queries<T>(kRowsFirst).to_tokens(whole->output, outputs.output));
    if (wanted->lse) {
      HEADWISE_TRY(queries<float>(kHeadsFirst)
                       .to_tokens(whole->lse, with_last_axis(outputs.lse)));
    }
    return wanted->softmax_rows
               ? queries<float>(kHeadsFirst)
                     .to_tokens(whole->softmax_rows, outputs.softmax_rows)
               : ok();
  }

 private:
  template <class U>
  HeadExchange<U> queries(const HeadAxes& axes) {
    const std::vector<Shard> shards(all_.shards.queries.begin(),
                                    all_.shards.queries.end());
    return {group_, all_.heads.query, shards,
            places_of(all_.spec.shape, shards, false), axes};
  }
  HeadExchange<T> keys() {
    return {group_, all_.heads.key, all_.shards.keys,
            places_of(all_.spec.shape, all_.shards.keys, true), kRowsFirst};
  }

  Status attend(const WantedRows& wanted, WholeTensors<T>& whole) {
    CallPart part = internal::whole_call(all_.spec.shape);
    part.heads = all_.heads.query[group_.rank()];
    part.kv_heads = all_.heads.key[group_.rank()];
    const auto cut =
        internal::options_of_part(all_.spec.shape, call_.options,
                                  call_.operation_options, part, kOperation);
    HEADWISE_TRY(cut);
    AttentionOutputsOf<T> outputs = {.output = whole.output.view()};
    if (wanted.lse) {
      const auto [B, Hq, rows, one] = whole.lse.extents();
      outputs.lse = {whole.lse.data(), {B, Hq, rows}};
    }
    if (wanted.softmax_rows) {
      outputs.softmax_rows = whole.softmax_rows.view();
    }
    return attention(TensorView<const T, 4>(whole.query),
                     TensorView<const T, 4>(whole.key),
                     TensorView<const T, 4>(whole.value), outputs, cut->options,
                     cut->operation_options);
  }

  Communicator& group_;
  const HeadsCall& call_;
  const CheckedCall& all_;
};

template <class T>
Status attend(Communicator& group, const HeadsCall& call,
              const AttentionInputsOf<T>& own,
              const AttentionOutputsOf<T>& outputs) {
  group.set_step(kOperation, "the start");
  auto all = checked(group, call, own, outputs);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  Digest digest;
  for (const PartRange& heads : all->heads.key) {
    digest.add(heads.count);
  }
  HEADWISE_TRY(group.check_same(
      "the call", describe_call(name_of(DTypeOf<T>::value), all->spec,
                                all->shards, digest)));
  return HeadsRun<T>(group, call, *all).run(own, outputs);
}

}  // namespace

Status heads_attention(Communicator& group, const HeadsCall& call,
                       const AttentionInputsOf<float>& own,
                       const AttentionOutputsOf<float>& outputs) {
  return or_abort(group, [&] { return attend(group, call, own, outputs); });
}
Status heads_attention(Communicator& group, const HeadsCall& call,
                       const AttentionInputsOf<BFloat16>& own,
                       const AttentionOutputsOf<BFloat16>& outputs) {
  return or_abort(group, [&] { return attend(group, call, own, outputs); });
}
Status heads_attention(Communicator& group, const HeadsCall& call,
                       const AttentionInputsOf<Float16>& own,
                       const AttentionOutputsOf<Float16>& outputs) {
  return or_abort(group, [&] { return attend(group, call, own, outputs); });
}

}  // namespace headwise::inline HEADWISE_ABI
