#include "headwise/models/vocabulary.h"

#include <string>
#include <vector>

#include "headwise/steps/padding.h"
#include "models/vocabularies.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kAll = 1'000'000;

Vocabulary small_vocabulary() {
  return vocabulary_of({"the",    "head", "##s", "matter",   "!", "##ing", "un",
                        "##able", "##a",  "a",   "\u4E2D",   ",", "[",     "]",
                        "mask",   "caf",  "##e", "##\u0301", "x", "##x"});
}

// "the/0-3 [UNK]/4-7": what stands between [CLS] and [SEP].
std::string tokens_of(const WordPiece& wordpiece, std::string_view sentence) {
  const auto encoded = wordpiece.encode(sentence, kAll);
  if (!encoded) {
    return encoded.error().message();
  }
  const auto& [ids, offsets, cut] = *encoded;
  EXPECT_EQ(ids.size(), offsets.size());
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(ids.front(), wordpiece.vocabulary().cls());
  EXPECT_EQ(ids.back(), wordpiece.vocabulary().sep());
  EXPECT_EQ(offsets.front(), ByteSpan{});
  EXPECT_EQ(offsets.back(), ByteSpan{});
  std::string text;
  for (std::size_t t = 1; t + 1 < ids.size(); ++t) {
    text += t > 1 ? " " : "";
    text += wordpiece.vocabulary().token(ids[t]);
    text += "/" + std::to_string(offsets[t].begin) + "-" +
            std::to_string(offsets[t].end);
  }
  return text;
}

std::string tokens_of(std::string_view sentence,
                      const WordPieceOptions& options = {}) {
  return tokens_of(WordPiece(small_vocabulary(), options), sentence);
}

// "[CLS] a [SEP] | b [SEP] (cut 1)": the tokens of type 0, those of type 1.
std::string pair_of(std::string_view first, std::string_view second,
                    std::size_t max_tokens) {
  const WordPiece wordpiece(small_vocabulary());
  const auto pair = wordpiece.encode_pair(first, second, max_tokens);
  if (!pair) {
    return pair.error().message();
  }
  EXPECT_EQ(pair->ids.size(), pair->token_types.size());
  std::string text;
  for (std::size_t t = 0; t < pair->ids.size(); ++t) {
    const bool changes =
        t != 0 && pair->token_types[t] != pair->token_types[t - 1];
    text += (t == 0 ? "" : changes ? " | " : " ");
    text += wordpiece.vocabulary().token(pair->ids[t]);
  }
  return text + " (cut " + std::to_string(pair->cut) + ")";
}

TEST(WordPieceTest, TheSecondSentenceOfAPairHasTypeOne) {
  EXPECT_EQ(pair_of("the heads", "a head!", kAll),
            "[CLS] the head ##s [SEP] | a head ! [SEP] (cut 0)");
  EXPECT_EQ(pair_of("", "", kAll), "[CLS] [SEP] | [SEP] (cut 0)");
  EXPECT_EQ(pair_of("the [SEP] head", "a", kAll),
            "[CLS] the [SEP] head [SEP] | a [SEP] (cut 0)");
}

TEST(WordPieceTest, TheLongerSentenceOfAPairIsCut) {
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

TEST(WordPieceTest, APairThatCannotBeReadIsRefused) {
  const WordPiece wordpiece(small_vocabulary());
  EXPECT_THAT(wordpiece.encode_pair("a", "a", 2),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "encode_pair",
                        .argument = "max_tokens"}));
  EXPECT_THAT(wordpiece.encode_pair("a", "\xff", kAll),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "encode_pair",
                        .argument = "second"}));
}

TEST(WordPieceTest, WordsAreCutIntoTheLongestTokens) {
  EXPECT_EQ(tokens_of("The heads matter!"),
            "the/0-3 head/4-8 ##s/8-9 matter/10-16 !/16-17");
  EXPECT_EQ(tokens_of("unableing"), "un/0-2 ##able/2-6 ##ing/6-9");
  EXPECT_EQ(tokens_of("aa"), "a/0-1 ##a/1-2");
}

TEST(WordPieceTest, AWordThatDoesNotGoUpInTokensIsUnknownAsAWhole) {
  EXPECT_EQ(tokens_of("the headz a"), "the/0-3 [UNK]/4-9 a/10-11");
  EXPECT_EQ(tokens_of("zzz"), "[UNK]/0-3");
}

