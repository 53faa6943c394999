#include "headwise/models/sentence_encoder.h"

#include <cfenv>
#include <cmath>

#include "models/bert_reference.h"
#include "models/pooling_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

class SentenceEncoderTest : public testing::Test {
 protected:
  SentenceEncoderTest() { put_small_model(folder_, params_); }

  void put(std::string_view name, std::string_view text) {
    put_file(folder_ / name, bytes_of(text));
  }
  SentenceEncoder model(Arithmetic arithmetic = Arithmetic::exact) {
    auto read =
        SentenceEncoder::read(folder_.path(), {.arithmetic = arithmetic});
    EXPECT_TRUE(read) << read.error().message();
    return *std::move(read);
  }
  BertReference::Rows reference(const std::vector<TokenId>& ids) const {
    return BertReference(config_, params_).forward(ids);
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
};

const std::vector<std::string_view> kSentences = {
    "Heads matter!", "", "we see heads", "why why why why why why why why why",
    "a"};

TEST_F(SentenceEncoderTest, AnEmbeddingIsTheMeanOfItsTokens) {
  const auto done = model().encode(kSentences).value();
  ASSERT_EQ(done.embeddings.extents(), (Extents<2>{5, 12}));
  const auto hidden = reference({2, 5, 6, 7, 3});
  for (std::size_t e = 0; e < 12; ++e) {
    double mean = 0;
    for (const auto& row : hidden) {
      mean += row[e] / 5;
    }
    EXPECT_NEAR(done.embeddings(0, e), mean, 1e-5);
  }
  EXPECT_THAT(done.cut, ElementsAre(0, 0, 0, 2, 0));
  EXPECT_EQ(done.tokens, 5u + 2u + 5u + 9u + 3u);
}

TEST_F(SentenceEncoderTest, PoolingsStandOneAfterAnotherAndAreNormalized) {
  put_modules(folder_, R"({"word_embedding_dimension": 12,
                  "pooling_mode_cls_token": true,
                  "pooling_mode_mean_tokens": true,
                  "pooling_mode_max_tokens": true,
                  "pooling_mode_mean_sqrt_len_tokens": true})",
              true);
  const SentenceEncoder encoder = model();
  EXPECT_EQ(encoder.embedding_size(), 48u);
  const auto done = encoder.encode(kSentences).value();
  const auto expected =
      pooled(reference({2, 5, 6, 7, 3}), encoder.settings().pooling, true);
  ASSERT_EQ(expected.size(), 48u);
  for (std::size_t e = 0; e < 48; ++e) {
    EXPECT_NEAR(done.embeddings(0, e), expected[e], 1e-5);
  }
}

void expect_same_bits_beside_others(const SentenceEncoder& encoder) {
  const auto few = encoder.encode(kSentences).value();
  std::vector<std::string_view> many;
  for (int n = 0; n < 1000; ++n) {
    many.insert(many.end(), kSentences.begin(), kSentences.end());
  }
  for (const std::size_t threads : {1u, 2u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    const auto done = encoder.encode(many, {.executor = &executor}).value();
    EXPECT_EQ(done.tokens, 1000 * few.tokens);
    ASSERT_EQ(done.cut.size(), many.size());
    for (std::size_t n = 0; n < many.size(); ++n) {
      ASSERT_TRUE(same_bits({&done.embeddings(n, 0), 12},
                            {&few.embeddings(n % kSentences.size(), 0), 12}))
          << "sentence " << n;
      ASSERT_EQ(done.cut[n], few.cut[n % kSentences.size()]);
    }
  }
}

TEST_F(SentenceEncoderTest,
       ASentenceHasTheSameBitsBesideAnyOthersOnAnyThreads) {
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::bf16}) {
    expect_same_bits_beside_others(model(arithmetic));
  }
}

TEST_F(SentenceEncoderTest, EmbeddingsInBf16AreNearTheExactOnes) {
  const SentenceEncoder encoder = model(Arithmetic::bf16);
  const auto exact = model().encode(kSentences).value().embeddings;
  const auto got = encoder.encode(kSentences).value().embeddings;
  for (std::size_t n = 0; n < kSentences.size(); ++n) {
    double product = 0;
    double of_exact = 0;
    double of_got = 0;
    for (std::size_t e = 0; e < 12; ++e) {
      const double x = exact(n, e);
      const double y = got(n, e);
      product += x * y;
      of_exact += x * x;
      of_got += y * y;
    }
    EXPECT_GT(product / std::sqrt(of_exact * of_got), 0.9995);
  }
  EXPECT_FALSE(same_bits(got, exact));
}

