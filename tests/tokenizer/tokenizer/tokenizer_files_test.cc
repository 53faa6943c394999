#include <gtest/gtest.h>

#include <fstream>

#include "interop/files.h"
#include "interop/gguf.h"
#include "tokenizer/base64.h"
#include "tokenizer/tokenizer_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Vocabulary = std::vector<std::pair<std::string, std::uint32_t>>;
using Merges = std::vector<std::pair<std::string, std::string>>;

class TokenizerFilesTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // Of the folder, or of a file in it; without the folder's path.
  std::string error(const std::string& name = {}) const {
    const auto spec =
        read_tokenizer_spec(name.empty() ? folder_.path() : path(name));
    std::string text = spec ? "" : spec.error().message();
    if (const std::size_t at = text.find(folder_.path());
        at != std::string::npos) {
      text.replace(at, folder_.path().size(), "FOLDER");
    }
    return text;
  }

  TempFolder folder_;
};

constexpr std::string_view kBert =
    "\xEF\xBB\xBF[PAD]\n[UNK]\r\n[CLS]\n[SEP]\nthe";

TEST_F(TokenizerFilesTest, ReadsVocabTxtWithItsSettings) {
  write("vocab.txt", kBert);
  write("tokenizer_config.json",
        R"({"tokenizer_class": "BertTokenizerFast", "do_lower_case": false})");
  const auto spec = read_tokenizer_spec(folder_.path()).value();
  EXPECT_EQ(
      spec.vocabulary,
      (Vocabulary{
          {"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"the", 4}}));
  EXPECT_EQ(spec.json.find("normalizer")->dump(),
            R"({"type":"BertNormalizer","clean_text":true,)"
            R"("handle_chinese_chars":true,"strip_accents":null,)"
            R"("lowercase":false})");
  EXPECT_EQ(spec.json.find("added_tokens")->size(), 4U);
  EXPECT_EQ(spec.json.find("post_processor")->find("sep")->dump(),
            "[\"[SEP]\",3]");
}

TEST_F(TokenizerFilesTest, WrongVocabTxtIsAnError) {
  write("vocab.txt", std::string(kBert) + "\n\nx");
  EXPECT_EQ(error(), "read_tokenizer: FOLDER/vocab.txt: line 6 is empty");
  write("vocab.txt", std::string(kBert) + "\nthe");
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER/vocab.txt: line 6 is \"the\" again");
  write("vocab.txt", "a\nb");
  EXPECT_EQ(error(), "read_tokenizer: FOLDER/vocab.txt has no token [PAD]");
  write("vocab.txt", kBert);
  write("tokenizer_config.json", R"({"tokenizer_class": "MPNetTokenizer"})");
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER/tokenizer_config.json: tokenizer_class is "
            "\"MPNetTokenizer\", expected BertTokenizer, DistilBertTokenizer, "
            "ElectraTokenizer");
}

TEST_F(TokenizerFilesTest, ReadsVocabJsonAndMerges) {
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})");
  write("merges.txt", "#version: 0.2\na b\n");
  write("added_tokens.json", R"({"<x>": 9})");
  write("special_tokens_map.json",
        R"({"bos_token": "<|endoftext|>",
            "mask_token": {"content": "<m>", "lstrip": true}})");
  const auto spec = read_tokenizer_spec(folder_.path()).value();
  EXPECT_EQ(spec.merges, (Merges{{"a", "b"}}));
  // Ids that a file says are kept; others come next.
  EXPECT_EQ(spec.vocabulary, (Vocabulary{{"a", 0},
                                         {"b", 1},
                                         {"ab", 2},
                                         {"<|endoftext|>", 3},
                                         {"<m>", 4},
                                         {"<x>", 9}}));
  const Json& added = *spec.json.find("added_tokens");
  ASSERT_EQ(added.size(), 3U);
  EXPECT_EQ(added[1].find("lstrip")->dump(), "true");
  EXPECT_EQ(added[2].find("content")->dump(), "\"<x>\"");
  write("merges.txt", "#version: 0.2\na b c\n");
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER/merges.txt: line 2 is \"a b c\", expected "
            "two tokens with a space between them");
  EXPECT_EQ(error("merges.txt"),
            "read_tokenizer: FOLDER/merges.txt has merges alone, expected the "
            "vocabulary that they belong to");
}

TEST_F(TokenizerFilesTest, TheVocabularySaysThatItIsRobertas) {
  write("vocab.json", R"({"<s>": 0, "</s>": 2, "<mask>": 3})");
  write("merges.txt", "");
  const auto spec = read_tokenizer_spec(folder_.path()).value();
  EXPECT_EQ(spec.json.find("post_processor")->find("type")->dump(),
            "\"RobertaProcessing\"");
  EXPECT_EQ((*spec.json.find("added_tokens"))[2].find("lstrip")->dump(),
            "true");
}

// A token for each byte, and one for "ab".
std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(encode_base64(std::string(1, static_cast<char>(byte))));
  }
  tokens.push_back(encode_base64("ab"));
  return tokens;
}

TEST_F(TokenizerFilesTest, ReadsTekken) {
  Json vocab = Json::array();
  for (const std::string& token : byte_tokens()) {
    vocab.push_back({{"rank", vocab.size()}, {"token_bytes", token}});
  }
  Json special = Json::array();
  special.push_back({{"rank", 0}, {"token_str", "<unk>"}});
  special.push_back({{"rank", 1}, {"token_str", "<s>"}});
  const Json config = {{"pattern", "\\S+"},
                       {"default_vocab_size", 260},
                       {"default_num_special_tokens", 3}};
  const Json file = {
      {"config", config}, {"vocab", vocab}, {"special_tokens", special}};
  write("tekken.json", file.dump());
  const auto spec = read_tokenizer_spec(folder_.path()).value();
  ASSERT_EQ(spec.vocabulary.size(), 260U);
  EXPECT_EQ(spec.vocabulary[0], std::pair(std::string("\u0100"), 3U));
  EXPECT_EQ(spec.vocabulary[256], std::pair(std::string("ab"), 259U));
  EXPECT_EQ(spec.vocabulary[259], std::pair(std::string("<SPECIAL_2>"), 2U));
  EXPECT_EQ(spec.merges, (Merges{{"a", "b"}}));
  EXPECT_EQ((*spec.json.find("added_tokens"))[1].find("in_text")->dump(),
            "false");
}

