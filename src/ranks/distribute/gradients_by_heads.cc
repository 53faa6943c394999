#include "distribute/gradients_by_heads.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "distribute/bias_relay.h"
#include "distribute/exchange_heads.h"
#include "distribute/head_tensors.h"
#include "distribute/share_heads.h"
#include "distribute/wanted.h"
#include "headwise/attention/backward.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kOfTensors = 3;  // of query, key and value
using WantedByRanks = Wanted<kOfTensors + kOptionGradients.size()>;

std::size_t place_of(CallTensor gradient) {
  return index_of(gradient) - index_of(CallTensor::d_query);
}

WantedByRanks::Own given(const CallTensors& tensors) {
  WantedByRanks::Own wants{};
  for (std::size_t n = 0; n < wants.size(); ++n) {
    wants[n] =
        tensors.has(static_cast<CallTensor>(index_of(CallTensor::d_query) + n));
  }
  return wants;
}

// The axis of the heads, with axes of 1 in front of up to four.
std::size_t axis_of_heads(CallTensor gradient) {
  using enum CallTensor;
  return gradient == d_bias ? 1
         : gradient == d_score_weight || gradient == d_bias_k ||
                 gradient == d_bias_v
             ? 2
             : 3;
}

// With axes of 1 in front.
TensorView<float, 4> with_four_axes(const TensorArg& gradient) {
  switch (gradient.rank()) {
    case 1:
      return as_rank_4(gradient.view<float, 1>());
    case 2:
      return as_rank_4(gradient.view<float, 2>());
    default:
      return gradient.view<float, 4>();
  }
}

// The gradients of a rank's heads that some rank wants.
template <class T>
struct GradientsOfHeads {
  HeadInputs<T> of_tensors;
  std::array<Tensor<float, 1>, kOptionGradients.size()> of_options;
};

template <class T>
class GradientRun {
 public:
  GradientRun(Communicator& group, const CallByHeads& call,
              const WantedByRanks& wanted)
      : group_(group),
        call_(call),
        wanted_(wanted),
        exchanges_(group, call.spec.shape, call.shards, call.heads) {}

  Status run(const BackwardInputsOf<T>& own, const CallTensors& gradients) {
    const std::size_t rank = group_.rank();
    group_.set_step(call_.operation, "exchanging tokens for heads");
    HEADWISE_ASSIGN(const auto inputs,
                    exchange_for_heads<T>(exchanges_, call_.spec.shape,
                                          call_.heads.query[rank].count,
                                          call_.heads.key[rank].count, own));
    GradientsOfHeads<T> of_heads;
    HEADWISE_TRY(make(of_heads.of_tensors));
    if (call_.heads.query[rank].count != 0) {
      HEADWISE_TRY(compute(inputs.views(), of_heads));
    }
    if (shares_bias()) {
      HEADWISE_TRY(shared_bias(inputs, gradients));
    }
    group_.set_step(call_.operation, "exchanging gradients");
    HEADWISE_TRY(to_tokens(of_heads.of_tensors, gradients));
    return share(of_heads, gradients);
  }

 private:
  bool wants(CallTensor gradient) const {
    return wanted_.by_any(place_of(gradient));
  }
  bool shares_bias() const {
    return call_.heads_share_bias() && wants(CallTensor::d_bias);
  }

  Status make(HeadInputs<T>& gradients) const {
    using enum CallTensor;
    const AttentionShape& s = call_.spec.shape;
    const std::size_t Hq = call_.heads.query[group_.rank()].count;
    const std::size_t Hkv = call_.heads.key[group_.rank()].count;
    const std::size_t B = s.batches();
    const auto make_one = [&](CallTensor gradient, Tensor<T, 4>& tensor,
                              const Extents<4>& extents) {
      return wants(gradient) ? make_unset(extents, tensor) : ok();
    };
    HEADWISE_TRY(
        make_one(d_query, gradients.query, {B, s.query_rows(), Hq, s.D}));
    HEADWISE_TRY(make_one(d_key, gradients.key, {B, s.key_rows(), Hkv, s.D}));
    return make_one(d_value, gradients.value, {B, s.key_rows(), Hkv, s.Dv});
  }