TEST_F(SentenceEncoderTest, InBf16EveryProjectionIs) {
  const SentenceEncoder encoder = model(Arithmetic::bf16);
  const Transformer& model = encoder.encoder();
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    EXPECT_EQ(model.attention(n).config().arithmetic, Arithmetic::bf16);
  }
}

TEST_F(SentenceEncoderTest, TheCallersRoundingChangesNoBit) {
  const SentenceEncoder encoder = model();
  const Executor alone = Executor::with_threads(1).value();
  const SentenceOptions options = {.executor = &alone};
  const auto nearest = encoder.encode(kSentences, options).value().embeddings;
  for (const int mode : {FE_UPWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const auto done = encoder.encode(kSentences, options);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(same_bits(done.value().embeddings, nearest)) << mode;
  }
}

TEST_F(SentenceEncoderTest, ProgressCountsTheSentences) {
  std::vector<std::string_view> many(5000, "we see heads");
  for (const std::size_t threads : {1u, 3u}) {
    const Executor executor = Executor::with_threads(threads).value();
    std::size_t last = 0;
    const auto progress = [&](std::size_t done, std::size_t total) {
      EXPECT_GE(done, last);
      EXPECT_EQ(total, 5000u);
      last = done;
    };
    ASSERT_TRUE(
        model().encode(many, {.progress = progress, .executor = &executor}));
    EXPECT_EQ(last, 5000u) << threads << " threads";
  }
}

TEST_F(SentenceEncoderTest, TheFirstSentenceThatIsNoUtf8IsNamedByItsNumber) {
  std::vector<std::string_view> many(5000, "a");
  many[4500] = "we \xff";
  many[4501] = "\xff";
  EXPECT_THAT(model().encode(many),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "sentence_encoder",
                        .argument = "sentences[4500]",
                        .given = {"UTF-8", "3", "0xff"}}));
}

TEST_F(SentenceEncoderTest, APromptStandsInFrontOfEachSentence) {
  const auto put_all = [&](const char* pooling) {
    put_modules(folder_, pooling, false);
    put("config_sentence_transformers.json",
        R"({"prompts": {"query": "we see ", "none": ""},
            "default_prompt_name": "query"})");
  };
  put_all(
      R"({"word_embedding_dimension": 12, "pooling_mode": ["lasttoken", "mean"]})");
  const SentenceEncoder encoder = model();
  const std::vector<std::string_view> plain = {"heads"};
  const std::vector<std::string_view> whole = {"we see heads"};
  const auto with = [&](std::span<const std::string_view> texts,
                        std::optional<std::string> name) {
    return encoder.encode(texts, {.prompt_name = std::move(name)});
  };
  const auto wanted = with(whole, "").value();
  for (const auto& name :
       {std::optional<std::string>(), std::optional<std::string>("query")}) {
    EXPECT_TRUE(same_bits(with(plain, name)->embeddings, wanted.embeddings));
  }
  EXPECT_TRUE(
      same_bits(with(plain, "none")->embeddings, with(plain, "")->embeddings));
  EXPECT_THAT(with(plain, "other"),
              HasError({.code = ErrorCode::invalid_argument,
                        .argument = "prompt_name",
                        .given = {"other"},
                        .expected = {"none, query"}}));

  put_all(R"({"word_embedding_dimension": 12, "include_prompt": false})");
  EXPECT_THAT(model().encode(plain),
              HasError({.code = ErrorCode::unsupported,
                        .argument = "prompt_name",
                        .given = {"query"},
                        .expected = {"include_prompt"}}));
}

TEST_F(SentenceEncoderTest, NoSentencesAreLegal) {
  EXPECT_EQ(model().encode({}).value().embeddings.extents(),
            (Extents<2>{0, 12}));
}

TEST_F(SentenceEncoderTest, AVocabularyOfMoreTokensThanTheModelIsAnError) {
  put("vocab.txt", std::string(kSmallVocabulary) + "more\n");
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "sentence_encoder",
                        .file = folder_ / "vocab.txt",
                        .given = {"15"},
                        .expected = {"vocab_size", "14"}}));
}

}  // namespace
}  // namespace headwise::testing_support
