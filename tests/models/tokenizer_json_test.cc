#include "models/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "headwise/models/sentence_encoder.h"
#include "models/small_model.h"

namespace headwise {
namespace {

using testing::HasSubstr;
using testing_support::kSmallVocabulary;
using testing_support::same_bits;
using testing_support::small_config;
using testing_support::small_params;

// The vocabulary of the small model, the last token first.
std::string small_vocab() {
  std::string vocab;
  std::string_view rest = kSmallVocabulary;
  for (int id = 0; !rest.empty(); ++id) {
    const std::size_t end = rest.find('\n');
    vocab = "\"" + std::string(rest.substr(0, end)) +
            "\": " + std::to_string(id) + (vocab.empty() ? "" : ", ") + vocab;
    rest.remove_prefix(end + 1);
  }
  return "{" + vocab + "}";
}

struct Parts {
  std::string model = R"("type": "WordPiece", "unk_token": "[UNK]",
      "continuing_subword_prefix": "##", "max_input_chars_per_word": 100)";
  std::string vocab = small_vocab();
  std::string normalizer = R"({"type": "BertNormalizer", "clean_text": true,
      "handle_chinese_chars": true, "strip_accents": null,
      "lowercase": true})";
  std::string pre_tokenizer = R"({"type": "BertPreTokenizer"})";
  std::string added = R"([{"id": 0, "content": "[PAD]", "special": true},
                          {"id": 4, "content": "[MASK]", "special": true}])";
};
std::string json_of(const Parts& parts) {
  return R"({"version": "1.0", "truncation": null, "added_tokens": )" +
         parts.added + R"(, "normalizer": )" + parts.normalizer +
         R"(, "pre_tokenizer": )" + parts.pre_tokenizer +
         R"(, "post_processor": {"type": "TemplateProcessing", "single":
            [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}]},
            "decoder": {"type": "WordPiece", "prefix": "##"}, "model": {)" +
         parts.model + R"(, "vocab": )" + parts.vocab + "}}";
}
Result<TokenizerJson> parsed(const Parts& parts) {
  return parse_tokenizer_json(json_of(parts), {"", "t"});
}
std::string said(const Parts& parts, ErrorCode code = ErrorCode::unsupported) {
  const auto result = parsed(parts);
  if (result) {
    return "no error";
  }
  EXPECT_EQ(result.error().code(), code) << result.error().message();
  return result.error().message();
}

TEST(TokenizerJsonTest, TokensStandByTheirIds) {
  const TokenizerJson json = parsed({}).value();
  EXPECT_EQ(json.vocabulary, kSmallVocabulary);
  EXPECT_TRUE(json.wordpiece.do_lower_case);
  EXPECT_FALSE(json.wordpiece.strip_accents.has_value());
  EXPECT_TRUE(json.wordpiece.tokenize_chinese_chars);
}

TEST(TokenizerJsonTest, TheNormalizerSaysHow) {
  const TokenizerJson json =
      parsed({.normalizer = R"({"type": "BertNormalizer", "lowercase": false,
                  "strip_accents": true, "handle_chinese_chars": false})"})
          .value();
  EXPECT_FALSE(json.wordpiece.do_lower_case);
  EXPECT_EQ(json.wordpiece.strip_accents, true);
  EXPECT_FALSE(json.wordpiece.tokenize_chinese_chars);
}

TEST(TokenizerJsonTest, AnotherTokenizerIsUnsupported) {
  EXPECT_EQ(said({.model = R"("type": "BPE")"}),
            "t: model.type is BPE, expected WordPiece");
  EXPECT_EQ(said({.model = R"("type": "Unigram", "unk_id": 0)",
                  .vocab = R"([["<unk>", 0.0], ["a", -1.5]])"}),
            "t: model.type is Unigram, expected WordPiece");
  EXPECT_EQ(said({.model = R"("dropout": null)"}),
            "t has no model.type, expected WordPiece");
  EXPECT_EQ(said({.model = R"("type": "WordPiece", "unk_token": "<unk>")"}),
            "t: model.unk_token is <unk>, expected [UNK]");
  EXPECT_EQ(said({.model = R"("type": "WordPiece",
                              "continuing_subword_prefix": "@@")"}),
            "t: model.continuing_subword_prefix is @@, expected ##");
  EXPECT_EQ(said({.model = R"("type": "WordPiece",
                              "max_input_chars_per_word": 5)"}),
            "t: model.max_input_chars_per_word is 5, expected 100");
  EXPECT_EQ(said({.normalizer = R"({"type": "Sequence", "normalizers": []})"}),
            "t: normalizer.type is Sequence, expected BertNormalizer");
  EXPECT_EQ(said({.normalizer = "null"}),
            "t has no normalizer.type, expected BertNormalizer");
  EXPECT_EQ(said({.normalizer = R"({"type": "BertNormalizer",
                                    "clean_text": false})"}),
            "t: normalizer.clean_text is false, expected true");
  EXPECT_EQ(said({.pre_tokenizer = R"({"type": "Whitespace"})"}),
            "t: pre_tokenizer.type is Whitespace, expected BertPreTokenizer");
  EXPECT_EQ(said({.added = R"([{"id": 14, "content": "<mine>"}])"}),
            "t: added_tokens has <mine>, expected only [PAD], [UNK], [CLS], "
            "[SEP] and [MASK]");
}

TEST(TokenizerJsonTest, WhatIsNoVocabularyIsNamed) {
  const auto of_vocab = [](const std::string& vocab) {
    return said({.vocab = vocab}, ErrorCode::bad_data);
  };
  EXPECT_EQ(of_vocab(R"({"a": 0, "b": 2})"),
            "t: model.vocab has the id 2 for b, expected 1");
  EXPECT_EQ(of_vocab(R"({"a": 0, "b": 0})"),
            "t: model.vocab has the id 0 for b, expected 1");
  EXPECT_EQ(of_vocab(R"({"a": -1})"),
            "t: model.vocab.a holds a negative number, expected a number");
  for (const char* value : {"\"0\"", "null", "true", "[0]", "{}", "0.5"}) {
    EXPECT_THAT(of_vocab("{\"a\": " + std::string(value) + "}"),
                HasSubstr("model.vocab.a holds "));
  }
  EXPECT_THAT(of_vocab(R"({"": 0})"),
              HasSubstr("has \"\" as the token of id 0"));
  EXPECT_THAT(of_vocab(R"({"a\nb": 0})"),
              HasSubstr("expected 1 to 512 bytes without a line end"));
  for (const char* text :
       {"", "[]", "3", "null", "\"WordPiece\"", "{", "{}}"}) {
    const auto result = parse_tokenizer_json(text, {"", "t"});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::bad_data) << text;
  }
  EXPECT_EQ(said({.normalizer = R"({"type": "BertNormalizer",
                                    "lowercase": 1})"},
                 ErrorCode::bad_data),
            "t: normalizer.lowercase is 1, expected true or false");
}

