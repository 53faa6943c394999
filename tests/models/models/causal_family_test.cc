// The family headwise-causal: attention alone, against the same in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "headwise/module/optimizer.h"
#include "models/causal_reference.h"
#include "models/small_causal.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const RaggedTokens kTexts = {{5, 6, 8, 5, 6}, {9}, {13, 12, 11, 10, 9, 8, 7}};
const CausalReference::Rows kGates = {{1, 0.5, 0}, {0.25, 1, 2}};

Tensor<float, 2> logits_of(const Transformer& model, const RaggedTokens& ids,
                           const ModelPass& pass = {}) {
  const auto hidden = model.hidden(ids, pass).value();
  return model.logits(hidden, pass.executor).value();
}

std::vector<Tensor<float, 1>> gates() {
  std::vector<Tensor<float, 1>> made;
  for (const auto& layer : kGates) {
    made.push_back(Tensor<float, 1>::create({layer.size()}).value());
    std::ranges::transform(layer, made.back().data(), [](double gate) {
      return static_cast<float>(gate);
    });
  }
  return made;
}

void expect_near(TensorView<const float, 2> logits,
                 const CausalReference& reference,
                 const CausalReference::Rows& gates) {
  std::size_t row = 0;
  for (const auto& text : kTexts) {
    for (const auto& expected : reference.logits(text, gates)) {
      for (std::size_t c = 0; c < expected.size(); ++c) {
        ASSERT_NEAR(logits(row, c), expected[c], 1e-5)
            << "row " << row << ", token " << c;
      }
      ++row;
    }
  }
  EXPECT_EQ(row, logits.extent(0));
}

TEST(CausalFamilyTest, LogitsAreThoseOfTheReference) {
  const Transformer model = small_causal_transformer();
  const CausalReference reference(model);
  const auto plain = logits_of(model, kTexts);
  expect_near(plain, reference, {});
  const auto on = gates();
  const auto gated = logits_of(model, kTexts, {.head_gates = on});
  expect_near(gated, reference, kGates);
  const auto saved =
      model.forward_for_backward(kTexts, {.head_gates = on}).value();
  EXPECT_TRUE(same_bits(model.logits(saved.hidden()).value(), gated));
}

