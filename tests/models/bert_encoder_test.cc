#include "headwise/models/bert_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "models/bert_reference.h"
#include "models/small_model.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::BertReference;
using testing_support::Params;
using testing_support::same_bits;
using testing_support::small_config;
using testing_support::small_params;
using testing_support::uniform;
using testing_support::write_params;

const RaggedTokens kIds = {{2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}};

class BertEncoderTest : public testing::TestWithParam<BertFamily> {
 protected:
  Result<BertEncoder> read(const Params& params,
                           const std::string& prefix = "") {
    EXPECT_TRUE(write_params(folder_ / "model.safetensors", params, prefix));
    return BertEncoder::read(folder_.path(), config_);
  }
  // Of the folder's path, which is another each time.
  std::string error_of(const Params& params) {
    const auto read_it = read(params);
    if (read_it) {
      return "none";
    }
    EXPECT_EQ(read_it.error().code(), ErrorCode::bad_data);
    std::string text = read_it.error().message();
    const std::string path = folder_.path() + "/";
    for (std::size_t n = text.find(path); n != std::string::npos;
         n = text.find(path)) {
      text.erase(n, path.size());
    }
    return text;
  }

  TempFolder folder_;
  BertConfig config_ = small_config(GetParam());
  Params params_ = small_params(config_);
};

TEST_P(BertEncoderTest, HiddenStatesAndAttentionWeightsAreThoseInDouble) {
  const BertEncoder encoder = read(params_).value();
  const BertResult result =
      encoder.forward(kIds, {.attn_weights = true}).value();
  ASSERT_EQ(result.hidden.extents(), (Extents<2>{15, 12}));
  ASSERT_EQ(result.attn_weights.size(), 2u);
  const BertReference reference(config_, params_);
  std::size_t row = 0;
  for (std::size_t b = 0; b < kIds.size(); ++b) {
    std::vector<std::vector<BertReference::Rows>> weights;
    for (const auto& expected : reference.forward(kIds[b], &weights)) {
      for (std::size_t e = 0; e < expected.size(); ++e) {
        EXPECT_NEAR(result.hidden(row, e), expected[e], 1e-5);
      }
      ++row;
    }
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t i = 0; i < 9; ++i) {
          for (std::size_t j = 0; j < 9; ++j) {
            const bool inside = i < kIds[b].size() && j < kIds[b].size();
            EXPECT_NEAR(result.attn_weights[n](b, h, i, j),
                        inside ? weights[n][h][i][j] : 0, 1e-5);
          }
        }
      }
    }
  }
}

TEST_P(BertEncoderTest, ASequenceHasTheSameBitsInAnyBatchOnAnyThreads) {
  const BertEncoder encoder = read(params_).value();
  const Tensor<float, 2> together = encoder.forward(kIds).value().hidden;
  const Executor three = Executor::with_threads(3).value();
  EXPECT_TRUE(same_bits(
      encoder.forward(kIds, {.executor = &three}).value().hidden, together));
  EXPECT_TRUE(same_bits(
      encoder.forward(kIds, {.attn_weights = true}).value().hidden, together));
  std::size_t row = 0;
  for (const auto& sequence : kIds) {
    const auto alone = encoder.forward({sequence}).value().hidden;
    EXPECT_TRUE(
        same_bits(alone.elements(), {&together(row, 0), sequence.size() * 12}));
    row += sequence.size();
  }
}

TEST_P(BertEncoderTest, TheStatesBeforeALayerAreWhatItTakes) {
  const BertEncoder encoder = read(params_).value();
  const auto weights =
      encoder.forward({kIds[0]}, {.attn_weights = true}).value().attn_weights;
  for (std::size_t n = 0; n < 2; ++n) {
    const auto before =
        encoder.forward({kIds[0]}, {.before_layer = n}).value().hidden;
    const TensorView<const float, 3> x(before.data(), {1, 4, 12});
    const auto result =
        encoder.layers()[n]
            .attention.forward(x, x, x, {.attn_weights = AttnWeights::per_head})
            .value();
    EXPECT_TRUE(same_bits(result.attn_weights, weights[n]));
  }
  EXPECT_TRUE(
      same_bits(encoder.forward({kIds[0]}, {.before_layer = 2}).value().hidden,
                encoder.forward({kIds[0]}).value().hidden));
}