// ---- In a model's folder. ----

class TokenizerJsonFolderTest : public testing::Test {
 protected:
  TokenizerJsonFolderTest() {
    testing_support::put_small_model(folder_, params_);
  }
  void put(const std::string& name, const std::string& text) const {
    put_file(folder_ / name, bytes_of(text));
  }
  Tensor<float, 2> embeddings() const {
    const auto model = SentenceEncoder::read(folder_.path());
    EXPECT_TRUE(model) << model.error().message();
    const std::vector<std::string_view> sentences = {"Heads MATTER!", "why"};
    return std::move(model->encode(sentences).value().embeddings);
  }

  TempFolder folder_;
  testing_support::Params params_ =
      small_params(small_config(BertFamily::bert));
};

TEST_F(TokenizerJsonFolderTest, StandsForVocabTxt) {
  const auto expected = embeddings();
  put("tokenizer.json", json_of({}));
  std::filesystem::remove(folder_ / "vocab.txt");
  EXPECT_TRUE(same_bits(embeddings(), expected));
}

TEST_F(TokenizerJsonFolderTest, AFolderWithoutEitherSaysSo) {
  std::filesystem::remove(folder_ / "vocab.txt");
  const auto model = SentenceEncoder::read(folder_.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::io_error);
  EXPECT_EQ(model.error().message(), "sentence_encoder: " + folder_.path() +
                                         " has no vocab.txt and no "
                                         "tokenizer.json");
}

TEST_F(TokenizerJsonFolderTest, VocabTxtCountsBeforeIt) {
  const auto expected = embeddings();
  put("tokenizer.json", "no JSON");
  EXPECT_TRUE(same_bits(embeddings(), expected));
}

TEST_F(TokenizerJsonFolderTest, TokenizerConfigCountsBeforeItsNormalizer) {
  const std::string cased = R"({"type": "BertNormalizer", "lowercase": false})";
  put("tokenizer.json", json_of({.normalizer = cased}));
  const auto options = [&] {
    return read_model_settings(folder_.path()).value().wordpiece;
  };
  EXPECT_TRUE(options().do_lower_case);  // vocab.txt is there
  std::filesystem::remove(folder_ / "vocab.txt");
  EXPECT_FALSE(options().do_lower_case);
  put("tokenizer_config.json", R"({"model_max_length": 5})");
  EXPECT_FALSE(options().do_lower_case);
  put("tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_TRUE(options().do_lower_case);
}

TEST_F(TokenizerJsonFolderTest, ATokenThatStandsThereTwiceIsAnError) {
  std::string vocab = small_vocab();
  vocab.insert(1, "\"heads\": 14, ");
  put("tokenizer.json", json_of({.vocab = vocab}));
  const auto read = read_vocabulary(folder_ / "tokenizer.json");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::bad_data);
  EXPECT_THAT(read.error().message(), HasSubstr("\"heads\" again"));
}

TEST_F(TokenizerJsonFolderTest, AFaultNamesTheFile) {
  std::filesystem::remove(folder_ / "vocab.txt");
  put("tokenizer.json", json_of({.model = R"("type": "BPE")"}));
  const auto model = SentenceEncoder::read(folder_.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::unsupported);
  EXPECT_THAT(model.error().message(),
              HasSubstr("/tokenizer.json: model.type is BPE, expected "
                        "WordPiece"));
}

}  // namespace
}  // namespace headwise
