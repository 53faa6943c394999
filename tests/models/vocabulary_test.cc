#include "headwise/models/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "interop/files.h"
#include "models/vocabularies.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing::ElementsAre;
using testing_support::vocabulary_of;
using testing_support::vocabulary_text;

TEST(VocabularyTest, TheLineIsTheId) {
  const Vocabulary vocabulary = vocabulary_of({"the", "##s", "h\xC3\xA9"});
  ASSERT_EQ(vocabulary.size(), 8u);
  EXPECT_EQ(vocabulary.token(0), "[PAD]");
  EXPECT_EQ(vocabulary.token(5), "the");
  EXPECT_EQ(vocabulary.token(7), "h\xC3\xA9");
  for (TokenId id = 0; id < 8; ++id) {
    EXPECT_EQ(vocabulary.find(vocabulary.token(id)), id);
  }
  EXPECT_FALSE(vocabulary.find("th"));
  EXPECT_FALSE(vocabulary.find("thee"));
  EXPECT_FALSE(vocabulary.find(""));
}

TEST(VocabularyTest, SpecialTokensAreFoundWhereverTheyStand) {
  const auto vocabulary =
      parse_vocabulary("x\n[SEP]\n[CLS]\n[UNK]\n[PAD]", "test").value();
  EXPECT_EQ(vocabulary.pad(), 4);
  EXPECT_EQ(vocabulary.unk(), 3);
  EXPECT_EQ(vocabulary.cls(), 2);
  EXPECT_EQ(vocabulary.sep(), 1);
  EXPECT_THAT(vocabulary.special_tokens(), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(vocabulary_of({}).special_tokens(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(VocabularyTest, LinesMayEndLikeThoseOfWindowsAndTheLastMayNotEndAtAll) {
  const auto vocabulary =
      parse_vocabulary("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nthe", "test")
          .value();
  EXPECT_EQ(vocabulary.size(), 5u);
  EXPECT_EQ(vocabulary.find("the"), 4);
}

// ---- The longest match. ----

TEST(VocabularyTest, TheLongestTokenMatchesAlsoWhereAShorterOneIsMissing) {
  const Vocabulary vocabulary =
      vocabulary_of({"a", "abcd", "##a", "##abc", "##b", "b"});
  const auto match = [&](std::string_view text, bool inside_word) {
    const auto found = vocabulary.longest_match(text, inside_word);
    return found ? std::string(vocabulary.token(found->id)) + "/" +
                       std::to_string(found->bytes)
                 : "none";
  };
  EXPECT_EQ(match("abcde", false), "abcd/4");
  EXPECT_EQ(match("abcd", false), "abcd/4");
  EXPECT_EQ(match("abc", false), "a/1");
  EXPECT_EQ(match("abcde", true), "##abc/3");
  EXPECT_EQ(match("ab", true), "##a/1");
  EXPECT_EQ(match("b", true), "##b/1");
  EXPECT_EQ(match("cab", false), "none");
  EXPECT_EQ(match("cab", true), "none");
  EXPECT_EQ(match("", false), "none");
  EXPECT_EQ(match("", true), "none");
}

TEST(VocabularyTest, ATokenOfTheMarkAloneMatchesNothingInsideAWord) {
  const Vocabulary vocabulary = vocabulary_of({"##", "###"});
  EXPECT_FALSE(vocabulary.longest_match("a", true));
  EXPECT_EQ(vocabulary.longest_match("#", true)->id, 6);
  EXPECT_EQ(vocabulary.longest_match("###", false)->bytes, 3u);
}

// Bytes above 0x7f are larger than ASCII, as char they might be less.
TEST(VocabularyTest, TokensAreSortedByUnsignedBytes) {
  const Vocabulary vocabulary =
      vocabulary_of({"\xC3\xA9", "~", "a\xC3\xA9", "az", "a", "\x7f"});
  for (TokenId id = 5; id < 11; ++id) {
    const auto match = vocabulary.longest_match(vocabulary.token(id), false);
    ASSERT_TRUE(match) << id;
    EXPECT_EQ(match->id, id);
  }
}

// ---- Files that are wrong. ----

std::string error_of(const std::string& text) {
  const auto vocabulary = parse_vocabulary(text, "vocab.txt");
  if (vocabulary) {
    return "no error";
  }
  EXPECT_EQ(vocabulary.error().code(), ErrorCode::bad_data);
  return testing_support::said_of_file(vocabulary.error(), "parse_vocabulary",
                                       "vocab.txt");
}

TEST(VocabularyTest, AFileWithoutTokens) {
  EXPECT_EQ(error_of(""), "is empty, expected a token a line");
}

TEST(VocabularyTest, AnEmptyLineIsNamed) {
  EXPECT_EQ(error_of("\n"), "line 1 is empty");
  EXPECT_EQ(error_of(vocabulary_text({"a", "", "b"})), "line 7 is empty");
  EXPECT_EQ(error_of(vocabulary_text({"a", "\r"})), "line 7 is empty");
  EXPECT_EQ(error_of(vocabulary_text({"a", ""})), "line 7 is empty");
}

TEST(VocabularyTest, ATokenThatIsThereTwice) {
  EXPECT_EQ(error_of(vocabulary_text({"the", "b", "c", "c", "b", "the"})),
            "line 9 is \"c\" again, the token of line 8");
  EXPECT_EQ(error_of(vocabulary_text({"\x1b[2J", "\x1b[2J", "\x1b[2J"})),
            "line 7 is \"\\x1b[2J\" again, the token of line 6");
  EXPECT_EQ(error_of(vocabulary_text({"[SEP]"})),
            "line 6 is \"[SEP]\" again, the token of line 4");
}

TEST(VocabularyTest, ATokenThatIsNoUtf8) {
  EXPECT_EQ(error_of(vocabulary_text({"a", "b\xff"})),
            "line 7 is not UTF-8 text: its byte 1 begins no character");
  EXPECT_EQ(error_of(vocabulary_text({"\xC3"})),
            "line 6 is not UTF-8 text: its byte 0 begins no character");
}

TEST(VocabularyTest, ATokenThatIsTooLong) {
  const std::string longest(kLongestToken, 'x');
  EXPECT_EQ(error_of(vocabulary_text({longest})), "no error");
  EXPECT_EQ(error_of(vocabulary_text({longest + "x"})),
            "line 6 has 513 bytes, expected at most 512");
}

TEST(VocabularyTest, ASpecialTokenThatIsMissing) {
  for (const std::string missing : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    std::string text = vocabulary_text({"a"});
    text.replace(text.find(missing), missing.size(), "x");
    EXPECT_EQ(error_of(text), "has no token " + missing);
  }
}

TEST(VocabularyTest, AFileThatIsTooLarge) {
  EXPECT_EQ(error_of(std::string(kLargestVocabulary + 1, 'x')),
            "has 67108865 bytes, expected at most 67108864");
}

TEST(VocabularyTest, AFileIsReadAndNamed) {
  const TempFolder folder;
  const std::string path = folder / "vocab.txt";
  put_file(path, bytes_of(vocabulary_text({"the"})));
  const auto vocabulary = read_vocabulary(path);
  ASSERT_TRUE(vocabulary) << vocabulary.error().message();
  EXPECT_EQ(vocabulary->token(5), "the");
  put_file(path, bytes_of("[PAD]\n[PAD]\n"));
  const auto repeated = read_vocabulary(path);
  ASSERT_FALSE(repeated);
  EXPECT_EQ(repeated.error().message(),
            "read_vocabulary: " + path +
                ": line 2 is \"[PAD]\" again, the token of line 1");
  const auto missing = read_vocabulary(folder / "none.txt");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::io_error);
  EXPECT_EQ(missing.error().message(), "read_vocabulary: " + folder.path() +
                                           "/none.txt: No such file or "
                                           "directory");
}

TEST(VocabularyTest, AMovedVocabularyIsTheSame) {
  Vocabulary vocabulary = vocabulary_of({"the"});
  const Vocabulary moved = std::move(vocabulary);
  EXPECT_EQ(moved.token(5), "the");
  EXPECT_EQ(moved.find("the"), 5);
}

}  // namespace
}  // namespace headwise
