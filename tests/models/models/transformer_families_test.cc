// The gradients of every family beside differences of the forward pass.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/family_models.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Gates = std::vector<Tensor<float, 1>>;

class TransformerFamiliesTest : public testing::TestWithParam<std::string> {
 protected:
  TransformerFamiliesTest() : model_(read()) {
    for (std::size_t n = 0; n < shape().num_layers; ++n) {
      gates_.push_back(drawn<1>({shape().num_heads}, 0.3f));
      for (float& gate : gates_.back().elements()) {
        gate += 1;
      }
    }
    d_ = drawn<2>(
        {9, shape().has_logits ? shape().vocab_size : shape().hidden_size}, 1);
  }

  const TransformerShape& shape() const { return model_.shape(); }

  template <std::size_t Rank>
  Tensor<float, Rank> drawn(const Extents<Rank>& extents, float size) {
    auto x = Tensor<float, Rank>::create(extents).value();
    std::normal_distribution<float> normal(0, size);
    for (float& element : x.elements()) {
      element = normal(random_);
    }
    return x;
  }

  // What the gradients are of: d_ on the logits or, without, hidden states.
  double loss() const {
    auto x = model_.hidden(ids_, {.head_gates = gates_}).value();
    if (shape().has_logits) {
      x = model_.logits(x).value();
    }
    double sum = 0;
    for (std::size_t n = 0; n < x.size(); ++n) {
      sum +=
          static_cast<double>(x.data()[n]) * static_cast<double>(d_.data()[n]);
    }
    return sum;
  }

  ModelGradients gradients(ModelWanted wanted) const {
    auto saved =
        model_.forward_for_backward(ids_, {.head_gates = gates_}).value();
    const auto hidden = model_.hidden(ids_, {.head_gates = gates_}).value();
    EXPECT_TRUE(same_bits(hidden.elements(),
                          {saved.hidden().data(), saved.hidden().size()}));
    return shape().has_logits
               ? model_.backward_from_logits(saved, d_, wanted).value()
               : model_.backward(saved, d_, wanted).value();
  }

  // The derivative by what move(step) moves. Large steps meet kinks (ReLU, the
  // choice of experts), small ones rounding.
  template <typename Move>
  void expect_derivative(double got, const Move& move) {
    double wanted = 0;
    for (const double step : {1e-2, 3e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5}) {
      const auto at = [&](double place) {
        move(place * step);
        const double here = loss();
        move(-place * step);
        return here;
      };
      wanted = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
      if (std::abs(got - wanted) <= 1e-2 * (std::abs(wanted) + 1)) {
        return;
      }
    }
    ADD_FAILURE() << got << ", by differences " << wanted;
  }

  Transformer read() {
    put_family_model(folder_, GetParam());
    return Transformer::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }

  TempFolder folder_;
  Transformer model_;
  RaggedTokens ids_ = random_tokens(model_.shape());
  std::mt19937 random_{1};
  Gates gates_;
  Tensor<float, 2> d_;
};

TEST_P(TransformerFamiliesTest, GradientsOfGatesAreThoseOfDifferences) {
  const ModelGradients got = gradients(ModelWanted::gates);
  for (std::size_t n = 0; n < shape().num_layers; ++n) {
    for (std::size_t h = 0; h < shape().num_heads; ++h) {
      double sum = 0;
      for (std::size_t b = 0; b < ids_.size(); ++b) {
        sum += static_cast<double>(got.head_gates[n](b, h));
      }
      SCOPED_TRACE(h);
      expect_derivative(
          sum, [&](double step) { gates_[n](h) += static_cast<float>(step); });
    }
  }
}

// Each along a random direction.
TEST_P(TransformerFamiliesTest, GradientsOfParametersAreThoseOfDifferences) {
  auto saved = model_.forward_for_backward(ids_).value();
  const auto none = Tensor<float, 2>::create({9, shape().hidden_size}).value();
  if (const auto can = model_.backward(saved, none); !can) {
    EXPECT_EQ(can.error().code(), ErrorCode::unsupported);
    return;
  }
  const ModelGradients got = gradients(ModelWanted::params_and_gates);
  EXPECT_EQ(got.params.size(), model_.params().size());
  for (const auto& [name, gradient] : got.params) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(model_.params().contains(name));
    const auto direction = drawn<1>({gradient.size()}, 1);
    double sum = 0;
    for (std::size_t n = 0; n < direction.size(); ++n) {
      sum +=
          static_cast<double>(direction(n)) * static_cast<double>(gradient(n));
    }
    expect_derivative(sum, [&, &here = name](double step) {
      const Status moved = model_.update(
          [&](std::string_view param, std::span<float> values) -> Status {
            for (std::size_t n = 0; param == here && n < values.size(); ++n) {
              values[n] += static_cast<float>(step) * direction(n);
            }
            return ok();
          });
      EXPECT_TRUE(moved);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransformerFamiliesTest,
                         testing::ValuesIn(family_forms()),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace headwise::testing_support
