// The tokenizer of BERT: all steps of one text.
#include <string>
#include <string_view>
#include <vector>

#include "headwise/json/json.h"
#include "headwise/tokenizer/tokenizer.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kAll = 1'000'000;
constexpr std::size_t kLongestWord = 100;

struct Settings {
  Json lowercase = true;
  Json strip_accents = nullptr;
  Json chinese = true;
};

Json special_json(std::string_view content, int id) {
  return {{"id", id},        {"content", content}, {"single_word", false},
          {"lstrip", false}, {"rstrip", false},    {"normalized", false},
          {"special", true}};
}

Tokenizer bert(const Settings& settings = {}) {
  Json vocabulary = Json::object();
  Json added = Json::array();
  for (const char* const token :
       {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    added.push_back(special_json(token, static_cast<int>(vocabulary.size())));
    vocabulary[token] = vocabulary.size();
  }
  for (const char* const token :
       {"the",    "head", "##s", "matter",   "!", "##ing", "un",
        "##able", "##a",  "a",   "\u4E2D",   ",", "[",     "]",
        "mask",   "caf",  "##e", "##\u0301", "x", "##x"}) {
    vocabulary[token] = vocabulary.size();
  }
  const auto pair = [](const char* token, int id) {
    Json made = Json::array();
    made.push_back(token);
    made.push_back(id);
    return made;
  };
  const Json json = {{"added_tokens", added},
                     {"normalizer",
                      {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", settings.chinese},
                       {"strip_accents", settings.strip_accents},
                       {"lowercase", settings.lowercase}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"post_processor",
                      {{"type", "BertProcessing"},
                       {"sep", pair("[SEP]", 3)},
                       {"cls", pair("[CLS]", 2)}}},
                     {"model",
                      {{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", kLongestWord},
                       {"vocab", vocabulary}}}};
  return Tokenizer::parse(json.dump(), "test").value();
}

EncodeOptions at_most(std::size_t max_tokens) {
  return {.truncation = Truncation{.max_tokens = max_tokens}};
}

// "the/0-3 [UNK]/4-7": the tokens between [CLS] and [SEP].
std::string tokens_of(const Tokenizer& tokenizer, std::string_view sentence,
                      const EncodeOptions& options = {}) {
  const auto encoded = tokenizer.encode(sentence, options);
  if (!encoded) {
    return encoded.error().message();
  }
  const std::vector<TokenId>& ids = encoded->ids;
  const std::vector<ByteSpan>& offsets = encoded->offsets;
  EXPECT_EQ(ids.size(), offsets.size());
  EXPECT_EQ(ids.front(), tokenizer.find("[CLS]"));
  EXPECT_EQ(ids.back(), tokenizer.find("[SEP]"));
  EXPECT_EQ(offsets.front(), ByteSpan{});
  EXPECT_EQ(offsets.back(), ByteSpan{});
  std::string text;
  for (std::size_t t = 1; t + 1 < ids.size(); ++t) {
    text += t > 1 ? " " : "";
    text += tokenizer.token(ids[t]).value();
    text += "/" + std::to_string(offsets[t].begin) + "-" +
            std::to_string(offsets[t].end);
  }
  return text;
}

std::string tokens_of(std::string_view sentence,
                      const Settings& settings = {}) {
  return tokens_of(bert(settings), sentence);
}

// "[CLS] a [SEP] | b [SEP] (cut 1)": the tokens of type 0, those of type 1.
std::string pair_of(std::string_view first, std::string_view second,
                    std::size_t max_tokens) {
  const Tokenizer tokenizer = bert();
  const auto pair = tokenizer.encode_pair(first, second, at_most(max_tokens));
  if (!pair) {
    return pair.error().message();
  }
  EXPECT_EQ(pair->ids.size(), pair->token_types.size());
  std::string text;
  for (std::size_t t = 0; t < pair->ids.size(); ++t) {
    const bool changes =
        t != 0 && pair->token_types[t] != pair->token_types[t - 1];
    text += (t == 0 ? "" : changes ? " | " : " ");
    text += tokenizer.token(pair->ids[t]).value();
  }
  return text + " (cut " + std::to_string(pair->cut) + ")";
}

TEST(BertTokenizerTest, TheSecondSentenceOfAPairHasTypeOne) {
  EXPECT_EQ(pair_of("the heads", "a head!", kAll),
            "[CLS] the head ##s [SEP] | a head ! [SEP] (cut 0)");
  EXPECT_EQ(pair_of("", "", kAll), "[CLS] [SEP] | [SEP] (cut 0)");
  EXPECT_EQ(pair_of("the [SEP] head", "a", kAll),
            "[CLS] the [SEP] head [SEP] | a [SEP] (cut 0)");
}

TEST(BertTokenizerTest, TheLongerSentenceOfAPairIsCut) {
  EXPECT_EQ(pair_of("the head a matter", "a", 7),
            "[CLS] the head a [SEP] | a [SEP] (cut 1)");
  EXPECT_EQ(pair_of("a", "the head a matter", 7),
            "[CLS] a [SEP] | the head a [SEP] (cut 1)");
  EXPECT_EQ(pair_of("the head a", "matter a the", 6),
            "[CLS] the [SEP] | matter a [SEP] (cut 3)");
  EXPECT_EQ(pair_of("the head a matter", "matter a the", 6),
            "[CLS] the head [SEP] | matter [SEP] (cut 4)");
  EXPECT_EQ(pair_of("the", "a", 3), "[CLS] [SEP] | [SEP] (cut 2)");
}

TEST(BertTokenizerTest, APairThatCannotBeReadIsRefused) {
  const Tokenizer tokenizer = bert();
  EXPECT_THAT(tokenizer.encode_pair("a", "a", at_most(2)),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "encode_pair",
                        .argument = "truncation.max_tokens"}));
  EXPECT_THAT(tokenizer.encode_pair("a", "\xff"),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "encode_pair",
                        .argument = "second"}));
}

