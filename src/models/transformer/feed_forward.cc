#include "transformer/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "headwise/steps/activation.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// What the gates and what they are multiplied by may be in experts.
void limit_gates(float limit, TensorView<float, 2> gate,
                 TensorView<float, 2> up) {
  const FloatEnvironment environment;
  for (std::size_t row = 0; row < gate.extent(0); ++row) {
    for (std::size_t n = 0; n < gate.extent(1); ++n) {
      gate(row, n) = std::min(gate(row, n), limit);
      up(row, n) = std::clamp(up(row, n), -limit, limit) + 1;
    }
  }
}

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
    if (spec.experts) {
      limit_gates(static_cast<float>(spec.experts->limit), gate, up);
    }
    HEADWISE_TRY(activate_gate(spec.activation, gate, up, gate, executor));
  } else {
    HEADWISE_TRY(activate(spec.activation, gate, gate, executor));
  }
  const TensorView<const float, 3> activated(inner.data(), {1, rows, width},
                                             {0, stride, 1});
  return network.down.forward(activated, "intermediate", executor);
}

struct Choice {
  std::size_t row = 0;
  float share = 0;
};

// Of each expert the rows that chose it. Of equal scores the first is better.
std::vector<std::vector<Choice>> choices_of(const Rows& scores,
                                            std::size_t chosen) {
  const auto [one, rows, count] = scores.extents();
  std::vector<std::vector<Choice>> choices(count);
  std::vector<std::size_t> order(count);
  for (std::size_t row = 0; row < rows; ++row) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t e) { return scores(0, row, e); });
    const auto weight = [&](std::size_t n) {
      return std::exp(double{scores(0, row, order[n])} -
                      scores(0, row, order[0]));
    };
    double sum = 0;
    for (std::size_t n = 0; n < chosen; ++n) {
      sum += weight(n);
    }
    for (std::size_t n = 0; n < chosen; ++n) {
      choices[order[n]].push_back({row, static_cast<float>(weight(n) / sum)});
    }
  }
  return choices;
}

// Expert by expert, so that a row's sum has one order.
Result<Rows> by_experts(const FeedForward& network, const FeedForwardSpec& spec,
                        const Rows& x, const Executor& executor) {
  HEADWISE_ASSIGN(const auto scores,
                  network.router->forward(x, "hidden", executor));
  const auto choices = choices_of(scores, spec.experts->chosen);
  const std::size_t size = x.extent(2);
  HEADWISE_ASSIGN(auto y, Rows::create(x.extents()));
  for (std::size_t e = 0; e < choices.size(); ++e) {
    if (choices[e].empty()) {
      continue;
    }
    HEADWISE_ASSIGN(auto some,
                    Rows::create_unset({1, choices[e].size(), size}));
    for (std::size_t n = 0; n < choices[e].size(); ++n) {
      std::copy_n(&x(0, choices[e][n].row, 0), size, &some(0, n, 0));
    }
    HEADWISE_ASSIGN(const auto made, one_network(network.networks[e], true,
                                                 spec, some, executor));
    const FloatEnvironment environment;
    for (std::size_t n = 0; n < choices[e].size(); ++n) {
      const auto [row, share] = choices[e][n];
      for (std::size_t i = 0; i < size; ++i) {
        y(0, row, i) += share * made(0, n, i);
      }
    }
  }
  return y;
}

}  // namespace

Result<Rows> fed_forward(const FeedForward& network,
                         const FeedForwardSpec& spec, const Rows& x,
                         const Executor& executor) {
  return network.router ? by_experts(network, spec, x, executor)
                        : one_network(network.networks.front(), network.gated,
                                      spec, x, executor);
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
