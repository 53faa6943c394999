// What hooks see of the heads in a pass there and back, summed per head.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "headwise/base/tensor.h"
#include "headwise/transformer/model_pass.h"

namespace headwise::testing_support {

// A gate of 1 has the gradient sum context * d_context.
class ContextGradients {
 public:
  ContextGradients(std::size_t layers, std::size_t heads)
      : contexts_(layers), sums_(layers, std::vector<double>(heads)) {}

  // Refer to this object.
  ModelHooks hooks() {
    return {.see =
                [this](std::size_t layer, TensorView<const float, 4> context) {
                  for_each(context, [&](std::size_t, double value) {
                    contexts_[layer].push_back(value);
                  });
                  return ok();
                },
            .see_gradient =
                [this](std::size_t layer, TensorView<const float, 4> d) {
                  std::size_t n = 0;
                  for_each(d, [&](std::size_t head, double value) {
                    sums_[layer][head] += value * contexts_[layer][n++];
                  });
                  return ok();
                }};
  }

  // By layer, (sequences, heads), of gates that are 1.
  void expect_sums_of(const std::vector<Tensor<float, 2>>& by_gates) const {
    ASSERT_EQ(by_gates.size(), sums_.size());
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      for (std::size_t h = 0; h < sums_[n].size(); ++h) {
        double gradient = 0;
        for (std::size_t b = 0; b < by_gates[n].extent(0); ++b) {
          gradient += static_cast<double>(by_gates[n](b, h));
        }
        EXPECT_NEAR(sums_[n][h], gradient, 1e-5) << n << "." << h;
      }
    }
  }

 private:
  template <class Body>
  static void for_each(TensorView<const float, 4> x, const Body& body) {
    for (std::size_t l = 0; l < x.extent(1); ++l) {
      for (std::size_t h = 0; h < x.extent(2); ++h) {
        for (std::size_t d = 0; d < x.extent(3); ++d) {
          body(h, static_cast<double>(x(0, l, h, d)));
        }
      }
    }
  }

  std::vector<std::vector<double>> contexts_;  // by layer
  std::vector<std::vector<double>> sums_;      // by layer and head
};

}  // namespace headwise::testing_support