TEST(BertTokenizerTest, WordsAreCutIntoTheLongestTokens) {
  EXPECT_EQ(tokens_of("The heads matter!"),
            "the/0-3 head/4-8 ##s/8-9 matter/10-16 !/16-17");
  EXPECT_EQ(tokens_of("unableing"), "un/0-2 ##able/2-6 ##ing/6-9");
  EXPECT_EQ(tokens_of("aa"), "a/0-1 ##a/1-2");
}

TEST(BertTokenizerTest, AWordThatDoesNotGoUpInTokensIsUnknownAsAWhole) {
  EXPECT_EQ(tokens_of("the headz a"), "the/0-3 [UNK]/4-9 a/10-11");
  EXPECT_EQ(tokens_of("zzz"), "[UNK]/0-3");
}

TEST(BertTokenizerTest, AnEmptySentenceIsTheTwoSpecialTokens) {
  for (const std::string_view sentence : {"", "   ", "\x01", "\u0301"}) {
    EXPECT_EQ(tokens_of(sentence), "") << sentence;
  }
}

TEST(BertTokenizerTest, PunctuationStandsAlone) {
  EXPECT_EQ(tokens_of("a,,a!a"), "a/0-1 ,/1-2 ,/2-3 a/3-4 !/4-5 a/5-6");
  EXPECT_EQ(tokens_of("a\u2014a"), "a/0-1 [UNK]/1-4 a/4-5");
}

TEST(BertTokenizerTest, IdeographsStandAlone) {
  EXPECT_EQ(tokens_of("a\u4E2Da"), "a/0-1 \u4E2D/1-4 a/4-5");
  EXPECT_EQ(tokens_of("a\u4E2Da", {.chinese = false}), "[UNK]/0-5");
}

TEST(BertTokenizerTest, CaseAndAccentsFollowTheOptions) {
  EXPECT_EQ(tokens_of("CAF\u00C9"), "caf/0-3 ##e/3-5");
  EXPECT_EQ(tokens_of("CAF\u00C9", {.lowercase = false}), "[UNK]/0-5");
  EXPECT_EQ(tokens_of("caf\u00E9", {.lowercase = false}), "[UNK]/0-5");
  EXPECT_EQ(tokens_of("caf\u00E9", {.lowercase = false, .strip_accents = true}),
            "caf/0-3 ##e/3-5");
  EXPECT_EQ(tokens_of("CAFE\u0301", {.strip_accents = false}),
            "caf/0-3 ##e/3-4 ##\u0301/4-6");
}

