#include "distribute/gradients_by_heads.h"

#include <utility>

#include "distribute/bias_relay.h"
#include "distribute/exchange_heads.h"
#include "distribute/gradient_tensors.h"
#include "distribute/head_tensors.h"
#include "distribute/share_heads.h"
#include "distribute/wanted.h"
#include "headwise/attention/backward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Gradients, by their place in Wanted.
enum Gradient : std::size_t {
  kQuery,
  kKey,
  kValue,
  kBias,
  kT5Bias,
  kAlibi,
  kScoreWeight,
  kSinks,
  kBiasK,
  kBiasV,
  kGradients,
};
using WantedByRanks = Wanted<kGradients>;

template <class T>
std::array<bool, kGradients> given(const AttentionGradientsOf<T>& gradients) {
  return {gradients.query.data() != nullptr,
          gradients.key.data() != nullptr,
          gradients.value.data() != nullptr,
          gradients.bias.data() != nullptr,
          gradients.t5_bias.data() != nullptr,
          gradients.alibi.data() != nullptr,
          gradients.score_weight.data() != nullptr,
          gradients.sinks.data() != nullptr,
          gradients.bias_k.data() != nullptr,
          gradients.bias_v.data() != nullptr};
}

// Of a rank's heads.
template <class T>
Result<GradientTensors<T>> make_gradients(const CallByHeads& call,
                                          std::size_t rank,
                                          const WantedByRanks& wanted) {
  const AttentionShape& s = call.spec.shape;
  const std::size_t Hq = call.heads.query[rank].count;
  const std::size_t Hkv = call.heads.key[rank].count;
  const std::size_t B = s.batches();
  const std::size_t buckets = call.spec.t5_bias.table().extent(0);
  GradientTensors<T> made;
  const auto make = [&](Gradient gradient, auto& tensor, const auto& extents) {
    return wanted.by_any(gradient) ? make_unset(extents, tensor) : ok();
  };
  HEADWISE_TRY(
      make(kQuery, made.query, Extents<4>{B, s.query_rows(), Hq, s.D}));
  HEADWISE_TRY(make(kKey, made.key, Extents<4>{B, s.key_rows(), Hkv, s.D}));
  HEADWISE_TRY(
      make(kValue, made.value, Extents<4>{B, s.key_rows(), Hkv, s.Dv}));
  if (call.spec.bias.given() && !call.heads_share_bias()) {
    Extents<4> extents = call.spec.bias.extents();
    extents[1] = Hq;
    HEADWISE_TRY(make(kBias, made.bias, extents));
  }
  HEADWISE_TRY(make(kT5Bias, made.t5_bias, Extents<2>{buckets, Hq}));
  HEADWISE_TRY(make(kAlibi, made.alibi, Extents<1>{Hq}));
  HEADWISE_TRY(make(kScoreWeight, made.score_weight, Extents<2>{Hq, s.D}));
  HEADWISE_TRY(make(kSinks, made.sinks, Extents<1>{Hq}));
  HEADWISE_TRY(make(kBiasK, made.bias_k, Extents<2>{Hkv, s.D}));
  HEADWISE_TRY(make(kBiasV, made.bias_v, Extents<2>{Hkv, s.Dv}));
  return made;
}

template <class T>
class GradientRun {
 public:
  GradientRun(Communicator& group, const CallByHeads& call,
              const WantedByRanks& wanted)
      : group_(group),
        call_(call),
        wanted_(wanted),
        exchanges_(group, call.spec.shape, call.shards, call.heads) {}

  Status run(const BackwardInputsOf<T>& own,
             const AttentionGradientsOf<T>& gradients) {
    const std::size_t rank = group_.rank();
    group_.set_step(call_.operation, "exchanging tokens for heads");
    HEADWISE_ASSIGN(const auto inputs,
                    exchange_for_heads<T>(exchanges_, call_.spec.shape,
                                          call_.heads.query[rank].count,
                                          call_.heads.key[rank].count, own));
    HEADWISE_ASSIGN(auto of_heads, make_gradients<T>(call_, rank, wanted_));
    if (call_.heads.query[rank].count != 0) {
      HEADWISE_ASSIGN(const auto cut,
                      call_.whole.of(call_.part_of(rank), call_.operation));
      HEADWISE_TRY(group_.busy_with([&] {
        return attention_backward(inputs.views(), of_heads.views(), cut.options,
                                  cut.operation_options);
      }));
    }
    if (call_.heads_share_bias() && wanted_.by_any(kBias)) {
      HEADWISE_TRY(shared_bias(inputs, gradients.bias));
    }
    group_.set_step(call_.operation, "exchanging gradients");
    HEADWISE_TRY(to_tokens(of_heads, gradients));
    return share(of_heads, gradients);
  }