TEST_P(BertEncoderTest, WhoeverLooksOnIsShownWhatEachLayerTakes) {
  const auto encoder = read(params_).value();
  std::vector<std::size_t> seen;
  const auto look = [&](std::size_t layer, TensorView<const float, 3> hidden) {
    seen.push_back(layer);
    const auto before =
        encoder.forward(kIds, {.before_layer = layer}).value().hidden;
    EXPECT_EQ(hidden.extents(),
              (Extents<3>{1, before.extent(0), before.extent(1)}));
    EXPECT_TRUE(std::equal(before.elements().begin(), before.elements().end(),
                           hidden.data()));
    return ok();
  };
  const auto result = encoder.forward(kIds, {.before_each = look});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(same_bits(result->hidden, encoder.forward(kIds).value().hidden));

  const auto refuse = [](std::size_t layer, TensorView<const float, 3>) {
    return layer == 1 ? Status(Error{ErrorCode::bad_data, {.given = "enough"}})
                      : ok();
  };
  EXPECT_EQ(encoder.forward(kIds, {.before_each = refuse}).error().message(),
            "enough");
}

TEST_P(BertEncoderTest, NamesMayHaveTheModelsPrefixAndTheNormsTheirOldNames) {
  const auto expected = read(params_).value().forward(kIds).value().hidden;
  Params old;
  for (auto& [name, param] : params_) {
    std::string renamed = name;
    if (name.find("orm.") != std::string::npos) {
      const bool weight = name.ends_with(".weight");
      renamed.replace(renamed.rfind('.'), std::string::npos,
                      weight ? ".gamma" : ".beta");
    }
    old.emplace(renamed, testing_support::clone(param));
  }
  const std::string prefix =
      GetParam() == BertFamily::bert ? "bert." : "distilbert.";
  const auto encoder = read(old, prefix);
  ASSERT_TRUE(encoder) << encoder.error().message();
  EXPECT_TRUE(same_bits(encoder->forward(kIds).value().hidden, expected));
}

TEST_P(BertEncoderTest, AnEmptyBatchAndEmptySequencesAreLegal) {
  const BertEncoder encoder = read(params_).value();
  EXPECT_EQ(encoder.forward({}).value().hidden.extents(), (Extents<2>{0, 12}));
  EXPECT_EQ(encoder.forward({{}, {}}).value().hidden.extents(),
            (Extents<2>{0, 12}));
  EXPECT_TRUE(same_bits(encoder.forward({{}, kIds[0], {}}).value().hidden,
                        encoder.forward({kIds[0]}).value().hidden));
}

TEST_P(BertEncoderTest, IdsAndLengthsAndLayersAreChecked) {
  const BertEncoder encoder = read(params_).value();
  const auto message = [&](const RaggedTokens& ids,
                           const BertOptions& options = {}) {
    const Error error = encoder.forward(ids, options).error();
    EXPECT_EQ(error.code(), ErrorCode::out_of_range);
    return error.message();
  };
  EXPECT_THAT(message({{1}, {2, 14}}), HasSubstr("14"));
  EXPECT_EQ(message({{1}, std::vector<TokenId>(10, 1)}),
            "bert_encoder: ids[1] has 10 tokens, expected at most 9");
  EXPECT_EQ(message({{1}}, {.before_layer = 3}),
            "bert_encoder: before_layer is 3, expected at most 2");
}

TEST_P(BertEncoderTest, AParameterThatIsMissingIsNamed) {
  for (const char* end :
       {"word_embeddings.weight", "position_embeddings.weight"}) {
    Params params = small_params(config_);
    params.erase("embeddings." + std::string(end));
    EXPECT_EQ(error_of(params),
              "read_bert_encoder: model.safetensors has no embeddings." +
                  std::string(end));
  }
  const auto names = testing_support::part_names(GetParam(), 1);
  for (const auto& name : {names.attention_norm, names.intermediate,
                           names.output, names.output_norm, names.k}) {
    for (const char* part : {".weight", ".bias"}) {
      Params params = small_params(config_);
      params.erase(name + part);
      EXPECT_THAT(error_of(params), HasSubstr(name + part));
    }
  }
}

