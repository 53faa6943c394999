#include "attention/typed_tensors.h"
#include "base/for_number_type.h"
#include "distribute/checked_heads.h"
#include "distribute/gradients_by_heads.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"
#include "headwise/distribute/heads_attention.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kHeadsBackward = "heads_attention_backward";

// Of such a bias the gradient takes one sequence after another.
Status check_shared_bias(const AttentionSpec& spec) {
  const bool shared = spec.bias.given() && spec.shape.B > 1 &&
                      spec.bias.extents()[0] == 1 &&
                      spec.bias.extents()[1] != spec.shape.Hq;
  return shared ? Status(value_error(kHeadsBackward, "d_attn_weights", "given",
                                     "none where heads and sequences share a "
                                     "bias",
                                     ErrorCode::unsupported))
                : ok();
}

Result<CheckedHeads> checked_heads_backward(const Communicator& group,
                                            const HeadsCall& call,
                                            const CallTensors& own) {
  HEADWISE_ASSIGN(auto all, checked_heads(kHeadsBackward, call, group.ranks()));
  const std::size_t rank = group.rank();
  HEADWISE_TRY(
      check_rank_tensors(kHeadsBackward, all.spec, all.shards, rank, own));
  if (own.has(CallTensor::d_attn_weights)) {
    HEADWISE_TRY(check_pairs(kHeadsBackward, "d_attn_weights", all, rank,
                             own.read_floats<4>(CallTensor::d_attn_weights),
                             all.spec.attn_weights != AttnWeights::none));
    HEADWISE_TRY(check_shared_bias(all.spec));
  }
  return all;
}

template <class T>
Status backward_by_heads(Communicator& group, const HeadsCall& call,
                         const CallTensors& own) {
  group.set_step(kHeadsBackward, "the start");
  const auto all = checked_heads_backward(group, call, own);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_heads(group, DTypeOf<T>::value, *all));
  return gradients_by_heads(
      group,
      {kHeadsBackward,
       all->spec,
       {all->spec.shape, call.options, call.operation_options},
       all->shards,
       all->heads},
      backward_inputs_of<T>(own), own);
}

}  // namespace

Status heads_attention_backward(Communicator& group, const HeadsCall& call,
                                const CallTensors& own) {
  return or_abort(group, [&] {
    return for_number_type(own[CallTensor::query].dtype(),
                           [&]<class T>(T) -> Status {
                             return backward_by_heads<T>(group, call, own);
                           });
  });
}

}  // namespace headwise::inline HEADWISE_ABI
