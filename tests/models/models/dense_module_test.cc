// Dense modules of sentence-transformers, against the same in double.
#include "models/dense_module.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "headwise/models/sentence_encoder.h"
#include "headwise/models/write_model.h"
#include "models/bert_reference.h"
#include "models/gate_rows.h"
#include "models/pooling_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const std::vector<std::string_view> kSentences = {"Heads matter!", "",
                                                  "we see heads why"};

class DenseModuleTest : public testing::Test {
 protected:
  DenseModuleTest() {
    put_small_model(folder_, params_);
    put_modules(folder_, R"({"embedding_dimension": 12,
        "pooling_mode": ["mean", "cls"]})",
                true);
    put("modules.json",
        modules_text("Transformer", "Pooling", "Dense", "Dense", "Normalize"));
    put_dense("2_Dense", R"({"in_features": 24, "out_features": 7})",
              {{"linear.weight", weight_}, {"linear.bias", bias_}});
    put_dense("3_Dense", R"({"in_features": 7, "out_features": 5,
        "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity"})",
              {{"linear.weight", second_}});
  }

  void put(const std::string& name, const std::string& text) {
    put_file(folder_ / name, bytes_of(text));
  }
  void put_dense(const std::string& name, const std::string& config,
                 const std::map<std::string, AnyView>& tensors) {
    std::filesystem::create_directory(folder_ / name);
    put(name + "/config.json", config);
    ASSERT_TRUE(
        write_safetensors(folder_ / (name + "/model.safetensors"), tensors));
  }
  SentenceEncoder model() const {
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }
  std::vector<double> expected(const std::vector<TokenId>& ids,
                               const BertReference::Rows& gates = {}) const {
    BertReference reference(config_, params_);
    reference.set_gates(gates);
    const auto x = pooled(reference.forward(ids),
                          std::vector{Pooling::mean, Pooling::cls}, false);
    std::vector<double> y(7);
    for (std::size_t o = 0; o < 7; ++o) {
      y[o] = bias_(o);
      for (std::size_t i = 0; i < 24; ++i) {
        y[o] += static_cast<double>(weight_(o, i)) * x[i];
      }
      y[o] = std::tanh(y[o]);
    }
    std::vector<double> z(5);
    double squares = 0;
    for (std::size_t o = 0; o < 5; ++o) {
      for (std::size_t i = 0; i < 7; ++i) {
        z[o] += static_cast<double>(second_(o, i)) * y[i];
      }
      squares += z[o] * z[o];
    }
    for (double& number : z) {
      number /= std::sqrt(squares);
    }
    return z;
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
  Tensor<float, 2> weight_ = uniform<2>({7, 24}, 81);
  Tensor<float, 1> bias_ = uniform<1>({7}, 82);
  Tensor<float, 2> second_ = uniform<2>({5, 7}, 83);
};

TEST_F(DenseModuleTest, AnEmbeddingGoesThroughThemBeforeItIsNormalized) {
  const SentenceEncoder encoder = model();
  ASSERT_EQ(encoder.embedding_size(), 5u);
  const RaggedTokens ids = encoder.tokenize(kSentences).value().ids;
  const auto got = encoder.encode(kSentences).value().embeddings;
  const auto saved = encoder.forward_for_backward(ids).value();
  EXPECT_TRUE(same_bits(saved.embeddings, got));
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const auto want = expected(ids[n]);
    for (std::size_t e = 0; e < 5; ++e) {
      EXPECT_NEAR(got(n, e), want[e], 1e-6);
    }
  }
  put("config_sentence_transformers.json", R"({"truncate_dim": 2})");
  const auto first = model().encode(kSentences).value().embeddings;
  ASSERT_EQ(first.extents(), (Extents<2>{3, 2}));
  EXPECT_EQ(first(2, 1), got(2, 1));
}