TEST(CausalFamilyTest, ATokensBitsDependOnTheTokensBeforeItAlone) {
  const Transformer model = small_causal_transformer();
  const auto together = logits_of(model, kTexts);
  const auto alone = logits_of(model, {{13, 12, 11}});
  EXPECT_TRUE(same_bits({&together(6, 0), 3 * 14}, alone.elements()));
  for (const std::size_t threads : {1u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    EXPECT_TRUE(
        same_bits(logits_of(model, kTexts, {.executor = &executor}).elements(),
                  together.elements()));
  }
}

// ---- Gradients. ----

// The mean over the rows of cross-entropies with these targets, in double.
double loss_of(const CausalReference& reference,
               const CausalReference::Rows& gates,
               const std::vector<std::int64_t>& targets) {
  double loss = 0;
  std::size_t row = 0;
  for (const auto& text : kTexts) {
    for (const auto& logits : reference.logits(text, gates)) {
      double sum = 0;
      for (const double logit : logits) {
        sum += std::exp(logit);
      }
      loss += std::log(sum) - logits[static_cast<std::size_t>(targets[row++])];
    }
  }
  return loss / static_cast<double>(row);
}

const std::vector<std::int64_t> kTargets = {1, 2, 3, 4, 5, 6, 7,
                                            8, 9, 0, 1, 2, 3};
constexpr double kStep = 1e-5;

ModelGradients gradients_of(const Transformer& model,
                            const std::vector<Tensor<float, 1>>& on,
                            ModelWanted wanted) {
  auto saved = model.forward_for_backward(kTexts, {.head_gates = on}).value();
  const auto logits = model.logits(saved.hidden()).value();
  const auto loss =
      cross_entropy(logits, {kTargets.data(), {kTargets.size()}}).value();
  return model.backward_from_logits(saved, loss.d_logits, wanted).value();
}

TEST(CausalFamilyTest, GradientsOfParametersAreDifferencesOfTheLoss) {
  const Transformer model = small_causal_transformer();
  const auto on = gates();
  const ModelGradients by =
      gradients_of(model, on, ModelWanted::params_and_gates);
  CausalReference reference(model);
  EXPECT_EQ(by.params.size(), reference.params().size());
  for (auto& [name, values] : reference.params()) {
    const auto& gradient = by.params.find(name)->second;
    ASSERT_EQ(gradient.size(), values.size()) << name;
    for (std::size_t n = 0; n < values.size(); n += 5) {
      const double value = values[n];
      values[n] = value + kStep;
      const double more = loss_of(reference, kGates, kTargets);
      values[n] = value - kStep;
      const double less = loss_of(reference, kGates, kTargets);
      values[n] = value;
      ASSERT_NEAR(gradient(n), (more - less) / (2 * kStep), 2e-6)
          << name << " " << n;
    }
  }
}

TEST(CausalFamilyTest, GradientsOfGatesAreGivenPerText) {
  const Transformer model = small_causal_transformer();
  const auto on = gates();
  const ModelGradients by = gradients_of(model, on, ModelWanted::gates);
  EXPECT_THAT(by.params, IsEmpty());
  const CausalReference reference(model);
  for (std::size_t n = 0; n < 2; ++n) {
    ASSERT_EQ(by.head_gates[n].extents(), (Extents<2>{3, 3}));
    for (std::size_t h = 0; h < 3; ++h) {
      auto moved = kGates;
      moved[n][h] += kStep;
      const double more = loss_of(reference, moved, kTargets);
      moved[n][h] -= 2 * kStep;
      const double less = loss_of(reference, moved, kTargets);
      double sum = 0;
      for (std::size_t b = 0; b < 3; ++b) {
        sum += static_cast<double>(by.head_gates[n](b, h));
      }
      EXPECT_NEAR(sum, (more - less) / (2 * kStep), 2e-6) << n << "." << h;
    }
  }
}

TEST(CausalFamilyTest, WordsArePartedByWhiteSpace) {
  const auto model = small_causal_model();
  EXPECT_EQ(model->shape().max_tokens, 7u);
  EXPECT_EQ(model->shape().added_tokens, 0u);
  EXPECT_TRUE(model->shape().causal);
  const auto tokens =
      model->encode("\twe see\r\n heads  Heads \x0b", 7).value();
  EXPECT_THAT(tokens.ids, ElementsAre(8, 9, 5, 1));
  EXPECT_EQ(tokens.cut, 0u);
  const auto cut = model->encode("a a a why", 3).value();
  EXPECT_THAT(cut.ids, ElementsAre(11, 11, 11));
  EXPECT_EQ(cut.cut, 1u);
  EXPECT_THAT(model->encode(" \n", 7).value().ids, IsEmpty());
}

// ---- A model of tensors in memory. ----

TEST(CausalFamilyTest, WhatIsInMemoryDoesNotFitTogether) {
  const auto created = [](CausalSizes sizes) {
    return Transformer::create(causal_config(sizes),
                               draw_causal(kSmallCausal, Seed{3}).value());
  };
  CausalSizes sizes = kSmallCausal;
  sizes.num_heads = 5;
  EXPECT_THAT(created(sizes), HasError({.code = ErrorCode::bad_data,
                                        .operation = "read_transformer",
                                        .file = "config",
                                        .given = {"5"}}));
  sizes = kSmallCausal;
  sizes.max_positions = 9;
  EXPECT_THAT(created(sizes), HasError({.code = ErrorCode::bad_data,
                                        .operation = "read_transformer",
                                        .file = "params",
                                        .entry = "position.weight",
                                        .given = {"(7, 12)"},
                                        .expected = {"(9, 12)"}}));
  auto params = draw_causal(kSmallCausal, Seed{3}).value();
  params.erase("layers.1.w_v.bias");
  EXPECT_THAT(
      Transformer::create(causal_config(kSmallCausal), std::move(params)),
      HasError({.code = ErrorCode::bad_data, .file = "params"}));
}

TEST(CausalFamilyTest, ATokenizerHasNoMoreTokensThanItsModel) {
  CausalSizes sizes = kSmallCausal;
  sizes.vocab_size = 13;
  EXPECT_THAT(
      SentenceEncoder::create(small_causal_transformer(sizes), small_words()),
      HasError({.code = ErrorCode::invalid_argument,
                .argument = "tokenizer",
                .given = {"14"},
                .expected = {"13"}}));
}

}  // namespace
}  // namespace headwise::testing_support