TEST(BertTokenizerTest, OffsetsSpanWhatWasDroppedInsideAWordOnly) {
  EXPECT_EQ(tokens_of("\u00ADa\u00ADa\u00AD x"), "a/2-3 ##a/5-6 x/9-10");
  EXPECT_EQ(tokens_of("the\u200D!"), "the/0-3 !/6-7");
  EXPECT_EQ(tokens_of("t\u00ADhe"), "the/0-5");
}

TEST(BertTokenizerTest, ALongWordIsUnknown) {
  const std::string longest(kLongestWord, 'x');
  const auto ids = [&](const std::string& sentence) {
    return bert().encode(sentence)->ids.size();
  };
  EXPECT_EQ(ids(longest), kLongestWord + 2);
  EXPECT_EQ(tokens_of(longest + "x"), "[UNK]/0-101");
  EXPECT_EQ(tokens_of("a " + std::string(10'000, 'x') + "! a"),
            "a/0-1 [UNK]/2-10002 !/10002-10003 a/10004-10005");
  // Characters are counted, not bytes, and those of the normalised word.
  std::string accented;
  for (std::size_t n = 0; n < kLongestWord; ++n) {
    accented += "x\u0301";
  }
  EXPECT_EQ(ids(accented), kLongestWord + 2);
}

// ---- Special tokens that stand in the text. ----

TEST(BertTokenizerTest, ASpecialTokenInTheTextIsThatToken) {
  EXPECT_EQ(tokens_of("a[MASK]a"), "a/0-1 [MASK]/1-7 a/7-8");
  EXPECT_EQ(tokens_of("[CLS] [SEP][PAD]"), "[CLS]/0-5 [SEP]/6-11 [PAD]/11-16");
  EXPECT_EQ(tokens_of("[[UNK]]"), "[/0-1 [UNK]/1-6 ]/6-7");
  EXPECT_EQ(tokens_of("[SEP] a [SEP] caf\u00E9 [SEP] a"),
            "[SEP]/0-5 a/6-7 [SEP]/8-13 caf/14-17 ##e/17-19 [SEP]/20-25 "
            "a/26-27");
}

TEST(BertTokenizerTest, OnlyTheExactSpellingIsASpecialToken) {
  EXPECT_EQ(tokens_of("[mask]"), "[/0-1 mask/1-5 ]/5-6");
  EXPECT_EQ(tokens_of("[MASK"), "[/0-1 mask/1-5");
  EXPECT_EQ(tokens_of("[MA\u00ADSK]"), "[/0-1 mask/1-7 ]/7-8");
}

TEST(BertTokenizerTest, SpecialTokensInTheTextCanBeWords) {
  EXPECT_EQ(tokens_of(bert(), "a[MASK]", {.special_tokens_in_text = false}),
            "a/0-1 [/1-2 mask/2-6 ]/6-7");
}

// ---- What is cut. ----

TEST(BertTokenizerTest, WhatDoesNotFitIsCutAndCounted) {
  const Tokenizer tokenizer = bert();
  const auto encode = [&](std::size_t max_tokens) {
    return tokenizer.encode("the heads [MASK] matter", at_most(max_tokens))
        .value();
  };
  EXPECT_EQ(encode(7).cut, 0u);
  EXPECT_EQ(encode(7).ids.size(), 7u);
  const Encoding cut = encode(4);
  EXPECT_EQ(cut.cut, 3u);
  EXPECT_THAT(cut.ids, ElementsAre(2, 5, 6, 3));
  EXPECT_EQ(cut.offsets.size(), 4u);
  EXPECT_EQ(encode(2).cut, 5u);
  EXPECT_THAT(encode(2).ids, ElementsAre(2, 3));
}

TEST(BertTokenizerTest, ThereIsAlwaysRoomForTheSpecialTokens) {
  const Tokenizer tokenizer = bert();
  for (const std::size_t max_tokens : {0u, 1u}) {
    EXPECT_THAT(tokenizer.encode("a", at_most(max_tokens)),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "encode",
                          .argument = "truncation.max_tokens",
                          .given = {std::to_string(max_tokens)},
                          .expected = {"2"}}));
  }
}

