#include "transformer/feed_forward.h"

#include <utility>

#include "headwise/steps/activation.h"
#include "transformer/experts.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

Status one_network(const Network& network, bool gated,
                   const FeedForwardSpec& spec, const Rows& x,
                   const Executor& executor, FedRows& made) {
  const std::size_t rows = x.extent(1);
  HEADWISE_ASSIGN(made.inner,
                  Rows::create_unset_in(std::move(made.inner),
                                        {1, rows, network.up.out_features()}));
  HEADWISE_TRY(
      network.up.forward_into(x, made.inner.view(), "hidden", executor));
  const std::size_t width = network.down.in_features();
  const auto stride = static_cast<std::ptrdiff_t>(made.inner.extent(2));
  float* const inner = made.inner.data();
  const TensorView<float, 2> gate(inner, {rows, width}, {stride, 1});
  if (gated) {
    const TensorView<float, 2> up(inner + width, {rows, width}, {stride, 1});
    HEADWISE_TRY(activate_gate(spec.activation, gate, up, gate, executor));
  } else {
    HEADWISE_TRY(activate(spec.activation, gate, gate, executor));
  }
  HEADWISE_ASSIGN(made.output, Rows::create_unset_in(
                                   std::move(made.output),
                                   {1, rows, network.down.out_features()}));
  const TensorView<const float, 3> activated(inner, {1, rows, width},
                                             {0, stride, 1});
  return network.down.forward_into(activated, made.output.view(),
                                   "intermediate", executor);
}

}  // namespace

Status fed_forward(const FeedForward& network, const FeedForwardSpec& spec,
                   const Rows& x, const Executor& executor, FedRows& made) {
  if (network.router) {
    HEADWISE_ASSIGN(auto by_experts,
                    Experts::run(network, spec, x, /*keep=*/false, executor));
    made.output = std::move(by_experts.output);
    return ok();
  }
  return one_network(network.networks.front(), network.gated, spec, x, executor,
                     made);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