 private:
  Status shared_bias(const HeadTensors<T>& inputs,
                     const TensorView<float, 4>& whole) {
    HEADWISE_ASSIGN(auto sums, relay_bias_gradient<T>(group_, call_, inputs));
    // All of it comes from the last rank with heads.
    std::vector<PartRange> owners(group_.ranks());
    std::size_t last = group_.ranks() - 1;
    while (call_.heads.query[last].count == 0) {
      --last;
    }
    owners[last] = {0, 1};
    const Tensor<float, 4> part =
        group_.rank() == last ? std::move(sums) : Tensor<float, 4>();
    return share_one(kBias, owners, 1, part, whole);
  }

  Status to_tokens(const GradientTensors<T>& of_heads,
                   const AttentionGradientsOf<T>& gradients) {
    if (wanted_.by_any(kQuery)) {
      HEADWISE_TRY(
          exchanges_.queries<T>().to_tokens(of_heads.query, gradients.query));
    }
    if (wanted_.by_any(kKey)) {
      HEADWISE_TRY(exchanges_.keys<T>().to_tokens(of_heads.key, gradients.key));
    }
    return wanted_.by_any(kValue)
               ? exchanges_.keys<T>().to_tokens(of_heads.value, gradients.value)
               : ok();
  }

  Status share(const GradientTensors<T>& of_heads,
               const AttentionGradientsOf<T>& whole) {
    const auto& query = call_.heads.query;
    const auto& key = call_.heads.key;
    if (!call_.heads_share_bias()) {
      HEADWISE_TRY(share_one(kBias, query, 1, of_heads.bias, whole.bias));
    }
    HEADWISE_TRY(share_one(kT5Bias, query, 1, of_heads.t5_bias, whole.t5_bias));
    HEADWISE_TRY(share_one(kAlibi, query, 0, of_heads.alibi, whole.alibi));
    HEADWISE_TRY(share_one(kScoreWeight, query, 0, of_heads.score_weight,
                           whole.score_weight));
    HEADWISE_TRY(share_one(kSinks, query, 0, of_heads.sinks, whole.sinks));
    HEADWISE_TRY(share_one(kBiasK, key, 0, of_heads.bias_k, whole.bias_k));
    return share_one(kBiasV, key, 0, of_heads.bias_v, whole.bias_v);
  }

  template <std::size_t Rank>
  Status share_one(Gradient gradient, std::span<const PartRange> heads,
                   std::size_t axis, const Tensor<float, Rank>& part,
                   const TensorView<float, Rank>& whole) {
    return wanted_.by_any(gradient)
               ? share_heads(
                     group_, heads, axis, part,
                     [&](std::size_t r) { return wanted_.by(r, gradient); },
                     whole)
               : ok();
  }

  Communicator& group_;
  const CallByHeads& call_;
  const WantedByRanks& wanted_;
  HeadExchanges exchanges_;
};

}  // namespace

template <class T>
Status gradients_by_heads(Communicator& group, const CallByHeads& call,
                          const BackwardInputsOf<T>& own,
                          const AttentionGradientsOf<T>& gradients) {
  HEADWISE_ASSIGN(const auto wanted,
                  WantedByRanks::ask(group, given(gradients)));
  return wanted.any() ? GradientRun<T>(group, call, wanted).run(own, gradients)
                      : ok();
}

#define HEADWISE_GRADIENTS_BY_HEADS(T)                                  \
  template Status gradients_by_heads(Communicator&, const CallByHeads&, \
                                     const BackwardInputsOf<T>&,        \
                                     const AttentionGradientsOf<T>&);
HEADWISE_GRADIENTS_BY_HEADS(float)
HEADWISE_GRADIENTS_BY_HEADS(BFloat16)
HEADWISE_GRADIENTS_BY_HEADS(Float16)
#undef HEADWISE_GRADIENTS_BY_HEADS

}  // namespace headwise::inline HEADWISE_ABI
