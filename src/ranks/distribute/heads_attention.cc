#include "headwise/distribute/heads_attention.h"

#include "attention/call_part.h"
#include "attention/typed_tensors.h"
#include "base/for_number_type.h"
#include "distribute/checked_heads.h"
#include "distribute/exchange_heads.h"
#include "distribute/head_tensors.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"
#include "distribute/wanted.h"
#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kHeadsAttention = "heads_attention";

Result<CheckedHeads> checked_heads_forward(const Communicator& group,
                                           const HeadsCall& call,
                                           const CallTensors& own) {
  HEADWISE_ASSIGN(auto all,
                  checked_heads(kHeadsAttention, call, group.ranks()));
  const std::size_t rank = group.rank();
  HEADWISE_TRY(
      check_rank_tensors(kHeadsAttention, all.spec, all.shards, rank, own));
  HEADWISE_TRY(check_pairs(kHeadsAttention, "attn_weights", all, rank,
                           own.floats<4>(CallTensor::attn_weights),
                           all.spec.attn_weights != AttnWeights::none));
  HEADWISE_TRY(check_pairs(kHeadsAttention, "scores", all, rank,
                           own.floats<4>(CallTensor::scores),
                           all.spec.scores != ScoresStage::none));
  return all;
}

// All tokens of a rank's heads.
template <class T>
struct WholeTensors : HeadInputs<T> {
  Tensor<T, 4> output;
  Tensor<float, 4> lse;  // with an axis of 1 behind the rows
  Tensor<float, 4> softmax_rows;
};

template <class T>
Status make_outputs(const AttentionShape& shape, std::size_t Hq,
                    WholeTensors<T>& whole) {
  const std::size_t B = shape.batches();
  const std::size_t queries = shape.query_rows();
  HEADWISE_TRY(make_unset({B, queries, Hq, shape.Dv}, whole.output));
  HEADWISE_TRY(make_unset({B, Hq, queries, 1}, whole.lse));
  return make_unset({B, Hq, queries, 2}, whole.softmax_rows);
}

// Of the outputs that a rank may leave out.
constexpr std::size_t kLse = 0;
constexpr std::size_t kSoftmaxRows = 1;

// With an axis of 1 behind the rows.
TensorView<float, 4> with_last_axis(TensorView<float, 3> lse) {
  const auto [B, Hq, rows] = lse.extents();
  const auto [next, per_head, per_row] = lse.strides();
  return {lse.data(), {B, Hq, rows, 1}, {next, per_head, per_row, 1}};
}

template <class T>
class ForwardRun {
 public:
  ForwardRun(Communicator& group, const HeadsCall& call,
             const CheckedHeads& all)
      : group_(group),
        call_(call),
        all_(all),
        exchanges_(group, all.spec.shape, all.shards, all.heads) {}

  Status run(const AttentionInputsOf<T>& own,
             const AttentionOutputsOf<T>& outputs) {
    const AttentionShape& shape = all_.spec.shape;
    const std::size_t Hq = all_.heads.query[group_.rank()].count;
    const std::size_t Hkv = all_.heads.key[group_.rank()].count;
    WholeTensors<T> whole;
    HEADWISE_TRY(make_outputs(shape, Hq, whole));
    group_.set_step(kHeadsAttention, "exchanging queries, keys and values");
    HEADWISE_TRY(exchange_inputs<T>(exchanges_, shape, Hq, Hkv, own, whole));
    HEADWISE_ASSIGN(
        const auto wanted,
        Wanted<2>::ask(group_, {outputs.lse.data() != nullptr,
                                outputs.softmax_rows.data() != nullptr}));
    if (Hq != 0) {
      HEADWISE_TRY(group_.busy_with(
          [&] { return attend_by_heads(wanted, whole, outputs); }));
    }
    group_.set_step(kHeadsAttention, "exchanging outputs");
    HEADWISE_TRY(
        exchanges_.queries<T>().to_tokens(whole.output, outputs.output));
    const auto rows = exchanges_.queries<float>(kHeadsFirst);
    if (wanted.by_any(kLse)) {
      HEADWISE_TRY(rows.to_tokens(whole.lse, with_last_axis(outputs.lse)));
    }
    return wanted.by_any(kSoftmaxRows)
               ? rows.to_tokens(whole.softmax_rows, outputs.softmax_rows)
               : ok();
  }

 private:
  Status attend_by_heads(const Wanted<2>& wanted, WholeTensors<T>& whole,
                         const AttentionOutputsOf<T>& own) {
    CallPart part = internal::whole_call(all_.spec.shape);
    part.heads = all_.heads.query[group_.rank()];
    part.kv_heads = all_.heads.key[group_.rank()];
    HEADWISE_ASSIGN(const auto cut,
                    internal::options_of_part(all_.spec.shape, call_.options,
                                              call_.operation_options, part,
                                              kHeadsAttention));
    AttentionOutputsOf<T> outputs = {.output = whole.output.view(),
                                     .attn_weights = own.attn_weights,
                                     .scores = own.scores};
    if (wanted.by_any(kLse)) {
      const auto [B, Hq, rows, one] = whole.lse.extents();
      outputs.lse = {whole.lse.data(), {B, Hq, rows}};
    }
    if (wanted.by_any(kSoftmaxRows)) {
      outputs.softmax_rows = whole.softmax_rows.view();
    }
    return attention(TensorView<const T, 4>(whole.query),
                     TensorView<const T, 4>(whole.key),
                     TensorView<const T, 4>(whole.value), outputs, cut.options,
                     cut.operation_options);
  }

  Communicator& group_;
  const HeadsCall& call_;
  const CheckedHeads& all_;
  HeadExchanges exchanges_;
};

template <class T>
Status attend_by_heads(Communicator& group, const HeadsCall& call,
                       const CallTensors& own) {
  group.set_step(kHeadsAttention, "the start");
  auto all = checked_heads_forward(group, call, own);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_heads(group, DTypeOf<T>::value, *all));
  return ForwardRun<T>(group, call, *all)
      .run(inputs_of<T>(own), outputs_of<T>(own));
}

}  // namespace

Status heads_attention(Communicator& group, const HeadsCall& call,
                       const CallTensors& own) {
  return or_abort(group, [&] {
    return for_number_type(own[CallTensor::query].dtype(),
                           [&]<class T>(T) -> Status {
                             return attend_by_heads<T>(group, call, own);
                           });
  });
}

}  // namespace headwise::inline HEADWISE_ABI
