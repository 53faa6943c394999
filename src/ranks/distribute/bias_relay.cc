#include "distribute/bias_relay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The extents of a bias: B, H, Lq, Lkv, and 1 where it is broadcast.
Extents<4> extents_of(const Bias& bias) {
  const NamedAxes& axes = bias.axes();
  return by_scores(bias.data(), axes.extents(), axes.strides(), axes.axes())
      .extents();
}

template <class T>
class Relay {
 public:
  Relay(Communicator& group, const CallByHeads& call, const HeadTensors<T>& own)
      : group_(group), call_(call), own_(own) {
    for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
      if (call.heads.query[rank].count != 0) {
        ranks_.push_back(rank);
      }
    }
  }

  Result<Tensor<float, 4>> run() {
    const auto me = std::ranges::find(ranks_, group_.rank());
    if (me == ranks_.end()) {
      return Tensor<float, 4>();
    }
    const bool first = me == ranks_.begin();
    const bool last = me + 1 == ranks_.end();
    HEADWISE_ASSIGN(auto sums,
                    Tensor<float, 4>::create(call_.spec.bias.extents()));
    const std::size_t turns =
        per_sequence() ? sequences_with_tokens(call_.spec.shape) : 1;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      if (turn != 0 || !first) {
        HEADWISE_TRY(receive(sums, first ? ranks_.back() : me[-1]));
      }
      HEADWISE_TRY(add(turn, sums));
      if (turn + 1 != turns || !last) {
        HEADWISE_TRY(send(sums, last ? ranks_.front() : me[1]));
      }
    }
    return sums;
  }

 private:
  bool per_sequence() const {
    return call_.spec.bias.extents()[0] != call_.spec.shape.B;
  }

  Status receive(Tensor<float, 4>& sums, std::size_t from) {
    return from == group_.rank()
               ? ok()
               : group_.receive(writable_bytes_of(sums.data(), sums.size()),
                                from);
  }
  Status send(const Tensor<float, 4>& sums, std::size_t to) {
    return to == group_.rank()
               ? ok()
               : group_.send(bytes_of(sums.data(), sums.size()), to);
  }

  // What the rank's heads add: in all sequences, or in sequence `turn`.
  Status add(std::size_t turn, Tensor<float, 4>& sums) {
    CallPart part = call_.part_of(group_.rank());
    BackwardInputsOf<T> inputs = own_.views();
    if (per_sequence()) {
      const SequencePlace place = call_.spec.shape.sequence(turn);
      part.sequences = {turn, 1};
      part.queries = {0, place.Lq};
      part.keys = {0, place.Lkv};
      inputs = own_.views(place);
    }
    HEADWISE_ASSIGN(const auto cut, call_.whole.of(part, call_.operation));
    auto next = sums.clone();  // what the part does not have stays
    HEADWISE_TRY(next);
    const Extents<4> extents = extents_of(cut.options.bias);
    const auto part_of = [&](auto view) {
      return part_along(2, part_along(3, view, {0, extents[3]}),
                        {0, extents[2]});
    };
    AttentionGradientsOf<T> gradients = {.bias = part_of(next->view())};
    gradients.state.bias = part_of(std::as_const(sums).view());
    HEADWISE_TRY(group_.busy_with([&] {
      return attention_backward(inputs, gradients, cut.options,
                                cut.operation_options);
    }));
    sums = *std::move(next);
    return ok();
  }

  Communicator& group_;
  const CallByHeads& call_;
  const HeadTensors<T>& own_;
  std::vector<std::size_t> ranks_;  // with heads
};

}  // namespace

template <class T>
Result<Tensor<float, 4>> relay_bias_gradient(Communicator& group,
                                             const CallByHeads& call,
                                             const HeadTensors<T>& own) {
  group.set_step(call.operation, "adding up the gradient of the bias");
  return Relay<T>(group, call, own).run();
}

template Result<Tensor<float, 4>> relay_bias_gradient(
    Communicator&, const CallByHeads&, const HeadTensors<float>&);
template Result<Tensor<float, 4>> relay_bias_gradient(
    Communicator&, const CallByHeads&, const HeadTensors<BFloat16>&);
template Result<Tensor<float, 4>> relay_bias_gradient(
    Communicator&, const CallByHeads&, const HeadTensors<Float16>&);

}  // namespace headwise::inline HEADWISE_ABI
