#include <gtest/gtest.h>

#include "models/model_files.h"
#include "models/model_texts.h"

namespace headwise::testing_support {
namespace {

Result<TokenizerSettings> parsed(const Fields& fields) {
  return parse_tokenizer_config(json(fields), {"", "file"});
}

TokenizerSettings tokenizer_of(const Fields& fields) {
  return parsed(fields).value();
}

Result<TokenizerSettings> parsed_sentence(
    const Fields& sentence, const TokenizerSettings& tokenizer = {}) {
  return parse_sentence_config(json(sentence), {"", "file"}, tokenizer);
}

TokenizerSettings after(const Fields& sentence,
                        const TokenizerSettings& tokenizer) {
  return parsed_sentence(sentence, tokenizer).value();
}

TEST(TokenizerSettingsTest, AnEmptyFileLeavesTheDefaults) {
  const auto settings = tokenizer_of({});
  EXPECT_EQ(settings.normalization, BertNormalization{});
  EXPECT_FALSE(settings.max_tokens.has_value());
}

TEST(TokenizerSettingsTest, EveryOptionComesFromItsKey) {
  const auto settings = tokenizer_of({{"do_lower_case", "false"},
                                      {"strip_accents", "true"},
                                      {"tokenize_chinese_chars", "false"},
                                      {"model_max_length", "512"},
                                      {"tokenizer_class", "null"}});
  EXPECT_EQ(settings.normalization,
            (BertNormalization{.do_lower_case = false,
                               .strip_accents = true,
                               .tokenize_chinese_chars = false}));
  EXPECT_EQ(settings.max_tokens, 512u);
  const auto strips = [](const std::string& value) {
    return tokenizer_of({{"strip_accents", value}}).normalization.strip_accents;
  };
  EXPECT_EQ(strips("false"), false);
  EXPECT_EQ(strips("null"), std::nullopt);
}

TEST(TokenizerSettingsTest, OptionsAreTrueOrFalse) {
  for (const std::string key :
       {"do_lower_case", "strip_accents", "tokenize_chinese_chars"}) {
    EXPECT_THAT(parsed({{key, "\"yes\""}}),
                IsBad(key, {"\"yes\""}, {"true or false"}));
  }
  EXPECT_THAT(parsed_sentence({{"do_lower_case", "1"}}),
              IsBad("do_lower_case", {"1"}, {"true or false"}));
}

TEST(TokenizerSettingsTest, AnotherTokenizerIsUnsupportedAndNamed) {
  for (const std::string name :
       {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
        "DistilBertTokenizerFast"}) {
    EXPECT_TRUE(parsed({{"tokenizer_class", "\"" + name + "\""}})) << name;
  }
  for (const std::string name : {"BertJapaneseTokenizer", "RobertaTokenizer",
                                 "Fast", "PreTrainedTokenizer", ""}) {
    EXPECT_THAT(parsed({{"tokenizer_class", "\"" + name + "\""}}),
                IsUnsupported("tokenizer_class", {"\"" + name + "\""},
                              {"BertTokenizer", "DistilBertTokenizer"}));
  }
  EXPECT_THAT(parsed({{"tokenizer_class", "[]"}}),
              IsBad("tokenizer_class", {"list"}, {"text"}));
}

TEST(TokenizerSettingsTest, ALimitIsAWholeNumberWithRoomForTwoTokens) {
  for (const auto& [value, limit] :
       {std::pair<std::string, std::size_t>{"2", 2},
        {"512", 512},
        {"128.0", 128},
        // What files say that have no limit.
        {"1000000000000000019884624838656", 2147483647},
        {"1e30", 2147483647},
        {"18446744073709551615", 2147483647}}) {
    EXPECT_EQ(tokenizer_of({{"model_max_length", value}}).max_tokens, limit);
    EXPECT_EQ(after({{"max_seq_length", value}}, {}).max_tokens, limit);
  }
  for (const std::string value : {"1", "0", "-1", "2.5", "1.5"}) {
    EXPECT_THAT(parsed({{"model_max_length", value}}),
                IsBad("model_max_length", {value}, {"2"}));
    EXPECT_THAT(parsed_sentence({{"max_seq_length", value}}),
                IsBad("max_seq_length", {value}, {"2"}));
  }
  EXPECT_THAT(parsed({{"model_max_length", "\"512\""}}),
              IsBad("model_max_length", {"\"512\""}, {"number"}));
}

TEST(TokenizerSettingsTest, TheSentenceFilesLimitCountsBeforeTheTokenizers) {
  const TokenizerSettings tokenizer =
      tokenizer_of({{"model_max_length", "512"}});
  EXPECT_EQ(after({{"max_seq_length", "256"}}, tokenizer).max_tokens, 256u);
  EXPECT_EQ(after({{"max_seq_length", "1024"}}, tokenizer).max_tokens, 1024u);
  EXPECT_EQ(after({{"max_seq_length", "null"}}, tokenizer).max_tokens, 512u);
  EXPECT_EQ(after({}, tokenizer).max_tokens, 512u);
}

TEST(TokenizerSettingsTest, AClassWithoutSettingsLeavesAllToTheTokenizersFile) {
  const auto settings =
      tokenizer_of({{"tokenizer_class", "\"PreTrainedTokenizerFast\""},
                    {"do_lower_case", "false"}});
  EXPECT_TRUE(settings.generic_class);
  EXPECT_EQ(settings.normalization, BertNormalization{});
}

TEST(TokenizerSettingsTest, LoweringFirstIsASettingOfItsOwn) {
  const auto cased = tokenizer_of({{"do_lower_case", "false"}});
  EXPECT_EQ(after({{"do_lower_case", "true"}}, cased).normalization,
            (BertNormalization{.do_lower_case = false, .lower_first = true}));
  EXPECT_EQ(after({{"do_lower_case", "false"}}, cased).normalization,
            cased.normalization);
}

TEST(TokenizerSettingsTest, PromptsAreTextsWithNames) {
  const auto parsed_file = [](const char* text) {
    return parse_sentence_transformers(text, {"", "file"});
  };
  const auto read = parsed_file(
      R"({"prompts": {"query": "q: ", "none": ""}, "default_prompt_name": null})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->prompts, (std::map<std::string, std::string>{{"query", "q: "},
                                                               {"none", ""}}));
  EXPECT_EQ(read->default_prompt, "");
  EXPECT_TRUE(parsed_file("{}"));
  EXPECT_EQ(
      parsed_file(R"({"prompts": {"a": "b"}, "default_prompt_name": "a"})")
          ->default_prompt,
      "a");
  EXPECT_THAT(parsed_file(R"({"default_prompt_name": "query"})"),
              IsBad("default_prompt_name", {"\"query\""}, {"prompts"}));
  EXPECT_THAT(parsed_file(R"({"prompts": {"query": 5}})"),
              IsBad("prompts.query", {"5"}, {"a text"}));
}

}  // namespace
}  // namespace headwise::testing_support