TEST_F(DenseModuleTest, GradientsOfGatesAreDifferences) {
  const SentenceEncoder encoder = model();
  const RaggedTokens ids = encoder.tokenize(kSentences).value().ids;
  const BertReference::Rows rows = {{1, 0.5, 0}, {-1, 1, 2}};
  const auto gates = gates_of(rows);
  auto saved = encoder.forward_for_backward(ids, {.head_gates = gates}).value();
  const auto d = uniform<2>({ids.size(), 5}, 84);
  const auto got = encoder.backward(saved, d, ModelWanted::gates).value();
  const auto loss = [&](std::size_t n, const BertReference::Rows& at) {
    const auto embedding = expected(ids[n], at);
    double sum = 0;
    for (std::size_t e = 0; e < 5; ++e) {
      sum += embedding[e] * static_cast<double>(d(n, e));
    }
    return sum;
  };
  constexpr double kStep = 1e-5;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t h = 0; h < 3; ++h) {
      auto more = rows;
      auto less = rows;
      more[layer][h] += kStep;
      less[layer][h] -= kStep;
      for (std::size_t n = 0; n < ids.size(); ++n) {
        EXPECT_NEAR(got.head_gates[layer](n, h),
                    (loss(n, more) - loss(n, less)) / (2 * kStep), 1e-5);
      }
    }
  }
}

TEST_F(DenseModuleTest, TheyAreWrittenWithTheModel) {
  const TempFolder out;
  const std::string copy = out / "copy";
  ASSERT_TRUE(write_model(folder_.path(), copy, {}));
  const auto read = SentenceEncoder::read(copy).value();
  EXPECT_TRUE(same_bits(read.encode(kSentences).value().embeddings,
                        model().encode(kSentences).value().embeddings));
  EXPECT_EQ(look_at_model_folder(copy, folder_.path()).value().foreign,
            std::nullopt);
  const std::string digest = digest_of_model(copy, read).value();
  std::filesystem::copy_file(folder_ / "3_Dense/model.safetensors",
                             copy + "/2_Dense/model.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(digest_of_model(copy, read).value(), digest);
  EXPECT_THAT(SentenceEncoder::read(copy),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "read_dense",
                        .file = copy + "/2_Dense/model.safetensors",
                        .entry = "linear.weight",
                        .given = {"(5, 7)"},
                        .expected = {"(7, 24)"}}));
}

TEST_F(DenseModuleTest, WhatIsNotComputedIsNamed) {
  const auto refused = [&](std::size_t in, std::size_t out,
                           const std::string& more) {
    put("3_Dense/config.json",
        "{\"in_features\": " + std::to_string(in) +
            ", \"out_features\": " + std::to_string(out) + more + "}");
    return SentenceEncoder::read(folder_.path());
  };
  const auto about = [&](ErrorCode code, const std::string& entry) {
    return HasError({.code = code,
                     .file = folder_ / "3_Dense/config.json",
                     .entry = entry});
  };
  using enum ErrorCode;
  EXPECT_THAT(
      refused(7, 5,
              R"(, "activation_function": "torch.nn.modules.activation.ReLU")"),
      about(unsupported, "activation_function"));
  EXPECT_THAT(refused(7, 5, R"(, "module_input_name": "token_embeddings")"),
              about(unsupported, "module_input_name"));
  EXPECT_THAT(refused(7, 5, R"(, "use_residual": true)"),
              about(unsupported, "use_residual"));
  EXPECT_THAT(refused(7, 0, ""), about(bad_data, "out_features"));
  EXPECT_THAT(refused(8, 5, ""),
              HasError({.code = bad_data,
                        .file = folder_ / "3_Dense/config.json",
                        .given = {"8"},
                        .expected = {"7"}}));
  put("3_Dense/config.json", R"({"in_features": 7, "out_features": 5})");
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = bad_data,
                        .file = folder_ / "3_Dense/model.safetensors",
                        .given = {"linear.bias"}}));
  std::filesystem::remove(folder_ / "3_Dense/model.safetensors");
  put("3_Dense/pytorch_model.bin", "");
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              IsFileError(io_error, folder_ / "3_Dense/model.safetensors"));
  std::filesystem::remove(folder_ / "3_Dense/config.json");
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = io_error, .file = folder_ / "3_Dense"}));
}

}  // namespace
}  // namespace headwise::testing_support
