// A tokenizer.json in the folder of a sentence encoder.

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

std::string special(const std::string& token, int id) {
  return R"({"content": ")" + token + R"(", "id": )" + std::to_string(id) +
         R"(, "single_word": false, "lstrip": false, "rstrip": false,
             "normalized": false, "special": true})";
}

struct Parts {
  std::string model = R"("type": "WordPiece", "unk_token": "[UNK]",
      "continuing_subword_prefix": "##", "max_input_chars_per_word": 100)";
  std::string vocab = small_vocab();
  std::string normalizer = R"({"type": "BertNormalizer", "clean_text": true,
      "handle_chinese_chars": true, "strip_accents": null,
      "lowercase": true})";
  std::string pre_tokenizer = R"({"type": "BertPreTokenizer"})";
  std::string added = "[" + special("[PAD]", 0) + "," + special("[CLS]", 2) +
                      "," + special("[SEP]", 3) + "," + special("[MASK]", 4) +
                      "]";
};
std::string json_of(const Parts& parts) {
  return R"({"version": "1.0", "truncation": null, "added_tokens": )" +
         parts.added + R"(, "normalizer": )" + parts.normalizer +
         R"(, "pre_tokenizer": )" + parts.pre_tokenizer +
         R"(, "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2],
              "sep": ["[SEP]", 3]},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
            "model": {)" +
         parts.model + R"(, "vocab": )" + parts.vocab + "}}";
}
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
  Params params_ = small_params(small_config(SmallFamily::bert));
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
  const std::string cased =
      R"({"type": "BertNormalizer", "clean_text": true,
          "handle_chinese_chars": true, "lowercase": false})";
  put("tokenizer.json", json_of({.normalizer = cased}));
  const auto lowers = [&] {
    const auto model = SentenceEncoder::read(folder_.path()).value();
    return model.encode_text("HEADS", 5).value().ids ==
           model.encode_text("heads", 5).value().ids;
  };
  EXPECT_TRUE(lowers());  // vocab.txt is there
  std::filesystem::remove(folder_ / "vocab.txt");
  EXPECT_FALSE(lowers());
  put("tokenizer_config.json", R"({"model_max_length": 5})");
  EXPECT_FALSE(lowers());
  put("tokenizer_config.json", R"({"do_lower_case": true})");
  EXPECT_TRUE(lowers());
}

TEST_F(TokenizerJsonFolderTest,
       LoweringFirstHidesSpecialTokensAndKeepsAccents) {
  put("sentence_bert_config.json", R"({"do_lower_case": true})");
  put("tokenizer_config.json", R"({"do_lower_case": false})");
  const auto model = SentenceEncoder::read(folder_.path()).value();
  const auto ids = [&](std::string_view text) {
    return model.encode_text(text, 9).value().ids;
  };
  EXPECT_EQ(ids("HEADS"), ids("heads"));
  EXPECT_NE(ids("h\u00E9ads"), ids("heads"));
  const TokenId mask = model.tokenizer().find("[MASK]").value();
  EXPECT_THAT(ids("[MASK]"), testing::Not(testing::Contains(mask)));
}

TEST_F(TokenizerJsonFolderTest, AFaultNamesTheFile) {
  std::filesystem::remove(folder_ / "vocab.txt");
  put("tokenizer.json", json_of({.model = R"("type": "Bytes")"}));
  EXPECT_THAT(SentenceEncoder::read(folder_.path()),
              HasError({.code = ErrorCode::unsupported,
                        .file = folder_ / "tokenizer.json",
                        .entry = "model.type",
                        .given = {"Bytes"},
                        .expected = {"WordPiece"}}));
}

}  // namespace
}  // namespace headwise::testing_support
