#include "transformer/experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "headwise/steps/activation.h"
#include "run/float_environment.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// The halves of an expert's projected rows.
template <class T>
std::pair<TensorView<T, 2>, TensorView<T, 2>> halves(T* data, std::size_t rows,
                                                     std::size_t size) {
  const auto stride = static_cast<std::ptrdiff_t>(2 * size);
  return {{data, {rows, size}, {stride, 1}},
          {data + size, {rows, size}, {stride, 1}}};
}

// What the gates and what they are multiplied by may be.
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

// What was limited has no gradient.
void limit_gradients(float limit, TensorView<const float, 2> gate,
                     TensorView<const float, 2> up, TensorView<float, 2> d_gate,
                     TensorView<float, 2> d_up) {
  for (std::size_t row = 0; row < gate.extent(0); ++row) {
    for (std::size_t n = 0; n < gate.extent(1); ++n) {
      d_gate(row, n) = gate(row, n) > limit ? 0 : d_gate(row, n);
      d_up(row, n) = std::abs(up(row, n)) > limit ? 0 : d_up(row, n);
    }
  }
}

double dot(const float* x, const float* y, std::size_t count) {
  return std::inner_product(
      x, x + count, y, 0.0, std::plus<>(),
      [](float a, float b) { return static_cast<double>(a) * b; });
}

}  // namespace

// Of equal scores the first is better.
std::vector<Experts::Expert> Experts::choices_of(const Rows& scores,
                                                 std::size_t chosen) {
  const auto [one, rows, count] = scores.extents();
  std::vector<Expert> experts(count);
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
      experts[order[n]].choices.push_back(
          {row, static_cast<float>(weight(n) / sum)});
    }
  }
  for (std::size_t e = 0; e < count; ++e) {
    experts[e].number = e;
  }
  std::erase_if(experts, [](const Expert& e) { return e.choices.empty(); });
  return experts;
}

// Expert by expert, so that a row's sum has one order.
Result<Experts> Experts::run(const FeedForward& network,
                             const FeedForwardSpec& spec, const Rows& x,
                             bool keep, const Executor& executor) {
  HEADWISE_ASSIGN(const auto scores,
                  network.router->forward(x, "hidden", executor));
  const auto limit = static_cast<float>(spec.experts->limit);
  const std::size_t size = x.extent(2);
  Experts made;
  HEADWISE_ASSIGN(made.output, Rows::create(x.extents()));
  for (Expert& expert : choices_of(scores, spec.experts->chosen)) {
    const auto& [up, down] = network.networks[expert.number];
    const std::size_t rows = expert.choices.size();
    HEADWISE_ASSIGN(auto some, Rows::create_unset({1, rows, size}));
    for (std::size_t n = 0; n < rows; ++n) {
      std::copy_n(&x(0, expert.choices[n].row, 0), size, &some(0, n, 0));
    }
    HEADWISE_ASSIGN(auto inner, up.forward(some, "hidden", executor));
    if (keep) {
      HEADWISE_ASSIGN(expert.inner, inner.clone());
    }
    const auto [gate, factor] = halves(inner.data(), rows, spec.size);
    limit_gates(limit, gate, factor);
    HEADWISE_TRY(activate_gate(spec.activation, gate, factor, gate, executor));
    const TensorView<const float, 3> activated(
        inner.data(), {1, rows, spec.size}, {0, gate.stride(0), 1});
    HEADWISE_ASSIGN(expert.made,
                    down.forward(activated, "intermediate", executor));
    const FloatEnvironment environment;
    for (std::size_t n = 0; n < rows; ++n) {
      const auto [row, share] = expert.choices[n];
      for (std::size_t i = 0; i < size; ++i) {
        made.output(0, row, i) += share * expert.made(0, n, i);
      }
    }
    if (keep) {
      made.experts_.push_back(std::move(expert));
    }
  }
  return made;
}

Result<Rows> Experts::back(const FeedForward& network,
                           const FeedForwardSpec& spec, const Rows& d_output,
                           const Executor& executor) const {
  const auto limit = static_cast<float>(spec.experts->limit);
  const auto [one, all, size] = d_output.extents();
  HEADWISE_ASSIGN(auto d_x, Rows::create(d_output.extents()));
  // By a share, and of each row the mean of these over its shares.
  HEADWISE_ASSIGN(auto d_scores,
                  Rows::create({1, all, network.networks.size()}));
  std::vector<double> means(all);
  for (const Expert& expert : experts_) {
    const auto& [up, down] = network.networks[expert.number];
    const std::size_t rows = expert.choices.size();
    HEADWISE_ASSIGN(auto d_made, Rows::create_unset({1, rows, size}));
    for (std::size_t n = 0; n < rows; ++n) {
      const auto [row, share] = expert.choices[n];
      const double by_share =
          dot(&expert.made(0, n, 0), &d_output(0, row, 0), size);
      d_scores(0, row, expert.number) = static_cast<float>(by_share);
      means[row] += share * by_share;
      for (std::size_t i = 0; i < size; ++i) {
        d_made(0, n, i) = share * d_output(0, row, i);
      }
    }
    HEADWISE_ASSIGN(const auto d_activated,
                    down.backward_input(d_made, "d_y", executor));
    HEADWISE_ASSIGN(auto limited, expert.inner.clone());
    HEADWISE_ASSIGN(auto d_inner, Rows::create_unset(expert.inner.extents()));
    const auto [gate, factor] = halves(limited.data(), rows, spec.size);
    const auto [d_gate, d_factor] = halves(d_inner.data(), rows, spec.size);
    const auto projected = halves(expert.inner.data(), rows, spec.size);
    limit_gates(limit, gate, factor);
    HEADWISE_TRY(activate_gate_backward(spec.activation, gate, factor,
                                        rows_of(d_activated), d_gate, d_factor,
                                        executor));
    limit_gradients(limit, projected.first, projected.second, d_gate, d_factor);
    HEADWISE_ASSIGN(const auto d_some,
                    up.backward_input(d_inner, "d_y", executor));
    const FloatEnvironment environment;
    for (std::size_t n = 0; n < rows; ++n) {
      float* const to = &d_x(0, expert.choices[n].row, 0);
      std::transform(to, to + size, &d_some(0, n, 0), to, std::plus<>());
    }
  }
  for (const Expert& expert : experts_) {
    for (const auto [row, share] : expert.choices) {
      float& d = d_scores(0, row, expert.number);
      d = static_cast<float>(share * (double{d} - means[row]));
    }
  }
  HEADWISE_ASSIGN(const auto by_router,
                  network.router->backward_input(d_scores, "d_y", executor));
  add_to(d_x, by_router);
  return d_x;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
