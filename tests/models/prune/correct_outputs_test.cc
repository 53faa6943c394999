// What correct_outputs() fits, and what it leaves as it was.
#include "prune/correct_outputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "headwise/prune/remove_heads.h"
#include "models/small_model.h"
#include "prune/pruned_layer.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

using HeadIds = std::vector<HeadId>;

const std::vector<HeadIds> kRemovals = {
    {{0, 1}},
    {{1, 2}},
    {{0, 0}, {1, 0}, {1, 1}},
    {{0, 0}, {0, 1}, {0, 2}},
    {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}};

// Sentences of every length, of tokens without a rule.
RaggedTokens calibration() {
  RaggedTokens ids;
  for (std::size_t n = 0; n < 60; ++n) {
    auto& sentence = ids.emplace_back();
    for (std::size_t t = 0; t < n % 10; ++t) {
      sentence.push_back(static_cast<TokenId>((n * 37 + t * t * 11) % 14));
    }
  }
  return ids;
}

std::vector<float> elements_of(const AnyView& view) {
  std::size_t size = 1;
  for (const std::size_t extent : view.extents()) {
    size *= extent;
  }
  const auto* data = static_cast<const float*>(view.data());
  return {data, data + size};
}

std::map<std::string, std::vector<float>> params_of(
    const Transformer& encoder) {
  std::map<std::string, std::vector<float>> params;
  for (const auto& [name, view] : encoder.params()) {
    params[name] = elements_of(view);
  }
  return params;
}

class CorrectOutputsTest : public testing::Test {
 protected:
  CorrectOutputsTest() { write(small_params(config_)); }
  void write(const Params& params) {
    ASSERT_TRUE(write_params(folder_ / "model.safetensors", params));
  }
  Transformer read(ModelUse use = ModelUse::training) const {
    return read_small(folder_, config_, {.use = use}).value();
  }
  Transformer without(const HeadIds& heads) const {
    Transformer encoder = read();
    const Status s = remove_heads(encoder, heads);
    EXPECT_TRUE(s) << s.error().message();
    return encoder;
  }
  Transformer corrected(const HeadIds& heads,
                        const CorrectOptions& options = {}) const {
    Transformer pruned = without(heads);
    const Status s = correct_outputs(pruned, read(), ids_, options);
    EXPECT_TRUE(s) << s.error().message();
    return pruned;
  }
  // The mean square of how far the hidden states are from the whole model's.
  double distance(const Transformer& encoder) const {
    const auto want = read().hidden(ids_).value();
    const auto got = encoder.hidden(ids_).value();
    double sum = 0;
    for (std::size_t n = 0; n < want.size(); ++n) {
      const double by = static_cast<double>(got.data()[n]) -
                        static_cast<double>(want.data()[n]);
      sum += by * by;
    }
    return sum / static_cast<double>(want.size());
  }
  std::string w_o(std::size_t layer, const char* part) const {
    return part_names(config_.family, layer).o + part;
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  RaggedTokens ids_ = calibration();
};

// The hidden states that a layer takes, (1, rows, 12).
Tensor<float, 3> before(const Transformer& encoder, std::size_t layer,
                        const RaggedTokens& ids) {
  auto hidden = encoder.hidden(ids, {.before_layer = layer}).value();
  const std::size_t rows = hidden.extent(0);
  return std::move(hidden).with_extents<3>({1, rows, 12});
}

Tensor<float, 3> attend(const MultiHeadAttention& layer,
                        const Tensor<float, 3>& x, const RaggedTokens& ids) {
  std::vector<std::int64_t> offsets = {0};
  for (const auto& sentence : ids) {
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(sentence.size()));
  }
  AttentionOptions options;
  options.offsets = offsets;
  return std::move(layer.forward(x, x, x, options).value().output);
}

// y_t: what should be added to the pruned model's hidden states.
std::vector<double> targets_of(const Transformer& whole,
                               const Transformer& pruned, std::size_t layer,
                               const RaggedTokens& ids) {
  const auto x = before(whole, layer, ids);
  const auto x_pruned = before(pruned, layer, ids);
  const auto attended = attend(whole.attention(layer), x, ids);
  std::vector<double> y(x.size());
  for (std::size_t n = 0; n < y.size(); ++n) {
    y[n] = static_cast<double>(x.data()[n]) +
           static_cast<double>(attended.data()[n]) -
           static_cast<double>(x_pruned.data()[n]);
  }
  return y;
}