TEST_F(TokenizerFilesTest, UnknownRanksAreAnError) {
  std::string ranks;
  for (std::size_t n = 0; n < byte_tokens().size(); ++n) {
    ranks += byte_tokens()[n] + " " + std::to_string(n) + "\n";
  }
  write("tokenizer.model", ranks);
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER/tokenizer.model has 257 ranks of an "
            "unknown vocabulary, expected r50k_base: 50256, p50k_base: 50280, "
            "cl100k_base: 100256, o200k_base: 199998, Llama 3: 128000, Llama "
            "4: 200000, Qwen: 151643, Qwen 3.5: 248044");
  write("tokenizer.model", "IQ== 0\nIQ= 1\n");
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER/tokenizer.model: line 2 is \"IQ= 1\", "
            "expected a token in base64, a space and its rank");
}

// The bytes of a GGUF file.
class GgufBytes {
 public:
  explicit GgufBytes(std::uint64_t pairs, std::uint32_t version = 3)
      : bytes_("GGUF") {
    number(version, 4).number(0, 8).number(pairs, 8);
  }
  GgufBytes& number(std::uint64_t value, unsigned size) {
    for (unsigned n = 0; n < size; ++n) {
      bytes_ += static_cast<char>(value >> 8 * n);
    }
    return *this;
  }
  GgufBytes& text(std::string_view value) {
    number(value.size(), 8);
    bytes_ += value;
    return *this;
  }
  GgufBytes& pair(std::string_view key, std::string_view value) {
    return text(key).number(8, 4).text(value);
  }
  GgufBytes& list(std::string_view key,
                  const std::vector<std::string_view>& values) {
    text(key).number(9, 4).number(8, 4).number(values.size(), 8);
    for (const std::string_view value : values) {
      text(value);
    }
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string small_gguf(std::string_view pre) {
  return GgufBytes(4)
      .pair("tokenizer.ggml.model", "gpt2")
      .pair("tokenizer.ggml.pre", pre)
      .list("tokenizer.ggml.tokens", {"a", "b", "ab"})
      .list("tokenizer.ggml.merges", {"a b"})
      .bytes();
}

TEST_F(TokenizerFilesTest, ReadsGguf) {
  write("a.gguf", small_gguf("smollm"));
  const auto spec = read_tokenizer_spec(path("a.gguf")).value();
  EXPECT_EQ(spec.vocabulary, (Vocabulary{{"a", 0}, {"b", 1}, {"ab", 2}}));
  EXPECT_EQ(spec.merges, (Merges{{"a", "b"}}));
  EXPECT_EQ(spec.json.find("pre_tokenizer")->find("pretokenizers")->size(), 3U);
  write("a.gguf", small_gguf("new"));
  EXPECT_TRUE(error("a.gguf").starts_with(
      "read_tokenizer: FOLDER/a.gguf: tokenizer.ggml.pre is \"new\", expected "
      "default, gpt-2, "))
      << error("a.gguf");
}

TEST_F(TokenizerFilesTest, BrokenGgufIsAnError) {
  const std::string whole = small_gguf("gpt-2");
  for (std::size_t size = kGgufMagic.size(); size < whole.size(); ++size) {
    write("a.gguf", std::string_view(whole).substr(0, size));
    EXPECT_NE(error("a.gguf"), "") << size;
  }
  write("a.gguf", GgufBytes(std::uint64_t{1} << 60U).bytes());
  EXPECT_EQ(error("a.gguf"),
            "read_tokenizer: FOLDER/a.gguf ends before 1152921504606846976 "
            "entries at byte 24");
  write("a.gguf", GgufBytes(0, 0x03000000).bytes());
  EXPECT_EQ(error("a.gguf"),
            "read_tokenizer: FOLDER/a.gguf is big-endian, expected "
            "little-endian");
  write("a.gguf", GgufBytes(0, 4).bytes());
  EXPECT_EQ(error("a.gguf"),
            "read_tokenizer: FOLDER/a.gguf has version 4, expected 2 or 3");
  const std::string nested = GgufBytes(1)
                                 .text("x")
                                 .number(9, 4)
                                 .number(9, 4)
                                 .number(1, 8)
                                 .number(0, 4)
                                 .number(0, 8)
                                 .bytes();
  write("a.gguf", nested);
  EXPECT_EQ(error("a.gguf"),
            "read_tokenizer: FOLDER/a.gguf has a list of lists at byte 49");
}

TEST_F(TokenizerFilesTest, AFolderWithoutOneNamesWhatWasLookedFor) {
  EXPECT_EQ(error(),
            "read_tokenizer: FOLDER has no tokenizer, expected "
            "tokenizer.json, tekken.json, tokenizer.model, spiece.model, "
            "sentencepiece.bpe.model, qwen.tiktoken, vocab.json, encoder.json, "
            "vocab.txt");
  write("vocab.txt", kBert);
  write("tokenizer.json", R"({"version": "1.0", "model": {}})");
  EXPECT_TRUE(read_tokenizer_spec(folder_.path()).value().vocabulary.empty());
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI::tokenizer
