#include "transformer/feed_forward.h"

#include <utility>

#include "headwise/steps/activation.h"
#include "transformer/experts.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

Result<Rows> one_network(const Network& network, bool gated,
                         const FeedForwardSpec& spec, const Rows& x,
                         const Executor& executor) {
  HEADWISE_ASSIGN(auto inner, network.up.forward(x, "hidden", executor));
  const std::size_t rows = inner.extent(1);
  const std::size_t width = network.down.in_features();
  const auto stride = static_cast<std::ptrdiff_t>(inner.extent(2));
  const TensorView<float, 2> gate(inner.data(), {rows, width}, {stride, 1});
  if (gated) {
    const TensorView<float, 2> up(inner.data() + width, {rows, width},
                                  {stride, 1});
    HEADWISE_TRY(activate_gate(spec.activation, gate, up, gate, executor));
  } else {
    HEADWISE_TRY(activate(spec.activation, gate, gate, executor));
  }
  const TensorView<const float, 3> activated(inner.data(), {1, rows, width},
                                             {0, stride, 1});
  return network.down.forward(activated, "intermediate", executor);
}

}  // namespace

Result<Rows> fed_forward(const FeedForward& network,
                         const FeedForwardSpec& spec, const Rows& x,
                         const Executor& executor) {
  if (network.router) {
    HEADWISE_ASSIGN(auto made,
                    Experts::run(network, spec, x, /*keep=*/false, executor));
    return std::move(made.output);
  }
  return one_network(network.networks.front(), network.gated, spec, x,
                     executor);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
