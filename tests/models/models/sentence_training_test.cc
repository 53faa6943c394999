// The sentence encoder in training: against central differences of the encoder
// and the pooling in double.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headwise/models/sentence_encoder.h"
#include "models/bert_reference.h"
#include "models/pooling_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const std::vector<std::string_view> kSentences = {"Heads matter!", "",
                                                  "we see heads why"};
const BertReference::Rows kGates = {{1, 0.5, 0}, {-1, 1, 2}};

class SentenceTrainingTest : public testing::Test {
 protected:
  SentenceTrainingTest() { put_small_model(folder_, params_); }

  SentenceEncoder model() {
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }
  // Three poolings that have a slope everywhere, divided by their length.
  void put_poolings() {
    put_modules(folder_, R"({"embedding_dimension": 12,
        "pooling_mode": ["mean_sqrt_len_tokens", "cls", "mean"]})",
                true);
  }
  // sum d_embedding * embedding of sentence n.
  double loss_of(const SentenceEncoder& encoder, const RaggedTokens& ids,
                 std::size_t n, const TensorView<const float, 2>& d,
                 const BertReference::Rows& gates = {}) const {
    BertReference reference(config_, params_);
    reference.set_gates(gates);
    const auto embedding =
        pooled(reference.forward(ids[n]), encoder.settings().pooling,
               encoder.settings().normalize);
    double loss = 0;
    for (std::size_t e = 0; e < embedding.size(); ++e) {
      loss += embedding[e] * static_cast<double>(d(n, e));
    }
    return loss;
  }
  // Some elements of each parameter.
  void expect_gradients_in_double() {
    const SentenceEncoder encoder = model();
    const RaggedTokens ids = encoder.tokenize(kSentences).value().ids;
    const auto d = uniform<2>({ids.size(), encoder.embedding_size()}, 92);
    auto saved = encoder.forward_for_backward(ids).value();
    const ModelGradients got = encoder.backward(saved, d).value();
    ASSERT_EQ(got.params.size(), params_.size());
    const auto loss = [&] {
      double sum = 0;
      for (std::size_t n = 0; n < ids.size(); ++n) {
        sum += loss_of(encoder, ids, n, d);
      }
      return sum;
    };
    for (auto& [name, values] : params_) {
      for (std::size_t n = 0; n < values.size(); n += 1 + values.size() / 4) {
        constexpr float kStep = 0x1p-10f;
        float& x = values.elements()[n];
        const float was = x;
        x = was + kStep;
        const double high = loss();
        const double up = x;
        x = was - kStep;
        const double slope = (high - loss()) / (up - static_cast<double>(x));
        x = was;
        EXPECT_NEAR(got.params.at(name)(n), slope,
                    1e-4 * std::max(0.1, std::abs(slope)))
            << name << " " << n;
      }
    }
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
};

std::vector<Tensor<float, 1>> gates() {
  std::vector<Tensor<float, 1>> tensors;
  for (const auto& layer : kGates) {
    tensors.push_back(
        tensor_of<float, 1>({layer.size()}, {layer.begin(), layer.end()}));
  }
  return tensors;
}

TEST_F(SentenceTrainingTest, GradientsAreThoseOfTheMeanInDouble) {
  expect_gradients_in_double();
}

TEST_F(SentenceTrainingTest, GradientsAreThoseOfNormalizedPoolingsInDouble) {
  put_poolings();
  expect_gradients_in_double();
}

TEST_F(SentenceTrainingTest, GatesHaveTheGradientOfEachSentence) {
  put_poolings();
  const SentenceEncoder encoder = model();
  const RaggedTokens ids = encoder.tokenize(kSentences).value().ids;
  const auto d = uniform<2>({ids.size(), encoder.embedding_size()}, 93);
  const auto head_gates = gates();
  auto saved =
      encoder.forward_for_backward(ids, {.head_gates = head_gates}).value();
  const ModelGradients got =
      encoder.backward(saved, d, ModelWanted::gates).value();
  EXPECT_TRUE(got.params.empty());
  ASSERT_EQ(got.head_gates.size(), 2u);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t h = 0; h < 3; ++h) {
      for (std::size_t n = 0; n < ids.size(); ++n) {
        constexpr double kStep = 1e-4;
        BertReference::Rows moved = kGates;
        moved[layer][h] += kStep;
        const double high = loss_of(encoder, ids, n, d, moved);
        moved[layer][h] -= 2 * kStep;
        const double low = loss_of(encoder, ids, n, d, moved);
        EXPECT_NEAR(got.head_gates[layer](n, h), (high - low) / (2 * kStep),
                    1e-5)
            << "layer " << layer << ", head " << h << ", sentence " << n;
      }
    }
  }
}