  // The backward pass of the rank's heads.
  Status compute(const BackwardInputsOf<T>& inputs,
                 GradientsOfHeads<T>& of_heads) const {
    using enum CallTensor;
    HEADWISE_ASSIGN(const auto cut, call_.whole.of(call_.part_of(group_.rank()),
                                                   call_.operation));
    HEADWISE_ASSIGN(const auto shape, attention_shape(inputs.query.extents(),
                                                      inputs.key.extents(),
                                                      inputs.value.extents()));
    HEADWISE_ASSIGN(
        const auto spec,
        AttentionSpec::create(shape, cut.options, cut.operation_options,
                              call_.operation));
    CallTensors tensors(inputs, AttentionGradientsOf<T>{});
    const auto set = [&](CallTensor gradient, auto& tensor) {
      if (tensor.size() != 0) {
        tensors.set(gradient, tensor.view());
      }
    };
    set(d_query, of_heads.of_tensors.query);
    set(d_key, of_heads.of_tensors.key);
    set(d_value, of_heads.of_tensors.value);
    for (std::size_t n = 0; n < kOptionGradients.size(); ++n) {
      const CallTensor gradient = kOptionGradients[n];
      if (!wants(gradient) || (gradient == d_bias && shares_bias())) {
        continue;
      }
      const TensorArg expected = expected_tensor(spec, gradient);
      HEADWISE_TRY(make_unset({expected.size()}, of_heads.of_options[n]));
      tensors.set(gradient, TensorArg(of_heads.of_options[n].data(),
                                      DType::float32, expected.extents()));
    }
    return group_.busy_with([&] { return attention_backward(tensors, spec); });
  }

  Status shared_bias(const HeadTensors<T>& inputs, const CallTensors& whole) {
    HEADWISE_ASSIGN(auto sums, relay_bias_gradient<T>(group_, call_, inputs));
    // All of it comes from the last rank with heads.
    std::vector<PartRange> owners(group_.ranks());
    std::size_t last = group_.ranks() - 1;
    while (call_.heads.query[last].count == 0) {
      --last;
    }
    owners[last] = {0, 1};
    return share_one(CallTensor::d_bias, owners,
                     group_.rank() == last ? std::as_const(sums).elements()
                                           : std::span<const float>(),
                     whole);
  }

  Status to_tokens(const HeadInputs<T>& of_heads,
                   const CallTensors& gradients) const {
    using enum CallTensor;
    const auto to = [&](CallTensor gradient, const Tensor<T, 4>& tensor,
                        const auto& exchange) {
      return wants(gradient)
                 ? exchange.to_tokens(tensor,
                                      gradients[gradient].template view<T, 4>())
                 : ok();
    };
    HEADWISE_TRY(to(d_query, of_heads.query, exchanges_.queries<T>()));
    HEADWISE_TRY(to(d_key, of_heads.key, exchanges_.keys<T>()));
    return to(d_value, of_heads.value, exchanges_.keys<T>());
  }

  Status share(const GradientsOfHeads<T>& of_heads, const CallTensors& whole) {
    using enum CallTensor;
    for (std::size_t n = 0; n < kOptionGradients.size(); ++n) {
      const CallTensor gradient = kOptionGradients[n];
      const bool of_keys = gradient == d_bias_k || gradient == d_bias_v;
      if (!wants(gradient) || (gradient == d_bias && shares_bias())) {
        continue;
      }
      HEADWISE_TRY(
          share_one(gradient, of_keys ? call_.heads.key : call_.heads.query,
                    std::as_const(of_heads.of_options[n]).elements(), whole));
    }
    return ok();
  }

  Status share_one(CallTensor gradient, std::span<const PartRange> heads,
                   std::span<const float> part, const CallTensors& whole) {
    return share_heads(
        group_, heads, axis_of_heads(gradient), part,
        [&](std::size_t r) { return wanted_.by(r, place_of(gradient)); },
        with_four_axes(whole[gradient]));
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
                          const CallTensors& gradients) {
  HEADWISE_ASSIGN(const auto wanted,
                  WantedByRanks::ask(group, given(gradients)));
  return wanted.any() ? GradientRun<T>(group, call, wanted).run(own, gradients)
                      : ok();
}

#define HEADWISE_GRADIENTS_BY_HEADS(T)                                  \
  template Status gradients_by_heads(Communicator&, const CallByHeads&, \
                                     const BackwardInputsOf<T>&,        \
                                     const CallTensors&);
HEADWISE_GRADIENTS_BY_HEADS(float)
HEADWISE_GRADIENTS_BY_HEADS(BFloat16)
HEADWISE_GRADIENTS_BY_HEADS(Float16)
#undef HEADWISE_GRADIENTS_BY_HEADS

}  // namespace headwise::inline HEADWISE_ABI