TEST_P(BertEncoderTest, AParameterOfAnotherSizeIsNamedWithTheRightOne) {
  const auto names = testing_support::part_names(GetParam(), 0);
  Params params = small_params(config_);
  params.at(names.output + ".weight") = uniform<2>({12, 19}, 1);
  EXPECT_EQ(error_of(params),
            "read_bert_encoder: model.safetensors: " + names.output +
                ".weight has shape (12, 19), expected (hidden_size, "
                "intermediate_size) = (12, 20)");
  params = small_params(config_);
  params.at("embeddings.word_embeddings.weight") = uniform<2>({13, 12}, 1);
  EXPECT_EQ(error_of(params),
            "read_bert_encoder: model.safetensors: "
            "embeddings.word_embeddings.weight has shape (13, 12), expected "
            "(vocab_size, hidden_size) = (14, 12)");
}

TEST_P(BertEncoderTest, AnotherNumberOfLayersIsAnError) {
  config_.num_layers = 3;
  EXPECT_EQ(error_of(params_),
            "read_bert_encoder: model.safetensors has 2 layers, expected 3 as "
            "in config.json");
}

TEST_P(BertEncoderTest, ParametersThatAreNotFiniteAreNamed) {
  const auto names = testing_support::part_names(GetParam(), 1);
  for (const auto& name : {names.q + ".weight", names.intermediate + ".bias",
                           std::string("embeddings.word_embeddings.weight")}) {
    Params params = small_params(config_);
    params.at(name).data()[3] = std::numeric_limits<float>::infinity();
    const std::string message = error_of(params);
    EXPECT_THAT(message, HasSubstr(name));
    EXPECT_THAT(message, HasSubstr("expected finite numbers"));
  }
}

TEST_P(BertEncoderTest, TheFileMayGoOrBeReplacedOnceItWasRead) {
  const BertEncoder mapped = read(params_).value();
  const BertEncoder whole =
      BertEncoder::read(folder_.path(), config_, {.file = FileAccess::read})
          .value();
  const auto before = mapped.forward(kIds).value().hidden;
  Params zeros = small_params(config_);
  for (auto& [name, param] : zeros) {
    std::ranges::fill(param.elements(), 0.0f);
  }
  ASSERT_TRUE(write_params(folder_ / "model.safetensors", zeros));
  const auto replaced = mapped.forward(kIds).value().hidden;
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_TRUE(same_bits(before.elements(), replaced.elements()));
  EXPECT_TRUE(same_bits(before.elements(),
                        mapped.forward(kIds).value().hidden.elements()));
  EXPECT_TRUE(same_bits(before.elements(),
                        whole.forward(kIds).value().hidden.elements()));
}

// Words that cannot stay in the file's bytes.
TEST_P(BertEncoderTest, WordsOfAnotherTypeAreWidened) {
  Params params = small_params(config_);
  Tensor<float, 2>& word = params.at("embeddings.word_embeddings.weight");
  std::vector<double> wide(word.elements().begin(), word.elements().end());
  const auto expected = read(params).value().forward(kIds).value().hidden;
  std::map<std::string, AnyView> views;
  for (const auto& [name, param] : params) {
    views.emplace(name, param);
    if (param.extent(0) == 1) {
      views[name] = TensorView<const float, 1>(param.data(), {param.extent(1)});
    }
  }
  views["embeddings.word_embeddings.weight"] =
      TensorView<const double, 2>(wide.data(), word.extents());
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", views));
  const auto given = BertEncoder::read(folder_.path(), config_)
                         .value()
                         .forward(kIds)
                         .value()
                         .hidden;
  EXPECT_TRUE(same_bits(expected.elements(), given.elements()));
}

TEST_P(BertEncoderTest, AFolderWithoutParametersSaysWhatItLacks) {
  const auto message = [&] {
    const Error error = BertEncoder::read(folder_.path(), config_).error();
    EXPECT_EQ(error.code(), ErrorCode::bad_data);
    return error.message();
  };
  EXPECT_EQ(message(), "read_bert_encoder: " + folder_.path() +
                           " has no model.safetensors, no "
                           "model.safetensors.index.json and no file NAME.npy");
  put_file(folder_ / "pytorch_model.bin", bytes_of("x"));
  EXPECT_THAT(message(), HasSubstr("pytorch_model.bin"));
}

INSTANTIATE_TEST_SUITE_P(Families, BertEncoderTest,
                         testing::Values(BertFamily::bert,
                                         BertFamily::distilbert),
                         [](const auto& family) {
                           return family.param == BertFamily::bert
                                      ? std::string("Bert")
                                      : std::string("DistilBert");
                         });

}  // namespace
}  // namespace headwise