// ---- Sentences that are wrong. ----

TEST(BertTokenizerTest, TextThatIsNoUtf8IsAnErrorWithTheByte) {
  const Tokenizer tokenizer = bert();
  struct Case {
    std::string sentence;
    std::string place;
    std::string byte;
  };
  const std::vector<Case> cases = {
      {"a\xff", "1", "0xff"},
      {"a\xC3", "1", "0xc3"},
      {"\xC0\xAF", "0", "0xc0"},              // overlong
      {"\xE0\x80\xAF", "0", "0xe0"},          // overlong
      {"ab\xED\xA0\x80", "2", "0xed"},        // a surrogate
      {"\xF4\x90\x80\x80", "0", "0xf4"},      // beyond U+10FFFF
      {"\u4E2D\x80", "3", "0x80"},            // no character begins so
      {"\xF0\x9F\x98", "0", "0xf0"},          // it ends too early
      {"\xF8\x88\x80\x80\x80", "0", "0xf8"},  // of five bytes
  };
  for (const auto& [sentence, place, byte] : cases) {
    EXPECT_THAT(tokenizer.encode(sentence),
                HasError({.code = ErrorCode::bad_data,
                          .operation = "encode",
                          .argument = "text",
                          .given = {"UTF-8", place, byte}}));
  }
}

// ---- Batches. ----

TEST(BertTokenizerTest, ABatchIsItsSentencesOneByOne) {
  const Tokenizer tokenizer = bert();
  const std::vector<std::string_view> sentences = {"the heads matter!", "",
                                                   "caf\u00E9 a a"};
  std::vector<std::size_t> counted;
  EncodeOptions options = at_most(5);
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 3u);
    counted.push_back(done);
  };
  const auto batch = tokenizer.encode_batch(sentences, options);
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_THAT(counted, ElementsAre(0, 3));
  ASSERT_EQ(batch->size(), 3u);
  for (std::size_t b = 0; b < sentences.size(); ++b) {
    const Encoding one = tokenizer.encode(sentences[b], at_most(5)).value();
    EXPECT_EQ((*batch)[b].ids, one.ids);
    EXPECT_EQ((*batch)[b].offsets, one.offsets);
    EXPECT_EQ((*batch)[b].cut, b == 0 ? 2u : b == 1 ? 0u : 1u);
  }
}

TEST(BertTokenizerTest, ABatchNamesTheSentenceThatIsWrong) {
  const Tokenizer tokenizer = bert();
  const std::vector<std::string_view> sentences = {"a", "a\xff"};
  EXPECT_THAT(tokenizer.encode_batch(sentences),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "encode_batch",
                        .argument = "texts[1]",
                        .given = {"UTF-8", "1", "0xff"}}));
  EXPECT_TRUE(
      tokenizer.encode_batch(std::span<const std::string_view>())->empty());
}

// ---- Long texts. ----

TEST(BertTokenizerTest, AHundredThousandWordsAreEncoded) {
  std::string text;
  for (int n = 0; n < 100'000; ++n) {
    text += "heads ";
  }
  const Tokenizer tokenizer = bert();
  const auto whole = tokenizer.encode(text).value();
  EXPECT_EQ(whole.ids.size(), 200'002u);
  EXPECT_EQ(whole.offsets[200'000], (ByteSpan{599'998, 599'999}));
  const auto cut = tokenizer.encode(text, at_most(512)).value();
  EXPECT_EQ(cut.ids.size(), 512u);
  EXPECT_EQ(cut.cut, 200'000u - 510u);
}

}  // namespace
}  // namespace headwise::testing_support
