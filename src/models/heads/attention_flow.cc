#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/rollout.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kAttentionFlow = "attention_flow";
constexpr double kLeastFlow = 1e-12;

Status check_weights(TensorView<const float, 3> weights, std::size_t token) {
  const auto [N, L, columns] = weights.extents();
  HEADWISE_TRY(check_shape(kAttentionFlow, "weights", weights.extents(),
                           "(layers, L, L)", Extents<3>{N, L, L}));
  if (L > kMostFlowTokens) {
    return argument_error(
        kAttentionFlow, "weights", message("has {} tokens", L),
        message("at most {}", kMostFlowTokens), ErrorCode::unsupported);
  }
  if (token >= L) {
    return value_error(kAttentionFlow, "token", std::to_string(token),
                       message("less than L = {}", L), ErrorCode::out_of_range);
  }
  for (std::size_t n = 0; n < N; ++n) {
    for (std::size_t i = 0; i < L; ++i) {
      for (std::size_t j = 0; j < L; ++j) {
        const float weight = weights(n, i, j);
        if (!(weight >= 0) || !std::isfinite(weight)) {
          return value_error(
              kAttentionFlow,
              "weights[" + std::to_string(n) + ", " + std::to_string(i) + ", " +
                  std::to_string(j) + "]",
              number_text(static_cast<double>(weight)),
              "a finite number of at least 0", ErrorCode::out_of_range);
        }
      }
    }
  }
  return ok();
}

// What can still flow. Nodes are tokens between layers, node l L + i: token i
// after l layers. Pipes go down from l + 1 to l, and what flows in one can flow
// back up.
class Pipes {
 public:
  explicit Pipes(TensorView<const float, 3> weights)
      : N_(weights.extent(0)),
        L_(weights.extent(1)),
        down_(N_ * L_ * L_),
        up_(down_.size()),
        level_((N_ + 1) * L_),
        next_(level_.size()) {
    for (std::size_t n = 0; n < N_; ++n) {
      for (std::size_t i = 0; i < L_; ++i) {
        double sum = 1;
        for (std::size_t j = 0; j < L_; ++j) {
          sum += static_cast<double>(weights(n, i, j));
        }
        for (std::size_t j = 0; j < L_; ++j) {
          down_[pipe(n, i, j)] =
              (static_cast<double>(weights(n, i, j)) + (i == j ? 1 : 0)) / sum;
        }
      }
    }
  }

  // The maximum flow between two tokens; the pipes are used up by it.
  double flow(std::size_t from, std::size_t to) {
    const std::size_t source = N_ * L_ + from;
    double total = 0;
    while (find_levels(source, to)) {
      std::ranges::fill(next_, 0);
      for (double more = 0; (more = push(source, to, kAll)) > 0;) {
        total += more;
      }
    }
    return N_ == 0 ? (from == to ? 1 : 0) : total;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr double kAll = std::numeric_limits<double>::infinity();

  // From token i after layer n to token j before it.
  std::size_t pipe(std::size_t n, std::size_t i, std::size_t j) const {
    return (n * L_ + i) * L_ + j;
  }
  // A node has L neighbours below, then L above.
  struct Way {
    std::size_t to;
    double& room;
    double& back;
  };
  bool has_way(std::size_t node, std::size_t n) const {
    return n < L_ ? node >= L_ : node < N_ * L_;
  }
  Way way(std::size_t node, std::size_t n) {
    const std::size_t l = node / L_;
    const std::size_t i = node % L_;
    if (n < L_) {
      const std::size_t down = pipe(l - 1, i, n);
      return {(l - 1) * L_ + n, down_[down], up_[down]};
    }
    const std::size_t up = pipe(l, n - L_, i);
    return {(l + 1) * L_ + n - L_, up_[up], down_[up]};
  }

  // The number of pipes from the source to each node; false where `sink` cannot
  // be reached.
  bool find_levels(std::size_t source, std::size_t sink) {
    if (N_ == 0) {
      return false;
    }
    std::ranges::fill(level_, kNone);
    level_[source] = 0;
    std::vector<std::size_t> reached = {source};
    for (std::size_t at = 0; at < reached.size(); ++at) {
      const std::size_t node = reached[at];
      for (std::size_t n = 0; n < 2 * L_; ++n) {
        if (!has_way(node, n)) {
          continue;
        }
        const Way to = way(node, n);
        if (to.room > kLeastFlow && level_[to.to] == kNone) {
          level_[to.to] = level_[node] + 1;
          reached.push_back(to.to);
        }
      }
    }
    return level_[sink] != kNone;
  }

  // Pushes at most `most` from a node along one path to the sink; 0: none left.
  double push(std::size_t node, std::size_t sink, double most) {
    if (node == sink) {
      return most;
    }
    for (std::size_t& n = next_[node]; n < 2 * L_; ++n) {
      if (!has_way(node, n)) {
        continue;
      }
      const Way to = way(node, n);
      if (to.room > kLeastFlow && level_[to.to] == level_[node] + 1) {
        const double pushed = push(to.to, sink, std::min(most, to.room));
        if (pushed > 0) {
          to.room -= pushed;
          to.back += pushed;
          return pushed;
        }
      }
    }
    return 0;
  }

  std::size_t N_;
  std::size_t L_;
  std::vector<double> down_;
  std::vector<double> up_;
  std::vector<std::size_t> level_;
  std::vector<std::size_t>
      next_;  // the first way of a node that is not used up
};

}  // namespace

Result<Tensor<double, 1>> attention_flow(TensorView<const float, 3> weights,
                                         std::size_t token,
                                         const Executor& executor) {
  return catching_out_of_memory([&]() -> Result<Tensor<double, 1>> {
    HEADWISE_TRY(check_weights(weights, token));
    const std::size_t L = weights.extent(1);
    HEADWISE_ASSIGN(auto flow, Tensor<double, 1>::create({L}));
    const Pipes pipes(weights);
    executor.parallel_for(L, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t to = begin; to < end; ++to) {
        Pipes unused = pipes;
        flow(to) = unused.flow(token, to);
      }
    });
    return flow;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
