// A model whose losses are a formula of its gates, and importance by its
// definitions: all examples at once, no steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "headwise/prune/importance.h"
#include "support/tensors.h"

namespace headwise::testing_support {

// Six heads in three layers, of which one has none, under numbers that they
// had before others were pruned. Of example x, g being the gates of all heads,
//
//   L_x = sum_h a_xh (1 - g_h) + sum_h<k b_xhk (1 - g_h) (1 - g_k)
class KnownModel {
 public:
  static constexpr std::size_t kHeads = 6;
  static constexpr std::size_t kExamples = 7;
  using Gates = std::vector<double>;

  const std::vector<std::vector<std::size_t>> heads = {
      {0, 2, 5}, {}, {1, 2, 3}};

  static HeadId id_of(std::size_t n) {
    return n < 3 ? HeadId{0, std::vector<std::size_t>{0, 2, 5}[n]}
                 : HeadId{2, n - 2};
  }

  static double loss(std::size_t x, const Gates& g) {
    double sum = 0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      sum += alone(x, h) * (1 - g[h]);
      for (std::size_t k = h + 1; k < kHeads; ++k) {
        sum += together(x, h, k) * (1 - g[h]) * (1 - g[k]);
      }
    }
    return sum;
  }
  static double gradient(std::size_t x, std::size_t h, const Gates& g) {
    double sum = -alone(x, h);
    for (std::size_t k = 0; k < kHeads; ++k) {
      sum -=
          k == h ? 0 : together(x, std::min(h, k), std::max(h, k)) * (1 - g[k]);
    }
    return sum;
  }
  // What a head attends to depends on the gates before it.
  static double entropy(std::size_t x, std::size_t h, const Gates& g) {
    return 1 + alone(x, h) + (h == 0 ? 0 : together(x, h - 1, h) * g[h - 1]);
  }
  static double largest(std::size_t x, std::size_t h, const Gates& g) {
    return 2 - entropy(x, h, g) / 3;
  }

  // As importance sees it; the tensors hold the numbers rounded to binary32.
  GatedModel gated() const {
    return {
        .heads = heads,
        .examples = kExamples,
        .losses = [](std::size_t begin, std::size_t end,
                     HeadGateSpan gates) -> Result<std::vector<double>> {
          std::vector<double> losses;
          for (std::size_t x = begin; x < end; ++x) {
            losses.push_back(loss(x, flat(gates)));
          }
          return losses;
        },
        .gradients = [this](std::size_t begin, std::size_t end,
                            HeadGateSpan gates)
            -> Result<std::vector<Tensor<float, 2>>> {
          return by_layer(begin, end, [&](std::size_t x, std::size_t h) {
            return gradient(x, h, flat(gates));
          });
        },
        .means = [this](std::size_t begin, std::size_t end,
                        HeadGateSpan gates) -> Result<HeadMeans> {
          auto entropies =
              by_layer(begin, end, [&](std::size_t x, std::size_t h) {
                return entropy(x, h, flat(gates));
              });
          HEADWISE_TRY(entropies);
          auto largest_weights =
              by_layer(begin, end, [&](std::size_t x, std::size_t h) {
                return largest(x, h, flat(gates));
              });
          HEADWISE_TRY(largest_weights);
          return HeadMeans{*std::move(entropies), *std::move(largest_weights)};
        }};
  }

  // The scores of the heads that are on, in double; 0 of the others.
  static std::vector<double> scores(ImportanceMethod method, const Gates& g) {
    std::vector<double> means(kHeads);
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t x = 0; x < kExamples && g[h] != 0; ++x) {
        means[h] += of_example(method, x, h, g) / kExamples;
      }
    }
    if (method == ImportanceMethod::gradient) {
      for (const std::size_t begin : {0u, 3u}) {
        double norm = 0;
        for (std::size_t h = begin; h < begin + 3; ++h) {
          norm += means[h] * means[h];
        }
        for (std::size_t h = begin; h < begin + 3 && norm > 0; ++h) {
          means[h] /= std::sqrt(norm);
        }
      }
    }
    return means;
  }

  // Scores and order of rounds that turn off `a_round` heads each.
  static std::pair<std::vector<double>, std::vector<HeadId>> importance(
      ImportanceMethod method, std::size_t a_round) {
    Gates g(kHeads, 1);
    std::vector<double> all(kHeads);
    std::vector<HeadId> order;
    while (order.size() < kHeads) {
      const std::vector<double> now = scores(method, g);
      std::vector<std::size_t> on;
      for (std::size_t h = 0; h < kHeads; ++h) {
        if (g[h] != 0) {
          on.push_back(h);
          all[h] = now[h];
        }
      }
      std::ranges::stable_sort(on, {}, [&](std::size_t h) { return now[h]; });
      on.resize(std::min(a_round, on.size()));
      for (const std::size_t h : on) {
        g[h] = 0;
        order.push_back(id_of(h));
      }
    }
    return {all, order};
  }

 private:
  // Numbers without a rule, exact in binary32.
  static double number(std::size_t n) {
    return static_cast<double>(n * 7919 % 1009) / 512 - 1;
  }
  static double alone(std::size_t x, std::size_t h) {
    return number(1 + x * 13 + h * 101);
  }
  static double together(std::size_t x, std::size_t h, std::size_t k) {
    return number(500 + x * 29 + h * 211 + k * 307);
  }

  static double of_example(ImportanceMethod method, std::size_t x,
                           std::size_t h, const Gates& g) {
    const auto rounded = [](double y) {
      return static_cast<double>(static_cast<float>(y));
    };
    Gates without = g;
    without[h] = 0;
    const double slope = rounded(gradient(x, h, g));
    switch (method) {
      case ImportanceMethod::gradient:
        return std::abs(slope);
      case ImportanceMethod::fisher:
        return slope * slope;
      case ImportanceMethod::ablation:
        return loss(x, without) - loss(x, g);
      case ImportanceMethod::entropy:
        return -rounded(entropy(x, h, g));
      case ImportanceMethod::confidence:
        return rounded(largest(x, h, g));
      case ImportanceMethod::random:
        break;
    }
    return 0;
  }

  static Gates flat(HeadGateSpan gates) {
    Gates all;
    for (const auto& layer : gates) {
      all.insert(all.end(), layer.elements().begin(), layer.elements().end());
    }
    EXPECT_EQ(all.size(), kHeads);
    return all;
  }

  template <class Of>
  Result<std::vector<Tensor<float, 2>>> by_layer(std::size_t begin,
                                                 std::size_t end,
                                                 const Of& of) const {
    std::vector<Tensor<float, 2>> layers;
    std::size_t first = 0;
    for (const auto& layer : heads) {
      HEADWISE_ASSIGN(auto made,
                      Tensor<float, 2>::create({end - begin, layer.size()}));
      for (std::size_t x = begin; x < end; ++x) {
        for (std::size_t at = 0; at < layer.size(); ++at) {
          made(x - begin, at) = static_cast<float>(of(x, first + at));
        }
      }
      first += layer.size();
      layers.push_back(std::move(made));
    }
    return layers;
  }
};

}  // namespace headwise::testing_support