TEST_F(CorrectOutputsTest, HiddenStatesAreNearerToTheWholeModels) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    Params params = small_params(config_);
    std::uint32_t stream = 0;
    for (auto& [name, param] : params) {
      const double around = name.ends_with("LayerNorm.weight") ? 1 : 0;
      RandomStream(Seed{seed}, ++stream)
          .fill_uniform(param.elements(), around - .7, around + .7);
    }
    write(params);
    for (const HeadIds& heads : kRemovals) {
      EXPECT_LT(distance(corrected(heads)), distance(without(heads)))
          << seed << ", " << heads.size();
    }
  }
}

// The gradient of mean_t |W c_t + b - y_t|^2 / 2 + ridge |W - w_o|^2 / 2 is 0.
TEST_F(CorrectOutputsTest, EachLayerIsWhereTheSumOfSquaresIsLeast) {
  const Transformer whole = read();
  const HeadIds heads = {{0, 0}, {1, 0}, {1, 1}};
  for (const double ridge : {1e-3, 0.1, 10.0}) {
    const Transformer pruned = corrected(heads, {.ridge = ridge});
    const Transformer old = without(heads);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const auto& attention = pruned.attention(layer);
      const auto c =
          attend(contexts_of(attention), before(pruned, layer, ids_), ids_);
      const auto y = targets_of(whole, pruned, layer, ids_);
      const Linear& now = *attention.params()->w_o;
      const Linear& was = *old.attention(layer).params()->w_o;
      const std::size_t rows = c.extent(1);
      const std::size_t features = c.extent(2);
      const auto T = static_cast<double>(rows);
      double variances = 0;
      for (std::size_t f = 0; f < features; ++f) {
        double mean = 0;
        double square = 0;
        for (std::size_t t = 0; t < rows; ++t) {
          mean += static_cast<double>(c(0, t, f)) / T;
          square += std::pow(static_cast<double>(c(0, t, f)), 2) / T;
        }
        variances += square - mean * mean;
      }
      const double added = ridge * variances / static_cast<double>(features);
      for (std::size_t o = 0; o < 12; ++o) {
        std::vector<double> by_weight(features);
        double by_bias = 0;
        for (std::size_t t = 0; t < rows; ++t) {
          double error = now.bias()(o) - y[t * 12 + o];
          for (std::size_t f = 0; f < features; ++f) {
            error += static_cast<double>(now.weight()(o, f)) *
                     static_cast<double>(c(0, t, f));
          }
          by_bias += error / T;
          for (std::size_t f = 0; f < features; ++f) {
            by_weight[f] += error * static_cast<double>(c(0, t, f)) / T;
          }
        }
        EXPECT_NEAR(by_bias, 0, 1e-6);
        for (std::size_t f = 0; f < features; ++f) {
          EXPECT_NEAR(
              by_weight[f] + added * (static_cast<double>(now.weight()(o, f)) -
                                      static_cast<double>(was.weight()(o, f))),
              0, 2e-6 * std::max(1.0, ridge));
        }
      }
    }
  }
}

TEST_F(CorrectOutputsTest, ALayerWithoutHeadsGetsTheBestConstant) {
  const HeadIds heads = {{0, 1}, {1, 0}, {1, 1}, {1, 2}};
  const Transformer pruned = corrected(heads);
  const auto y = targets_of(read(), pruned, 1, ids_);
  const Linear& w_o = *pruned.attention(1).params()->w_o;
  EXPECT_EQ(w_o.in_features(), 0u);
  for (std::size_t e = 0; e < 12; ++e) {
    double mean = 0;
    for (std::size_t n = e; n < y.size(); n += 12) {
      mean += y[n] / static_cast<double>(y.size() / 12);
    }
    EXPECT_NEAR(w_o.bias()(e), mean, 1e-6);
  }
}

TEST_F(CorrectOutputsTest, OnlyTheOutputsOfPrunedLayersChange) {
  const HeadIds heads = {{1, 0}};
  const auto was = params_of(without(heads));
  const auto now = params_of(corrected(heads));
  ASSERT_EQ(now.size(), was.size());
  for (const auto& [name, values] : now) {
    const bool fitted = name == w_o(1, ".weight") || name == w_o(1, ".bias");
    EXPECT_EQ(values == was.at(name), !fitted) << name;
  }
  EXPECT_EQ(params_of(corrected({})), params_of(read()));
}

TEST_F(CorrectOutputsTest, AVeryLargeRidgeFitsTheBiasAlone) {
  const HeadIds heads = {{0, 1}, {1, 2}};
  const auto was = params_of(without(heads));
  const auto now = params_of(corrected(heads, {.ridge = 1e12}));
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(now.at(w_o(n, ".weight")), was.at(w_o(n, ".weight")));
    EXPECT_NE(now.at(w_o(n, ".bias")), was.at(w_o(n, ".bias")));
  }
  EXPECT_LT(distance(corrected(heads)),
            distance(corrected(heads, {.ridge = 1e12})));
}