TEST_F(SentenceTrainingTest, TheForwardPassOfTrainingHasTheBitsOfEncode) {
  for (const bool several : {false, true}) {
    if (several) {
      put_poolings();
    }
    const SentenceEncoder encoder = model();
    const auto tokens = encoder.tokenize(kSentences).value();
    const auto plain = encoder.encode(kSentences).value();
    EXPECT_TRUE(
        same_bits(encoder.forward_for_backward(tokens.ids).value().embeddings,
                  plain.embeddings));
    EXPECT_EQ(tokens.cut, plain.cut);
  }
}

TEST_F(SentenceTrainingTest, GradientsHaveTheSameBitsOnAnyThreadsAndStrides) {
  put_poolings();
  const SentenceEncoder encoder = model();
  const RaggedTokens ids = encoder.tokenize(kSentences).value().ids;
  const auto d = uniform<2>({3, 36}, 94);
  auto turned = Tensor<float, 2>::create({36, 3}).value();
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t e = 0; e < 36; ++e) {
      turned(e, n) = d(n, e);
    }
  }
  const TensorView<const float, 2> columns(turned.data(), {3, 36}, {1, 3});
  const auto gradients = [&](std::size_t threads,
                             TensorView<const float, 2> d_embeddings) {
    const Executor executor = Executor::with_threads(threads).value();
    auto saved =
        encoder.forward_for_backward(ids, {.executor = &executor}).value();
    return encoder.backward(saved, d_embeddings).value().params;
  };
  const auto one = gradients(1, d);
  const auto three = gradients(3, columns);
  for (const auto& [name, gradient] : one) {
    EXPECT_TRUE(same_bits(gradient, three.at(name))) << name;
  }
}

TEST_F(SentenceTrainingTest, MaxTokensCutsASentence) {
  const SentenceEncoder encoder = model();
  const std::vector<std::string_view> longer = {"why we see heads", "a"};
  const std::vector<std::string_view> cut = {"why we", "a"};
  const auto tokens = encoder.tokenize(longer, {.max_tokens = 4}).value();
  EXPECT_EQ(tokens.ids, encoder.tokenize(cut).value().ids);
  EXPECT_THAT(tokens.cut, ElementsAre(2, 0));
  const auto done = encoder.encode(longer, {.max_tokens = 4}).value();
  EXPECT_TRUE(
      same_bits(done.embeddings, encoder.encode(cut).value().embeddings));
  EXPECT_THAT(done.cut, ElementsAre(2, 0));
  EXPECT_EQ(done.tokens, 4u + 3u);
}

TEST_F(SentenceTrainingTest, MaxTokensIsAtMostTheSettings) {
  const SentenceEncoder encoder = model();
  const std::vector<std::string_view> longer = {"a a a a a a a a a a"};
  const auto tokens = encoder.tokenize(longer, {.max_tokens = 100}).value();
  EXPECT_EQ(tokens.ids[0].size(), 9u);
  EXPECT_THAT(tokens.cut, ElementsAre(3));
  const auto none = encoder.tokenize(longer, {.max_tokens = 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::invalid_argument);
}

TEST_F(SentenceTrainingTest, WhatDoesNotFitIsNamed) {
  const SentenceEncoder encoder = model();
  const auto is_refused = [](ErrorCode code, std::string argument,
                             std::vector<std::string> given,
                             std::vector<std::string> expected) {
    return HasError({.code = code,
                     .argument = std::move(argument),
                     .given = std::move(given),
                     .expected = std::move(expected)});
  };
  EXPECT_THAT(
      encoder.forward_for_backward({{2, 3}, {}}),
      is_refused(ErrorCode::invalid_argument, "tokens[1]", {"no"}, {"1"}));
  EXPECT_EQ(encoder.forward_for_backward({{14}}).error().code(),
            ErrorCode::out_of_range);
  auto saved = encoder.forward_for_backward({{2, 3}}).value();
  const auto two = uniform<2>({2, 12}, 95);
  EXPECT_THAT(encoder.backward(saved, two),
              is_refused(ErrorCode::shape_mismatch, "d_embeddings", {"(2, 12)"},
                         {"(1, 12)"}));
  const auto one = uniform<2>({1, 12}, 95);
  EXPECT_TRUE(encoder.backward(saved, one));
  EXPECT_THAT(encoder.backward(saved, one),
              is_refused(ErrorCode::invalid_argument, "saved", {"used"}, {}));
  const auto broken = encoder.tokenize(std::vector<std::string_view>{"\xff"});
  EXPECT_EQ(broken.error().code(), ErrorCode::bad_data);
}

TEST_F(SentenceTrainingTest, NoSentencesAreLegal) {
  const SentenceEncoder encoder = model();
  auto saved = encoder.forward_for_backward({}).value();
  EXPECT_EQ(saved.embeddings.extents(), (Extents<2>{0, 12}));
  const auto d = uniform<2>({0, 12}, 96);
  EXPECT_EQ(encoder.backward(saved, d).value().params.size(), params_.size());
}

}  // namespace
}  // namespace headwise::testing_support