TEST(WordPieceTest, AnEmptySentenceIsTheTwoSpecialTokens) {
  for (const std::string_view sentence : {"", "   ", "\x01", "\u0301"}) {
    EXPECT_EQ(tokens_of(sentence), "") << sentence;
  }
}

TEST(WordPieceTest, PunctuationStandsAlone) {
  EXPECT_EQ(tokens_of("a,,a!a"), "a/0-1 ,/1-2 ,/2-3 a/3-4 !/4-5 a/5-6");
  EXPECT_EQ(tokens_of("a\u2014a"), "a/0-1 [UNK]/1-4 a/4-5");
}

TEST(WordPieceTest, IdeographsStandAlone) {
  EXPECT_EQ(tokens_of("a\u4E2Da"), "a/0-1 \u4E2D/1-4 a/4-5");
  EXPECT_EQ(tokens_of("a\u4E2Da", {.tokenize_chinese_chars = false}),
            "[UNK]/0-5");
}

TEST(WordPieceTest, CaseAndAccentsFollowTheOptions) {
  EXPECT_EQ(tokens_of("CAF\u00C9"), "caf/0-3 ##e/3-5");
  EXPECT_EQ(tokens_of("CAF\u00C9", {.do_lower_case = false}), "[UNK]/0-5");
  EXPECT_EQ(tokens_of("caf\u00E9", {.do_lower_case = false}), "[UNK]/0-5");
  EXPECT_EQ(
      tokens_of("caf\u00E9", {.do_lower_case = false, .strip_accents = true}),
      "caf/0-3 ##e/3-5");
  EXPECT_EQ(tokens_of("CAFE\u0301", {.strip_accents = false}),
            "caf/0-3 ##e/3-4 ##\u0301/4-6");
}

TEST(WordPieceTest, OffsetsSpanWhatWasDroppedInsideAWordOnly) {
  EXPECT_EQ(tokens_of("\u00ADa\u00ADa\u00AD x"), "a/2-3 ##a/5-6 x/9-10");
  EXPECT_EQ(tokens_of("the\u200D!"), "the/0-3 !/6-7");
  EXPECT_EQ(tokens_of("t\u00ADhe"), "the/0-5");
}

