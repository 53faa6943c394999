#include "models/tokenizer_json.h"

#include <filesystem>
#include <string>

#include "headwise/models/sentence_encoder.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// The vocabulary of the small model, the last token first.
std::string small_vocab() {
  std::string vocab;
  std::string_view rest = kSmallVocabulary;
  for (int id = 0; !rest.empty(); ++id) {
    const std::size_t end = rest.find('\n');
    std::string entry = "\"";
    entry.append(rest.substr(0, end)).append("\": ");
    entry.append(std::to_string(id)).append(vocab.empty() ? "" : ", ");
    vocab.insert(0, entry);
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
// The tokenizer is refused: the error is about this entry, or about the whole,
// and names these values.
auto IsRefused(ErrorCode code, std::string entry, std::string given,
               std::vector<std::string> expected) {
  return HasError({.code = code,
                   .file = "t",
                   .entry = std::move(entry),
                   .given = {std::move(given)},
                   .expected = std::move(expected)});
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
  struct Case {
    Parts parts;
    std::string entry;
    std::string given;
    std::string expected;
  };
  for (const auto& [parts, entry, given, expected] : std::vector<Case>{
           {{.model = R"("type": "BPE")"}, "model.type", "BPE", "WordPiece"},
           {{.model = R"("type": "Unigram", "unk_id": 0)",
           .vocab = R"([["<unk>", 0.0], ["a", -1.5]])"},
            "model.type",
            "Unigram",
            "WordPiece"},
           {{.model = R"("dropout": null)"}, "", "model.type", "WordPiece"},
           {{.model = R"("type": "WordPiece", "unk_token": "<unk>")"},
            "model.unk_token",
            "<unk>",
            "[UNK]"},
           {{.model = R"("type": "WordPiece",
                         "continuing_subword_prefix": "@@")"},
            "model.continuing_subword_prefix",
            "@@",
            "##"},
           {{.model = R"("type": "WordPiece", "max_input_chars_per_word": 5)"},
            "model.max_input_chars_per_word",
            "5",
            "100"},
           {{.normalizer = R"({"type": "Sequence", "normalizers": []})"},
            "normalizer.type",
            "Sequence",
            "BertNormalizer"},
           {{.normalizer = "null"}, "", "normalizer.type", "BertNormalizer"},
           {{.normalizer = R"({"type": "BertNormalizer",
                               "clean_text": false})"},
            "normalizer.clean_text",
            "false",
            "true"},
           {{.pre_tokenizer = R"({"type": "Whitespace"})"},
            "pre_tokenizer.type",
            "Whitespace",
            "BertPreTokenizer"},
           {{.added = R"([{"id": 14, "content": "<mine>"}])"},
            "added_tokens",
            "<mine>",
            "[PAD], [UNK], [CLS], [SEP] and [MASK]"}}) {
    EXPECT_THAT(parsed(parts),
                IsRefused(ErrorCode::unsupported, entry, given, {expected}));
  }
}

TEST(TokenizerJsonTest, WhatIsNoVocabularyIsNamed) {
  const auto of_vocab = [](const std::string& vocab) {
    return parsed({.vocab = vocab});
  };
  const auto is_bad = [](std::string entry, std::string given,
                         std::vector<std::string> expected) {
    return IsRefused(ErrorCode::bad_data, std::move(entry), std::move(given),
                     std::move(expected));
  };
  EXPECT_THAT(of_vocab(R"({"a": 0, "b": 2})"),
              is_bad("model.vocab", "2 for b", {"1"}));
  EXPECT_THAT(of_vocab(R"({"a": 0, "b": 0})"),
              is_bad("model.vocab", "0 for b", {"1"}));
  for (const auto& [value, kind] : {std::pair{"-1", "negative"},
                                    {"\"0\"", "text"},
                                    {"null", "null"},
                                    {"true", "bool"},
                                    {"[0]", "array"},
                                    {"{}", "object"},
                                    {"0.5", "point"}}) {
    EXPECT_THAT(of_vocab("{\"a\": " + std::string(value) + "}"),
                is_bad("model.vocab.a", kind, {"number"}));
  }
  EXPECT_THAT(of_vocab(R"({"": 0})"), is_bad("model.vocab", "\"\"", {"512"}));
  EXPECT_THAT(of_vocab(R"({"a\nb": 0})"),
              is_bad("model.vocab", "a\\x0ab", {"1", "512"}));
  for (const char* text :
       {"", "[]", "3", "null", "\"WordPiece\"", "{", "{}}"}) {
    const auto result = parse_tokenizer_json(text, {"", "t"});
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::bad_data) << text;
  }
  EXPECT_THAT(parsed({.normalizer = R"({"type": "BertNormalizer",
                                        "lowercase": 1})"}),
              is_bad("normalizer.lowercase", "1", {"true or false"}));
}

// ---- In a model's folder. ----

class TokenizerJsonFolderTest : public testing::Test {
 protected:
  TokenizerJsonFolderTest() { put_small_model(folder_, params_); }
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
  Params params_ = small_params(small_config(BertFamily::bert));
};

TEST_F(TokenizerJsonFolderTest, StandsForVocabTxt) {
  const auto expected = embeddings();
  put("tokenizer.json", json_of({}));
  std::filesystem::remove(folder_ / "vocab.txt");
  EXPECT_TRUE(same_bits(embeddings(), expected));
}

TEST_F(TokenizerJsonFolderTest, AFolderWithoutEitherSaysSo) {
  std::filesystem::remove(folder_ / "vocab.txt");
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = ErrorCode::io_error,
                        .operation = "sentence_encoder",
                        .file = folder_.path(),
                        .given = {"vocab.txt", "tokenizer.json"}}));
}

TEST_F(TokenizerJsonFolderTest, VocabTxtCountsBeforeIt) {
  const auto expected = embeddings();
  put("tokenizer.json", json_of({.model = R"("type": "BPE")"}));
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
  const std::string path = folder_ / "tokenizer.json";
  const auto read = read_vocabulary(path);
  EXPECT_THAT(read, IsFileError(ErrorCode::bad_data, path));
  EXPECT_THAT(read, HasGiven("\"heads\""));
}

TEST_F(TokenizerJsonFolderTest, AFaultNamesTheFile) {
  std::filesystem::remove(folder_ / "vocab.txt");
  put("tokenizer.json", json_of({.model = R"("type": "BPE")"}));
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = ErrorCode::unsupported,
                        .file = folder_ / "tokenizer.json",
                        .entry = "model.type",
                        .given = {"BPE"},
                        .expected = {"WordPiece"}}));
}

}  // namespace
}  // namespace headwise::testing_support