TEST_F(CorrectOutputsTest, OneTokenIsGivenBackWhole) {
  ids_ = {{5}};
  EXPECT_LT(distance(corrected({{0, 0}, {1, 1}, {1, 2}})), 1e-10);
}

TEST_F(CorrectOutputsTest, ThreadsAndTheUseOfTheWholeModelChangeNoBit) {
  const HeadIds heads = {{0, 0}, {1, 0}, {1, 1}};
  const Executor one = Executor::with_threads(1).value();
  const Executor three = Executor::with_threads(3).value();
  const auto want = params_of(corrected(heads, {.executor = &one}));
  EXPECT_EQ(params_of(corrected(heads, {.executor = &three})), want);
  Transformer pruned = without(heads);
  ASSERT_TRUE(correct_outputs(pruned, read(ModelUse::inference), ids_));
  EXPECT_EQ(params_of(pruned), want);
}

TEST_F(CorrectOutputsTest, ProgressCountsLayers) {
  std::vector<std::pair<std::size_t, std::size_t>> told;
  corrected({{1, 0}}, {.progress = [&](std::size_t done, std::size_t total) {
              told.emplace_back(done, total);
            }});
  EXPECT_THAT(told, ElementsAre(std::pair(1u, 2u), std::pair(2u, 2u)));
}

TEST_F(CorrectOutputsTest, WhatCannotBeFittedIsAnError) {
  const Transformer whole = read();
  Transformer pruned = without({{1, 0}});
  const auto was = params_of(pruned);
  const auto is_refused = [](std::string argument, std::string given,
                             std::string expected) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .operation = "correct_outputs",
                     .argument = std::move(argument),
                     .given = {std::move(given)},
                     .expected = {std::move(expected)}});
  };
  const auto corrected_with = [&](const RaggedTokens& ids, double ridge) {
    Status s = correct_outputs(pruned, whole, ids, {.ridge = ridge});
    EXPECT_EQ(params_of(pruned), was);
    return s;
  };
  for (const RaggedTokens& none : {RaggedTokens{}, RaggedTokens{{}, {}}}) {
    EXPECT_THAT(corrected_with(none, 0.1),
                is_refused("calibration", "no", "one"));
  }
  for (const auto& [ridge, given] :
       {std::pair(0.0, "0"),
        {-1.0, "-1"},
        {std::numeric_limits<double>::quiet_NaN(), "nan"}}) {
    EXPECT_THAT(corrected_with(ids_, ridge),
                is_refused("ridge", given, "positive"));
  }
  EXPECT_EQ(correct_outputs(pruned, whole, {{14}}).error().code(),
            ErrorCode::out_of_range);
  Transformer for_inference = read(ModelUse::inference);
  EXPECT_THAT(correct_outputs(for_inference, whole, ids_),
              is_refused("pruned", "inference", "ModelUse::training"));
}

TEST_F(CorrectOutputsTest, AModelOfOtherSizesIsAnError) {
  Transformer pruned = without({{1, 0}});
  const Transformer whole = read();
  const auto expect_refused = [&](auto change) {
    SmallConfig other = small_config(SmallFamily::bert);
    change(other);
    const TempFolder folder;
    ASSERT_TRUE(
        write_params(folder / "model.safetensors", small_params(other)));
    const auto read = read_small(folder, other).value();
    EXPECT_THAT(correct_outputs(pruned, read, ids_),
                IsError(ErrorCode::invalid_argument, "whole"));
  };
  expect_refused([](SmallConfig& other) { other.hidden_size = 15; });
  expect_refused([](SmallConfig& other) { other.num_layers = 1; });
  expect_refused([](SmallConfig& other) { other.num_layers = 3; });
  expect_refused([](SmallConfig& other) { other.vocab_size = 15; });
}

TEST_F(CorrectOutputsTest, HiddenStatesThatAreNotFiniteAreAnError) {
  Transformer pruned = without({{0, 0}});
  ASSERT_TRUE(pruned.update([](std::string_view name, std::span<float> values) {
    if (name == "embeddings.LayerNorm.bias") {
      values[0] = std::numeric_limits<float>::quiet_NaN();
    }
    return ok();
  }));
  const auto was = elements_of(pruned.params().at(w_o(0, ".weight")));
  EXPECT_THAT(correct_outputs(pruned, read(), ids_),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "correct_outputs",
                        .argument = "pruned",
                        .given = {"layer 0"},
                        .expected = {"finite"}}));
  EXPECT_EQ(elements_of(pruned.params().at(w_o(0, ".weight"))), was);
}

}  // namespace
}  // namespace headwise::testing_support