TEST(WordPieceTest, ALongWordIsUnknown) {
  const std::string longest(kLongestWord, 'x');
  const auto ids = [&](const std::string& sentence) {
    return WordPiece(small_vocabulary()).encode(sentence, kAll)->ids.size();
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

TEST(WordPieceTest, ASpecialTokenInTheTextIsThatToken) {
  EXPECT_EQ(tokens_of("a[MASK]a"), "a/0-1 [MASK]/1-7 a/7-8");
  EXPECT_EQ(tokens_of("[CLS] [SEP][PAD]"), "[CLS]/0-5 [SEP]/6-11 [PAD]/11-16");
  EXPECT_EQ(tokens_of("[[UNK]]"), "[/0-1 [UNK]/1-6 ]/6-7");
  EXPECT_EQ(tokens_of("[SEP] a [SEP] caf\u00E9 [SEP] a"),
            "[SEP]/0-5 a/6-7 [SEP]/8-13 caf/14-17 ##e/17-19 [SEP]/20-25 "
            "a/26-27");
}

TEST(WordPieceTest, OnlyTheExactSpellingIsASpecialToken) {
  EXPECT_EQ(tokens_of("[mask]"), "[/0-1 mask/1-5 ]/5-6");
  EXPECT_EQ(tokens_of("[MASK"), "[/0-1 mask/1-5");
  EXPECT_EQ(tokens_of("[MA\u00ADSK]"), "[/0-1 mask/1-7 ]/7-8");
}

TEST(WordPieceTest, SpecialTokensInTheTextCanBeWords) {
  EXPECT_EQ(tokens_of("a[MASK]", {.special_tokens_in_text = false}),
            "a/0-1 [/1-2 mask/2-6 ]/6-7");
}

// ---- What is cut. ----

TEST(WordPieceTest, WhatDoesNotFitIsCutAndCounted) {
  const WordPiece wordpiece(small_vocabulary());
  const auto encode = [&](std::size_t max_tokens) {
    return wordpiece.encode("the heads [MASK] matter", max_tokens).value();
  };
  EXPECT_EQ(encode(7).cut, 0u);
  EXPECT_EQ(encode(7).ids.size(), 7u);
  const EncodedSentence cut = encode(4);
  EXPECT_EQ(cut.cut, 3u);
  EXPECT_THAT(cut.ids, ElementsAre(2, 5, 6, 3));
  EXPECT_EQ(cut.offsets.size(), 4u);
  EXPECT_EQ(encode(2).cut, 5u);
  EXPECT_THAT(encode(2).ids, ElementsAre(2, 3));
}

TEST(WordPieceTest, ThereIsAlwaysRoomForTheSpecialTokens) {
  const WordPiece wordpiece(small_vocabulary());
  for (const std::size_t max_tokens : {0u, 1u}) {
    EXPECT_THAT(wordpiece.encode("a", max_tokens),
                HasError({.code = ErrorCode::invalid_argument,
                          .operation = "encode",
                          .argument = "max_tokens",
                          .given = {std::to_string(max_tokens)},
                          .expected = {"2"}}));
  }
}

// ---- Sentences that are wrong. ----

TEST(WordPieceTest, TextThatIsNoUtf8IsAnErrorWithTheByte) {
  const WordPiece wordpiece(small_vocabulary());
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
    EXPECT_THAT(wordpiece.encode(sentence, kAll),
                HasError({.code = ErrorCode::bad_data,
                          .operation = "encode",
                          .argument = "sentence",
                          .given = {"UTF-8", place, byte}}));
  }
}

// ---- Batches. ----

TEST(WordPieceTest, ABatchIsItsSentencesOneByOne) {
  const WordPiece wordpiece(small_vocabulary());
  const std::vector<std::string_view> sentences = {"the heads matter!", "",
                                                   "caf\u00E9 a a"};
  std::vector<std::size_t> counted;
  const auto batch = wordpiece.encode_batch(
      sentences, 5, [&](std::size_t done, std::size_t total) {
        EXPECT_EQ(total, 3u);
        counted.push_back(done);
      });
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_THAT(counted, ElementsAre(0, 1, 2, 3));
  ASSERT_EQ(batch->ids.size(), 3u);
  for (std::size_t b = 0; b < sentences.size(); ++b) {
    const auto one = wordpiece.encode(sentences[b], 5).value();
    EXPECT_EQ(batch->ids[b], one.ids);
    EXPECT_EQ(batch->offsets[b], one.offsets);
    EXPECT_EQ(batch->cut[b], one.cut);
  }
  EXPECT_THAT(batch->cut, ElementsAre(2, 0, 1));
  const auto padded =
      pad(batch->ids, {.pad_id = wordpiece.vocabulary().pad()}).value();
  EXPECT_EQ(padded.ids.extent(1), 5u);
  EXPECT_EQ(padded.lengths(1), 2);
}

TEST(WordPieceTest, ABatchNamesTheSentenceThatIsWrong) {
  const WordPiece wordpiece(small_vocabulary());
  const std::vector<std::string_view> sentences = {"a", "a\xff"};
  EXPECT_THAT(wordpiece.encode_batch(sentences, 9),
              HasError({.code = ErrorCode::bad_data,
                        .operation = "encode_batch",
                        .argument = "sentences[1]",
                        .given = {"UTF-8", "1", "0xff"}}));
  EXPECT_FALSE(wordpiece.encode_batch({}, 1));
  EXPECT_TRUE(wordpiece.encode_batch({}, 2)->ids.empty());
}

// ---- Long texts. ----

TEST(WordPieceTest, AHundredThousandWordsAreEncoded) {
  std::string text;
  for (int n = 0; n < 100'000; ++n) {
    text += "heads ";
  }
  const WordPiece wordpiece(small_vocabulary());
  const auto whole = wordpiece.encode(text, kAll).value();
  EXPECT_EQ(whole.ids.size(), 200'002u);
  EXPECT_EQ(whole.offsets[200'000], (ByteSpan{599'998, 599'999}));
  const auto cut = wordpiece.encode(text, 512).value();
  EXPECT_EQ(cut.ids.size(), 512u);
  EXPECT_EQ(cut.cut, 200'000u - 510u);
}

}  // namespace
}  // namespace headwise::testing_support
