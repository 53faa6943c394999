#include "headwise/distribute/heads_backward.h"

#include "distribute/backward_tensors.h"
#include "distribute/checked_heads.h"
#include "distribute/gradients_by_heads.h"
#include "distribute/or_abort.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "heads_attention_backward";

template <class T>
Result<CheckedHeads> checked(const Communicator& group, const HeadsCall& call,
                             const BackwardInputsOf<T>& own,
                             const AttentionGradientsOf<T>& gradients) {
  auto all = checked_heads(kOperation, call, group.ranks());
  HEADWISE_TRY(all);
  HEADWISE_TRY(check_backward_tensors(kOperation, all->spec, all->shards,
                                      group.rank(), own, gradients));
  return all;
}

template <class T>
Status go_back(Communicator& group, const HeadsCall& call,
               const BackwardInputsOf<T>& own,
               const AttentionGradientsOf<T>& gradients) {
  group.set_step(kOperation, "the start");
  const auto all = checked(group, call, own, gradients);
  HEADWISE_TRY(group.agree(all ? ok() : Status(all.error())));
  HEADWISE_TRY(check_same_heads(group, DTypeOf<T>::value, *all));
  return gradients_by_heads(
      group,
      {kOperation,
       all->spec,
       {all->spec.shape, call.options, call.operation_options},
       all->shards,
       all->heads},
      own, gradients);
}

}  // namespace

#define HEADWISE_HEADS_BACKWARD(T)                                            \
  Status heads_attention_backward(Communicator& group, const HeadsCall& call, \
                                  const BackwardInputsOf<T>& own,             \
                                  const AttentionGradientsOf<T>& gradients) { \
    return or_abort(group,                                                    \
                    [&] { return go_back(group, call, own, gradients); });    \
  }
HEADWISE_HEADS_BACKWARD(float)
HEADWISE_HEADS_BACKWARD(BFloat16)
HEADWISE_HEADS_BACKWARD(Float16)
#undef HEADWISE_HEADS_BACKWARD

}  // namespace headwise::inline HEADWISE_ABI
